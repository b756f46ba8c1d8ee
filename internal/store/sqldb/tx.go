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

// Tx is a transaction of one deployment. Each of its statements gets the deployment's id as $1; the
// given arguments start at $2. It is not safe for concurrent use.
type Tx struct {
	Session    *Session
	deployment model.Deployment
	now        time.Time
	clock      func() time.Time // the store's; nil if the feed gets no row
	actor      model.Actor
	runID      int64 // see WorkFor
	Changes    changes
	events     []model.AuditEvent
	before     time.Time // see LastCommit
	next       int64     // see NextVersion; 0 until first use
	past       *int64    // see HistoryID; nil until first use

	notified model.NotificationEvents // events that the deployment's notification rules use
	hooks    []Hook
	parts    []any // see Local
}

// NewTx returns the Tx of a deployment within a transaction, for work that adds nothing to the
// feed.
func NewTx(q *Session, d model.Deployment, now time.Time, by model.Actor) *Tx {
	return &Tx{Session: q, deployment: d, now: now, actor: by}
}

// WorkFor sets the managed run whose results the transaction stores; 0 for none.
func (tx *Tx) WorkFor(run int64) { tx.runID = run }

// View runs fn on one snapshot of a deployment. An unknown deployment is model.ErrNotFound.
func (s *DB) View(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.viewBy(ctx, s.engine.read, deploymentID, fn)
}

// ViewForIndex is View with the connections of the index (see reservedConns).
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

// Update runs fn in a transaction of a deployment; if fn fails, the transaction is rolled back. It
// locks the deployment first, so writers of one tenant run one after the other, in all processes.
// The time of commits is strictly increasing, even if the clock stands still or steps back
// (docs/reference/findings.md). Within a process, short writes precede those marked by Long. If the
// change feed gets rows, the deployment's version grows (model.NextVersion).
//
// An unknown deployment is model.ErrNotFound. A busy, unreachable or closed database is
// model.ErrUnavailable. fn must not call Update.
func (s *DB) Update(
	ctx context.Context, deploymentID int64, by model.Actor, fn func(context.Context, *Tx) error,
) error {
	if !s.engine.oneWriter {
		waits, done := s.engine.stall.watch(ctx) // all waiting writers fail at once when the database is unresponsive
		end, err := s.engine.writers.acquire(waits, deploymentID)
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

// Writer returns the Tx of a deployment whose row is locked.
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

// Deployment returns the tenant's row as of the start of the transaction.
func (tx *Tx) Deployment() model.Deployment { return tx.deployment }

// Version returns the deployment's version as of the start of the transaction.
func (tx *Tx) Version() int64 { return tx.deployment.Version }

// LastCommit returns the time of the deployment's newest commit that a View reads. Commit times are
// unique, so an equal time means that the deployment is unchanged.
func (tx *Tx) LastCommit() time.Time { return tx.before }

// Now returns the time of the transaction, in UTC and whole microseconds. It is constant within the
// transaction. The time of an Update is later than that of any earlier commit.
func (tx *Tx) Now() time.Time { return tx.now }

// Actor returns the actor that the transaction runs for. It is zero in a View.
func (tx *Tx) Actor() model.Actor { return tx.actor }

// NextVersion returns the version that the transaction commits if it changes the feed.
func (tx *Tx) NextVersion() int64 {
	if tx.next == 0 {
		tx.next = VersionAfter(tx.deployment.Version)
	}
	return tx.next
}

// VersionAfter returns a random successor of a version (model.NextVersion).
func VersionAfter(version int64) int64 {
	var chance [4]byte
	_, _ = rand.Read(chance[:]) // never fails
	return model.NextVersion(version, binary.NativeEndian.Uint32(chance[:]))
}

// Exec runs a statement that writes and returns the number of affected rows. $1 is the id of the
// deployment.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.Session.Exec(ctx, query, tx.withTenant(args)...)
}

// Write runs a statement that writes. $1 is the id of the deployment. Within Together an error may
// be returned later.
func (tx *Tx) Write(ctx context.Context, query string, args ...any) error {
	return tx.Session.Write(ctx, query, tx.withTenant(args)...)
}

func (tx *Tx) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	return tx.Session.query(ctx, query, tx.withTenant(args)...)
}

// Together sends the writes of fn to PostgreSQL in as few round trips as its reads allow. A failed
// write may be reported by the next read or at the end of fn.
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

// NewIDs reserves n ascending ids of a sequence.
func (tx *Tx) NewIDs(ctx context.Context, s Sequence, n int) ([]int64, error) {
	return tx.Session.NewIDs(ctx, s, n)
}

// NewID reserves one id of a sequence.
func (tx *Tx) NewID(ctx context.Context, s Sequence) (int64, error) { return tx.Session.NewID(ctx, s) }

// Insert writes rows and adds the deployment's id as the first column of each. into is for example
// "project_tag (deployment_id, project_id, tag)"; a row then contains a project id and a tag.
// conflict ends the statement, as "ON CONFLICT DO NOTHING", and may be empty.
func (tx *Tx) Insert(ctx context.Context, into string, rows [][]any, conflict string) error {
	return tx.Session.Insert(ctx, tx.deployment.ID, into, rows, conflict)
}

// ChangeKind is the kind of the row that a feed entry refers to.
type ChangeKind int16

// Kinds of changes. The numbers are stored: never change their meaning.
const (
	ChangeProject ChangeKind = iota + 1
	ChangeRule
	ChangePolicy
	ChangePolicyRule
	ChangeLineage
	ChangeFinding
	ChangeDictionary // a package or a package version got its id; the row id is 0
)

type changeKey struct {
	Kind ChangeKind
	ID   int64
}

// Change adds changed rows to the feed. The last change of a row wins.
func (tx *Tx) Change(kind ChangeKind, ids ...int64) {
	for _, id := range ids {
		tx.Changes.Add(changeKey{kind, id}, false)
	}
}

// ChangeDeleted adds deleted rows to the feed.
func (tx *Tx) ChangeDeleted(kind ChangeKind, ids ...int64) {
	for _, id := range ids {
		tx.Changes.Add(changeKey{kind, id}, true)
	}
}

// Finish runs the hooks and writes the audit events, the feed and the commit time.
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

// Batch is the number of rows of an upload that are converted to SQL arguments at once. The
// arguments of a row need as much memory as a short finding.
const Batch = 1000

// InBatches calls write with at most Batch elements of a list at a time.
func InBatches[T any](list []T, write func([]T) error) error {
	for part := range slices.Chunk(list, Batch) {
		if err := write(part); err != nil {
			return err
		}
	}
	return nil
}

// writeChanges writes the rows of the feed.
func (tx *Tx) writeChanges(ctx context.Context, version int64, at time.Time) error {
	return InBatches(tx.Changes.runs(), func(runs []ChangeRun) error {
		rows := make([][]any, len(runs))
		for i, run := range runs {
			rows[i] = []any{version, run.Kind, run.ID, run.More, run.Deleted, at}
		}
		return tx.Insert(ctx, "change (deployment_id, version, kind, id, more, deleted, at)", rows, "")
	})
}

// Reassign moves all rows of a table from one project to another.
func (tx *Tx) Reassign(ctx context.Context, table string, from, into int64) error {
	return tx.Write(ctx, `UPDATE `+table+` SET project_id = $3 WHERE deployment_id = $1 AND project_id = $2`, from, into)
}
