package store

import (
	"context"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt"
)

// Setting reads what the server made for itself once, such as the key of its
// signatures. Where there is none yet, create makes it; of several processes that
// do so at once, all get the value of the first. It belongs to no tenant, so no
// audit event tells of it.
func (s *Store) Setting(ctx context.Context, name string, create func() ([]byte, error)) ([]byte, error) {
	value, err := s.StoredSetting(ctx, name)
	if !errors.Is(err, redoubt.ErrNotFound) {
		return value, err
	}
	if value, err = create(); err != nil {
		return nil, fmt.Errorf("make the setting %s: %w", name, err)
	}
	err = s.engine.update(ctx, func(ctx context.Context, q *session) error {
		_, err := q.exec(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, value)
		return err
	})
	if err != nil {
		return nil, err
	}
	return s.StoredSetting(ctx, name)
}

// PutSetting stores what the server says of itself, in place of what it said
// before. It belongs to no tenant, so no audit event tells of it.
func (s *Store) PutSetting(ctx context.Context, name string, value []byte) error {
	return s.engine.update(ctx, func(ctx context.Context, q *session) error { return q.putSetting(ctx, name, value) })
}

// PutSetting is Store.PutSetting within a transaction: the setting holds when
// what else it writes does.
func (tx *Tx) PutSetting(ctx context.Context, name string, value []byte) error {
	return tx.session.putSetting(ctx, name, value)
}

func (q *session) putSetting(ctx context.Context, name string, value []byte) error {
	_, err := q.exec(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, append([]byte{}, value...))
	return err
}

// StoredSetting reads what was stored of a setting, or fails with
// redoubt.ErrNotFound.
func (s *Store) StoredSetting(ctx context.Context, name string) (value []byte, err error) {
	err = s.engine.view(ctx, func(ctx context.Context, q *session) error {
		value, err = one(ctx, q, scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return value, err
}
