package sqldb

import "context"

// Exclusive runs fn while no other process that shares a PostgreSQL does the same:
// what several servers that start at once may do one after the other only. fn may use
// the store. The lock goes with the connection, so a process that dies holds nobody up.
// SQLite has one server: there fn runs as it is.
func (s *DB) Exclusive(caller context.Context, fn func(context.Context) error) error {
	e := s.engine
	if e.exclusive == "" {
		return fn(caller)
	}
	ctx, done := e.stall.watch(caller)
	tx, err := e.Begin(ctx, e.write, nil)
	if err == nil {
		defer tx.Rollback()
		_, err = tx.ExecContext(ctx, e.exclusive)
	}
	err = e.explain(ctx, err)
	if err == nil {
		err = fn(caller)
	}
	done() // not before: the transaction ends with its context
	return err
}
