package sqldb

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
	Session    *Session
	deployment model.Deployment
	now        time.Time
	clock      func() time.Time // the store's; nil where the feed gets no row
	actor      model.Actor
	runID      int64 // see WorkFor
	Changes    changes
	events     []model.AuditEvent
	before     time.Time // see LastCommit
	next       int64     // see nextVersion; 0 while nobody asked
	past       *int64    // see history; nil while nobody asked

	notified model.NotificationEvents // that some rule of the deployment asks for
	hooks    []Hook
	parts    []any // see Local
}

// NewTx begins work on a deployment within a transaction. Without the clock of the store it adds nothing
// to the feed.
func NewTx(q *Session, d model.Deployment, now time.Time, by model.Actor) *Tx {
	return &Tx{Session: q, deployment: d, now: now, actor: by}
}

// WorkFor says that what the transaction adds is of a managed run; 0: of none.
func (tx *Tx) WorkFor(run int64) { tx.runID = run }

// View runs fn on one state of a deployment. An unknown deployment is
// model.ErrNotFound.
func (s *DB) View(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.viewBy(ctx, s.engine.read, deploymentID, fn)
}

// ViewForIndex is View by the connections of the index (see feedRoom).
func (s *DB) ViewForIndex(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.viewBy(ctx, s.engine.index, deploymentID, fn)
}

func (s *DB) viewBy(ctx context.Context, by *sql.DB, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.engine.viewBy(ctx, by, func(ctx context.Context, q *Session) error {
		d, err := ReadTenant(ctx, q, deploymentID, "")
		if err != nil {
			return err
		}
		tx := NewTx(q, d.Deployment, Later(s.Now(), d.committedAt), model.Actor{})
		tx.before = d.committedAt
		return fn(ctx, tx)
	})
}

// Update runs fn in a transaction of a deployment, whole or, when fn fails, not at all. It locks the deployment
// first, so the writers of one tenant come one after the other, wherever they run, and the clock rises strictly
// from commit to commit even where the server's stands still or steps back (docs/reference/findings.md). In one
// process short
// ones go before those of Long. If any answer changed, the deployment's version grows (model.NextVersion).
//
// An unknown deployment is model.ErrNotFound; a database that is busy, gone
// or closed is model.ErrUnavailable. fn must not call Update again.
func (s *DB) Update(
	ctx context.Context, deploymentID int64, by model.Actor, fn func(context.Context, *Tx) error,
) error {
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
	err := s.engine.update(ctx, func(ctx context.Context, q *Session) error {
		d, err := ReadTenant(ctx, q, deploymentID, q.engine.forUpdate)
		if err != nil {
			return err
		}
		tx = s.Writer(q, d, by)
		tx.notified = d.notified
		if err := fn(ctx, tx); err != nil || !q.Wrote {
			return err
		}
		return q.Together(ctx, func() error { return tx.Finish(ctx) })
	})
	if err == nil && len(tx.Changes) > 0 && s.committed != nil {
		s.committed(deploymentID, tx.NextVersion())
	}
	return err
}

// Begin starts a transaction of a deployment that may not be stored yet.
func (s *DB) Begin(q *Session, d model.Deployment, now time.Time, by model.Actor) *Tx {
	tx := NewTx(q, d, now, by)
	tx.clock, tx.hooks = s.Now, s.hooks
	return tx
}

// Writer begins work on a deployment whose row was locked.
func (s *DB) Writer(q *Session, d Tenant, by model.Actor) *Tx {
	return s.Begin(q, d.Deployment, Later(s.Now(), d.committedAt.Add(time.Microsecond)), by)
}

// Later returns the later of two times.
func Later(a, b time.Time) time.Time {
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

// NextVersion is the version that this transaction's changes will have.
func (tx *Tx) NextVersion() int64 {
	if tx.next == 0 {
		tx.next = VersionAfter(tx.deployment.Version)
	}
	return tx.next
}

// VersionAfter is a version that follows another (model.NextVersion).
func VersionAfter(version int64) int64 {
	var chance [4]byte
	_, _ = rand.Read(chance[:]) // never fails
	return model.NextVersion(version, binary.NativeEndian.Uint32(chance[:]))
}

// Exec writes, and returns the number of rows. The id of the deployment is $1.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.Session.Exec(ctx, query, tx.withTenant(args)...)
}

// Write writes. The id of the deployment is $1. Within Together it may fail later.
func (tx *Tx) Write(ctx context.Context, query string, args ...any) error {
	return tx.Session.Write(ctx, query, tx.withTenant(args)...)
}

func (tx *Tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.Session.query(ctx, query, tx.withTenant(args)...)
}

// Together sends the writes of fn to PostgreSQL in as few round trips as its reads allow. A
// write within may fail later: with the next read, or at the end of fn.
func (tx *Tx) Together(ctx context.Context, fn func() error) error {
	return tx.Session.Together(ctx, fn)
}

func (tx *Tx) withTenant(args []any) []any { return append([]any{tx.deployment.ID}, args...) }

func (tx *Tx) explain(ctx context.Context, err error) error { return tx.Session.explain(ctx, err) }

// In returns the condition that a column is one of a list, and the list as the argument $n. See
// Session.In.
func (tx *Tx) In(column string, n int, values any) (condition string, arg any) {
	return tx.Session.In(column, n, values)
}

// NewIDs reserves n rising ids of a sequence.
func (tx *Tx) NewIDs(ctx context.Context, s Sequence, n int) ([]int64, error) {
	return tx.Session.NewIDs(ctx, s, n)
}

// NewID reserves one id of a sequence.
func (tx *Tx) NewID(ctx context.Context, s Sequence) (int64, error) { return tx.Session.NewID(ctx, s) }

// Insert writes rows whose first column is the deployment's id, which is added
// to each: into is "project_tag (deployment_id, project_id, tag)", a row then
// holds a project id and a tag. The statement ends with conflict, as
// "ON CONFLICT DO NOTHING", or nothing.
func (tx *Tx) Insert(ctx context.Context, into string, rows [][]any, conflict string) error {
	return tx.Session.Insert(ctx, tx.deployment.ID, into, rows, conflict)
}

// ChangeKind says what a row of the feed is about.
type ChangeKind int16

// Kinds of change. The numbers are stored: never give one another meaning.
const (
	ChangeProject ChangeKind = iota + 1
	ChangeRule
	ChangePolicy
	ChangePolicyRule
	ChangeLineage
	ChangeFinding
	ChangeDictionary // a package or a version of one got its id; of row 0
)

type changeKey struct {
	Kind ChangeKind
	ID   int64
}

// Change tells the readers of the feed that rows now hold something else. The
// last word about a row counts.
func (tx *Tx) Change(kind ChangeKind, ids ...int64) {
	for _, id := range ids {
		tx.Changes.Add(changeKey{kind, id}, false)
	}
}

// ChangeDeleted tells the readers of the feed that rows are gone.
func (tx *Tx) ChangeDeleted(kind ChangeKind, ids ...int64) {
	for _, id := range ids {
		tx.Changes.Add(changeKey{kind, id}, true)
	}
}

// Finish writes what gathered during the transaction, and the clock.
func (tx *Tx) Finish(ctx context.Context) error {
	for _, h := range tx.hooks {
		if err := h.Run(ctx, tx); err != nil {
			return fmt.Errorf("%s: %w", h.Name, err)
		}
	}
	if err := tx.WriteEvents(ctx); err != nil {
		return fmt.Errorf("write the audit trail: %w", err)
	}
	version, at := tx.deployment.Version, tx.commitTime()
	if len(tx.Changes) > 0 {
		version = tx.NextVersion()
		if err := tx.writeChanges(ctx, version, at); err != nil {
			return fmt.Errorf("write the change feed: %w", err)
		}
	}
	return tx.Write(ctx, `UPDATE deployment SET version = $2, committed_at = $3 WHERE id = $1`, version, at)
}

// Batch is how many rows of an upload are put into the words of the database at a
// time: a value there takes as much as all of a short finding.
const Batch = 1000

// InBatches calls write with at most 1,000 elements of a list at a time.
func InBatches[T any](list []T, write func([]T) error) error {
	for part := range slices.Chunk(list, Batch) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges adds the rows of the feed.
func (tx *Tx) writeChanges(ctx context.Context, version int64, at time.Time) error {
	return InBatches(tx.Changes.runs(), func(runs []ChangeRun) error {
		rows := make([][]any, len(runs))
		for i, run := range runs {
			rows[i] = []any{version, run.Kind, run.ID, run.More, run.Deleted, at}
		}
		return tx.Insert(ctx, "change (deployment_id, version, kind, id, more, deleted, at)", rows, "")
	})
}

// Reassign gives all rows of a table that are one project's to another.
func (tx *Tx) Reassign(ctx context.Context, table string, from, into int64) error {
	return tx.Write(ctx, `UPDATE `+table+` SET project_id = $3 WHERE deployment_id = $1 AND project_id = $2`, from, into)
}
