// Package sqldb opens the database, SQLite or PostgreSQL, and runs statements in transactions. It
// also implements the parts that all subjects use: audit trail, change feed, ids, settings and
// migrations. Only the engine files depend on the database in use; View and Update pass the
// deployment's id to each statement as $1.
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

// FileName is the name of the SQLite file in the data folder.
const FileName = "redoubt.db"

// DefaultTimeout is the default of Config.Timeout.
const DefaultTimeout = 10 * time.Second

// Config configures the connection to the database and the clock.
type Config struct {
	// Dir is the data folder, which contains the SQLite file. It is unused with a DatabaseURL.
	Dir string
	// DatabaseURL selects PostgreSQL, as postgres://user@host/name.
	DatabaseURL string
	// Timeout limits how long PostgreSQL may be unresponsive, also during Open. 0 means
	// DefaultTimeout. A slow statement does not fail while the server responds on other
	// connections.
	Timeout time.Duration
	// Clock returns the current time. It may stand still or step back.
	Clock func() time.Time
	// Logger receives records about migrations. It may be nil.
	Logger *slog.Logger
}

// DB is an open database. It is safe for concurrent use, and several
// processes may have the same database open.
type DB struct {
	engine  *engine
	clock   func() time.Time
	version *sql.Stmt // see QueryVersion
	hooks   []Hook

	wide      sync.Mutex                        // locked by the feed that is read by several transactions
	committed func(deploymentID, version int64) // see OnCommit
}

// Open opens or creates the database and migrates its schema. Several processes may call it at
// once. The hooks run at the end of each Update.
func Open(ctx context.Context, c Config, hooks ...Hook) (*DB, error) {
	if c.Clock == nil {
		return nil, errors.New("open the store: the clock is missing")
	}
	if c.Timeout < 0 {
		return nil, fmt.Errorf("open the store: invalid database timeout %s", c.Timeout)
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
	if err := e.RunQuery(ctx, func(ctx context.Context) error { return e.migrate(ctx, c.Logger) }); err != nil {
		return nil, errors.Join(fmt.Errorf("migrate the database: %w", err), e.close())
	}
	s := &DB{engine: e, clock: c.Clock, hooks: hooks}
	if err := s.prepareVersion(ctx); err != nil {
		return nil, errors.Join(fmt.Errorf("open the store: %w", err), e.close())
	}
	return s, nil
}

// versionQuery runs before every response, so it is prepared where that saves time.
const versionQuery = `SELECT version FROM deployment WHERE id = $1`

// prepareVersion prepares versionQuery for SQLite, where parsing takes as long as execution. The
// PostgreSQL driver prepares statements itself unless the URL disables it. An explicit statement
// would fail behind some connection poolers.
func (s *DB) prepareVersion(ctx context.Context) error {
	if s.engine.prepares {
		return nil
	}
	return s.engine.RunQuery(ctx, func(ctx context.Context) (err error) {
		s.version, err = s.engine.index.PrepareContext(ctx, versionQuery)
		return err
	})
}

// QueryVersion returns the row with a deployment's version.
func (s *DB) QueryVersion(ctx context.Context, deploymentID int64) *sql.Row {
	if s.version == nil {
		return s.engine.index.QueryRowContext(ctx, versionQuery, deploymentID)
	}
	return s.version.QueryRowContext(ctx, deploymentID)
}

// warnIfShared logs a warning if all users of the machine can read the database file. A restored
// copy may have such a mode. On Windows the permission bits are always set and carry no meaning.
func warnIfShared(ctx context.Context, log *slog.Logger, path string) {
	if info, err := os.Stat(path); err == nil && info.Mode().Perm()&0o007 != 0 && runtime.GOOS != "windows" {
		log.WarnContext(ctx, "every user of this machine can read the database: chmod 600 it", "file", path)
	}
}

// OnCommit sets the function called with each version that this store commits, before Update
// returns. It must not block. Set it before concurrent use of the store.
func (s *DB) OnCommit(notify func(deploymentID, version int64)) { s.committed = notify }

// OnQueued sets the function called after each commit with a job without delay. Listen calls it for
// such commits of other processes. It must not block. Set it before concurrent use of the store.
func (s *DB) OnQueued(wake func()) { s.engine.queued = wake }

// Close closes the database. Running statements fail with model.ErrUnavailable; committed
// transactions are on disk.
func (s *DB) Close() error {
	if s.version == nil {
		return s.engine.close()
	}
	return errors.Join(s.version.Close(), s.engine.close())
}

// Ping checks that the database responds.
func (s *DB) Ping(ctx context.Context) error {
	return s.engine.RunQuery(ctx, s.engine.read.PingContext)
}

// Engine returns "sqlite" or "postgres".
func (s *DB) Engine() string { return s.engine.name }

// Now returns the clock's time in UTC, truncated to the database's precision of microseconds.
func (s *DB) Now() time.Time { return s.clock().UTC().Truncate(time.Microsecond) }
