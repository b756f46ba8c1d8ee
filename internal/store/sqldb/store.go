// Package sqldb opens the database, SQLite or PostgreSQL, and runs statements in transactions. It also
// has what every subject needs: the audit trail, the feed of changes, ids, settings and migrations.
//
// engine.go alone knows which database it is. All work on a deployment runs within View or Update,
// whose Tx puts the id of the deployment into each statement as $1.
package sqldb

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"time"
)

// FileName is the SQLite file in the data folder.
const FileName = "redoubt.db"

// DefaultTimeout is how long a PostgreSQL may stay silent.
const DefaultTimeout = 10 * time.Second

// Config says where the database is and what time it is.
type Config struct {
	// Dir is the data folder. The SQLite file in it is redoubt.db. Not used
	// with a DatabaseURL.
	Dir string
	// DatabaseURL selects PostgreSQL, as postgres://user@host/name.
	DatabaseURL string
	// Timeout is how long PostgreSQL may give no answer at all until it is given
	// up, at the start too; DefaultTimeout where it is 0. A statement that takes
	// longer while the server answers others is not given up.
	Timeout time.Duration
	// Clock tells the time; it may stand still or step back.
	Clock func() time.Time
	// Logger hears of migrations. It may be nil.
	Logger *slog.Logger
}

// DB is an open database. It is safe for concurrent use, and several
// processes may have the same database open.
type DB struct {
	engine  *engine
	clock   func() time.Time
	version *sql.Stmt // see Version
	hooks   []Hook

	wide      sync.Mutex                        // held by the feed that several transactions read
	committed func(deploymentID, version int64) // see OnCommit
}

// Open opens the database, makes it where there is none, and brings its schema
// up to date. Several processes may do so at once. The hooks run at the end of each Update.
func Open(ctx context.Context, c Config, hooks ...Hook) (*DB, error) {
	if c.Clock == nil {
		return nil, errors.New("open the store: no clock was given")
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("open the store: a database cannot be waited for %s", c.Timeout)
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	e, err := openEngine(ctx, c)
	if err != nil {
		return nil, fmt.Errorf("open the store: %w", err)
	}
	if c.DatabaseURL == "" {
		warnIfShared(ctx, c.Logger, filepath.Join(c.Dir, FileName))
	}
	if err := e.Ask(ctx, func(ctx context.Context) error { return e.migrate(ctx, c.Logger) }); err != nil {
		return nil, errors.Join(fmt.Errorf("bring the database up to date: %w", err), e.close())
	}
	s := &DB{engine: e, clock: c.Clock, hooks: hooks}
	if err := s.prepareVersion(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", err), e.close())
	}
	return s, nil
}

// versionQuery runs before every answer.
const versionQuery = `SELECT version FROM deployment WHERE id = $1`

// prepareVersion prepares versionQuery for SQLite, where parsing takes as long as running.
// The driver of PostgreSQL prepares statements by itself, unless the database's URL says
// otherwise: a pooler may not know one that is prepared here.
func (s *DB) prepareVersion(ctx context.Context) error {
	if s.engine.prepares {
		return nil
	}
	return s.engine.Ask(ctx, func(ctx context.Context) (err error) {
		s.version, err = s.engine.index.PrepareContext(ctx, versionQuery)
		return err
	})
}

// QueryVersion reads a deployment's version.
func (s *DB) QueryVersion(ctx context.Context, deploymentID int64) *sql.Row {
	if s.version == nil {
		return s.engine.index.QueryRowContext(ctx, versionQuery, deploymentID)
	}
	return s.version.QueryRowContext(ctx, deploymentID)
}

// warnIfShared logs that others on this machine can read a database, as one that was
// restored by a copy. Windows has no such bits and always shows them set.
func warnIfShared(ctx context.Context, log *slog.Logger, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		log.WarnContext(ctx, "every user of this machine can read the database: chmod 600 it", "file", path)
	}
}

// OnCommit has a function told of each version that this store commits, once it is
// committed and before Update returns: it must not block. It is set before the store is
// used by several.
func (s *DB) OnCommit(told func(deploymentID, version int64)) { s.committed = told }

// OnQueued sets the function called after a commit with a job without delay, and by Listen for
// such commits of other processes. It must not block. Set it before concurrent use of the store.
func (s *DB) OnQueued(wake func()) { s.engine.queued = wake }

// Close lets go of the database. What is still under way fails with
// model.ErrUnavailable; what was committed is on disk.
func (s *DB) Close() error {
	if s.version == nil {
		return s.engine.close()
	}
	return errors.Join(s.version.Close(), s.engine.close())
}

// Ping reports whether the database answers.
func (s *DB) Ping(ctx context.Context) error {
	return s.engine.Ask(ctx, s.engine.read.PingContext)
}

// Engine returns sqlite or postgres.
func (s *DB) Engine() string { return s.engine.name }

// Now returns the clock's time as precisely as the database keeps it.
func (s *DB) Now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }
