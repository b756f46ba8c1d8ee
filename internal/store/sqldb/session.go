package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Session is one transaction on the database without a tenant. Server-wide tables use it;
// everything else uses Tx.
type Session struct {
	engine *engine
	tx     *sql.Tx
	conn   *sql.Conn   // of a writing transaction on PostgreSQL; else nil
	batch  *writeBatch // within Together; else nil
	Wrote  bool
	shreds bool

	announces bool // a job without delay was added

	prepared map[string]*sql.Stmt // by query text, until the transaction ends
}

// querier runs queries: a Session, a Tx, which adds its tenant as $1, or a Pool.
type querier interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	explain(ctx context.Context, err error) error
}

// Pool runs single statements without a transaction, so that periodic queries cost one round trip.
type Pool struct {
	engine *engine
	db     *sql.DB
}

func (p Pool) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := matchArgs(query, len(args)); err != nil {
		return nil, err
	}
	rows, err := p.db.QueryContext(ctx, query, Bind(args)...)
	return rows, p.explain(ctx, err)
}

func (p Pool) explain(ctx context.Context, err error) error { return p.engine.explain(ctx, err) }

// Row is one row of a result, passed to scan functions.
type Row interface{ Scan(dest ...any) error }

// Write runs a statement that writes. Within Together it may return before the database has
// responded.
func (q *Session) Write(ctx context.Context, query string, args ...any) error {
	return q.send(ctx, query, Bind(args))
}

func (q *Session) send(ctx context.Context, query string, bound []any) error {
	if err := matchArgs(query, len(bound)); err != nil {
		return err
	}
	q.Wrote = true
	if q.batch != nil {
		return q.queue(ctx, query, bound)
	}
	_, err := q.tx.ExecContext(ctx, query, bound...)
	return q.engine.explain(ctx, err)
}

// Exec runs a statement that writes and returns the number of affected rows.
func (q *Session) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := matchArgs(query, len(args)); err != nil {
		return 0, err
	}
	q.Wrote = true
	if err := q.flush(ctx); err != nil {
		return 0, err
	}
	result, err := q.tx.ExecContext(ctx, query, Bind(args)...)
	if err != nil {
		return 0, q.engine.explain(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, q.engine.explain(ctx, err)
}

// Shred makes the engine overwrite data that the transaction frees, where the engine supports it.
func (q *Session) Shred(ctx context.Context) error {
	if q.shreds || q.engine.shred == "" {
		return nil
	}
	q.shreds = true
	return q.Write(ctx, q.engine.shred)
}

// query runs a statement that returns rows, which Each closes. A caller whose statement also writes
// must set Wrote itself.
func (q *Session) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := matchArgs(query, len(args)); err != nil {
		return nil, err
	}
	if err := q.flush(ctx); err != nil {
		return nil, err
	}
	rows, err := q.tx.QueryContext(ctx, query, Bind(args)...)
	return rows, q.engine.explain(ctx, err)
}

// Many returns all rows of a query. The list is never nil.
func Many[T any](ctx context.Context, q querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	list := []T{}
	err := Each(ctx, q, func(r Row) error {
		v, err := scan(r)
		list = append(list, v)
		return err
	}, query, args...)
	return list, err
}

// One returns the first row of a query, or model.ErrNotFound if there is no row.
func One[T any](ctx context.Context, q querier, scan func(Row) (T, error), query string, args ...any) (T, error) {
	list, err := Many(ctx, q, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = q.explain(ctx, sql.ErrNoRows)
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// Each calls visit for each row of a query without loading all rows into memory.
func Each(ctx context.Context, q querier, visit func(Row) error, query string, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := visit(storedRow{rows}); err != nil {
			return q.explain(ctx, err)
		}
	}
	return q.explain(ctx, rows.Err())
}

// Scalar scans a row of a single column.
func Scalar[T any](r Row) (v T, err error) { return v, r.Scan(&v) }

func (q *Session) explain(ctx context.Context, err error) error { return q.engine.explain(ctx, err) }

// In returns the condition that a column is one of a list, and the list as the argument $n. The
// list is a []int64, []string, [][]byte or []model.Digest.
func (q *Session) In(column string, n int, values any) (condition string, arg any) {
	return q.engine.list(column, n, CleanList(values))
}

// Sequence names a sequence of ids that are never reused, across all tenants. Ids are below 2^53
// (docs/reference/addressing.md); those of projects fit into uint32.
type Sequence string

// SeqConnection numbers rows of several tables.
const (
	SeqConnection Sequence = "connection"
)

// NewIDs reserves n ascending ids. Under the deployment's lock they also ascend from commit to
// commit.
func (q *Session) NewIDs(ctx context.Context, s Sequence, n int) ([]int64, error) {
	if n <= 0 {
		return nil, nil
	}
	q.Wrote = true
	ids, err := Many(ctx, q, Scalar[int64], q.engine.nextIDs, string(s), n)
	if err != nil {
		return nil, fmt.Errorf("reserve %s ids: %w", s, err)
	}
	if len(ids) == 0 {
		return nil, fmt.Errorf("reserve %s ids: no such sequence", s)
	}
	for len(ids) < n { // SQLite returns only the first one
		ids = append(ids, ids[len(ids)-1]+1)
	}
	return ids, nil
}

// NextID is a placeholder for the next id of a sequence in a row to insert. PostgreSQL generates
// the id in the insert.
type NextID Sequence

// drawIDs replaces each NextID on engines whose insert cannot generate ids.
func (q *Session) drawIDs(ctx context.Context, rows [][]any) error {
	if q.engine.bulk != nil {
		return nil
	}
	for column, v := range rows[0] {
		s, ok := v.(NextID)
		if !ok {
			continue
		}
		ids, err := q.NewIDs(ctx, Sequence(s), len(rows))
		if err != nil {
			return err
		}
		for i, id := range ids {
			rows[i][column] = id
		}
	}
	return nil
}

// NewID reserves one id.
func (q *Session) NewID(ctx context.Context, s Sequence) (int64, error) {
	ids, err := q.NewIDs(ctx, s, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// Insert writes rows with the tenant's id as their first column, in as few statements as MaxArgs
// allows. See Tx.Insert.
func (q *Session) Insert(ctx context.Context, tenant int64, into string, rows [][]any, conflict string) error {
	return q.insertRows(ctx, []any{tenant}, into, rows, conflict)
}

// InsertGlobal writes rows of a table that belongs to no tenant.
func (q *Session) InsertGlobal(ctx context.Context, into string, rows [][]any, conflict string) error {
	return q.insertRows(ctx, nil, into, rows, conflict)
}

func (q *Session) insertRows(ctx context.Context, first []any, into string, rows [][]any, conflict string) error {
	if len(rows) == 0 {
		return nil
	}
	if err := q.drawIDs(ctx, rows); err != nil {
		return err
	}
	width := len(first) + len(rows[0])
	size := min(blockRows, max(1, MaxArgs/width))
	if q.engine.bulk != nil {
		size = MaxArgs
	}
	for part := range slices.Chunk(rows, size) {
		values := make([]any, 0, len(part)*width)
		for _, r := range part {
			if len(first)+len(r) != width {
				return fmt.Errorf("insert into %s: a row has %d values, the first has %d", into, len(r), width-len(first))
			}
			values = append(append(values, first...), r...)
		}
		query, args := q.engine.insertion(into, slices.Collect(slices.Chunk(Bind(values), width)))
		if err := q.repeat(ctx, query+" "+conflict, args, len(rows) > size); err != nil {
			return err
		}
	}
	return nil
}
