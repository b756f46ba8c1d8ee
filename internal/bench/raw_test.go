package bench

import (
	"database/sql"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/store"
)

// raw is the database without us: a copy of the store's file and the same
// driver, for the limits of what reads or writes rows.
type raw struct {
	w  *world
	db *sql.DB
}

// raw copies the store as it is now.
func (w *world) raw() *raw {
	w.tb.Helper()
	path := filepath.Join(w.tb.TempDir(), "copy.db")
	from, err := sql.Open("sqlite", filepath.Join(w.config.Dir, store.FileName))
	w.check(err)
	_, err = from.Exec(`VACUUM INTO $1`, path)
	w.check(err)
	w.check(from.Close())
	db, err := sql.Open("sqlite", path+"?_txlock=immediate&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=cache_size(-65536)")
	w.check(err)
	db.SetMaxOpenConns(1)
	w.tb.Cleanup(func() { db.Close() })
	return &raw{w, db}
}

// step reads all columns of all rows of a query, keeps none, and returns how
// many rows there were.
func (r *raw) step(query string, args ...any) (rows int) {
	r.w.tb.Helper()
	found, err := r.db.Query(query, args...)
	r.w.check(err)
	defer found.Close()
	columns, err := found.Columns()
	r.w.check(err)
	values, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	for ; found.Next(); rows++ {
		r.w.check(found.Scan(into...))
	}
	r.w.check(found.Err())
	return rows
}

// rows reads rows to write them elsewhere.
func (r *raw) rows(query string, args ...any) (out [][]any) {
	r.w.tb.Helper()
	found, err := r.db.Query(query, args...)
	r.w.check(err)
	defer found.Close()
	columns, err := found.Columns()
	r.w.check(err)
	for found.Next() {
		values, into := make([]any, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		r.w.check(found.Scan(into...))
		out = append(out, values)
	}
	r.w.check(found.Err())
	return out
}

// table is rows to insert.
type table struct {
	name string
	rows [][]any
}

// insert takes as long as to insert rows one by one, in one transaction, as
// those of another deployment, which is their first column.
func (r *raw) insert(deployment int64, tables []table) time.Duration {
	r.w.tb.Helper()
	return timed(func() {
		r.transaction(func(tx *sql.Tx) {
			for _, t := range tables {
				marks := strings.TrimSuffix(strings.Repeat("?,", len(t.rows[0])), ",")
				insert, err := tx.Prepare(fmt.Sprintf(`INSERT INTO %s VALUES (%s)`, t.name, marks))
				r.w.check(err)
				for _, row := range t.rows {
					row[0] = deployment
					_, err := insert.Exec(row...)
					r.w.check(err)
				}
			}
		})
	})()
}

func (r *raw) transaction(do func(tx *sql.Tx)) {
	r.w.tb.Helper()
	tx, err := r.db.Begin()
	r.w.check(err)
	do(tx)
	r.w.check(tx.Commit())
}
