package bench

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/store"
)

// raw is a copy of the database with the same driver. It measures baselines of reading and writing
// rows.
type raw struct {
	tb testing.TB
	db *sql.DB
}

// raw copies the current store.
func (w *world) raw() *raw {
	w.tb.Helper()
	return newRaw(w.tb, w.config)
}

// newRaw copies the current SQLite store.
func newRaw(tb testing.TB, c store.Config) *raw {
	tb.Helper()
	r := &raw{tb: tb}
	path := filepath.Join(tb.TempDir(), "copy.db")
	from, err := sql.Open("sqlite", filepath.Join(c.Dir, store.FileName))
	r.check(err)
	_, err = from.Exec(`VACUUM INTO $1`, path)
	r.check(err)
	r.check(from.Close())
	r.db, err = sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-65536)")
	r.check(err)
	r.db.SetMaxOpenConns(1)
	tb.Cleanup(func() { r.db.Close() })
	return r
}

func (r *raw) check(err error) {
	r.tb.Helper()
	if err != nil {
		r.tb.Fatal(err)
	}
}

// step reads all columns of all rows of a query and returns the number of rows.
func (r *raw) step(query string, args ...any) (rows int) {
	r.tb.Helper()
	found, err := r.db.Query(query, args...)
	r.check(err)
	defer found.Close()
	columns, err := found.Columns()
	r.check(err)
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for ; found.Next(); rows++ {
		r.check(found.Scan(into...))
	}
	r.check(found.Err())
	return rows
}

// rows reads rows to insert them elsewhere.
func (r *raw) rows(query string, args ...any) (out [][]any) {
	r.tb.Helper()
	found, err := r.db.Query(query, args...)
	r.check(err)
	defer found.Close()
	columns, err := found.Columns()
	r.check(err)
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		r.check(found.Scan(into...))
		out = append(out, values)
	}
	r.check(found.Err())
	return out
}

// table contains rows to insert.
type table struct {
	name string
	rows [][]any
}

// insert measures inserting rows one by one in one transaction. It replaces the first column by the
// given deployment.
func (r *raw) insert(deployment int64, tables []table) time.Duration {
	r.tb.Helper()
	return timed(func() {
		r.transaction(func(tx *sql.Tx) {
			for _, t := range tables {
				marks := strings.TrimSuffix(strings.Repeat("?,", len(t.rows[0])), ",")
				insert, err := tx.Prepare(fmt.Sprintf(`INSERT INTO %s VALUES (%s)`, t.name, marks))
				r.check(err)
				for _, row := range t.rows {
					row[0] = deployment
					_, err := insert.Exec(row...)
					r.check(err)
				}
			}
		})
	})()
}

func (r *raw) transaction(do func(tx *sql.Tx)) {
	r.tb.Helper()
	tx, err := r.db.Begin()
	r.check(err)
	do(tx)
	r.check(tx.Commit())
}
