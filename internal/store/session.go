package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
)

// session is one transaction on the database, without a tenant: what is
// server-wide uses it, everything else goes through Tx.
type session struct {
	engine *engine
	tx     *sql.Tx
	conn   *sql.Conn   // of a transaction that writes to PostgreSQL; else nil
	batch  *writeBatch // within together; else nil
	wrote  bool
	shreds bool

	announces bool // a job without delay was added

	prepared map[string]*sql.Stmt // for the time of the transaction, by text
}

// querier reads: a session, a Tx that adds its tenant as $1, or a pool.
type querier interface {
	query(ctx context.Context, query string, args ...any) (*sql.Rows, error)
	explain(ctx context.Context, err error) error
}

// pool runs single statements without a transaction, so that periodic queries cost one round trip.
type pool struct {
	engine *engine
	db     *sql.DB
}

func (p pool) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := matchArgs(query, len(args)); err != nil {
		return nil, err
	}
	rows, err := p.db.QueryContext(ctx, query, bind(args)...)
	return rows, p.explain(ctx, err)
}

func (p pool) explain(ctx context.Context, err error) error { return p.engine.explain(ctx, err) }

// row is what a scan function reads the columns of.
type row interface{ Scan(dest ...any) error }

// write writes. Within together it may return before the database has answered.
func (q *session) write(ctx context.Context, query string, args ...any) error {
	return q.send(ctx, query, bind(args))
}

func (q *session) send(ctx context.Context, query string, bound []any) error {
	if err := matchArgs(query, len(bound)); err != nil {
		return err
	}
	q.wrote = true
	if q.batch != nil {
		return q.queue(ctx, query, bound)
	}
	_, err := q.tx.ExecContext(ctx, query, bound...)
	return q.engine.explain(ctx, err)
}

// exec writes, and returns how many rows it wrote.
func (q *session) exec(ctx context.Context, query string, args ...any) (int64, error) {
	if err := matchArgs(query, len(args)); err != nil {
		return 0, err
	}
	q.wrote = true
	if err := q.flush(ctx); err != nil {
		return 0, err
	}
	result, err := q.tx.ExecContext(ctx, query, bind(args)...)
	if err != nil {
		return 0, q.engine.explain(ctx, err)
	}
	n, err := result.RowsAffected()
	return n, q.engine.explain(ctx, err)
}

// shred makes the engine overwrite what the transaction frees, where it can.
func (q *session) shred(ctx context.Context) error {
	if q.shreds || q.engine.shred == "" {
		return nil
	}
	q.shreds = true
	return q.write(ctx, q.engine.shred)
}

// query reads. It is the ground of one and many, which close the rows. A
// statement that writes and returns rows says so to wrote itself.
func (q *session) query(ctx context.Context, query string, args ...any) (*sql.Rows, error) {
	if err := matchArgs(query, len(args)); err != nil {
		return nil, err
	}
	if err := q.flush(ctx); err != nil {
		return nil, err
	}
	rows, err := q.tx.QueryContext(ctx, query, bind(args)...)
	return rows, q.engine.explain(ctx, err)
}

// many reads all rows of a query. The list is never nil.
func many[T any](ctx context.Context, q querier, scan func(row) (T, error), query string, args ...any) ([]T, error) {
	list := []T{}
	err := each(ctx, q, func(r row) error {
		v, err := scan(r)
		list = append(list, v)
		return err
	}, query, args...)
	return list, err
}

// one reads the only row of a query, or answers model.ErrNotFound.
func one[T any](ctx context.Context, q querier, scan func(row) (T, error), query string, args ...any) (T, error) {
	list, err := many(ctx, q, scan, query, args...)
	if err == nil && len(list) == 0 {
		err = q.explain(ctx, sql.ErrNoRows)
	}
	if err != nil {
		var none T
		return none, err
	}
	return list[0], nil
}

// each hands the rows of a query over one by one, however many there are.
func each(ctx context.Context, q querier, take func(row) error, query string, args ...any) error {
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

// scalar scans a row of a single column.
func scalar[T any](r row) (v T, err error) { return v, r.Scan(&v) }

func (q *session) explain(ctx context.Context, err error) error { return q.engine.explain(ctx, err) }

// in returns the condition that a column is one of a list ([]int64, []string,
// [][]byte or []model.Digest), and the list as the argument $n.
func (q *session) in(column string, n int, values any) (condition string, arg any) {
	return q.engine.list(column, n, cleanList(values))
}

// sequence names a run of ids that nothing ever repeats, across all tenants
// (semantics §4: global, and below 2^53; projects' fit uint32).
type sequence string

// seqConnection numbers rows of several tables.
const (
	seqConnection sequence = "connection"
)

// newIDs reserves n ids, rising. Under the deployment's lock they rise from
// commit to commit too.
func (q *session) newIDs(ctx context.Context, s sequence, n int) ([]int64, error) {
	if n <= 0 {
		return nil, nil
	}
	q.wrote = true
	ids, err := many(ctx, q, scalar[int64], q.engine.nextIDs, string(s), n)
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

// nextID stands for the next id of a sequence in a row to insert. PostgreSQL draws it with
// the insert.
type nextID sequence

// drawIDs replaces each nextID where the insert cannot draw it.
func (q *session) drawIDs(ctx context.Context, rows [][]any) error {
	if q.engine.bulk != nil {
		return nil
	}
	for column, v := range rows[0] {
		s, ok := v.(nextID)
		if !ok {
			continue
		}
		ids, err := q.newIDs(ctx, sequence(s), len(rows))
		if err != nil {
			return err
		}
		for i, id := range ids {
			rows[i][column] = id
		}
	}
	return nil
}

// newID reserves one id.
func (q *session) newID(ctx context.Context, s sequence) (int64, error) {
	ids, err := q.newIDs(ctx, s, 1)
	if err != nil {
		return 0, err
	}
	return ids[0], nil
}

// insert writes rows, each of which starts with the tenant's id, in as few
// statements as maxArgs allows; see Tx.insert.
func (q *session) insert(ctx context.Context, tenant int64, into string, rows [][]any, conflict string) error {
	return q.insertRows(ctx, []any{tenant}, into, rows, conflict)
}

// insertGlobal writes rows of a table that belongs to no tenant.
func (q *session) insertGlobal(ctx context.Context, into string, rows [][]any, conflict string) error {
	return q.insertRows(ctx, nil, into, rows, conflict)
}

func (q *session) insertRows(ctx context.Context, first []any, into string, rows [][]any, conflict string) error {
	if len(rows) == 0 {
		return nil
	}
	if err := q.drawIDs(ctx, rows); err != nil {
		return err
	}
	width := len(first) + len(rows[0])
	size := min(blockRows, max(1, maxArgs/width))
	if q.engine.bulk != nil {
		size = maxArgs
	}
	for part := range slices.Chunk(rows, size) {
		values := make([]any, 0, len(part)*width)
		for _, r := range part {
			if len(first)+len(r) != width {
				return fmt.Errorf("insert into %s: a row has %d values, the first has %d", into, len(r), width-len(first))
			}
			values = append(append(values, first...), r...)
		}
		query, args := q.engine.insertion(into, slices.Collect(slices.Chunk(bind(values), width)))
		if err := q.repeat(ctx, query+" "+conflict, args, len(rows) > size); err != nil {
			return err
		}
	}
	return nil
}
