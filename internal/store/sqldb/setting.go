package sqldb

import (
	"context"
)

// PinSetting stores a setting that has no value yet, and returns what is stored: of several
// processes that do so at once, all get the value of the first. It belongs to no tenant, so
// no audit event records it.
func (s *DB) PinSetting(ctx context.Context, name string, value []byte) (stored []byte, err error) {
	err = s.engine.update(ctx, func(ctx context.Context, q *Session) error {
		if err := q.Write(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name,
			value); err != nil {
			return err
		}
		stored, err = One(ctx, q, Scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return stored, err
}

// PutSetting stores what the server says of itself, in place of what it said
// before. It belongs to no tenant, so no audit event tells of it.
func (s *DB) PutSetting(ctx context.Context, name string, value []byte) error {
	return s.engine.update(ctx, func(ctx context.Context, q *Session) error { return q.putSetting(ctx, name, value) })
}

// PutSetting is Store.PutSetting within a transaction: the setting holds when
// what else it writes does.
func (tx *Tx) PutSetting(ctx context.Context, name string, value []byte) error {
	return tx.Session.putSetting(ctx, name, value)
}

func (q *Session) putSetting(ctx context.Context, name string, value []byte) error {
	return q.Write(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = `+
		`excluded.value`, name, append([]byte{}, value...))
}

// StoredSetting reads a setting, or fails with model.ErrNotFound.
func (s *DB) StoredSetting(ctx context.Context, name string) (value []byte, err error) {
	err = s.engine.view(ctx, func(ctx context.Context, q *Session) error {
		value, err = One(ctx, q, Scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return value, err
}
