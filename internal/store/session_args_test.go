package store

import "testing"

// TestCountParams names the arguments of statements as they are written here.
func TestCountParams(t *testing.T) {
	for query, want := range map[string]int{
		`SELECT 1`: 0,
		`SELECT a FROM b WHERE c = $1 AND d = $2`:            2,
		`SELECT a FROM b WHERE c = $2 AND d = $1 AND e = $1`: 2,
		`SELECT a FROM b WHERE c = $10`:                      10,
		`INSERT INTO a VALUES ($1, $2), ($1, $3)`:            3,
		`INSERT INTO a VALUES (?, ?), (?1, ?)`:               3,
		`SELECT '$9' || 'it''s ?' FROM b WHERE c = $1`:       1,
		`SELECT j -> '$.a' FROM b`:                           0,
		`SELECT a FROM b WHERE c = 'never closed AND d = $1`: 0,
		`SELECT $x`: 0,
	} {
		if got := countParams(query); got != want {
			t.Errorf("countParams(%s) = %d, want %d", query, got, want)
		}
	}
}
