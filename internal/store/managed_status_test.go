package store_test

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestRunFactsOfManyProjects checks that each project has its own connection, runs and plan.
func TestRunFactsOfManyProjects(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: "ours", BaseURL: "https://git.example"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
			if err != nil {
				return err
			}
			host := func(names ...string) (repositories []model.Repository) {
				for _, name := range names {
					repositories = append(repositories, model.Repository{HostID: name, FullName: name, DefaultBranch: "main", CloneURL: "https://git.example/" + name, Archived: name == "acme/old"})
				}
				return repositories
			}
			seen, err := tx.SaveRepositories(ctx, c.ID, host("acme/a", "acme/b", "acme/old"), true)
			var projects []model.Project
			for i := range seen {
				var p model.Project
				if err == nil {
					p, err = tx.AssignProject(ctx, seen[i].ID)
				}
				projects = append(projects, p)
			}
			if err != nil {
				return err
			}
			alone, err := tx.CreateProject(ctx, model.Project{Name: "acme/alone"})
			if err != nil {
				return err
			}
			projects = append(projects, alone)
			var first int64
			for _, p := range projects[:2] {
				run, err := tx.QueueRun(ctx, model.Run{ProjectID: p.ID, Ref: "refs/heads/main", Kind: model.RunFull, Cause: model.RunByHand})
				if err != nil {
					return err
				}
				first = cmp.Or(first, run.ID)
			}
			if err := tx.CancelRun(ctx, first, "x"); err != nil {
				return err
			}
			if err := tx.PutRunPlan(ctx, model.RunPlan{ProjectID: projects[1].ID, Every: model.RunDaily, QueuedAt: tx.Now()}); err != nil {
				return err
			}
			if err := tx.NoteConnectionCheck(ctx, c.ID, "", "the host says 401"); err != nil {
				return err
			}
			facts, err := tx.RunFactsOf(ctx, projects)
			var got []string
			for _, f := range facts {
				got = append(got, fmt.Sprint(f.Project.Name, " ", f.Connected, " ", f.Lost != "", " ", f.Trouble, " ", f.Plan.Every, " ", f.Open != nil, " ", f.Last != nil))
			}
			same(t, "facts", got, []string{
				"acme/a true false the host says 401 weekly false false", "acme/b true false the host says 401 daily true false",
				"acme/old false true the host says 401 weekly false false", "acme/alone false false  weekly false false",
			})
			return err
		})
	})
}

// TestRevokeRunner checks that the runner's token is revoked and that all runners with it are
// deleted.
func TestRevokeRunner(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			var ids []int64
			for i := range 3 {
				name := fmt.Sprint("t", i)
				token, err := tx.CreateToken(ctx, model.Token{PublicID: name, Scopes: []model.Scope{model.ScopeRunner}}, storetest.TokenHash(name))
				if i == 1 {
					token.ID = ids[0] // uses the token of the first one
				}
				if err == nil {
					_, err = tx.RecordRunnerContact(ctx, model.Runner{Name: name, TokenID: token.ID})
				}
				if err != nil {
					return err
				}
				ids = append(ids, token.ID)
			}
			all, err := tx.Runners(ctx)
			if err != nil {
				return err
			}
			gone, err := tx.RevokeRunner(ctx, all[len(all)-1].ID)
			if err != nil || len(gone) != 2 || gone[0].Name != "t0" || gone[1].Name != "t1" {
				t.Errorf("gone %+v, %v", gone, err)
			}
			left, err := tx.Runners(ctx)
			if err != nil || len(left) != 1 || left[0].Name != "t2" {
				t.Errorf("left %+v, %v", left, err)
			}
			if _, err := tx.RevokeRunner(ctx, all[len(all)-1].ID); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("again: %v", err)
			}
			tokens, err := tx.Tokens(ctx)
			for _, token := range tokens {
				if revoked := !token.RevokedAt.IsZero(); revoked != (token.ID == ids[0]) {
					t.Errorf("%s: revoked %v", token.PublicID, revoked)
				}
			}
			return err
		})
	})
}

// TestRetryRun checks that ended runs can be queued again, and that others stay unchanged.
func TestRetryRun(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		p := addProjects(t, s, d, "acme/payments")[0]
		commit := "1111111111111111111111111111111111111111"
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for _, requested := range []model.Run{
				{ProjectID: p.ID, Ref: "refs/heads/main", Commit: commit, Kind: model.RunFull, Cause: model.RunByPush},
				{ProjectID: p.ID, Ref: "refs/pull/3/head", Commit: commit, Base: "refs/heads/main", Kind: model.RunDiff, Cause: model.RunByChangeRequest, Change: 3},
			} {
				run, err := tx.QueueRun(ctx, requested)
				if err != nil {
					return err
				}
				if _, err := tx.RetryRun(ctx, run.ID); !errors.Is(err, model.ErrConflict) {
					t.Errorf("one that waits: %v", err)
				}
				if err := tx.CancelRun(ctx, run.ID, "x"); err != nil {
					return err
				}
				retried, err := tx.RetryRun(ctx, run.ID)
				if err != nil {
					return err
				}
				want := requested.Commit
				if requested.Kind == model.RunFull {
					want = ""
				}
				if retried.ID == run.ID || retried.State != model.RunQueued || retried.Cause != model.RunByHand || retried.Commit != want || retried.Ref != requested.Ref || retried.Change != requested.Change || retried.Base != requested.Base {
					t.Errorf("again: %+v", retried)
				}
				ended, err := tx.Runs(ctx, store.RunQuery{States: []model.RunState{model.RunCancelled}, Limit: 1})
				if err != nil || len(ended) != 1 || ended[0].ID != run.ID {
					t.Errorf("cancelled ones: %+v, %v", ended, err)
				}
			}
			_, err := tx.RetryRun(ctx, 4711)
			if !errors.Is(err, model.ErrNotFound) {
				t.Errorf("an unknown one: %v", err)
			}
			return nil
		})
	})
}

// TestRepositoryPages checks the pages of all repositories and of those with or without a project,
// and the counts.
func TestRepositoryPages(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		var repositories []model.Repository
		for i := range 5 {
			name := fmt.Sprint("acme/r", i)
			repositories = append(repositories, model.Repository{HostID: name, FullName: name, CloneURL: "https://git.example/" + name})
		}
		err := s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			seen, err := tx.SaveRepositories(ctx, c.ID, repositories, true)
			for _, i := range []int{1, 3} {
				if err == nil {
					_, err = tx.AssignProject(ctx, seen[i].ID)
				}
			}
			return err
		})
		d.check(err)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			for name, q := range map[string]struct {
				query store.RepositoryQuery
				want  []string
				more  bool
			}{
				"all":          {store.RepositoryQuery{Limit: 9}, []string{"acme/r0", "acme/r1", "acme/r2", "acme/r3", "acme/r4"}, false},
				"middle":       {store.RepositoryQuery{Skip: 1, Limit: 2}, []string{"acme/r1", "acme/r2"}, true},
				"followed":     {store.RepositoryQuery{Followed: new(true), Limit: 9}, []string{"acme/r1", "acme/r3"}, false},
				"not followed": {store.RepositoryQuery{Followed: new(false), Skip: 1, Limit: 2}, []string{"acme/r2", "acme/r4"}, false},
			} {
				q.query.ConnectionID = c.ID
				list, more, err := tx.RepositoryPage(ctx, q.query)
				d.check(err)
				var got []string
				for _, r := range list {
					got = append(got, r.FullName)
				}
				same(t, name, fmt.Sprint(got, more), fmt.Sprint(q.want, q.more))
			}
			counts, err := tx.CountRepositories(ctx)
			same(t, "counts", counts[c.ID], store.RepositoryCount{Seen: 5, Followed: 2})
			return err
		})
	})
}

// TestUpdateConnectionWithoutSecrets checks updates of a connection to a public remote, which
// needs no secrets.
func TestUpdateConnectionWithoutSecrets(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGit, Name: "public", BaseURL: "https://git.example/x"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
			if err != nil {
				return err
			}
			c.Name, c.Follow = "renamed", []string{"**"}
			if _, err := tx.UpdateConnection(ctx, c, store.Sealed{}); err != nil {
				return err
			}
			after, err := tx.Connection(ctx, c.ID)
			same(t, "after", fmt.Sprint(after.Name, after.Follow), "renamed[**]")
			return err
		})
	})
}
