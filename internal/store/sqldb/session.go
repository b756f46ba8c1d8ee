package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// Session is one transaction on the database, without a tenant: what is
// server-wide uses it, everything else goes through Tx.
type Session struct {
	engine *engine
	tx     *sql.Tx
	conn   *sql.Conn   // of a transaction that writes to PostgreSQL; else nil
	batch  *writeBatch // within together; else nil
	Wrote  bool
	shreds bool

	announces bool // a job without delay was added

	prepared map[string]*sql.Stmt // for the time of the transaction, by text
}

// querier reads: a session, a Tx that adds its tenant as $1, or a pool.
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

// Row is what a scan function reads the columns of.
type Row interface{ Scan(dest ...any) error }

// Write writes. Within together it may return before the database has answered.
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

// Exec writes, and returns how many rows it wrote.
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

// Shred makes the engine overwrite what the transaction frees, where it can.
func (q *Session) Shred(ctx context.Context) error {
	if q.shreds || q.engine.shred == "" {
		return nil
	}
	q.shreds = true
	return q.Write(ctx, q.engine.shred)
}

// query reads. It is the ground of one and many, which close the rows. A
// statement that writes and returns rows says so to wrote itself.
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

// Many reads all rows of a query. The list is never nil.
func Many[T any](ctx context.Context, q querier, scan func(Row) (T, error), query string, args ...any) ([]T, error) {
	list := []T{}
	err := Each(ctx, q, func(r Row) error {
		v, err := scan(r)
		list = append(list, v)
		return err
	}, query, args...)
	return list, err
}

// One reads the only row of a query, or answers model.ErrNotFound.
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

// Each hands the rows of a query over one by one, however many there are.
func Each(ctx context.Context, q querier, take func(Row) error, query string, args ...any) error {
	rows, err := q.query(ctx, query, args...)
	if err != nil {
		return err
	}
	defer rows.Close()
	for rows.Next() {
		if err := take(storedRow{rows}); err != nil {
			return q.explain(ctx, err)
		}
	}
	return q.explain(ctx, rows.Err())
}

// Scalar scans a row of a single column.
func Scalar[T any](r Row) (v T, err error) { return v, r.Scan(&v) }

func (q *Session) explain(ctx context.Context, err error) error { return q.engine.explain(ctx, err) }

// In returns the condition that a column is one of a list ([]int64, []string,
// [][]byte or []model.Digest), and the list as the argument $n.
func (q *Session) In(column string, n int, values any) (condition string, arg any) {
	return q.engine.list(column, n, CleanList(values))
}

// Sequence names a run of ids that nothing ever repeats, across all tenants
// (docs/reference/addressing.md: global, and below 2^53; projects' fit uint32).
type Sequence string

// SeqConnection numbers rows of several tables.
const (
	SeqConnection Sequence = "connection"
)

// NewIDs reserves n ids, rising. Under the deployment's lock they rise from
// commit to commit too.
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
	for len(ids) < n { // SQLite answers the first one only
		ids = append(ids, ids[len(ids)-1]+1)
	}
	return ids, nil
}

// NextID stands for the next id of a sequence in a row to insert. PostgreSQL draws it with
// the insert.
type NextID Sequence

// drawIDs replaces each nextID where the insert cannot draw it.
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

// Insert writes rows, each of which starts with the tenant's id, in as few
// statements as maxArgs allows; see Tx.insert.
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
