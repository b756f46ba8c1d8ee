package store

import (
	"context"
	"database/sql"

	"github.com/redoubt/redoubt/internal/model"
)

// Statements about tables that all deployments share run outside of a Tx, by these methods.

// viewShared runs fn on one state of the database, without a deployment.
func (s *Store) viewShared(ctx context.Context, fn func(context.Context, *session) error) error {
	return s.engine.view(ctx, fn)
}

// updateShared runs fn in a transaction without a deployment: whole or, on any error, not at all.
func (s *Store) updateShared(ctx context.Context, fn func(context.Context, *session) error) error {
	return s.engine.update(ctx, fn)
}

// ask runs a query that is not part of a transaction. It returns model.ErrUnavailable when the
// database does not answer in time.
func (s *Store) ask(ctx context.Context, query func(context.Context) error) error {
	return s.engine.ask(ctx, query)
}

// askAnyway is ask without the check of the schema.
func (s *Store) askAnyway(ctx context.Context, query func(context.Context) error) error {
	return s.engine.askAnyway(ctx, query)
}

// writeOne runs a single statement that writes, and returns the number of rows.
func (s *Store) writeOne(ctx context.Context, query string, args ...any) (int64, error) {
	return s.engine.writeOne(ctx, query, args...)
}

// queryRow reads one row without a transaction, within ask.
func (s *Store) queryRow(ctx context.Context, query string, args ...any) *sql.Row {
	return s.engine.read.QueryRowContext(ctx, query, args...)
}

// pool runs single statements by the connections for requests.
func (s *Store) pool() pool { return pool{s.engine, s.engine.read} }

// indexPool runs single statements by the connections of the index.
func (s *Store) indexPool() pool { return pool{s.engine, s.engine.index} }

// list returns the condition that a column is one of a list, and the list as the argument $n.
func (s *Store) list(column string, n int, values any) (condition string, arg any) {
	return s.engine.list(column, n, values)
}

// judgeSchema returns a NewerSchemaError when a newer program has migrated the database.
func (s *Store) judgeSchema(stored int64) error { return s.engine.judgeSchema(stored) }

// byBytes ends an ORDER BY of text: by its bytes, whatever the locale of the database.
func (q *session) byBytes() string { return q.engine.byBytes }

// forUpdate ends a SELECT that locks its rows.
func (q *session) forUpdate() string { return q.engine.forUpdate }

// skipLocked ends a SELECT of rows that no other transaction has locked.
func (q *session) skipLocked() string { return q.engine.skipLocked }

// announceJobs notifies the queues of all processes when the transaction commits.
func (q *session) announceJobs(ctx context.Context) error {
	if q.announces {
		return nil
	}
	q.announces = true
	if q.engine.announce == "" {
		return nil
	}
	return q.write(ctx, q.engine.announce)
}

// byBytes ends an ORDER BY of text: by its bytes, whatever the locale of the database.
func (tx *Tx) byBytes() string { return tx.session.byBytes() }

// onPostgres reports whether the engine is PostgreSQL.
func (tx *Tx) onPostgres() bool { return tx.session.engine.name == "postgres" }

// shred makes the engine overwrite what the transaction frees, where it can.
func (tx *Tx) shred(ctx context.Context) error { return tx.session.shred(ctx) }

// markWritten says that a statement which returns rows has written.
func (tx *Tx) markWritten() { tx.session.wrote = true }

// wrote reports whether the transaction has written.
func (tx *Tx) wrote() bool { return tx.session.wrote }

// Notified returns the events that some notification rule of the deployment is about.
func (tx *Tx) Notified() model.NotificationEvents { return tx.notified }

// SetOpenRequests replaces the number of requested exceptions that the transaction sees.
func (tx *Tx) SetOpenRequests(n int) { tx.deployment.OpenRequests = n }

// SetActor changes who the rest of the transaction acts for.
func (tx *Tx) SetActor(by model.Actor) { tx.actor = by }

// RunID returns the managed run that the transaction works for; 0 for none.
func (tx *Tx) RunID() int64 { return tx.runID }
