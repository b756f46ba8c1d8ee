package hosts_test

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/scm"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func same(t *testing.T, what string, got, want any) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) projects() (names []string) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Projects(ctx, store.ProjectQuery{})
		for _, p := range list {
			names = append(names, p.Name)
		}
		return err
	})
	return names
}

func TestConnectionSyncsRepositories(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		if c.Account != "Bot" || strings.Contains(string(c.Credential), "t0ken") || len(c.WebhookSecret) == 0 {
			t.Errorf("the connection is %+v", c)
		}
		same(t, "followed projects", w.projects(), []string{"acme/payments", "acme/web"})
		projects, err := w.keeper.CreateProjects(t.Context(), w.d.ID, storetest.Actor, c.ID, []string{"other/x", "acme/*"})
		if err != nil || len(projects) != 1 || projects[0].Name != "other/x" {
			t.Errorf("taken %v, %v", projects, err)
		}
		if _, err := w.keeper.CreateProjects(t.Context(), w.d.ID, storetest.Actor, c.ID, []string{"unknown/*"}); !errors.Is(err, model.ErrNotFound) {
			t.Errorf("missing repository: %v", err)
		}
		archived := newRepository("5", "acme/old")
		archived.Archived = true
		w.host.repositories = []model.Repository{newRepository("1", "acme/money"), newRepository("2", "acme/web"), newRepository("4", "acme/new"), archived}
		if _, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil {
			t.Fatal(err)
		}
		same(t, "after a rename, a new one and an archived one", w.projects(), []string{"acme/money", "acme/new", "acme/web", "other/x"})

		w.host.down = &scm.HostError{Status: http.StatusUnauthorized}
		after, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID)
		if err == nil || !strings.Contains(after.Problem, "credential") || after.Account != "Bot" {
			t.Errorf("a revoked token: %+v, %v", after, err)
		}
		w.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Repositories(ctx, c.ID)
			same(t, "repositories while the host refuses", len(list), 5)
			return err
		})
		w.host.down = nil
		if after, err := w.keeper.Check(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil || after.Problem != "" {
			t.Errorf("once it takes it again: %+v, %v", after, err)
		}
		w.host.down = model.ErrUnavailable
		if err := w.keeper.Remove(t.Context(), w.d.ID, storetest.Actor, c.ID); err != nil {
			t.Errorf("removed while the host is down: %v", err)
		}
		same(t, "projects stay", len(w.projects()), 4)
	})
}

func TestAddConnectionErrors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		good := model.Connection{Kind: model.HostGitea, Name: "ours", BaseURL: "https://git.example"}
		bad := good
		bad.BaseURL = "https://u:p@git.example"
		for what, add := range map[string]func() error{
			"a bad address": func() error {
				_, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, bad, credential)
				return err
			},
			"no credential": func() error {
				_, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, good, model.HostCredential{})
				return err
			},
			"a host that refuses": func() error {
				w.host.down = &scm.HostError{Status: http.StatusForbidden}
				_, err := w.keeper.Add(t.Context(), w.d.ID, storetest.Actor, good, credential)
				return err
			},
		} {
			var invalid *model.InvalidError
			if err := add(); !errors.As(err, &invalid) {
				t.Errorf("%s: %v", what, err)
			}
		}
		w.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Connections(ctx)
			same(t, "connections", len(list), 0)
			return err
		})
	})
}

func TestChangeRequestsArePolled(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		c := w.connect()
		poll := func(open ...model.ChangeRequest) {
			t.Helper()
			w.host.open = open
			w.must(w.keeper.Poll(t.Context(), w.d.ID, c))
		}
		change := model.ChangeRequest{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}
		poll(change)
		poll(change)
		same(t, "told twice, proposed once of each repository", w.proposed, []string{"acme/payments#3 1111", "acme/web#3 1111"})
		w.proposed = nil
		change.HeadCommit = second
		poll(change)
		same(t, "another head", w.proposed, []string{"acme/payments#3 2222", "acme/web#3 2222"})
		poll()
		w.view(func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Repositories(ctx, c.ID)
			if err != nil {
				return err
			}
			open, err := tx.ChangeRequests(ctx, list[0].ID)
			same(t, "open ones", len(open), 0)
			return err
		})
		w.proposed = nil
		poll(change)
		same(t, "opened again", len(w.proposed), 2)
	})
}

func TestChangeRequestReport(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		w.host.comments = []scm.Comment{{ID: "1", Author: "mallory", Path: "a.go", Body: "<!-- redoubt:lineage:1 -->"}, {ID: "2", Author: "mallory", Body: "<!-- redoubt:summary -->"}}
		w.host.outside = map[int]bool{99: true}
		a, b := w.find("rule-a", 4), w.find("rule-b", 99)
		j := w.scan(first, a, b)
		w.must(w.runStatusJob(j))
		if got := strings.Join(w.host.statuses, "\n"); !strings.HasPrefix(got, "acme/payments 1111 3 2 ") || !strings.HasSuffix(got, " https://redoubt.example/orgs/"+w.d.Slug+"/scans/"+scanOf(w)+"/blocking") {
			t.Errorf("the statuses are %s", got)
		}
		if len(w.host.comments) != 4 || w.host.comments[2].Path != "a.go" || w.host.comments[2].Line != 4 || !strings.Contains(w.host.comments[3].Body, "rule-b") || strings.Contains(w.host.comments[3].Body, "rule-a") {
			t.Fatalf("the comments are %+v", w.host.comments)
		}
		w.must(w.runStatusJob(w.scan(first, a, b)))
		if len(w.host.comments) != 4 || w.host.edits != 1 { // of the summary, whose link is the newer scan
			t.Errorf("told twice, %d edits and %+v", w.host.edits, w.host.comments)
		}

		w.ignore(a)
		w.host.open[0].HeadCommit = second
		w.must(w.runStatusJob(w.scan(second, b)))
		if body := w.host.comments[2].Body; !hosts.Resolved(body) || len(w.host.comments) != 4 {
			t.Errorf("ignored, it says %s", body)
		}
		w.ignore(b)
		w.host.statuses = nil
		w.must(w.runStatusJob(w.scan(second)))
		if body := w.host.comments[3].Body; len(w.host.statuses) != 1 || !strings.HasPrefix(w.host.statuses[0], "acme/payments 2222 2 ") || strings.Contains(body, "|---|") {
			t.Errorf("at the end: %v and %s", w.host.statuses, body)
		}
		if w.host.comments[0].Body != "<!-- redoubt:lineage:1 -->" || w.host.comments[1].Body != "<!-- redoubt:summary -->" {
			t.Errorf("comments of others were changed: %+v", w.host.comments[:2])
		}
	})
}

// TestNewerHeadGetsNoOutdatedStatus checks that a scan sets no status on a newer commit that was pushed
// since, on any kind of ref.
func TestNewerHeadGetsNoOutdatedStatus(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: second, HeadRef: "fix"}}
		for _, ref := range []string{"refs/heads/fix", "refs/pull/3/merge", "refs/merge-requests/3/head"} {
			w.host.statuses = nil
			w.must(w.runStatusJob(w.scanOn(ref, first)))
			if len(w.host.statuses) != 1 || !strings.HasPrefix(w.host.statuses[0], "acme/payments 1111 ") || len(w.host.comments) != 0 {
				t.Errorf("%s: %v, %+v", ref, w.host.statuses, w.host.comments)
			}
		}
	})
}

// scanOf returns the id of the newest scan.
func scanOf(w *world) (id string) {
	w.view(func(ctx context.Context, tx *store.Tx) error {
		list, _, err := tx.Scans(ctx, model.ScanFilter{}, store.ScanCursor{}, 1)
		id = string(input(list[0].ID))
		return err
	})
	return id
}

func TestHostsWithResolutionPreserveText(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.host.resolves = true
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		a := w.find("rule-a", 4)
		w.must(w.runStatusJob(w.scan(first, a)))
		before := w.host.comments[0].Body
		w.ignore(a)
		w.must(w.runStatusJob(w.scan(first)))
		if n := w.host.comments[0]; !n.Resolved || n.Body != before {
			t.Errorf("it is %+v", n)
		}
	})
}

func TestSummaryListsExcessFindings(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		w.host.open = []model.ChangeRequest{{Number: 3, State: model.ChangeOpen, HeadCommit: first, HeadRef: "fix"}}
		var all []model.Finding
		for i := range 90 {
			all = append(all, w.find("rule", i+1))
		}
		w.must(w.runStatusJob(w.scan(first, all...)))
		if n := len(w.host.comments); n != 26 {
			t.Errorf("%d comments, want 25 and the summary", n)
		}
		if body := w.host.comments[len(w.host.comments)-1].Body; !strings.Contains(body, "And 15 more.") || !strings.Contains(body, "90 blocking") {
			t.Errorf("the summary is %s", body)
		}
	})
}

func TestReportStatusHandlesHostErrors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.connect()
		j := w.scan(first)
		w.host.down = model.ErrUnavailable
		_, _, err := queue.Do(w.keeper.ReportStatus)(t.Context(), j)
		var permanent queue.PermanentError
		if err == nil || errors.As(err, &permanent) || queue.Outage(err) {
			t.Errorf("a host that is down: %v", err)
		}
		w.host.down = &scm.HostError{Status: http.StatusForbidden}
		if _, _, err = queue.Do(w.keeper.ReportStatus)(t.Context(), j); !errors.As(err, &permanent) {
			t.Errorf("a host that refuses: %v", err)
		}
		w.must(s.FailJob(t.Context(), j, permanent.Reason))
		w.host.down = nil
		later := w.scan(first)
		w.must(w.runStatusJob(later))
		same(t, "statuses", len(w.host.statuses), 1)
	})
}

func TestOnlyConnectedProjectsAreReported(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newWorld(t, s)
		w.update(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.CreateProject(ctx, model.Project{Name: "acme/payments"})
			if err != nil {
				return err
			}
			id, err := tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/fix", Commit: first, Source: "semgrep", StartedAt: tx.Now(), Status: model.ScanCompleted})
			if err != nil {
				return err
			}
			return tx.PutScanGate(ctx, id, nil)
		})
		if j, err := storetest.Claim(t.Context(), s, 0, store.StatusJob); j != nil || err != nil {
			t.Errorf("a job: %+v, %v", j, err)
		}
	})
}
