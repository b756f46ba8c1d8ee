package sqldb

import (
	"cmp"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/redoubt/redoubt/internal/model"
)

// engine is a database with the SQL and settings in which SQLite and PostgreSQL differ.
type engine struct {
	name  string
	read  *sql.DB // snapshots
	index *sql.DB // snapshots for the index; see reservedConns
	write *sql.DB
	feeds chan struct{} // has one element per transaction that reads a whole feed

	snapshot *sql.TxOptions // options of a read-only transaction on one snapshot
	attempts int            // attempts to begin while another process has the lock

	oneWriter bool // one writer at a time for all deployments
	writers   writeQueue

	forUpdate  string        // ends a SELECT that locks its rows
	skipLocked string        // ends a SELECT that locks its rows and skips locked ones
	announce   string        // notifies the queues of other processes at commit; empty without notifications
	byBytes    string        // sorts text by its bytes, independent of the database's locale
	checks     []engineCheck // queries of a full check; PostgreSQL's are generated from its catalog
	// queries that return "ok" or faults of the file, fastest first
	fileChecks []string
	copyTo     string // copies the database to the new file $1; empty if unsupported
	shred      string // makes the transaction overwrite freed data; empty if unsupported
	// waits for other processes' transactions that ran the same statement; empty if unsupported
	exclusive string
	flush     string // runs after a shredding transaction and truncates the log that contains freed data
	nextIDs   string // reserves and returns $2 ids of the sequence $1

	// returns the placeholder of the n-th argument of a bulk insert
	mark func(n int) string
	// builds an insert with one array per column; nil if mark is used
	bulk func(into string, rows [][]any) (query string, args []any, ok bool)
	// the driver prepares and caches statements itself
	prepares bool
	// ?N may be used repeatedly for the N-th argument
	numbered bool
	list     func(column string, n int, values any) (string, any)
	classify func(error) error // returns model.ErrConflict, a model.OutageError, or nil
	schema   int64             // newest version known to this program
	stall    *stall            // detects an unresponsive database; nil for SQLite

	dialect database.Dialect
	locker  lock.SessionLocker // ensures that one process migrates at a time

	histories Histories
	partsMu   sync.Mutex
	parts     []any // see Shared
	health    health
	replaced  atomic.Pointer[NewerSchemaError] // nil unless a newer program has migrated the database
	closed    atomic.Bool
	listen    func(ctx context.Context, heard func()) error // nil without notifications
	queued    func()                                        // see DB.OnQueued; may be nil
}

// MaxArgs limits the arguments of one statement. SQLite allows 32,766 and PostgreSQL 65,535; longer
// statements are not faster.
const MaxArgs = 8000

func openEngine(ctx context.Context, c Config) (*engine, error) {
	if c.DatabaseURL != "" {
		return openPostgres(ctx, c.DatabaseURL, cmp.Or(c.Timeout, DefaultTimeout))
	}
	return openSQLite(ctx, c.Dir)
}

func (e *engine) close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return errors.Join(e.read.Close(), e.index.Close(), e.write.Close())
}

// reservedConns is the number of index connections reserved for short queries: the current version,
// changes since a version, and bodies.
//
// The index has a pool of its own because requests query it while they already use a connection;
// with a shared pool they could deadlock. Whole feeds are limited because each takes seconds for a
// large deployment and would delay others.
const reservedConns = 2

// setFeedReaders limits the transactions of the index that read whole feeds.
func (e *engine) setFeedReaders(conns int) { e.feeds = make(chan struct{}, conns-reservedConns) }

// view runs fn on one snapshot of the database.
func (e *engine) view(caller context.Context, fn func(context.Context, *Session) error) error {
	return e.viewBy(caller, e.read, fn)
}

// viewBy is view with the connections of a pool.
func (e *engine) viewBy(caller context.Context, by *sql.DB, fn func(context.Context, *Session) error) error {
	return e.judge(caller, e.viewUnjudged(caller, by, fn))
}

func (e *engine) viewUnjudged(caller context.Context, by *sql.DB, fn func(context.Context, *Session) error) error {
	if newer := e.replaced.Load(); newer != nil {
		return newer
	}
	ctx, done := e.stall.watch(caller)
	defer done()
	tx, err := e.Begin(ctx, by, e.snapshot)
	if err != nil {
		return e.explain(ctx, err)
	}
	defer tx.Rollback()
	return withCause(ctx, caller, fn(ctx, &Session{engine: e, tx: tx}))
}

// update runs fn in a writing transaction and rolls it back on any error. If nothing was written,
// nothing is committed.
func (e *engine) update(caller context.Context, fn func(context.Context, *Session) error) error {
	return e.judge(caller, e.updateUnjudged(caller, fn))
}

func (e *engine) updateUnjudged(caller context.Context, fn func(context.Context, *Session) error) (err error) {
	if e.oneWriter {
		end, err := e.writers.acquire(caller, 0)
		if err != nil {
			return e.explain(caller, err)
		}
		defer end()
	}
	ctx, done := e.stall.watch(caller)
	defer done()
	if _, damaged := e.health.state(); damaged != nil {
		return damaged
	}
	if newer := e.replaced.Load(); newer != nil {
		return newer
	}
	q := &Session{engine: e}
	defer func() {
		if err != nil || q.Wrote {
			e.health.Wrote(err)
		}
	}()
	if err := q.beginWrite(ctx); err != nil {
		return e.explain(ctx, err)
	}
	defer q.end()
	if err := fn(ctx, q); err != nil || !q.Wrote {
		return withCause(ctx, caller, err)
	}
	err = q.tx.Commit()
	if err == nil && q.announces && e.queued != nil {
		e.queued()
	}
	if err != nil || !q.shreds {
		return e.explain(ctx, err)
	}
	// The transaction is committed. If this fails because of an active reader, the log is only
	// truncated later.
	_, _ = e.write.ExecContext(ctx, e.flush)
	return nil
}

// WriteOne runs a single writing statement without a transaction and returns the number of affected
// rows.
func (e *engine) WriteOne(caller context.Context, query string, args ...any) (n int64, err error) {
	if e.oneWriter {
		end, err := e.writers.acquire(caller, 0)
		if err != nil {
			return 0, e.explain(caller, err)
		}
		defer end()
	}
	if err := matchArgs(query, len(args)); err != nil {
		return 0, err
	}
	return n, e.RunQuery(caller, func(ctx context.Context) error {
		result, err := e.write.ExecContext(ctx, query, Bind(args)...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
}

// RunQuery runs a query outside of any transaction.
func (e *engine) RunQuery(caller context.Context, query func(context.Context) error) error {
	if newer := e.replaced.Load(); newer != nil {
		return newer
	}
	return e.RunQueryUnchecked(caller, query)
}

func (e *engine) RunQueryUnchecked(caller context.Context, query func(context.Context) error) error {
	ctx, done := e.stall.watch(caller)
	defer done()
	return e.explain(ctx, query(ctx))
}

// Begin starts a transaction. While another process has the lock it retries, so that the end of the
// caller's context is noticed.
func (e *engine) Begin(ctx context.Context, db *sql.DB, options *sql.TxOptions) (tx *sql.Tx, err error) {
	for range e.attempts {
		tx, err = db.BeginTx(ctx, options)
		if err == nil || ctx.Err() != nil || !errors.Is(e.classify(err), model.ErrBusy) {
			return tx, err
		}
	}
	return nil, err
}

// explain maps an error to one of package model. The cause stays in the chain for the log.
func (e *engine) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	kind := e.classify(err)
	switch {
	case ctx.Err() != nil && !failedByItself(kind): // errors such as a full disk are reported even after cancellation
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case errors.Is(err, sql.ErrNoRows):
		return model.ErrNotFound
	case e.closed.Load():
		return fmt.Errorf("%w: the store is closed: %w", model.ErrUnavailable, err)
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		kind = model.ErrUnreachable
	}
	if kind == nil {
		return err
	}
	if errors.Is(kind, model.ErrDamaged) {
		e.health.found(err)
	}
	return fmt.Errorf("%w: %w", kind, err)
}

// failedByItself reports whether an error is a fault of the database. Such faults are reported even
// if the caller has canceled.
func failedByItself(kind error) bool {
	outage, _ := errors.AsType[model.OutageError](kind)
	switch outage {
	case model.ErrDiskFull, model.ErrDiskFailed, model.ErrReadOnly, model.ErrDamaged, model.ErrOutOfFiles,
		model.ErrOutOfMemory:
		return true
	case model.ErrBusy, model.ErrUnreachable, model.ErrCancelled, model.ErrReplaced:
	}
	return false
}
