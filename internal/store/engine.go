package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/pressly/goose/v3/database"
	"github.com/pressly/goose/v3/lock"

	"github.com/redoubt/redoubt"
)

// engine is a database and the few words in which the two differ.
type engine struct {
	name  string
	read  *sql.DB // snapshots
	write *sql.DB

	snapshot *sql.TxOptions // of a transaction that reads one state throughout
	attempts int            // to begin while another process holds the lock

	forUpdate  string // ends a SELECT that locks its rows
	skipLocked string // ends a SELECT that takes rows nobody works on
	byBytes    string // orders text by its bytes, whatever the database's locale
	copyTo     string // writes all of it to the new file $1; empty where other tools do
	shred      string // has the transaction overwrite what it frees; empty where nothing does
	flush      string // ends a shredding transaction: overwrites the log of what was freed
	nextIDs    string // reserves $2 ids of the sequence $1, which it returns

	mark     func(n int) string // stands for the n-th argument of a bulk insert
	list     func(column string, n int, values any) (string, any)
	classify func(error) error // one of redoubt's errors, or nil
	broken   func(error) bool  // the database failed by itself: a full or broken disk, a file that is none

	dialect database.Dialect
	locker  lock.SessionLocker // lets one process migrate at a time

	names  packageVersionCache
	closed atomic.Bool
}

// maxArgs bounds the arguments of one statement. SQLite takes 32,766 and
// PostgreSQL 65,535; parsing longer texts gains nothing.
const maxArgs = 8000

func openEngine(ctx context.Context, c Config) (*engine, error) {
	if c.DatabaseURL != "" {
		return openPostgres(ctx, c.DatabaseURL)
	}
	return openSQLite(ctx, c.Dir)
}

func (e *engine) close() error {
	if e.closed.Swap(true) {
		return nil
	}
	return errors.Join(e.read.Close(), e.write.Close())
}

// view runs fn on one state of the database.
func (e *engine) view(ctx context.Context, fn func(context.Context, *session) error) error {
	tx, err := e.begin(ctx, e.read, e.snapshot)
	if err != nil {
		return e.explain(ctx, err)
	}
	defer tx.Rollback()
	return fn(ctx, &session{engine: e, tx: tx})
}

// update runs fn in a transaction that writes: whole or, on any error, not at
// all. Nothing is committed where nothing was written.
func (e *engine) update(ctx context.Context, fn func(context.Context, *session) error) error {
	tx, err := e.begin(ctx, e.write, nil)
	if err != nil {
		return e.explain(ctx, err)
	}
	defer tx.Rollback()
	q := &session{engine: e, tx: tx}
	if err := fn(ctx, q); err != nil || !q.wrote {
		return err
	}
	if err := tx.Commit(); err != nil || !q.shreds {
		return e.explain(ctx, err)
	}
	// Done is done: a reader that is at work only keeps the log a while longer.
	_, _ = e.write.ExecContext(ctx, e.flush)
	return nil
}

// begin starts a transaction. Where the lock is another process's, it asks
// again, so that a caller who gives up meanwhile is not kept waiting by the
// database.
func (e *engine) begin(ctx context.Context, db *sql.DB, options *sql.TxOptions) (tx *sql.Tx, err error) {
	for range e.attempts {
		tx, err = db.BeginTx(ctx, options)
		if err == nil || ctx.Err() != nil || !errors.Is(e.classify(err), redoubt.ErrUnavailable) {
			return tx, err
		}
	}
	return nil, err
}

// explain tells the callers' errors from the rest. The cause stays in the
// chain for the log.
func (e *engine) explain(ctx context.Context, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil && !e.broken(err): // a full disk is one, whoever still waits
		return fmt.Errorf("%w: %w", context.Cause(ctx), err)
	case errors.Is(err, sql.ErrNoRows):
		return redoubt.ErrNotFound
	case e.closed.Load():
		return fmt.Errorf("%w: the store is closed: %w", redoubt.ErrUnavailable, err)
	case errors.Is(err, driver.ErrBadConn), errors.Is(err, sql.ErrConnDone):
		return fmt.Errorf("%w: the connection to the database broke: %w", redoubt.ErrUnavailable, err)
	}
	if kind := e.classify(err); kind != nil {
		return fmt.Errorf("%w: %w", kind, err)
	}
	return err
}
