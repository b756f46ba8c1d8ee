package sqldb

import (
	"database/sql"
	"testing"
	"time"
)

// TestCountParams checks that placeholders are counted as SQLite counts them.
func TestCountParams(t *testing.T) {
	for query, want := range map[string][2]int{ // number of arguments, and the first unnamed one
		`SELECT 1`: {},
		`SELECT a FROM b WHERE c = $1 AND d = $2`:            {2},
		`SELECT a FROM b WHERE c = $2 AND d = $1 AND e = $1`: {2},
		`SELECT a FROM b WHERE c = $2`:                       {2, 1},
		`SELECT a FROM b WHERE c = $1 AND d = $3`:            {3, 2},
		`SELECT a FROM b WHERE c = $1 AND d = '$2' || $3`:    {3, 2},
		`SELECT a FROM b WHERE c = $10`:                      {10, 1},
		`SELECT a FROM b WHERE c = $1 AND d = ?65`:           {65, 2},
		`INSERT INTO a VALUES ($1, $2), ($1, $3)`:            {3},
		`INSERT INTO a VALUES (?, ?), (?1, ?)`:               {3},
		`INSERT INTO a VALUES (?2, ?)`:                       {3, 1},
		`SELECT '$9' || 'it''s ?' FROM b WHERE c = $1`:       {1},
		`SELECT j -> '$.a' FROM b`:                           {},
		`SELECT a FROM b WHERE c = 'never closed AND d = $1`: {},
		`SELECT $x`: {},
	} {
		if named, missing := countParams(query); [2]int{named, missing} != want {
			t.Errorf("countParams(%s) = %d, %d, want %d", query, named, missing, want)
		}
	}
}

// BenchmarkMatchArgs measures matchArgs for a typical read and a block insert, relative to running
// the statement in memory.
func BenchmarkMatchArgs(b *testing.B) {
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		b.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	if _, err := db.ExecContext(b.Context(), `CREATE TABLE kept (a, b, c, d, e)`); err != nil {
		b.Fatal(err)
	}
	e := &engine{mark: func(int) string { return "?" }, numbered: true}
	rows := make([][]any, blockRows)
	for i := range rows {
		rows[i] = []any{int64(1), int64(i), "a", int64(i), "b"}
	}
	block, blockArgs := e.block("kept (a, b, c, d, e)", rows)
	for name, c := range map[string]struct {
		query string
		args  []any
	}{
		"read":  {`SELECT a, b, c, d, e FROM kept WHERE a = $1 AND b = $2 LIMIT 1`, []any{1, 2}},
		"block": {block, blockArgs},
	} {
		b.Run(name, func(b *testing.B) {
			var looked, ran time.Duration
			for b.Loop() {
				began := time.Now()
				if err := matchArgs(c.query, len(c.args)); err != nil {
					b.Fatal(err)
				}
				looked += time.Since(began)
				began = time.Now()
				if _, err := db.ExecContext(b.Context(), c.query, c.args...); err != nil {
					b.Fatal(err)
				}
				ran += time.Since(began)
			}
			b.ReportMetric(float64(looked)/float64(ran), "x-run")
		})
	}
}
