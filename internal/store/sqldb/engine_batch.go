package sqldb

import (
	"context"
	"database/sql"
	"fmt"
	"reflect"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
)

// maxBatch limits the bytes of the statements of a batch, which stay in memory until sent. The
// first import of 60,000 findings needs three batches.
const maxBatch = 32 << 20

// writeBatch contains the writes of Session.Together until they are sent.
type writeBatch struct {
	pgx.Batch
	texts []string
	size  int
}

// beginWrite starts a writing transaction. On PostgreSQL it reserves the connection, which batches
// need.
func (q *Session) beginWrite(ctx context.Context) (err error) {
	if !q.engine.prepares {
		q.tx, err = q.engine.Begin(ctx, q.engine.write, nil)
		return err
	}
	if q.conn, err = q.engine.write.Conn(ctx); err != nil {
		return err
	}
	if q.tx, err = q.conn.BeginTx(ctx, nil); err != nil {
		_ = q.conn.Close() // the first error is returned
	}
	return err
}

// end rolls back unless committed, and releases the connection.
func (q *Session) end() {
	_ = q.tx.Rollback()
	if q.conn != nil {
		_ = q.conn.Close()
	}
}

// Together sends the writes of fn in one round trip on PostgreSQL. A read within fn first sends the
// pending writes. An error contains the start of the statement.
func (q *Session) Together(ctx context.Context, fn func() error) error {
	if q.conn == nil || q.batch != nil {
		return fn()
	}
	q.batch = &writeBatch{}
	defer func() { q.batch = nil }()
	if err := fn(); err != nil {
		return err
	}
	return q.flush(ctx)
}

// queue adds a write to the batch and sends the batch if it exceeds maxBatch.
func (q *Session) queue(ctx context.Context, query string, bound []any) error {
	b := q.batch
	b.Queue(query, bound...)
	b.texts = append(b.texts, query)
	b.size += len(query)
	for _, arg := range bound {
		b.size += sizeOf(arg)
	}
	if b.size < maxBatch {
		return nil
	}
	return q.flush(ctx)
}

// flush sends the pending batch, if any.
func (q *Session) flush(ctx context.Context) error {
	if q.batch == nil || q.batch.Len() == 0 {
		return nil
	}
	b := q.batch
	q.batch = &writeBatch{}
	return q.engine.explain(ctx, sendBatch(ctx, q.conn, b))
}

func sendBatch(ctx context.Context, conn *sql.Conn, b *writeBatch) error {
	return conn.Raw(func(inner any) error {
		driver, ok := inner.(*stdlib.Conn)
		if !ok {
			return fmt.Errorf("unexpected connection %T", inner)
		}
		results := driver.Conn().SendBatch(ctx, &b.Batch)
		for _, text := range b.texts {
			if _, err := results.Exec(); err != nil {
				_ = results.Close() // returns the same error
				return fmt.Errorf("%.60s: %w", strings.TrimSpace(text), err)
			}
		}
		return results.Close()
	})
}

// sizeOf estimates the bytes of an argument.
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
