package accounts

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// A user belongs to the server and may have a role in several deployments. What
// happens to the account stands in the trail of each of them; what concerns
// none, such as a try to sign in as nobody, in that of the server, which is kept
// as deployment 0.

// ServerEvents returns the events of the server's own trail after the one with
// the given id, oldest first, limit at most.
func (s *DB) ServerEvents(ctx context.Context, afterID int64, limit int) (list []model.AuditEvent, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.NewTx(q, model.Deployment{}, s.Now(), model.Actor{}).AuditEvents(ctx, afterID, limit)
		return err
	})
	return list, err
}

// updateUser runs fn in one transaction on a user and the deployments in which
// they have a role, of which there is at least one: the server's own trail where
// the user has none. The deployments are locked in the order of their ids, then
// the user, as SetRole does.
func (s *DB) updateUser(
	ctx context.Context, userID int64, by model.Actor, fn func(context.Context, *sqldb.Session, model.User, []*Tx) error,
) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		ids, err := deploymentsOf(ctx, q, userID)
		if err != nil {
			return err
		}
		txs, err := s.lockAll(ctx, q, ids, by)
		if err != nil {
			return err
		}
		u, err := lockUser(ctx, q, userID)
		if err != nil {
			return err
		}
		now, err := deploymentsOf(ctx, q, userID)
		if err != nil {
			return err
		}
		if !slices.Equal(ids, now) {
			return fmt.Errorf("the roles of %s changed meanwhile, try again: %w", u.Name, model.ErrUnavailable)
		}
		if err := fn(ctx, q, u, txs); err != nil || !q.Wrote {
			return err
		}
		return finishAll(ctx, txs)
	})
}

func deploymentsOf(ctx context.Context, q *sqldb.Session, userID int64) ([]int64, error) {
	return sqldb.Many(
		ctx, q, sqldb.Scalar[int64], `SELECT deployment_id FROM user_role WHERE user_id = $1 ORDER BY deployment_id`, userID,
	)
}

// lockAll begins work on several deployments, named by rising ids; on the
// server's own trail where there is none.
func (s *DB) lockAll(ctx context.Context, q *sqldb.Session, ids []int64, by model.Actor) ([]*Tx, error) {
	if len(ids) == 0 {
		tx := From(sqldb.NewTx(q, model.Deployment{}, s.Now(), by))
		return []*Tx{&tx}, nil
	}
	txs := make([]*Tx, len(ids))
	for i, id := range ids {
		d, err := sqldb.ReadTenant(ctx, q, id, q.ForUpdate())
		if err != nil {
			return nil, err
		}
		tx := From(s.Writer(q, d, by))
		txs[i] = &tx
	}
	return txs, nil
}

func finishAll(ctx context.Context, txs []*Tx) error {
	for _, tx := range txs {
		if err := tx.Finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// auditUser writes what changes nothing that others depend on, such as a sign-in,
// into the trails of a user. It takes no lock of the deployments, so that nobody
// waits for an import to sign in.
func (s *DB) auditUser(
	ctx context.Context, q *sqldb.Session, userID int64, by model.Actor, action, subject string, what any,
) error {
	ids, err := deploymentsOf(ctx, q, userID)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		ids = []int64{0}
	}
	for _, id := range ids {
		tx := sqldb.NewTx(q, model.Deployment{ID: id}, s.Now(), by)
		tx.Audit(action, subject, nil, what)
		if err := tx.WriteEvents(ctx); err != nil {
			return err
		}
	}
	return nil
}
