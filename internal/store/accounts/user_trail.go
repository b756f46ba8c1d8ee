package accounts

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// A user belongs to the server and may have roles in several deployments. Account events are
// written to the audit trail of each of them. Events without a deployment, such as a sign-in with
// an unknown name, are written to the server's trail, stored as deployment 0.

// ServerEvents returns at most limit events of the server's trail after the one with the given id,
// oldest first.
func (s *DB) ServerEvents(ctx context.Context, afterID int64, limit int) (list []model.AuditEvent, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.NewTx(q, model.Deployment{}, s.Now(), model.Actor{}).AuditEvents(ctx, afterID, limit)
		return err
	})
	return list, err
}

// updateUser runs fn in one transaction on a user and the deployments in which they have a role.
// txs has at least one element; without roles it is the server's trail. Deployments are locked in
// the order of their ids, then the user, as in SetRole.
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
			return fmt.Errorf("the roles of %s were changed; try again: %w", u.Name, model.ErrUnavailable)
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

// lockAll locks deployments in the given order, which must be ascending. Without ids it returns the
// Tx of the server's trail.
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

// auditUser writes an event without consequences for other data, such as a sign-in, to the trails
// of a user. It does not lock the deployments, so that sign-ins do not wait for imports.
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
