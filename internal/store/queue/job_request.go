package queue

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Bounds of the work of one kind that people and tokens ask for, in a deployment.
const (
	// RequestedJobKept is how long what was asked for is kept once it is there.
	RequestedJobKept = 24 * time.Hour

	maxWaiting      = 200 // not finished, of all requesters
	maxWaitingOfOne = 20  // not finished, of one
	waitingTakes    = 5 * time.Second

	// Documents that are kept, in bytes. Each counts as documentRow at least, so
	// that small ones have a bound too.
	maxDocuments      = 1 << 30
	maxDocumentsOfOne = 256 << 20
	documentRow       = 64 << 10
)

// requesterOf names who a job is counted for: the person or the token.
func requesterOf(by model.Actor) string { return by.Kind + ":" + by.ID }

// RequestJob is AddJob for whoever may only read, so it keeps the table within
// bounds. A job that has not begun and has the same kind and input is what is
// returned in place of a second one. Who has 20 unfinished ones, or meets 200 in
// the deployment, is told to wait, by a *model.BusyError. Finished ones go after a
// day, and sooner, the oldest first, where those of one requester take more than
// 256 MiB, or those of all more than 1 GiB.
func (tx *Tx) RequestJob(ctx context.Context, j model.Job) (model.Job, error) {
	same, err := sqldb.Many(ctx, tx, scanJob, `SELECT `+jobColumns+` FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state = $3 AND input_json = $4 ORDER BY id LIMIT 1`, j.Kind,
		model.JobQueued, string(j.Input))
	if err != nil {
		return j, err
	}
	if len(same) > 0 {
		return same[0], nil
	}
	if err := tx.checkWaiting(ctx, j.Kind); err != nil {
		return j, err
	}
	if err := tx.dropDocuments(ctx, j.Kind); err != nil {
		return j, err
	}
	return tx.AddJob(ctx, j)
}

// checkWaiting refuses a job that would be one too many.
func (tx *Tx) checkWaiting(ctx context.Context, kind string) error {
	waiting, err := sqldb.Many(ctx, tx, sqldb.Scalar[string],
		`SELECT requester FROM job WHERE deployment_id = $1 AND kind = $2 AND state IN ($3, $4)`,
		kind, model.JobQueued, model.JobRunning)
	if err != nil {
		return err
	}
	own := 0
	for _, requester := range waiting {
		if requester == requesterOf(tx.Actor()) {
			own++
		}
	}
	switch {
	case own >= maxWaitingOfOne:
		return &model.BusyError{Text: fmt.Sprintf("%d exports that you asked for are not finished, as many as may be. Wait "+
			"as Retry-After says.", own), Wait: waitingTakes}
	case len(waiting) >= maxWaiting:
		return &model.BusyError{Text: fmt.Sprintf("%d exports of this deployment are not finished, as many as may be. Wait "+
			"as Retry-After says.", len(waiting)), Wait: waitingTakes}
	}
	return nil
}

// keptDocument is the finished job of a requester, with what it counts as.
type keptDocument struct {
	id        int64
	requester string
	bytes     int64
}

// dropDocuments forgets finished jobs of a kind that had their time, or that are
// too many.
func (tx *Tx) dropDocuments(ctx context.Context, kind string) error {
	if _, err := tx.dropFinished(ctx, kind); err != nil {
		return err
	}
	kept, err := sqldb.Many(ctx, tx, func(r sqldb.Row) (d keptDocument, err error) {
		err = r.Scan(&d.id, &d.requester, &d.bytes)
		d.bytes = max(d.bytes, documentRow)
		return d, err
	}, `SELECT id, requester, COALESCE(LENGTH(result), 0) + LENGTH(input_json) FROM job
		WHERE deployment_id = $1 AND kind = $2 AND state NOT IN ($3, $4) ORDER BY id`, kind,
		model.JobQueued, model.JobRunning)
	if err != nil {
		return err
	}
	gone := tooMany(kept)
	if len(gone) == 0 {
		return nil
	}
	condition, list := tx.In("id", 2, gone)
	return tx.Write(ctx, `DELETE FROM job WHERE deployment_id = $1 AND `+condition, list)
}

// tooMany returns the oldest documents beyond the limits of their requester or of all. The list
// is in the order of age.
func tooMany(kept []keptDocument) (gone []int64) {
	of, total := map[string]int64{}, int64(0)
	for _, d := range slices.Backward(kept) {
		if of[d.requester]+d.bytes > maxDocumentsOfOne || total+d.bytes > maxDocuments {
			gone = append(gone, d.id)
			continue
		}
		of[d.requester] += d.bytes
		total += d.bytes
	}
	return gone
}

// dropFinished forgets finished jobs of a kind that had their time.
func (tx *Tx) dropFinished(ctx context.Context, kind string) (int64, error) {
	return tx.Exec(ctx, `DELETE FROM job WHERE deployment_id = $1 AND kind = $2 AND finished_at <= $3`, kind,
		tx.Now().Add(-RequestedJobKept))
}

// DropRequestedJobs forgets what was asked for of a kind in a deployment and has
// had its time, and returns how many there were.
func (s *DB) DropRequestedJobs(ctx context.Context, deploymentID int64, kind string) (gone int64, err error) {
	by := model.Actor{Kind: "system", Name: "prune"}
	err = s.update(ctx, deploymentID, by, func(ctx context.Context, tx *Tx) error {
		gone, err = tx.dropFinished(ctx, kind)
		return err
	})
	return gone, err
}
