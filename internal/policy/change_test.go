package policy_test

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// findingAt adds a finding of a project like a scan.
func findingAt(ctx context.Context, tx *store.Tx, projectID int64, n byte, change func(*model.Finding)) (int64, error) {
	ids, err := tx.NewFindingIDs(ctx, 1)
	if err != nil {
		return 0, err
	}
	lineages, err := tx.NewLineageIDs(ctx, 1)
	if err != nil {
		return 0, err
	}
	f := model.Finding{
		ID: ids[0], IssueType: model.SAST, ProjectID: projectID, Ref: "refs/heads/main", Source: policy.Source,
		Identity: model.Identity{Kind: model.IdentityMatchBased, Hash: model.Digest{n}}, LineageID: lineages[0], RuleName: "r", Path: "vendor/a.go",
		State: model.Unresolved, Severity: model.SeverityHigh, CreatedAt: tx.Now(), RelevantSince: tx.Now(), FirstScanID: 1,
	}
	change(&f)
	rules, err := tx.PutRules(ctx, []*model.Rule{{Name: "r", IssueType: f.IssueType}})
	if err != nil {
		return 0, err
	}
	f.RuleID = rules[0]
	if err := tx.AddLineages(ctx, []model.Lineage{{ID: f.LineageID, ProjectID: projectID, Triage: model.Triage{State: model.TriageUntriaged}}}); err != nil {
		return 0, err
	}
	return f.ID, tx.AddFindings(ctx, []model.FindingWrite{{Finding: f, Body: []byte(`"x":1`)}})
}

// TestFindingsOnExcludedPathsAreRemoved saves a policy with excludes and checks findings inside and
// outside of its scope and excludes.
func TestFindingsOnExcludedPathsAreRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update := func(fn func(context.Context, *store.Tx) error) {
			t.Helper()
			if err := s.Update(t.Context(), d.ID, storetest.Actor, fn); err != nil {
				t.Fatal(err)
			}
		}
		want := map[int64]model.State{}
		update(func(ctx context.Context, tx *store.Tx) error {
			shop, err := tx.CreateProject(ctx, model.Project{Name: "acme/shop", Tags: []string{"pci"}})
			if err != nil {
				return err
			}
			web, err := tx.CreateProject(ctx, model.Project{Name: "acme/web"})
			if err != nil {
				return err
			}
			for n, c := range []struct {
				project int64
				change  func(*model.Finding)
				state   model.State
			}{
				{shop.ID, func(*model.Finding) {}, model.StateRemoved},
				{shop.ID, func(f *model.Finding) { f.Ref = "refs/pull/1/merge" }, model.StateRemoved},
				{shop.ID, func(f *model.Finding) { f.State = model.Muted }, model.StateRemoved},
				{shop.ID, func(f *model.Finding) { f.State = model.Fixed }, model.Fixed},
				{shop.ID, func(f *model.Finding) { f.Path = "src/a.go" }, model.Unresolved},
				{shop.ID, func(f *model.Finding) { f.IssueType = model.Secrets }, model.Unresolved},
				{shop.ID, func(f *model.Finding) { f.Source = "codeql" }, model.Unresolved},
				{web.ID, func(*model.Finding) {}, model.Unresolved},
			} {
				id, err := findingAt(ctx, tx, c.project, byte(n+1), c.change)
				if err != nil {
					return err
				}
				want[id] = c.state
			}
			return nil
		})
		var p model.Policy
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
		p = model.Policy{Name: "Shop", Product: model.SAST, Scope: model.PolicyScope{Tags: []string{"pci"}}}
		save(0)
		p.Excludes = model.PathGlobs{"vendor/"}
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
				var recorded []string
				for _, h := range history {
					recorded = append(recorded, fmt.Sprint(h.Kind, h.ScanID, h.Detail))
				}
				var events []string
				if want[f.ID] == model.StateRemoved {
					events = []string{`removed0{"excluded_by":"shop"}`}
				}
				if diff := cmp.Diff(events, recorded); diff != "" || f.State != want[f.ID] || (f.State == model.StateRemoved) == f.StateUpdatedAt.IsZero() {
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

// TestConditionIDsAreNotReused checks that the ID of a removed condition is not reused, even
// after changes or without remaining conditions. Logs and builds refer to conditions by ID.
func TestConditionIDsAreNotReused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		var id int64
		step := func(fn func(context.Context, *store.Tx, model.Policy) error) {
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
			step(func(ctx context.Context, tx *store.Tx, p model.Policy) error {
				made, err := policy.AddCondition(ctx, tx, p, model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityHigh})
				if made.ID != want {
					t.Errorf("a further condition is %d, want %d", made.ID, want)
				}
				return err
			})
		}
		remove := func(condition int64) {
			t.Helper()
			step(func(ctx context.Context, tx *store.Tx, p model.Policy) error {
				_, err := policy.RemoveCondition(ctx, tx, p, condition)
				return err
			})
		}
		err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.CreatePolicy(ctx, model.Policy{Name: "Shop", Product: model.SCA, Conditions: []model.PolicyCondition{{ID: 3, Mode: model.ModeBlock, Direct: true}}})
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
		step(func(ctx context.Context, tx *store.Tx, p model.Policy) error {
			p.Name = "Store"
			_, _, err := policy.Save(ctx, tx, p)
			return err
		})
		add(6)
		add(7)
	})
}
