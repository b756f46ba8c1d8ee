package store

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/binary"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Tx is a transaction of one deployment. Each of its statements gets the
// deployment's id as $1; the arguments given start at $2. It is not safe for
// concurrent use.
type Tx struct {
	session    *session
	deployment model.Deployment
	now        time.Time
	clock      func() time.Time // the store's; nil where the feed gets no row
	actor      model.Actor
	runID      int64 // see WorkFor
	changes    changes
	events     []model.AuditEvent
	before     time.Time // see LastCommit
	next       int64     // see nextVersion; 0 while nobody asked
	past       *int64    // see history; nil while nobody asked

	notified model.NotificationEvents // that some rule of the deployment asks for
	hooks    []Hook
	parts    []any // see Local
}

func newTx(q *session, d model.Deployment, now time.Time, by model.Actor) *Tx {
	return &Tx{session: q, deployment: d, now: now, actor: by}
}

// WorkFor says that what the transaction adds is of a managed run; 0: of none.
func (tx *Tx) WorkFor(run int64) { tx.runID = run }

// View runs fn on one state of a deployment. An unknown deployment is
// model.ErrNotFound.
func (s *Store) View(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.viewBy(ctx, s.engine.read, deploymentID, fn)
}

// viewForIndex is View by the connections of the index (see feedRoom).
func (s *Store) viewForIndex(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.viewBy(ctx, s.engine.index, deploymentID, fn)
}

func (s *Store) viewBy(ctx context.Context, by *sql.DB, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.engine.viewBy(ctx, by, func(ctx context.Context, q *session) error {
		d, err := readTenant(ctx, q, deploymentID, "")
		if err != nil {
			return err
		}
		tx := newTx(q, d.Deployment, later(s.now(), d.committedAt), model.Actor{})
		tx.before = d.committedAt
		return fn(ctx, tx)
	})
}

// Update runs fn in a transaction of a deployment, whole or, when fn fails,
// not at all. It locks the deployment first, so the writers of one tenant come
// one after the other, wherever they run, and the clock rises strictly from
// commit to commit even where the server's stands still or steps back
// (semantics §4). In one process short ones go before those of Long. If any answer changed, the deployment's version grows (model.NextVersion).
//
// An unknown deployment is model.ErrNotFound; a database that is busy, gone
// or closed is model.ErrUnavailable. fn must not call Update again.
func (s *Store) Update(ctx context.Context, deploymentID int64, by model.Actor, fn func(context.Context, *Tx) error) error {
	if !s.engine.oneWriter {
		waits, done := s.engine.stall.watch(ctx) // so that all who wait give a silent database up at once
		end, err := s.engine.turns.take(waits, deploymentID)
		if err != nil {
			err = s.engine.explain(waits, err)
		}
		if done(); err != nil {
			return err
		}
		defer end()
	}
	var tx *Tx
	err := s.engine.update(ctx, func(ctx context.Context, q *session) error {
		d, err := readTenant(ctx, q, deploymentID, q.engine.forUpdate)
		if err != nil {
			return err
		}
		tx = s.writer(q, d, by)
		tx.notified = d.notified
		if err := fn(ctx, tx); err != nil || !q.wrote {
			return err
		}
		return q.together(ctx, func() error { return tx.finish(ctx) })
	})
	if err == nil && len(tx.changes) > 0 && s.committed != nil {
		s.committed(deploymentID, tx.nextVersion())
	}
	return err
}

// begin starts a transaction of a deployment that may not be stored yet.
func (s *Store) begin(q *session, d model.Deployment, now time.Time, by model.Actor) *Tx {
	tx := newTx(q, d, now, by)
	tx.clock, tx.hooks = s.now, s.hooks
	return tx
}

// writer begins work on a deployment whose row was locked.
func (s *Store) writer(q *session, d tenant, by model.Actor) *Tx {
	return s.begin(q, d.Deployment, later(s.now(), d.committedAt.Add(time.Microsecond)), by)
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}

// Deployment returns the tenant as it stood when the transaction began.
func (tx *Tx) Deployment() model.Deployment { return tx.deployment }

// Version returns the deployment's version when the transaction began.
func (tx *Tx) Version() int64 { return tx.deployment.Version }

// LastCommit is the time of the deployment's newest commit that a View sees. No two
// commits have the same, so as long as it stays nothing of the deployment changed.
func (tx *Tx) LastCommit() time.Time { return tx.before }

// Now returns the transaction's time: the same throughout, in UTC and whole
// microseconds. That of an Update is later than that of any commit before.
func (tx *Tx) Now() time.Time { return tx.now }

// Actor returns who the transaction acts for; nobody in a View.
func (tx *Tx) Actor() model.Actor { return tx.actor }

// nextVersion is the version that this transaction's changes will have.
func (tx *Tx) nextVersion() int64 {
	if tx.next == 0 {
		tx.next = versionAfter(tx.deployment.Version)
	}
	return tx.next
}

// versionAfter is a version that follows another (model.NextVersion).
func versionAfter(version int64) int64 {
	var chance [4]byte
	_, _ = rand.Read(chance[:]) // never fails
	return model.NextVersion(version, binary.NativeEndian.Uint32(chance[:]))
}

func (tx *Tx) exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.session.exec(ctx, query, tx.withTenant(args)...)
}

func (tx *Tx) write(ctx context.Context, query string, args ...any) error {
	return tx.session.write(ctx, query, tx.withTenant(args)...)
}

func (tx *Tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.session.query(ctx, query, tx.withTenant(args)...)
}

// Together sends the writes of fn to PostgreSQL in as few round trips as its reads allow. A
// write within may fail later: with the next read, or at the end of fn.
func (tx *Tx) Together(ctx context.Context, fn func() error) error {
	return tx.session.together(ctx, fn)
}

func (tx *Tx) withTenant(args []any) []any { return append([]any{tx.deployment.ID}, args...) }

func (tx *Tx) explain(ctx context.Context, err error) error { return tx.session.explain(ctx, err) }

func (tx *Tx) in(column string, n int, values any) (condition string, arg any) {
	return tx.session.in(column, n, values)
}

func (tx *Tx) newIDs(ctx context.Context, s sequence, n int) ([]int64, error) {
	return tx.session.newIDs(ctx, s, n)
}

func (tx *Tx) newID(ctx context.Context, s sequence) (int64, error) { return tx.session.newID(ctx, s) }

// insert writes rows whose first column is the deployment's id, which is added
// to each: into is "project_tag (deployment_id, project_id, tag)", a row then
// holds a project id and a tag. The statement ends with conflict, as
// "ON CONFLICT DO NOTHING", or nothing.
func (tx *Tx) insert(ctx context.Context, into string, rows [][]any, conflict string) error {
	return tx.session.insert(ctx, tx.deployment.ID, into, rows, conflict)
}

// changeKind says what a row of the feed is about.
type changeKind int16

// Kinds of change. The numbers are stored: never give one another meaning.
const (
	changeProject changeKind = iota + 1
	changeRule
	changePolicy
	changePolicyRule
	changeLineage
	changeFinding
	changeDictionary // a package or a version of one got its id; of row 0
)

type changeKey struct {
	kind changeKind
	id   int64
}

// change tells the readers of the feed that rows now hold something else. The
// last word about a row counts.
func (tx *Tx) change(kind changeKind, ids ...int64) {
	for _, id := range ids {
		tx.changes.add(changeKey{kind, id}, false)
	}
}

// changeDeleted tells the readers of the feed that rows are gone.
func (tx *Tx) changeDeleted(kind changeKind, ids ...int64) {
	for _, id := range ids {
		tx.changes.add(changeKey{kind, id}, true)
	}
}

// finish writes what gathered during the transaction, and the clock.
func (tx *Tx) finish(ctx context.Context) error {
	for _, h := range tx.hooks {
		if err := h.Run(ctx, tx); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	if err := tx.writeEvents(ctx); err != nil {
		return fmt.Errorf("write the audit trail: %w", err)
	}
	version, at := tx.deployment.Version, tx.commitTime()
	if len(tx.changes) > 0 {
		version = tx.nextVersion()
		if err := tx.writeChanges(ctx, version, at); err != nil {
			return fmt.Errorf("write the change feed: %w", err)
		}
	}
	return tx.write(ctx, `UPDATE deployment SET version = $2, committed_at = $3 WHERE id = $1`, version, at)
}

// batch is how many rows of an upload are put into the words of the database at a
// time: a value there takes as much as all of a short finding.
const batch = 1000

func inBatches[T any](list []T, write func([]T) error) error {
	for part := range slices.Chunk(list, batch) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges adds the rows of the feed.
func (tx *Tx) writeChanges(ctx context.Context, version int64, at time.Time) error {
	return inBatches(tx.changes.runs(), func(runs []changeRun) error {
		rows := make([][]any, len(runs))
		for i, run := range runs {
			rows[i] = []any{version, run.kind, run.id, run.more, run.deleted, at}
		}
		return tx.insert(ctx, "change (deployment_id, version, kind, id, more, deleted, at)", rows, "")
	})
}

// reassign gives all rows of a table that are one project's to another.
func (tx *Tx) reassign(ctx context.Context, table string, from, into int64) error {
	return tx.write(ctx, `UPDATE `+table+` SET project_id = $3 WHERE deployment_id = $1 AND project_id = $2`, from, into)
}
