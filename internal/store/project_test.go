package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// addProjects creates projects with these names.
func addProjects(t testing.TB, s *store.Store, d model.Deployment, names ...string) (list []model.Project) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		for _, name := range names {
			p, err := tx.CreateProject(ctx, model.Project{Name: name})
			if err != nil {
				return err
			}
			list = append(list, p)
		}
		return nil
	})
	return list
}

func TestProjectRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		var made model.Project
		update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
			made, err = tx.CreateProject(ctx, model.Project{
				Name: "acme/payments", URL: "https://git.example/acme/payments", Tags: []string{" z ", "a", "z"}, RepoID: "repo-1",
				DefaultBranch: "refs/heads/trunk", PrimaryBranch: "refs/heads/release", Visibility: model.VisibilityPrivate,
				ManagedScan: model.ManagedScan{Diff: true}, LatestScanAt: storetest.Epoch,
			})
			want := model.Project{
				ID: made.ID, Name: "acme/payments", URL: "https://git.example/acme/payments", Tags: []string{"z", "a"}, RepoID: "repo-1",
				CreatedAt: tx.Now(), DefaultBranch: "refs/heads/trunk", PrimaryBranch: "refs/heads/release",
				Visibility: model.VisibilityPrivate, ManagedScan: model.ManagedScan{Diff: true},
			}
			same(t, "created", made, want)
			return err
		})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			byID, err := tx.Project(ctx, made.ID)
			same(t, "by id", byID, made)
			byName, err2 := tx.ProjectByName(ctx, made.Name)
			same(t, "by name", byName, made)
			for _, name := range []string{"Acme/payments", "acme/payment", "acme/payments ", "ACME/PAYMENTS", "", "acme/%"} {
				_, err := tx.ProjectByName(ctx, name)
				fails(t, name, err, model.ErrNotFound)
			}
			if err == nil {
				err = err2
			}
			return err
		})
	})
}

func TestInvalidProjectsAreRejected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateProject(ctx, model.Project{Name: "acme/payments", RepoID: "repo-1"})
			return err
		})
		for _, c := range []struct {
			what    string
			project model.Project
			check   func(err error)
		}{
			{"one segment", model.Project{Name: "acme"}, func(err error) { invalid(t, "one segment", err, "name") }},
			{"eleven tags", model.Project{Name: "a/b", Tags: strings.Split("a,b,c,d,e,f,g,h,i,j,k", ",")}, func(err error) { invalid(t, "eleven tags", err, "tags") }},
			{"a name taken", model.Project{Name: "acme/payments"}, func(err error) { fails(t, "a name taken", err, model.ErrConflict) }},
			{"a repository taken", model.Project{Name: "a/b", RepoID: "repo-1"}, func(err error) { fails(t, "a repository taken", err, model.ErrConflict) }},
		} {
			c.check(s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateProject(ctx, c.project)
				return err
			}))
		}
	})
}

func TestUpdateProjectChangesOnlyGivenFields(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/payments")[0]
		steps := []struct {
			patch  store.ProjectPatch
			want   func(*model.Project)
			before string
			after  string
		}{
			{store.ProjectPatch{Tags: &[]string{"b", "a"}}, func(p *model.Project) { p.Tags = []string{"b", "a"} }, `{"tags":[]}`, `{"tags":["b","a"]}`},
			{
				store.ProjectPatch{PrimaryBranch: new("refs/heads/x"), Visibility: new(model.VisibilityPublic)},
				func(p *model.Project) { p.PrimaryBranch, p.Visibility = "refs/heads/x", model.VisibilityPublic },
				`{"primary_branch":"","visibility":"unknown"}`, `{"primary_branch":"refs/heads/x","visibility":"public"}`,
			},
			{
				store.ProjectPatch{ManagedDiff: new(true), ManagedFull: new(false), URL: new("https://x")},
				func(p *model.Project) { p.ManagedScan.Diff, p.URL = true, "https://x" },
				`{"managed_diff_scan":false,"url":""}`, `{"managed_diff_scan":true,"url":"https://x"}`,
			},
			{store.ProjectPatch{PrimaryBranch: new(""), Tags: &[]string{}}, func(p *model.Project) { p.PrimaryBranch, p.Tags = "", nil }, `{"primary_branch":"refs/heads/x","tags":["b","a"]}`, `{"primary_branch":"","tags":[]}`},
		}
		for i, step := range steps {
			step.want(&p)
			before := deployment(t, s, d.Slug).Version
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.UpdateProject(ctx, p.ID, step.patch)
				same(t, fmt.Sprint("answer ", i), got, p)
				return err
			})
			view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				got, err := tx.Project(ctx, p.ID)
				same(t, fmt.Sprint("read again ", i), got, p)
				return err
			})
			trail := events(t, s, d)
			last := trail[len(trail)-1]
			same(t, "the trail", []string{last.Action, last.Subject, last.Before, last.After},
				[]string{"project.update", fmt.Sprint("project:", p.ID), step.before, step.after})
			same(t, "the version's growth", model.Commits(deployment(t, s, d.Slug).Version)-model.Commits(before), int64(1))
		}
		before, trail := deployment(t, s, d.Slug), len(events(t, s, d))
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.UpdateProject(ctx, p.ID, store.ProjectPatch{URL: new("https://x")})
			return err
		})
		same(t, "the deployment after nothing changed", deployment(t, s, d.Slug), before)
		same(t, "the trail after nothing changed", len(events(t, s, d)), trail)
	})
}

func TestFormerProjectNamesResolveUntilReused(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		list := addProjects(t, s, d, "acme/a", "acme/other")
		a, other := list[0], list[1]
		rename := func(id int64, name string) error {
			return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.RenameProject(ctx, id, name)
				return err
			})
		}
		answers := func(names map[string]int64) {
			t.Helper()
			view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				for name, want := range names {
					if p, err := tx.ProjectByName(ctx, name); err != nil || p.ID != want {
						t.Errorf("%s answers %d, %v; want %d", name, p.ID, err, want)
					}
				}
				return nil
			})
		}
		for _, name := range []string{"acme/b", "acme/c"} {
			if err := rename(a.ID, name); err != nil {
				t.Fatal(err)
			}
		}
		answers(map[string]int64{"acme/a": a.ID, "acme/b": a.ID, "acme/c": a.ID})
		fails(t, "a name in use", rename(a.ID, "acme/other"), model.ErrConflict)
		invalid(t, "a bad name", rename(a.ID, "acme"), "name")
		if err := rename(other.ID, "acme/b"); err != nil {
			t.Fatal(err)
		}
		taker := addProjects(t, s, d, "acme/a")[0]
		answers(map[string]int64{"acme/a": taker.ID, "acme/b": other.ID, "acme/c": a.ID, "acme/other": other.ID})
		if err := rename(other.ID, "acme/other"); err != nil { // back to the old name
			t.Fatal(err)
		}
		answers(map[string]int64{"acme/b": other.ID, "acme/other": other.ID})
		if err := rename(other.ID, "acme/other"); err != nil { // the current name
			t.Error(err)
		}
	})
}

func TestProjectsArePagedByName(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		// Sorted bytewise, which differs from the database's locale.
		names := []string{"Zeta/a", "acme/B", "acme/_x", "acme/a", "acme/a-b", "acme/aa", "acme/deep/er", "other/ä", "ä/a"}
		shuffled := slices.Clone(names)
		slices.Reverse(shuffled)
		addProjects(t, s, d, shuffled...)
		for _, c := range []struct {
			globs model.ProjectGlobs
			want  []string
		}{
			{nil, names},
			{model.ProjectGlobs{"acme/*"}, []string{"acme/B", "acme/_x", "acme/a", "acme/a-b", "acme/aa"}},
			{model.ProjectGlobs{"acme/**", "ä/a"}, []string{"acme/B", "acme/_x", "acme/a", "acme/a-b", "acme/aa", "acme/deep/er", "ä/a"}},
			{model.ProjectGlobs{"none/*"}, nil},
		} {
			for _, limit := range []int{0, 1, 2, 5, 100} {
				var got []string
				for offset := 0; offset == len(got); {
					var page []model.Project
					view(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
						page, err = tx.Projects(ctx, store.ProjectQuery{Globs: c.globs, Offset: offset, Limit: limit})
						return err
					})
					if len(page) == 0 || offset > 0 && limit == 0 {
						break
					}
					if limit > 0 && len(page) > limit {
						t.Fatalf("a page of %d has %d", limit, len(page))
					}
					for _, p := range page {
						got = append(got, p.Name)
					}
					offset = len(got)
				}
				same(t, fmt.Sprint(c.globs, " by ", limit), got, c.want)
			}
		}
	})
}

func TestScanAppliedSetsDefaultBranchOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/a")[0]
		at := storetest.Epoch
		for i, step := range []struct {
			ref    string
			full   bool
			at     time.Time
			branch string
			latest time.Time
			grows  int64
		}{
			{"refs/heads/main", false, at, "", at, 0},
			{"refs/pull/1/merge", true, at.Add(time.Hour), "", at.Add(time.Hour), 0},
			{"HEAD", true, at, "", at.Add(time.Hour), 0},
			{"refs/heads/trunk", true, at, "refs/heads/trunk", at.Add(time.Hour), 1},
			{"refs/heads/main", true, at.Add(2 * time.Hour), "refs/heads/trunk", at.Add(2 * time.Hour), 0},
		} {
			before := deployment(t, s, d.Slug).Version
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				if err := tx.ScanApplied(ctx, p.ID, step.ref, step.full, step.at); err != nil {
					return err
				}
				got, err := tx.Project(ctx, p.ID)
				if got.DefaultBranch != step.branch || got.LatestScanAt != step.latest {
					t.Errorf("step %d: the default branch is %q and the latest scan at %v, want %q and %v", i, got.DefaultBranch, got.LatestScanAt, step.branch, step.latest)
				}
				return err
			})
			same(t, fmt.Sprint("growth of the version at step ", i), model.Commits(deployment(t, s, d.Slug).Version)-model.Commits(before), step.grows)
		}
	})
}
