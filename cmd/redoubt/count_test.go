package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"os"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// countVariable names a file. A program under test appends a byte to it for each SQLite statement,
// including BEGIN, COMMIT and ROLLBACK.
const countVariable = "REDOUBT_TEST_COUNT"

// countStatements replaces the SQLite driver by a counting one if countVariable is set.
func countStatements() {
	name := os.Getenv(countVariable)
	if name == "" {
		return
	}
	file, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		panic(err)
	}
	db, err := sql.Open(sqldb.SQLiteDriver, ":memory:")
	if err != nil {
		panic(err)
	}
	const counting = "counting sqlite"
	sql.Register(counting, countingDriver{db.Driver(), func() { _, _ = file.WriteString(".") }})
	sqldb.SQLiteDriver = counting
}

type countingDriver struct {
	driver.Driver
	count func()
}

// Open implements driver.Driver.
func (d countingDriver) Open(name string) (driver.Conn, error) {
	conn, err := d.Driver.Open(name)
	return countingConn{conn, d.count}, err
}

// countingConn counts statements. The SQLite driver implements all interfaces asserted here.
type countingConn struct {
	driver.Conn
	count func()
}

// BeginTx implements driver.ConnBeginTx.
func (c countingConn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	c.count()
	tx, err := c.Conn.(driver.ConnBeginTx).BeginTx(ctx, o)
	return countingTx{tx, c.count}, err
}

// ExecContext implements driver.ExecerContext.
func (c countingConn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	c.count()
	return c.Conn.(driver.ExecerContext).ExecContext(ctx, query, args)
}

// QueryContext implements driver.QueryerContext.
func (c countingConn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.count()
	return c.Conn.(driver.QueryerContext).QueryContext(ctx, query, args)
}

// PrepareContext implements driver.ConnPrepareContext.
func (c countingConn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s, err := c.Conn.(driver.ConnPrepareContext).PrepareContext(ctx, query)
	return countingStmt{s, c.count}, err
}

type countingTx struct {
	driver.Tx
	count func()
}

// Commit implements driver.Tx.
func (t countingTx) Commit() error { t.count(); return t.Tx.Commit() }

// Rollback implements driver.Tx.
func (t countingTx) Rollback() error { t.count(); return t.Tx.Rollback() }

type countingStmt struct {
	driver.Stmt
	count func()
}

// ExecContext implements driver.StmtExecContext.
func (s countingStmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	s.count()
	return s.Stmt.(driver.StmtExecContext).ExecContext(ctx, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s countingStmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	s.count()
	return s.Stmt.(driver.StmtQueryContext).QueryContext(ctx, args)
}
