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

// health is the state of the database as observed by regular work.
type health struct {
	mu      sync.Mutex
	writes  bool  // whether the last write succeeded; false before the first one
	damaged error // first damage found; never reset
}

// Wrote records the result of a write.
func (h *health) Wrote(err error) {
	if err != nil && !failedByItself(model.OutageOf(err)) {
		return // conflicts and cancellation do not concern the database
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.writes = err == nil
}

// found records damage.
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

// state returns whether the last write succeeded, and recorded damage.
func (h *health) state() (writes bool, damaged error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.writes, h.damaged
}

// writeProbe is the setting that Health writes after a failed write.
const writeProbe = "write probe"

// Health reports whether the database can be read and written; nil means that it can. Recorded
// damage and a schema migrated by a newer Redoubt fail both. After a failed write, or before the
// first one, Health writes a probe. A database that has not responded by the context's deadline is
// model.ErrUnreachable.
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

// CheckSchema checks whether a newer Redoubt has migrated the database since it was opened. If so,
// it and all later calls return a NewerSchemaError, because stored data may have a different
// meaning. They succeed again once the schema is back at a known version.
func (s *DB) CheckSchema(ctx context.Context) error { return s.engine.checkSchema(ctx) }

func (e *engine) checkSchema(ctx context.Context) error {
	var stored int64
	err := e.RunQueryUnchecked(ctx, func(ctx context.Context) error {
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

// CheckFile checks the pages of a SQLite file and the consistency of its indexes, until the context
// ends. It returns the damage it finds, which Health then reports too. On PostgreSQL it returns
// nil.
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

// lines returns the rows of a check except "ok".
func (e *engine) lines(ctx context.Context, query string) (list []string, err error) {
	err = e.RunQuery(ctx, func(ctx context.Context) error {
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
