package store_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// errUndo rolls back the writes of one round of a property test.
var errUndo = errors.New("undo")

// rounds runs the rounds of a property test, each in an update that is rolled back.
func rounds(t *testing.T, s *store.Store, d model.Deployment, round func(context.Context, *rapid.T, *store.Tx) error) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		err := s.Update(context.Background(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(round(ctx, r, tx), errUndo)
		})
		if err.Error() != errUndo.Error() {
			r.Fatal(err)
		}
	})
}

const aliasColumns = "project_alias (deployment_id, name, project_id)"

func TestInReturnsOnlyListedRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		rounds(t, s, storetest.Deployment(t, s), func(ctx context.Context, r *rapid.T, tx *store.Tx) error {
			stored := rapid.SliceOfDistinct(rapid.Int64Range(1, 40), rapid.ID).Draw(r, "stored")
			listed := rapid.SliceOf(rapid.Int64Range(1, 40)).Draw(r, "listed")
			var aliases, identities [][]any
			var names []string
			var hashes [][]byte
			for _, n := range stored {
				aliases = append(aliases, []any{text(n), n})
				identities = append(identities, []any{n, 1, hash(n), n})
			}
			var want []int64
			for _, n := range listed {
				names, hashes = append(names, text(n)), append(hashes, hash(n))
			}
			for _, n := range stored {
				if slices.Contains(listed, n) {
					want = append(want, n)
				}
			}
			slices.Sort(want)
			if err := tx.Insert(ctx, aliasColumns, aliases, ""); err != nil {
				return err
			}
			if err := tx.Insert(ctx, "lineage_identity (deployment_id, project_id, kind, hash, lineage_id)", identities, ""); err != nil {
				return err
			}
			numbers, err := store.In[int64](ctx, tx, "project_alias", "project_id", listed)
			slices.Sort(numbers)
			same(t, "by number", numbers, want)
			texts, err2 := store.In[string](ctx, tx, "project_alias", "name", names)
			same(t, "how many by text", len(texts), len(want))
			blobs, err3 := store.In[[]byte](ctx, tx, "lineage_identity", "hash", hashes)
			same(t, "how many by bytes", len(blobs), len(want))
			return errors.Join(err, err2, err3)
		})
	})
}

// text returns a text for a number with characters that are sensitive to quoting.
func text(n int64) string { return fmt.Sprintf(`'"\%d,{}[]$1;--é`, n) }

func hash(n int64) []byte { return []byte{0, byte(n), 0xff, '\'', '"'} }

func TestInAcceptsLongAndEmptyLists(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		update(t, s, storetest.Deployment(t, s), func(ctx context.Context, tx *store.Tx) error {
			if err := tx.Insert(ctx, aliasColumns, [][]any{{"a", 1}, {"b", 70_000}}, ""); err != nil {
				return err
			}
			long := make([]int64, 100_000)
			for i := range long {
				long[i] = int64(i)
			}
			for _, c := range []struct {
				values any
				want   int
			}{{long, 2}, {[]int64{}, 0}, {[]int64(nil), 0}} {
				got, err := store.In[int64](ctx, tx, "project_alias", "project_id", c.values)
				if err != nil {
					return err
				}
				same(t, "how many", len(got), c.want)
			}
			got, err := store.In[string](ctx, tx, "project_alias", "name", []string(nil))
			same(t, "by no text", got, []string{})
			return err
		})
	})
}

func TestInsertWritesAnyNumberOfRows(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		const width = 3 // including the tenant
		for _, n := range []int{0, 1, store.MaxArgs/width - 1, store.MaxArgs / width, store.MaxArgs/width + 1, 3 * store.MaxArgs / width} {
			rows := make([][]any, n)
			want := make([]int64, n)
			for i := range rows {
				rows[i], want[i] = []any{fmt.Sprint("name-", i), i + 1}, int64(i+1)
			}
			err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				if err := tx.Insert(ctx, aliasColumns, rows, ""); err != nil {
					t.Errorf("%d rows: %v", n, err)
				}
				got, err := store.In[int64](ctx, tx, "project_alias", "project_id", want)
				slices.Sort(got)
				same(t, fmt.Sprintf("%d rows", n), got, want)
				return errors.Join(err, errUndo)
			})
			fails(t, "the round", err, errUndo)
		}
		err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.Insert(ctx, aliasColumns, [][]any{{"a", 1}, {"b"}}, "")
		})
		if err == nil {
			t.Error("rows of different widths were written")
		}
		err = s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			return tx.Insert(ctx, aliasColumns, [][]any{{"a", 1}, {"a", 2}}, "")
		})
		fails(t, "the same key twice", err, model.ErrConflict)
	})
}

// FuzzTextRoundTrip checks that any string can be written and found, and that valid strings are read
// unchanged.
func FuzzTextRoundTrip(f *testing.F) {
	for _, seed := range []string{"", "acme", "a\x00b", "\xff\xfe", "'; DROP TABLE project; --", "\u2028é\U0001F600", "$1 ? :x @y", `{"a":"\u0000"}`} {
		f.Add(seed)
	}
	s := storetest.New(f, "sqlite")
	d := storetest.Deployment(f, s)
	f.Fuzz(func(t *testing.T, text string) { checkTextRoundTrip(t, s, d, text) })
}

func TestTextRoundTripOnBothEngines(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		rapid.Check(t, func(r *rapid.T) {
			checkTextRoundTrip(r, s, d, string(rapid.SliceOf(rapid.Byte()).Draw(r, "text")))
			checkTextRoundTrip(r, s, d, rapid.String().Draw(r, "valid text"))
		})
	})
}

type fataler interface {
	Fatal(args ...any)
	Errorf(format string, args ...any)
}

func checkTextRoundTrip(t fataler, s *store.Store, d model.Deployment, text string) {
	err := s.Update(context.Background(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.Insert(ctx, aliasColumns, [][]any{{text, 1}}, ""); err != nil {
			return err
		}
		got, err := store.In[string](ctx, tx, "project_alias", "name", []string{text})
		if err != nil || len(got) != 1 {
			t.Errorf("%q is found as %q, %v", text, got, err)
		} else if utf8.ValidString(text) && !slices.Contains([]byte(text), 0) && got[0] != text {
			t.Errorf("%q comes back as %q", text, got[0])
		}
		return errors.Join(err, errUndo)
	})
	if err.Error() != errUndo.Error() {
		t.Fatal(err)
	}
}
