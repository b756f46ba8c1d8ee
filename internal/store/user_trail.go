package store

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// A user belongs to the server and may have a role in several deployments. What
// happens to the account stands in the trail of each of them; what concerns
// none, such as a try to sign in as nobody, in that of the server, which is kept
// as deployment 0.

// ServerEvents returns the events of the server's own trail after the one with
// the given id, oldest first, limit at most.
func (s *Store) ServerEvents(ctx context.Context, afterID int64, limit int) (list []model.AuditEvent, err error) {
	err = s.viewShared(ctx, func(ctx context.Context, q *session) error {
		list, err = newTx(q, model.Deployment{}, s.now(), model.Actor{}).AuditEvents(ctx, afterID, limit)
		return err
	})
	return list, err
}

// updateUser runs fn in one transaction on a user and the deployments in which
// they have a role, of which there is at least one: the server's own trail where
// the user has none. The deployments are locked in the order of their ids, then
// the user, as SetRole does.
func (s *Store) updateUser(ctx context.Context, userID int64, by model.Actor, fn func(context.Context, *session, model.User, []*Tx) error) error {
	return s.updateShared(ctx, func(ctx context.Context, q *session) error {
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
		if err := fn(ctx, q, u, txs); err != nil || !q.wrote {
			return err
		}
		return finishAll(ctx, txs)
	})
}

func deploymentsOf(ctx context.Context, q *session, userID int64) ([]int64, error) {
	return many(ctx, q, scalar[int64], `SELECT deployment_id FROM user_role WHERE user_id = $1 ORDER BY deployment_id`, userID)
}

// lockAll begins work on several deployments, named by rising ids; on the
// server's own trail where there is none.
func (s *Store) lockAll(ctx context.Context, q *session, ids []int64, by model.Actor) ([]*Tx, error) {
	if len(ids) == 0 {
		return []*Tx{newTx(q, model.Deployment{}, s.now(), by)}, nil
	}
	txs := make([]*Tx, len(ids))
	for i, id := range ids {
		d, err := readTenant(ctx, q, id, q.forUpdate())
		if err != nil {
			return nil, err
		}
		txs[i] = s.writer(q, d, by)
	}
	return txs, nil
}

func finishAll(ctx context.Context, txs []*Tx) error {
	for _, tx := range txs {
		if err := tx.finish(ctx); err != nil {
			return err
		}
	}
	return nil
}

// auditUser writes what changes nothing that others depend on, such as a sign-in,
// into the trails of a user. It takes no lock of the deployments, so that nobody
// waits for an import to sign in.
func (s *Store) auditUser(ctx context.Context, q *session, userID int64, by model.Actor, action, subject string, what any) error {
	ids, err := deploymentsOf(ctx, q, userID)
	if err != nil {
		return err
	}
	if len(ids) == 0 {
		ids = []int64{0}
	}
	for _, id := range ids {
		tx := newTx(q, model.Deployment{ID: id}, s.now(), by)
		tx.audit(action, subject, nil, what)
		if err := tx.writeEvents(ctx); err != nil {
			return err
		}
	}
	return nil
}
