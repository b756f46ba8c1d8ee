package sqldb

import "context"

// Exclusive runs fn while no other process on the same PostgreSQL database runs Exclusive. Servers
// use it for work at their start. fn may use the store. The lock ends with the connection, so a
// dead process does not block others. SQLite has one server, so fn runs without a lock.
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
	done() // must follow fn: the transaction ends with its context
	return err
}
