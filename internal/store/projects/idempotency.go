package projects

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const (
	// maxAnswers limits the bytes of the stored responses of a deployment. The oldest one may
	// exceed the limit.
	maxAnswers = 64 << 20
	// answerRow is the approximate size of a row without its response. It limits the number of
	// small ones.
	answerRow = 256
)

// StoredAnswer returns the stored response to a write by its key. An expired one is
// model.ErrNotFound, deleted or not.
func (tx *Tx) StoredAnswer(ctx context.Context, key string) (model.StoredAnswer, error) {
	a, err := sqldb.One(ctx, tx, scanStoredAnswer,
		`SELECT idem_key, request, answer, at FROM kept_answer WHERE deployment_id = $1 AND idem_key = $2`, key)
	if err == nil && !a.At.After(tx.Now().Add(-model.AnswerRetention)) {
		a, err = model.StoredAnswer{}, model.ErrNotFound
	}
	if err != nil {
		return a, fmt.Errorf("answer of %.80q: %w", key, err)
	}
	return a, nil
}

func scanStoredAnswer(r sqldb.Row) (a model.StoredAnswer, err error) {
	return a, r.Scan(&a.Key, &a.Request, &a.Answer, sqldb.Instant(&a.At))
}

// StoreAnswer stores the response to a write, in the transaction of that write. An expired key can
// be reused.
func (tx *Tx) StoreAnswer(ctx context.Context, a model.StoredAnswer) error {
	last, err := sqldb.One(
		ctx, tx, sqldb.Scalar[int64], `SELECT COALESCE(MAX(ends), 0) FROM kept_answer WHERE deployment_id = $1`,
	)
	if err != nil {
		return err
	}
	ends := last + answerRow + int64(len(a.Answer))
	if err := tx.Write(ctx, `DELETE FROM kept_answer WHERE deployment_id = $1 AND ends <= $2`,
		ends-maxAnswers); err != nil {
		return err
	}
	return tx.Insert(ctx, "kept_answer (deployment_id, idem_key, request, answer, at, ends)", [][]any{
		{a.Key, a.Request, a.Answer, tx.Now(), ends},
	},
		`ON CONFLICT (deployment_id, idem_key) DO UPDATE SET request = excluded.request, answer = excluded.answer, at = `+
			`excluded.at, ends = excluded.ends`)
}

// DropExpiredAnswers deletes the expired responses of a deployment and returns their number.
func (s *DB) DropExpiredAnswers(ctx context.Context, deploymentID int64, now time.Time) (gone int64, err error) {
	by := model.Actor{Kind: "system", Name: "prune"}
	err = s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		gone, err = tx.Exec(
			ctx, `DELETE FROM kept_answer WHERE deployment_id = $1 AND at <= $2`, now.Add(-model.AnswerRetention),
		)
		return err
	})
	return gone, err
}
