package hosts_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestConnectionTestReportsWebhookProblems checks that testing a connection shows problems of its webhooks until they
// are solved. No webhook is created or removed until an administrator requests webhooks.
func TestConnectionTestReportsWebhookProblems(t *testing.T) {
	const ours, moved = "https://redoubt.example", "https://moved.example"
	for _, step := range []struct {
		what     string
		existing scm.Hook // our webhook at the host; no id: none
		server   string   // current address of the server
		without  string   // events that webhooks created by the host lack
		problem  string
	}{
		{"as it was made", scm.Hook{ID: "41", Address: ours}, ours, "", ""},
		{"events of it were unticked", scm.Hook{ID: "41", Address: ours, Lacks: "issue_comment"}, ours, "", "its webhook at the host does not send issue_comment"},
		{"the host makes it without them", scm.Hook{ID: "41", Address: ours, Lacks: "issue_comment"}, ours, "issue_comment", "its webhook at the host does not send issue_comment"},
		{"it tells another server, or where this was before", scm.Hook{ID: "41", Address: ours}, moved, "", ""},
		{"and events of it were unticked", scm.Hook{ID: "41", Address: ours, Lacks: "push"}, moved, "", "its webhook at the host does not send push"},
		{"its address was changed at the host", scm.Hook{ID: "41", Address: moved}, ours, "", "its webhook at the host points to another address, " + moved + "{path}"},
		{"which is this server's by now", scm.Hook{ID: "41", Address: moved}, moved, "", "its webhook at the host points to another address, " + moved + "{path}"},
		{"the server knows no address of its own", scm.Hook{ID: "41", Address: ours}, "", "", ""},
		{"and events were unticked", scm.Hook{ID: "41", Address: ours, Lacks: "push"}, "", "", "its webhook at the host does not send push"},
		{"it was disabled at the host", scm.Hook{ID: "41", Address: ours, Off: true}, ours, "", "its webhook at the host is disabled"},
		{"it was removed at the host", scm.Hook{}, ours, "", "its webhook at the host no longer exists"},
	} {
		t.Run(step.what, func(t *testing.T) {
			storetest.Each(t, func(t *testing.T, s *store.Store) {
				w := newWorld(t, s)
				c := w.connect()
				w.hook(c, ours)
				path := w.hookPath(c)
				foreign := scm.Hook{ID: "7", Address: "https://other.example" + path, Lacks: "push"}
				w.host.hooks, w.host.hooked = nil, []scm.Hook{foreign}
				step.problem = strings.ReplaceAll(step.problem, "{path}", path)
				if hook := step.existing; hook.ID != "" {
					hook.Address += path
					w.host.hooked = append(w.host.hooked, hook)
				}
				w.host.makesWithout, w.keeper.HookURL = step.without, step.server
				for range 2 {
					if _, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil {
						t.Fatal(err)
					}
				}
				same(t, "what the host was asked to do", len(w.host.hooks), 0)
				same(t, "those of others", w.host.hooked[0], foreign)
				r := w.repository(c)
				same(t, "its problem", r.HookProblem(w.now), step.problem)
				w.view(func(ctx context.Context, tx *store.Tx) error {
					counts, err := tx.CountRepositories(ctx)
					n := counts[c.ID]
					if silent := step.problem != ""; silent != (n.Silent == 1) || silent && n.HookProblem != "acme/payments: "+step.problem {
						t.Errorf("the connection has %+v", n)
					}
					return err
				})
				if step.problem == "" || step.server == "" {
					return
				}
				w.hook(c, step.server)
				same(t, "once it is made again", w.repository(c).HookProblem(w.now), "")
				if step.without == "" {
					return
				}
				if _, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil {
					t.Fatal(err)
				}
				same(t, "and looked at", w.repository(c).HookProblem(w.now), step.problem)
			})
		})
	}
}

// TestIncompleteWebhookDoesNotReducePolling checks that a repository whose webhook lacks events is
// polled as often as one without a webhook.
func TestIncompleteWebhookDoesNotReducePolling(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w, c, clock, _ := newHookWorld(t, engine)
			same(t, "at first", w.silent(c, clock), "webhook, asked hourly.")
			w.host.hooked[0].Lacks, w.keeper.HookURL = "push", ""
			if _, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil {
				t.Fatal(err)
			}
			same(t, "once it was looked at", w.silent(c, clock), "polling, asked soon. acme/payments")
		})
	}
}

// TestRefusedWebhookCheckPreservesState checks that a refusal of the host preserves the stored problem
// and leaves the connection working.
func TestRefusedWebhookCheckPreservesState(t *testing.T) {
	w := newWorld(t, storetest.New(t, "sqlite"))
	c := w.connect()
	w.hook(c, "https://redoubt.example")
	err := w.s.Update(t.Context(), w.d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Repositories(ctx, c.ID)
		for _, r := range list {
			if r.FullName == "acme/web" && err == nil { // whose webhooks the host does not list
				if err = tx.SetRepositoryHook(ctx, r.ID, "9", "https://redoubt.example"); err == nil {
					err = tx.RecordHookCheck(ctx, r.ID, "9", "is disabled")
				}
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	after, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID)
	if err != nil || after.Problem != "" {
		t.Errorf("the connection: %q, %v", after.Problem, err)
	}
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Repositories(ctx, c.ID)
		for _, r := range list {
			if want := map[string]string{"acme/web": "is disabled"}[r.FullName]; r.HookLacks != want {
				t.Errorf("%s lacks %q", r.FullName, r.HookLacks)
			}
		}
		return err
	})
}
