package sqldb

import (
	"context"
	"database/sql"

	"github.com/redoubt/redoubt/internal/model"
)

// These methods run statements on tables shared by all deployments, outside of a Tx.

// ViewShared runs fn on one snapshot of the database, without a deployment.
func (s *DB) ViewShared(ctx context.Context, fn func(context.Context, *Session) error) error {
	return s.engine.view(ctx, fn)
}

// UpdateShared runs fn in a transaction without a deployment and rolls it back on any error.
func (s *DB) UpdateShared(ctx context.Context, fn func(context.Context, *Session) error) error {
	return s.engine.update(ctx, fn)
}

// RunQuery runs a query that is not part of a transaction. It returns model.ErrUnavailable when the
// database does not respond in time.
func (s *DB) RunQuery(ctx context.Context, query func(context.Context) error) error {
	return s.engine.RunQuery(ctx, query)
}

// RunQueryUnchecked is RunQuery without the check of the schema's version.
func (s *DB) RunQueryUnchecked(ctx context.Context, query func(context.Context) error) error {
	return s.engine.RunQueryUnchecked(ctx, query)
}

// WriteOne runs a single writing statement and returns the number of affected rows.
func (s *DB) WriteOne(ctx context.Context, query string, args ...any) (int64, error) {
	return s.engine.WriteOne(ctx, query, args...)
}

// QueryRow reads one row without a transaction. Call it within RunQuery.
func (s *DB) QueryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return s.engine.read.QueryRowContext(ctx, query, args...)
}

// Pool runs single statements with the connections for requests.
func (s *DB) Pool() Pool { return Pool{s.engine, s.engine.read} }

// IndexPool runs single statements with the connections of the index.
func (s *DB) IndexPool() Pool { return Pool{s.engine, s.engine.index} }

// List returns the condition that a column is one of a list, and the list as the argument $n.
func (s *DB) List(column string, n int, values any) (condition string, arg any) {
	return s.engine.list(column, n, values)
}

// JudgeSchema returns a NewerSchemaError if the stored schema is newer than this program's.
func (s *DB) JudgeSchema(stored int64) error { return s.engine.JudgeSchema(stored) }

// ByBytes returns the end of an ORDER BY that sorts text by its bytes, independent of the
// database's locale.
func (q *Session) ByBytes() string { return q.engine.byBytes }

// ForUpdate returns the end of a SELECT that locks its rows.
func (q *Session) ForUpdate() string { return q.engine.forUpdate }

// SkipLocked returns the end of a SELECT that locks its rows and skips locked ones.
func (q *Session) SkipLocked() string { return q.engine.skipLocked }

// AnnounceJobs notifies the queues of all processes when the transaction commits.
func (q *Session) AnnounceJobs(ctx context.Context) error {
	if q.announces {
		return nil
	}
	q.announces = true
	if q.engine.announce == "" {
		return nil
	}
	return q.Write(ctx, q.engine.announce)
}

// ByBytes returns the end of an ORDER BY that sorts text by its bytes, independent of the
// database's locale.
func (tx *Tx) ByBytes() string { return tx.Session.ByBytes() }

// OnPostgres reports whether the engine is PostgreSQL.
func (tx *Tx) OnPostgres() bool { return tx.Session.engine.name == "postgres" }

// Shred makes the engine overwrite data that the transaction frees, where the engine supports it.
func (tx *Tx) Shred(ctx context.Context) error { return tx.Session.Shred(ctx) }

// MarkWritten records that a statement which returns rows has written.
func (tx *Tx) MarkWritten() { tx.Session.Wrote = true }

// Wrote reports whether the transaction has written.
func (tx *Tx) Wrote() bool { return tx.Session.Wrote }

// Notified returns the events that the deployment's notification rules use.
func (tx *Tx) Notified() model.NotificationEvents { return tx.notified }

// SetOpenRequests replaces the number of open exception requests that the transaction uses.
func (tx *Tx) SetOpenRequests(n int) { tx.deployment.OpenRequests = n }

// SetActor changes the actor for the rest of the transaction.
func (tx *Tx) SetActor(by model.Actor) { tx.actor = by }

// RunID returns the managed run that the transaction works for; 0 for none.
func (tx *Tx) RunID() int64 { return tx.runID }
