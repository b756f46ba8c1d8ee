package sqldb

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"strconv"
	"strings"
)

// blockRows is the number of rows that one statement inserts on an engine without bulk. More rows
// use several statements with the same text, which is parsed once. Longer statements are not
// faster.
const blockRows = 250

// maxPrepared limits the prepared statements of a transaction.
const maxPrepared = 32

// insertion returns the statement that inserts rows of bound values, and its arguments.
func (e *engine) insertion(into string, rows [][]any) (query string, args []any) {
	if e.bulk != nil {
		if query, args, ok := e.bulk(into, rows); ok {
			return query, args
		}
	}
	return e.block(into, rows)
}

// block returns the statement that inserts rows, and its arguments. A value that all rows share in
// a column is passed once if the engine allows repeated arguments. Most of an upload's thirty
// columns are shared, and binding a value costs as much as storing it.
func (e *engine) block(into string, rows [][]any) (query string, args []any) {
	shared := make([]int, len(rows[0])) // argument number of a shared column; 0 if each row has its own
	if len(rows) > 1 && e.numbered {
		for column := range shared {
			if isShared(rows, column) {
				args = append(args, rows[0][column])
				shared[column] = len(args)
			}
		}
	}
	next := len(args) + 1
	var b strings.Builder
	b.WriteString("INSERT INTO " + into + " VALUES ")
	for i, r := range rows {
		for column, v := range r {
			switch {
			case column > 0:
				b.WriteByte(',')
			case i > 0:
				b.WriteString(",(")
			default:
				b.WriteByte('(')
			}
			n := shared[column]
			if n == 0 {
				args = append(args, v)
				if n = len(args); n != next || !e.numbered { // mark continues from the highest number used so far
					b.WriteString(e.mark(n))
					continue
				}
			}
			b.WriteByte('?')
			b.WriteString(strconv.Itoa(n))
		}
		b.WriteByte(')')
	}
	return b.String(), args
}

// isShared reports whether all rows have the same bound value in a column.
func isShared(rows [][]any, column int) bool {
	first := rows[0][column]
	text, isBytes := first.([]byte)
	for _, r := range rows[1:] {
		if isBytes {
			if other, is := r[column].([]byte); !is || !bytes.Equal(text, other) {
				return false
			}
			continue
		}
		if _, is := r[column].([]byte); is || first != r[column] {
			return false
		}
	}
	return true
}

// repeat runs a statement. If reuse is set, the statement stays prepared for the rest of the
// transaction.
func (q *Session) repeat(ctx context.Context, query string, args []any, reuse bool) error {
	stmt := q.prepared[query]
	if q.engine.prepares || stmt == nil && (!reuse || len(q.prepared) >= maxPrepared) {
		return q.send(ctx, query, args)
	}
	if err := matchArgs(query, len(args)); err != nil {
		return err
	}
	q.Wrote = true
	if stmt == nil {
		var err error
		if stmt, err = q.tx.PrepareContext(ctx, query); err != nil { // closed by the transaction
			return q.engine.explain(ctx, fmt.Errorf("prepare: %w", err))
		}
		if q.prepared == nil {
			q.prepared = map[string]*sql.Stmt{}
		}
		q.prepared[query] = stmt
	}
	_, err := stmt.ExecContext(ctx, args...)
	return q.engine.explain(ctx, err)
}
