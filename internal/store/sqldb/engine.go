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

// engine is a database and the few words in which the two differ.
type engine struct {
	name  string
	read  *sql.DB // snapshots
	index *sql.DB // snapshots for the index; see feedRoom
	write *sql.DB
	whole chan struct{} // holds one for each transaction that reads a whole feed

	snapshot *sql.TxOptions // of a transaction that reads one state throughout
	attempts int            // to begin while another process holds the lock

	oneWriter bool // at a time, whatever the deployment
	turns     turns

	forUpdate  string        // ends a SELECT that locks its rows
	skipLocked string        // ends a SELECT that takes rows nobody works on
	announce   string        // notifies the queues of other processes at commit; empty without notifications
	byBytes    string        // orders text by its bytes, whatever the database's locale
	checks     []engineCheck // how the database looks through itself, where no catalogue tells
	// each returns "ok", or what is wrong with the file, the quickest first; none where nothing does
	fileChecks []string
	copyTo     string // writes all of it to the new file $1; empty where other tools do
	shred      string // has the transaction overwrite what it frees; empty where nothing does
	// has a transaction wait for those of other processes that did the same; empty where there are none
	exclusive string
	flush     string // ends a shredding transaction: overwrites the log of what was freed
	nextIDs   string // reserves $2 ids of the sequence $1, which it returns

	// stands for the n-th argument of a bulk insert
	mark func(n int) string
	// writes one of a list a column; nil where mark does
	bulk func(into string, rows [][]any) (query string, args []any, ok bool)
	// the driver prepares statements by itself, and keeps them by their text
	prepares bool
	// ?N stands for the N-th argument wherever it is
	numbered bool
	list     func(column string, n int, values any) (string, any)
	classify func(error) error // model.ErrConflict, a model.OutageError, or nil
	schema   int64             // newest version that this program knows
	stall    *stall            // gives up on a database that does not answer; nil where that cannot be

	dialect database.Dialect
	locker  lock.SessionLocker // lets one process migrate at a time

	histories Histories
	partsMu   sync.Mutex
	parts     []any // see Shared
	health    health
	replaced  atomic.Pointer[NewerSchemaError] // nil until a newer program has migrated the database
	closed    atomic.Bool
	listen    func(ctx context.Context, heard func()) error // nil without notifications
	queued    func()                                        // see Store.OnQueued; may be nil
}

// MaxArgs bounds the arguments of one statement. SQLite takes 32,766 and
// PostgreSQL 65,535; parsing longer texts gains nothing.
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

// feedRoom is how many connections of the index whole feeds leave to what is short: which
// version there is, what changed since another, and bodies.
//
// The index has connections of its own because requests ask it while they have one, which is
// why it must not wait for theirs; and few whole feeds are read at a time because each takes
// seconds of a large deployment, for which readers of the others must not wait.
const feedRoom = 2

// setFeedReaders bounds how many transactions of the index read whole feeds.
func (e *engine) setFeedReaders(conns int) { e.whole = make(chan struct{}, conns-feedRoom) }

// view runs fn on one state of the database.
func (e *engine) view(caller context.Context, fn func(context.Context, *Session) error) error {
	return e.viewBy(caller, e.read, fn)
}

// viewBy is view by connections of a pool.
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
	return gaveUp(ctx, caller, fn(ctx, &Session{engine: e, tx: tx}))
}

// update runs fn in a transaction that writes: whole or, on any error, not at
// all. Nothing is committed where nothing was written.
func (e *engine) update(caller context.Context, fn func(context.Context, *Session) error) error {
	return e.judge(caller, e.updateUnjudged(caller, fn))
}

func (e *engine) updateUnjudged(caller context.Context, fn func(context.Context, *Session) error) (err error) {
	if e.oneWriter {
		end, err := e.turns.take(caller, 0)
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
		return gaveUp(ctx, caller, err)
	}
	err = q.tx.Commit()
	if err == nil && q.announces && e.queued != nil {
		e.queued()
	}
	if err != nil || !q.shreds {
		return e.explain(ctx, err)
	}
	// Done is done: a reader that is at work only keeps the log a while longer.
	_, _ = e.write.ExecContext(ctx, e.flush)
	return nil
}

// WriteOne runs a single writing statement without a transaction and returns the affected rows.
func (e *engine) WriteOne(caller context.Context, query string, args ...any) (n int64, err error) {
	if e.oneWriter {
		end, err := e.turns.take(caller, 0)
		if err != nil {
			return 0, e.explain(caller, err)
		}
		defer end()
	}
	if err := matchArgs(query, len(args)); err != nil {
		return 0, err
	}
	return n, e.Ask(caller, func(ctx context.Context) error {
		result, err := e.write.ExecContext(ctx, query, Bind(args)...)
		if err == nil {
			n, err = result.RowsAffected()
		}
		return err
	})
}

// Ask runs a query outside of any transaction.
func (e *engine) Ask(caller context.Context, query func(context.Context) error) error {
	if newer := e.replaced.Load(); newer != nil {
		return newer
	}
	return e.AskAnyway(caller, query)
}

func (e *engine) AskAnyway(caller context.Context, query func(context.Context) error) error {
	ctx, done := e.stall.watch(caller)
	defer done()
	return e.explain(ctx, query(ctx))
}

// Begin starts a transaction. Where the lock is another process's, it asks
// again, so that a caller who gives up meanwhile is not kept waiting by the
// database.
func (e *engine) Begin(ctx context.Context, db *sql.DB, options *sql.TxOptions) (tx *sql.Tx, err error) {
	for range e.attempts {
		tx, err = db.BeginTx(ctx, options)
		if err == nil || ctx.Err() != nil || !errors.Is(e.classify(err), model.ErrBusy) {
			return tx, err
		}
	}
	return nil, err
}

// explain tells the callers' errors from the rest. The cause stays in the
// chain for the log.
func (e *engine) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	kind := e.classify(err)
	switch {
	case ctx.Err() != nil && !failedByItself(kind): // a full disk is one, whoever still waits
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

// failedByItself reports whether the database failed whatever the caller did,
// so that it is said even to one who hung up.
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
