package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"sync/atomic"
	"testing"
)

// CountStatements returns a counter of statements that write to the SQLite database. A prepared
// statement counts once.
func (s *Store) CountStatements(t testing.TB) func() int {
	t.Helper()
	parts := s.PartsForTests()
	var number int
	var name, path string
	if err := parts.Read.QueryRowContext(t.Context(), `PRAGMA database_list`).Scan(&number, &name, &path); err != nil {
		t.Fatal(err)
	}
	c := &counting{driver: parts.Write.Driver(), source: "file:" + path + "?_txlock=immediate"}
	if err := parts.Write.Close(); err != nil {
		t.Fatal(err)
	}
	write := sql.OpenDB(c)
	write.SetMaxOpenConns(1)
	parts.Replace(write)
	return func() int { return int(c.n.Load()) }
}

// counting is a connector whose connections count statements.
type counting struct {
	driver driver.Driver
	source string
	n      atomic.Int64
}

// Driver implements driver.Connector.
func (c *counting) Driver() driver.Driver { return c.driver }

// Connect implements driver.Connector.
func (c *counting) Connect(context.Context) (driver.Conn, error) {
	conn, err := c.driver.Open(c.source)
	if err != nil {
		return nil, err
	}
	return countedConn{conn.(sqlConn), &c.n}, nil
}

// sqlConn contains the interfaces that database/sql uses of a connection.
type sqlConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
}

type countedConn struct {
	sqlConn
	n *atomic.Int64
}

// PrepareContext implements driver.ConnPrepareContext.
func (c countedConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	c.n.Add(1)
	return c.sqlConn.PrepareContext(ctx, query)
}

// ExecContext implements driver.ExecerContext.
func (c countedConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.n.Add(1)
	return c.sqlConn.ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c countedConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.n.Add(1)
	return c.sqlConn.QueryContext(ctx, query, args)
}
