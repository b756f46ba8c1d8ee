package store

import (
	"context"
)

// PinSetting stores a setting that has no value yet, and returns what is stored: of several
// processes that do so at once, all get the value of the first. It belongs to no tenant, so
// no audit event records it.
func (s *Store) PinSetting(ctx context.Context, name string, value []byte) (stored []byte, err error) {
	err = s.engine.update(ctx, func(ctx context.Context, q *session) error {
		if err := q.write(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, value); err != nil {
			return err
		}
		stored, err = one(ctx, q, scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return stored, err
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
	return q.write(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value`, name, append([]byte{}, value...))
}

// StoredSetting reads a setting, or fails with model.ErrNotFound.
func (s *Store) StoredSetting(ctx context.Context, name string) (value []byte, err error) {
	err = s.engine.view(ctx, func(ctx context.Context, q *session) error {
		value, err = one(ctx, q, scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return value, err
}
