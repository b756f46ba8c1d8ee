package sqldb

import (
	"context"
)

// PinSetting stores a setting unless it exists and returns the stored value. Concurrent processes
// all get the value of the first one. Settings belong to no tenant, so there is no audit event.
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

// PutSetting stores or replaces a setting of the server. Settings belong to no tenant, so there is
// no audit event.
func (s *DB) PutSetting(ctx context.Context, name string, value []byte) error {
	return s.engine.update(ctx, func(ctx context.Context, q *Session) error { return q.putSetting(ctx, name, value) })
}

// PutSetting is DB.PutSetting within a transaction.
func (tx *Tx) PutSetting(ctx context.Context, name string, value []byte) error {
	return tx.Session.putSetting(ctx, name, value)
}

func (q *Session) putSetting(ctx context.Context, name string, value []byte) error {
	return q.Write(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = `+
		`excluded.value`, name, append([]byte{}, value...))
}

// StoredSetting returns a setting, or model.ErrNotFound.
func (s *DB) StoredSetting(ctx context.Context, name string) (value []byte, err error) {
	err = s.engine.view(ctx, func(ctx context.Context, q *Session) error {
		value, err = One(ctx, q, Scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	return value, err
}
