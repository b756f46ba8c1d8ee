package store_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// memoOf makes a memo of n results that are like none of another seed.
func memoOf(seed uint64, n int) redoubt.ReportMemo {
	rnd := rand.New(rand.NewPCG(seed, 1))
	random := func() (d redoubt.Digest) {
		for i := range d {
			d[i] = byte(rnd.Uint32())
		}
		return d
	}
	m := redoubt.ReportMemo{Context: random()}
	for range n {
		m.Results = append(m.Results, redoubt.ReadResult{
			Raw:      redoubt.RawResult{Digest: random(), Size: 1 + rnd.IntN(1<<20), Group: rnd.Uint64(), Rule: rnd.IntN(1000), Index: rnd.IntN(1_000_000)},
			Identity: redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: random()}, Content: random(), Muted: rnd.IntN(2) == 0,
			Location: redoubt.Location{Line: rnd.IntN(1 << 31), Column: rnd.IntN(1000), EndLine: rnd.IntN(1 << 31), EndColumn: rnd.IntN(3) - 1},
		})
	}
	return m
}

// TestReportMemo: the last memo of a source on a ref is kept until what it is of goes.
func TestReportMemo(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update := func(fn func(ctx context.Context, tx *store.Tx) error) {
			t.Helper()
			if err := s.Update(t.Context(), d.ID, storetest.Actor, fn); err != nil {
				t.Fatal(err)
			}
		}
		ids := map[string]int64{}
		put := func(project, ref, source string, m redoubt.ReportMemo) {
			t.Helper()
			update(func(ctx context.Context, tx *store.Tx) error {
				p, err := tx.ProjectForScan(ctx, nil, redoubt.Project{Name: project})
				if err != nil {
					return err
				}
				ids[project] = p.ID
				return tx.PutReportMemo(ctx, p.ID, ref, source, m)
			})
		}
		holds := func(project, ref, source string, want *redoubt.ReportMemo) {
			t.Helper()
			err := s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.ReportMemo(ctx, project, ref, source)
				if diff := cmp.Diff(want, got); diff != "" {
					t.Errorf("the memo of %s %s %s (-want +got):\n%s", project, ref, source, diff)
				}
				return err
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		const ref = "refs/heads/main"
		one, two, three := memoOf(1, 3), memoOf(2, 100), memoOf(3, 1)
		put("acme/a", ref, "semgrep", one)
		put("acme/a", "refs/heads/dev", "semgrep", two)
		put("acme/a", ref, "semgrep:x", three)
		put("acme/b", ref, "semgrep", three)
		holds("acme/a", ref, "semgrep", &one)
		put("acme/a", ref, "semgrep", two)
		holds("acme/a", ref, "semgrep", &two)
		holds("acme/a", "refs/heads/dev", "semgrep", &two)
		holds("acme/a", ref, "semgrep:x", &three)
		holds("acme/c", ref, "semgrep", nil)
		update(func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.AddScan(ctx, redoubt.Scan{ProjectID: ids["acme/a"], Ref: "refs/heads/dev", Source: "semgrep", StartedAt: tx.Now(), Products: 1, Status: redoubt.ScanCompleted, Outcome: redoubt.ScanApplied}); err != nil {
				return err
			}
			return tx.DeleteRef(ctx, ids["acme/a"], "refs/heads/dev")
		})
		holds("acme/a", "refs/heads/dev", "semgrep", nil)
		holds("acme/a", ref, "semgrep", &two)
		update(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.MergeProjects(ctx, ids["acme/b"], ids["acme/a"])
			return err
		})
		holds("acme/a", ref, "semgrep", &two)
		put("acme/d", ref, "semgrep", one)
		update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, ids["acme/d"]) })
		put("acme/d", "refs/heads/other", "semgrep", one)
		holds("acme/d", ref, "semgrep", nil)
		if err := s.ExecRaw(t.Context(), fmt.Sprintf("UPDATE report_memo SET memo = memo || memo WHERE deployment_id = %d AND project_id = %d AND ref = '%s'", d.ID, ids["acme/d"], "refs/heads/other")); err != nil {
			t.Fatal(err)
		}
		holds("acme/d", "refs/heads/other", "semgrep", nil) // damaged, it knows nothing
		update(func(ctx context.Context, tx *store.Tx) error { return tx.ConcealFindings(ctx, nil) })
		holds("acme/a", ref, "semgrep", nil) // its digests may be of what is a secret by now
	})
}
