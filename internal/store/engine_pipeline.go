package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/stdlib"
)

// maxQueued bounds the bytes of statements that wait to be sent.
const maxQueued = 8 << 20

// settle is the statement that does nothing but have what waits sent.
const settle = ""

// pipelined makes connections to a PostgreSQL that is far away: see pipeline.
type pipelined struct{ driver.Connector }

// Connect implements driver.Connector.
func (p pipelined) Connect(ctx context.Context) (driver.Conn, error) {
	conn, err := p.Connector.Connect(ctx)
	if err != nil {
		return nil, err
	}
	inner, ok := conn.(*stdlib.Conn)
	if !ok {
		return nil, fmt.Errorf("the driver made a %T", conn)
	}
	return &pipeline{Conn: inner}, nil
}

// pipeline is a connection that, inside a transaction, waits for PostgreSQL only
// where somebody wants to know what it says. The begin and statements whose result
// nobody has asked for are kept, and sent with the next question or the commit, in
// one round trip; reads that are announced (readAhead) go with them. A statement
// that fails so fails what it was sent with, whose error names it; and nothing was
// committed, as a commit is sent behind all else and answered after it.
type pipeline struct {
	*stdlib.Conn
	inTx  bool
	queue []*statement // not sent yet, in order
	size  int          // bytes of the queue
	known []*statement // reads that were announced and answered
}

// statement is one that waits, and its driver.Result once it was sent. Whoever
// asks that has it sent.
type statement struct {
	on    *pipeline
	ctx   context.Context //nolint:containedctx // it belongs to a statement, which is sent later
	query string
	args  []any
	ahead bool // a read that was announced
	tag   pgconn.CommandTag
	sent  bool
	table // what an announced read found
}

// table is what a read found, all of it.
type table struct {
	columns []string
	rows    [][]driver.Value
}

// LastInsertId implements driver.Result; PostgreSQL has none.
func (s *statement) LastInsertId() (int64, error) { return driver.RowsAffected(0).LastInsertId() }

// RowsAffected implements driver.Result.
func (s *statement) RowsAffected() (int64, error) {
	if !s.sent {
		if err := s.on.flush(s.ctx); err != nil {
			return 0, err
		}
	}
	return s.tag.RowsAffected(), nil
}

// Begin implements driver.Conn.
func (p *pipeline) Begin() (driver.Tx, error) {
	return p.BeginTx(context.Background(), driver.TxOptions{})
}

// BeginTx implements driver.ConnBeginTx.
func (p *pipeline) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	if p.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	begin := "begin"
	switch sql.IsolationLevel(o.Isolation) {
	case sql.LevelDefault:
	case sql.LevelRepeatableRead:
		begin += " isolation level repeatable read"
	default:
		return nil, fmt.Errorf("the isolation level %s is not used here", sql.IsolationLevel(o.Isolation))
	}
	if o.ReadOnly {
		begin += " read only"
	}
	p.end()
	p.inTx = true
	p.push(&statement{ctx: ctx, query: begin})
	return pipelineTx{p, ctx}, nil
}

// ResetSession implements driver.SessionResetter.
func (p *pipeline) ResetSession(ctx context.Context) error {
	p.end()
	return p.Conn.ResetSession(ctx)
}

// ExecContext implements driver.ExecerContext. One without arguments may be several
// statements, which cannot be prepared.
func (p *pipeline) ExecContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Result, error) {
	if query != settle {
		p.forget(query)
	}
	if !p.inTx || len(named) == 0 {
		if err := p.flush(ctx); err != nil || query == settle {
			return driver.RowsAffected(0), err
		}
		return p.Conn.ExecContext(ctx, query, named)
	}
	s := &statement{ctx: ctx, query: query, args: values(named)}
	p.push(s)
	if p.size > maxQueued {
		return s, p.flush(ctx)
	}
	return s, nil
}

// QueryContext implements driver.QueryerContext.
func (p *pipeline) QueryContext(ctx context.Context, query string, named []driver.NamedValue) (driver.Rows, error) {
	if !p.inTx {
		return p.Conn.QueryContext(ctx, query, named)
	}
	args := values(named)
	if readsAhead(ctx) {
		switch s := p.find(query, args); {
		case s == nil:
			p.push(&statement{ctx: ctx, query: query, args: args, ahead: true})
		case s.sent && aheadInTurns(ctx):
			return &tableRows{table: s.table}, nil
		}
		return &tableRows{}, nil
	}
	if s := p.find(query, args); s != nil && !s.sent {
		if err := p.flush(ctx); err != nil {
			return nil, err
		}
	}
	if s := p.answered(query, args); s != nil {
		return &tableRows{table: s.table}, nil
	}
	p.forget(query)
	if len(p.queue) == 0 {
		return p.Conn.QueryContext(ctx, query, named)
	}
	return p.send(ctx, &statement{query: query, args: args})
}

// PrepareContext implements driver.ConnPrepareContext. pgx keeps the statements that
// it prepared by their text, unless the database's address tells it not to: one that
// is prepared here by name would not be found behind a pooler.
func (p *pipeline) PrepareContext(_ context.Context, query string) (driver.Stmt, error) {
	return byText{p, query}, nil
}

// byText is a statement that its connection knows by its text.
type byText struct {
	on    *pipeline
	query string
}

// Close implements driver.Stmt.
func (byText) Close() error { return nil }

// NumInput implements driver.Stmt: PostgreSQL says it.
func (byText) NumInput() int { return -1 }

// Exec implements driver.Stmt, and is never called: there is ExecContext.
func (byText) Exec([]driver.Value) (driver.Result, error) { return nil, driver.ErrSkip }

// Query implements driver.Stmt, and is never called: there is QueryContext.
func (byText) Query([]driver.Value) (driver.Rows, error) { return nil, driver.ErrSkip }

// ExecContext implements driver.StmtExecContext.
func (s byText) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	return s.on.ExecContext(ctx, s.query, args)
}

// QueryContext implements driver.StmtQueryContext.
func (s byText) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	return s.on.QueryContext(ctx, s.query, args)
}

func values(named []driver.NamedValue) []any {
	args := make([]any, len(named))
	for i, n := range named {
		args[i] = n.Value
	}
	return args
}

func (p *pipeline) push(s *statement) {
	s.on = p
	p.queue = append(p.queue, s)
	p.size += len(s.query)
	for _, arg := range s.args {
		p.size += sizeOf(arg)
	}
}

// sizeOf is about what an argument takes, in bytes.
func sizeOf(arg any) int {
	const word = 16
	switch v := arg.(type) {
	case string:
		return word + len(v)
	case []byte:
		return word + len(v)
	case []string:
		n := word * len(v)
		for _, s := range v {
			n += len(s)
		}
		return n
	case [][]byte:
		n := word * len(v)
		for _, s := range v {
			n += len(s)
		}
		return n
	}
	if v := reflect.ValueOf(arg); v.Kind() == reflect.Slice {
		return word * v.Len()
	}
	return word
}

// flush sends what waits, and reads what PostgreSQL says of it.
func (p *pipeline) flush(ctx context.Context) error {
	if len(p.queue) == 0 {
		return nil
	}
	_, err := p.send(ctx, nil)
	return err
}

// send sends what waits, and behind it a read, if there is one, whose rows it
// returns.
func (p *pipeline) send(ctx context.Context, last *statement) (driver.Rows, error) {
	queue := p.queue
	p.queue, p.size = nil, 0
	if p.Conn.Conn().IsClosed() {
		return nil, driver.ErrBadConn
	}
	var batch pgx.Batch
	for _, s := range queue {
		batch.Queue(s.query, s.args...)
	}
	if last != nil {
		batch.Queue(last.query, last.args...)
	}
	results := p.Conn.Conn().SendBatch(ctx, &batch)
	for _, s := range queue {
		if err := s.take(results); err != nil {
			_ = results.Close() // which says the same
			return nil, fmt.Errorf("%.60s: %w", strings.TrimSpace(s.query), err)
		}
		s.args = s.argsToKeep()
		if s.ahead {
			p.known = append(p.known, s)
		}
	}
	if last == nil {
		return nil, results.Close()
	}
	rows, err := newBatchRows(results)
	if err != nil {
		return nil, fmt.Errorf("%.60s: %w", strings.TrimSpace(last.query), err)
	}
	return rows, nil
}

// argsToKeep are the arguments of a statement that was sent: an announced read is
// known by them.
func (s *statement) argsToKeep() []any {
	if s.ahead {
		return s.args
	}
	return nil
}

// take reads what PostgreSQL says of a statement.
func (s *statement) take(results pgx.BatchResults) (err error) {
	s.sent = true
	if !s.ahead {
		s.tag, err = results.Exec()
		return err
	}
	rows, err := results.Query()
	if err != nil {
		return err
	}
	defer rows.Close()
	s.columns = columnsOf(rows)
	for rows.Next() {
		row := make([]driver.Value, len(s.columns))
		if err := driverValues(rows, row); err != nil {
			return err
		}
		s.rows = append(s.rows, row)
	}
	return rows.Err()
}

// end forgets the transaction that was.
func (p *pipeline) end() {
	p.inTx, p.queue, p.size, p.known = false, nil, 0, nil
}

// pipelineTx is a transaction of a pipeline.
type pipelineTx struct {
	*pipeline
	ctx context.Context //nolint:containedctx // driver.Tx is given none
}

// Commit implements driver.Tx: what waits goes with it.
func (t pipelineTx) Commit() error {
	defer t.end()
	t.dropAhead()
	if len(t.queue) > 0 && t.Conn.Conn().PgConn().TxStatus() == 'I' && len(t.queue) == 1 {
		return nil // but for its begin the transaction is empty
	}
	commit := &statement{ctx: t.ctx, query: "commit"}
	t.push(commit)
	err := t.flush(t.ctx)
	if err == nil && commit.tag.String() == "ROLLBACK" {
		err = pgx.ErrTxCommitRollback
	}
	if err != nil {
		_ = t.abandon() // there is an error already
	}
	return err
}

// Rollback implements driver.Tx. What waits is never sent.
func (t pipelineTx) Rollback() error {
	defer t.end()
	return t.abandon()
}

// abandon ends the transaction that PostgreSQL knows of, if it knows of one.
func (t pipelineTx) abandon() error {
	conn := t.Conn.Conn()
	if conn.IsClosed() || conn.PgConn().TxStatus() == 'I' {
		return nil
	}
	if _, err := conn.Exec(t.ctx, "rollback"); err != nil {
		_ = conn.Close(t.ctx) // what it would do next nobody knows
		return err
	}
	return nil
}
