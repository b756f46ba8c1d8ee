package policy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// findingAt adds a finding of a project, as a scan would.
func findingAt(ctx context.Context, tx *store.Tx, projectID int64, n byte, change func(*redoubt.Finding)) (int64, error) {
	ids, err := tx.NewFindingIDs(ctx, 1)
	if err != nil {
		return 0, err
	}
	lineages, err := tx.NewLineageIDs(ctx, 1)
	if err != nil {
		return 0, err
	}
	f := redoubt.Finding{
		ID: ids[0], IssueType: redoubt.SAST, ProjectID: projectID, Ref: "refs/heads/main", Source: policy.Source,
		Identity: redoubt.Identity{Kind: redoubt.IdentityMatchBased, Hash: redoubt.Digest{n}}, LineageID: lineages[0], RuleName: "r", Path: "vendor/a.go",
		State: redoubt.Unresolved, Severity: redoubt.SeverityHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(), FirstScanID: 1,
	}
	change(&f)
	rules, err := tx.PutRules(ctx, []*redoubt.Rule{{Name: "r", IssueType: f.IssueType}})
	if err != nil {
		return 0, err
	}
	f.RuleID = rules[0]
	if err := tx.AddLineages(ctx, []redoubt.Lineage{{ID: f.LineageID, ProjectID: projectID, Triage: redoubt.Triage{State: redoubt.TriageUntriaged}}}); err != nil {
		return 0, err
	}
	return f.ID, tx.AddFindings(ctx, []redoubt.FindingWrite{{Finding: f, Body: []byte(`"x":1`)}})
}

// TestFindingsOnExcludedPathsAreRemoved saves a policy with excludes, and looks
// at what became of findings in, beside and outside of what it is for.
func TestFindingsOnExcludedPathsAreRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update := func(fn func(context.Context, *store.Tx) error) {
			t.Helper()
			if err := s.Update(t.Context(), d.ID, storetest.Actor, fn); err != nil {
				t.Fatal(err)
			}
		}
		want := map[int64]redoubt.State{}
		update(func(ctx context.Context, tx *store.Tx) error {
			shop, err := tx.CreateProject(ctx, redoubt.Project{Name: "acme/shop", Tags: []string{"pci"}})
			if err != nil {
				return err
			}
			web, err := tx.CreateProject(ctx, redoubt.Project{Name: "acme/web"})
			if err != nil {
				return err
			}
			for n, c := range []struct {
				project int64
				change  func(*redoubt.Finding)
				state   redoubt.State
			}{
				{shop.ID, func(*redoubt.Finding) {}, redoubt.StateRemoved},
				{shop.ID, func(f *redoubt.Finding) { f.Ref = "refs/pull/1/merge" }, redoubt.StateRemoved},
				{shop.ID, func(f *redoubt.Finding) { f.State = redoubt.Muted }, redoubt.StateRemoved},
				{shop.ID, func(f *redoubt.Finding) { f.State = redoubt.Fixed }, redoubt.Fixed},
				{shop.ID, func(f *redoubt.Finding) { f.Path = "src/a.go" }, redoubt.Unresolved},
				{shop.ID, func(f *redoubt.Finding) { f.IssueType = redoubt.Secrets }, redoubt.Unresolved},
				{shop.ID, func(f *redoubt.Finding) { f.Source = "codeql" }, redoubt.Unresolved},
				{web.ID, func(*redoubt.Finding) {}, redoubt.Unresolved},
			} {
				id, err := findingAt(ctx, tx, c.project, byte(n+1), c.change)
				if err != nil {
					return err
				}
				want[id] = c.state
			}
			return nil
		})
		var p redoubt.Policy
		save := func(times int) {
			t.Helper()
			update(func(ctx context.Context, tx *store.Tx) (err error) {
				var removed int
				if p, removed, err = policy.Save(ctx, tx, p); removed != times {
					t.Errorf("saving %+v removed %d findings, want %d", p, removed, times)
				}
				return err
			})
		}
		p = redoubt.Policy{Name: "Shop", Product: redoubt.SAST, Scope: redoubt.PolicyScope{Tags: []string{"pci"}}}
		save(0)
		p.Excludes = redoubt.PathGlobs{"vendor/"}
		save(3)
		p.BlockAll = true
		save(0)
		err := s.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) error {
			findings, err := tx.FindingsByID(ctx, slices.Collect(maps.Keys(want)))
			for _, f := range findings {
				history, err := tx.History(ctx, f.ID)
				if err != nil {
					return err
				}
				var told []string
				for _, h := range history {
					told = append(told, fmt.Sprint(h.Kind, h.ScanID, h.Detail))
				}
				var events []string
				if want[f.ID] == redoubt.StateRemoved {
					events = []string{`removed0{"excluded_by":"shop"}`}
				}
				if diff := cmp.Diff(events, told); diff != "" || f.State != want[f.ID] || (f.State == redoubt.StateRemoved) == f.StateUpdatedAt.IsZero() {
					t.Errorf("%s %s is %s, want %s (-want +got):\n%s", f.Path, f.Ref, f.State, want[f.ID], diff)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	})
}

// TestIDsOfConditionsNeverComeBack holds that what logs and builds say of a
// condition stays true of it: the id of one that was removed is not given again,
// even where the policy changed since or has no condition left.
func TestIDsOfConditionsNeverComeBack(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		var id int64
		step := func(fn func(context.Context, *store.Tx, redoubt.Policy) error) {
			t.Helper()
			err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				p, err := tx.Policy(ctx, id)
				if err != nil {
					return err
				}
				return fn(ctx, tx, p)
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		add := func(want int64) {
			t.Helper()
			step(func(ctx context.Context, tx *store.Tx, p redoubt.Policy) error {
				made, err := policy.AddCondition(ctx, tx, p, redoubt.PolicyCondition{Mode: redoubt.ModeBlock, Severity: redoubt.SeverityHigh})
				if made.ID != want {
					t.Errorf("a further condition is %d, want %d", made.ID, want)
				}
				return err
			})
		}
		remove := func(condition int64) {
			t.Helper()
			step(func(ctx context.Context, tx *store.Tx, p redoubt.Policy) error {
				_, err := policy.RemoveCondition(ctx, tx, p, condition)
				return err
			})
		}
		err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.CreatePolicy(ctx, redoubt.Policy{Name: "Shop", Product: redoubt.SCA, Conditions: []redoubt.PolicyCondition{{ID: 3, Mode: redoubt.ModeBlock, Direct: true}}})
			id = p.ID
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		add(4)
		remove(4)
		add(5)
		remove(3)
		remove(5)
		step(func(ctx context.Context, tx *store.Tx, p redoubt.Policy) error {
			p.Name = "Store"
			_, _, err := policy.Save(ctx, tx, p)
			return err
		})
		add(6)
		add(7)
	})
}
