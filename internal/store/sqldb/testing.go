package sqldb

import (
	"context"
	"database/sql"
	"errors"
)

// Parts are internals of an open database for tests.
type Parts struct {
	Read, Write *sql.DB
	Waiting     func() int          // number of this process's waiting writers
	Replace     func(write *sql.DB) // replaces the pool Write
}

// PartsForTests returns the internals of a database. Only tests use it.
func (s *DB) PartsForTests() Parts {
	return Parts{
		Read: s.engine.read, Write: s.engine.write, Waiting: s.engine.writers.waiting,
		Replace: func(write *sql.DB) { s.engine.write = write },
	}
}

func (t *writeQueue) waiting() (n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.lines {
		n += len(l.short) + len(l.long)
	}
	return n
}

// CreateBaselineForTests creates a database with the baseline schema, without later migrations.
func CreateBaselineForTests(ctx context.Context, c Config) error {
	e, err := openEngine(ctx, c)
	if err != nil {
		return err
	}
	provider, err := e.migrator()
	if err == nil {
		_, err = provider.UpTo(ctx, Baseline)
	}
	return errors.Join(err, e.close())
}
