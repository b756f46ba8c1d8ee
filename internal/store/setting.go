package store

import (
	"context"

	"github.com/redoubt/redoubt"
)

// PinSetting stores a setting that has no value yet, and removes others, of which
// nothing stays that the engine can overwrite. It returns what is stored: of several
// processes that do so at once, all get the value of the first. It belongs to no
// tenant, so no audit event tells of it.
func (s *Store) PinSetting(ctx context.Context, name string, value []byte, remove ...string) (stored []byte, err error) {
	removed := int64(0)
	err = s.engine.update(ctx, func(ctx context.Context, q *session) error {
		if err := q.shred(ctx); err != nil {
			return err
		}
		if err := q.write(ctx, `INSERT INTO setting (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING`, name, value); err != nil {
			return err
		}
		in, list := q.in("name", 1, remove)
		if removed, err = q.exec(ctx, `DELETE FROM setting WHERE `+in, list); err != nil {
			return err
		}
		stored, err = one(ctx, q, scalar[[]byte], `SELECT value FROM setting WHERE name = $1`, name)
		return err
	})
	if err == nil && removed > 0 && s.engine.compact != "" {
		_, _ = s.engine.write.ExecContext(ctx, s.engine.compact) // the rows are gone; this is about their bytes, and who runs it may not be allowed to
	}
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

// StoredSetting reads what was stored of a setting, or fails with
// redoubt.ErrNotFound.
func (s *Store) StoredSetting(ctx context.Context, name string) ([]byte, error) {
	values, err := s.StoredSettings(ctx, name)
	if err == nil && values[name] == nil {
		err = redoubt.ErrNotFound
	}
	return values[name], err
}

// StoredSettings reads what was stored of settings, all of one state; what is not
// there is not in the answer.
func (s *Store) StoredSettings(ctx context.Context, names ...string) (values map[string][]byte, err error) {
	err = s.engine.view(ctx, func(ctx context.Context, q *session) error {
		values = map[string][]byte{}
		in, list := q.in("name", 1, names)
		return each(ctx, q, func(r row) error {
			var name string
			var value []byte
			err := r.Scan(&name, &value)
			values[name] = append([]byte{}, value...)
			return err
		}, `SELECT name, value FROM setting WHERE `+in, list)
	})
	return values, err
}
