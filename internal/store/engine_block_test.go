package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestInsertSharedColumns inserts rows that share all, some or no columns, with every type of
// value and one or more statements. The stored rows must equal the input.
func TestInsertSharedColumns(t *testing.T) {
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

// TestInsertNullsAndEmptyBytes inserts columns that are always, sometimes or never NULL, and empty
// bytes.
func TestInsertNullsAndEmptyBytes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			rows := [][]any{
				{1, "a", "hash-a", "one", nil, tx.Now(), nil},
				{2, "b", "hash-b\x00", "two", nil, tx.Now(), tx.Now()},
				{3, "c", "hash-c", "three", nil, tx.Now(), nil},
			}
			answers := [][]any{{"one", []byte{1}, []byte{}, tx.Now(), 1}, {"two", []byte{}, []byte{2}, tx.Now(), 2}}
			return errors.Join(
				tx.Insert(ctx, "user_link_probe", nil, ""), // no rows need no statement
				insertTokens(ctx, tx, rows),
				tx.Insert(ctx, "kept_answer (deployment_id, idem_key, request, answer, at, ends)", answers, ""),
			)
		})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			one, err := tx.StoredAnswer(ctx, "one")
			two, err2 := tx.StoredAnswer(ctx, "two")
			same(t, "bytes", [][]byte{one.Request, one.Answer, two.Request, two.Answer}, [][]byte{{1}, {}, {}, {2}})
			tokens, err3 := tx.Tokens(ctx)
			if err := errors.Join(err, err2, err3); err != nil {
				return err
			}
			var expire []bool
			for _, token := range tokens {
				expire = append(expire, !token.ExpiresAt.IsZero())
			}
			same(t, "which tokens expire", expire, []bool{false, true, false})
			return nil
		})
	})
}

func insertTokens(ctx context.Context, tx *store.Tx, rows [][]any) error {
	for i, r := range rows {
		rows[i] = append(r, `["ci"]`, `[]`, "contract")
		rows[i][2] = []byte(r[2].(string)) //nolint:forcetypeassert // as written above
	}
	return tx.Insert(ctx, "token (deployment_id, id, public_id, hash, name, last_used_at, created_at, expires_at, scopes_json, globs_json, dialect)", rows, "")
}
