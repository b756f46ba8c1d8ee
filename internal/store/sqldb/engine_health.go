package sqldb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// health is what the database last said of itself in passing.
type health struct {
	mu      sync.Mutex
	writes  bool  // the last write went well; false before the first one
	damaged error // what was found of damage; it stays until the process ends
}

// Wrote notes how a write ended.
func (h *health) Wrote(err error) {
	if err != nil && !failedByItself(model.OutageOf(err)) {
		return // a conflict, a caller who hung up: it says nothing of the database
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = err == nil
}

// found notes damage.
func (h *health) found(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.damaged == nil {
		if !errors.Is(err, model.ErrDamaged) {
			err = fmt.Errorf("%w: %w", model.ErrDamaged, err)
		}
		h.damaged = err
	}
}

// state reports whether the last write went well, and what was found of damage.
func (h *health) state() (writes bool, damaged error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes, h.damaged
}

// writeProbe is the setting that a database which refused a write is asked with.
const writeProbe = "write probe"

// Health reports whether the database can be read and written: nil where it can.
// Damage that was found, and a schema that a newer Redoubt has migrated meanwhile,
// are both errors. A database that refused its last write, or was not written to since the
// start, is asked by a write. A database that has not answered by the context's deadline is model.ErrUnreachable.
func (s *DB) Health(ctx context.Context) (reads, writes error) {
	reads = s.CheckSchema(ctx)
	if reads != nil && errors.Is(ctx.Err(), context.DeadlineExceeded) {
		reads = fmt.Errorf("%w: %w", model.ErrUnreachable, reads)
	}
	wrote, damaged := s.engine.health.state()
	if damaged != nil {
		reads = damaged
	}
	if reads != nil {
		return reads, reads
	}
	if !wrote {
		writes = s.PutSetting(ctx, writeProbe, []byte(s.Now().Format(time.RFC3339)))
	}
	return nil, writes
}

// CheckSchema looks whether a newer Redoubt has migrated the database since it was
// opened. From then on nothing is read or written: both may mean something else by now.
// That is a NewerSchemaError, here and of all that is asked for, until the database is
// one of this version again.
func (s *DB) CheckSchema(ctx context.Context) error { return s.engine.checkSchema(ctx) }

func (e *engine) checkSchema(ctx context.Context) error {
	var stored int64
	err := e.AskAnyway(ctx, func(ctx context.Context) error {
		return Misread(e.read.QueryRowContext(ctx, `SELECT MAX(version_id) FROM goose_db_version`).Scan(&stored))
	})
	if err != nil {
		return err
	}
	return e.JudgeSchema(stored)
}

func (e *engine) JudgeSchema(stored int64) error {
	if stored <= e.schema {
		e.replaced.Store(nil)
		return nil
	}
	newer := &NewerSchemaError{Stored: stored, Known: e.schema}
	e.replaced.Store(newer)
	return newer
}

// CheckFile looks through the pages of a SQLite file, and then whether its indexes have
// the rows of their tables, until the context ends. It returns the damage it finds, which
// Health then tells too. On PostgreSQL, which looks after its own files, it returns nil.
func (s *DB) CheckFile(ctx context.Context) error {
	for _, query := range s.engine.fileChecks {
		faults, err := s.engine.lines(ctx, query)
		if err == nil && len(faults) > 0 {
			err = fmt.Errorf("%w: %w", model.ErrDamaged, errors.New(strings.Join(faults, "; ")))
			s.engine.health.found(err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// lines returns what a check complains about: its rows but a lone "ok".
func (e *engine) lines(ctx context.Context, query string) (list []string, err error) {
	err = e.Ask(ctx, func(ctx context.Context) error {
		rows, err := e.read.QueryContext(ctx, query)
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var line string
			if err := rows.Scan(&line); err != nil {
				return err
			}
			if line != "ok" {
				list = append(list, line)
			}
		}
		return rows.Err()
	})
	return list, err
}
