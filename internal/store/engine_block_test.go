package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestInsertWritesWhatRowsShare writes rows that have all, some or none of their columns
// in common, of every kind of value, in as many statements as come of them: what is
// stored is what was given, wherever it stands in a row.
func TestInsertWritesWhatRowsShare(t *testing.T) {
	const into = "lineage_identity (deployment_id, project_id, kind, hash, lineage_id)"
	shapes := map[string]func(i int) []any{
		"none":   func(i int) []any { return []any{i, i % 100, fmt.Appendf(nil, "hash-%d", i), 1000 + i} },
		"first":  func(i int) []any { return []any{7, i % 100, fmt.Appendf(nil, "hash-%d", i), 1000 + i} },
		"middle": func(i int) []any { return []any{i, 3, []byte("one hash"), 1000 + i} },
		"last":   func(i int) []any { return []any{i, i % 100, fmt.Appendf(nil, "hash-%d", i), 5} },
		"one":    func(i int) []any { return []any{7, 3, fmt.Appendf(nil, "hash-%d", i), 5} },
	}
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for name, row := range shapes {
			for _, n := range []int{1, 2, 249, 250, 251, 750} {
				rows := make([][]any, n)
				want := make([]string, n)
				for i := range rows {
					rows[i] = row(i)
					want[i] = fmt.Sprint(rows[i][0], " ", rows[i][1], " ", string(rows[i][2].([]byte)), " ", rows[i][3])
				}
				err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
					err := tx.Insert(ctx, into, rows, "")
					got, read := store.Identities(ctx, tx)
					slices.Sort(got)
					slices.Sort(want)
					same(t, fmt.Sprintf("%s shared, %d rows", name, n), got, want)
					return errors.Join(err, read, errUndo)
				})
				fails(t, "the round", err, errUndo)
			}
		}
	})
}
