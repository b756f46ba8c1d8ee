package conformance

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestConnectionsByAPI creates, changes, tests and deletes a connection. The host is contacted
// first, and no response contains the credential.
func TestConnectionsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		wrong := gitea("ours")
		wrong["credential"] = object{"kind": "token", "secret": "wrong-token"}
		a := s.send(t, request{method: "POST", path: "connections", body: wrong})
		invalid(t, a, "body.base_url")
		for name, bad := range map[string]struct {
			with object
			at   string
		}{
			"kind":       {object{"kind": "svn"}, "body.kind"},
			"credential": {object{"credential": object{"kind": "ssh_key", "secret": "x"}}, "body.credential.kind"},
			"address":    {object{"base_url": "https://bot:pass@git.example"}, "body.base_url"},
			"glob":       {object{"follow": []string{" "}}, "body.follow"},
			"replies":    {object{"replies": "everybody"}, "body.replies"},
			"user":       {object{"people": []object{{"login": "octocat", "user": "missing-user"}}}, "body.people"},
			"twice":      {object{"people": []object{{"login": "octocat", "user": "ada"}, {"login": "OctoCat", "user": "bob"}}}, "body.people"},
			"member":     {object{"webhook_secret": "x"}, "body.webhook_secret"},
		} {
			body := gitea("ours")
			maps.Copy(body, bad.with)
			t.Log(name)
			invalid(t, s.send(t, request{method: "POST", path: "connections", body: body}), bad.at)
		}
		if list := get[api.ListConnectionsResponse](t, s, "connections").Connections; len(list) != 0 {
			t.Fatalf("rejected ones are stored: %+v", list)
		}
		first := s.send(t, request{method: "POST", path: "connections", body: gitea("ours", "acme/*")})
		made := read[api.ConnectionResponse](t, first).Connection
		if made.Account != "redoubt-bot" || made.BaseURL != "https://git.example" || made.Repositories != 4 || made.Followed != 2 || made.EventSource != "polling" || made.Replies != "linked" || len(made.People) != 0 || made.Problem != "" || made.CheckedAt == nil {
			t.Errorf("created %+v", made)
		}
		refused(t, s.send(t, request{method: "POST", path: "connections", body: gitea("ours")}), 409, api.CodeConflict)
		at := fmt.Sprint("connections/", made.ID)
		refusedNow := s.send(t, request{method: "PATCH", path: at, body: object{"credential": object{"kind": "token", "secret": "wrong-token"}}})
		invalid(t, refusedNow, "body.base_url")
		changed := s.send(t, request{method: "PATCH", path: at, body: object{"name": "theirs", "follow": []string{"group/*"}, "credential": object{"kind": "token", "secret": rightToken}}})
		if c := read[api.ConnectionResponse](t, changed).Connection; c.Name != "theirs" || c.Followed != 3 {
			t.Errorf("changed: %s", changed.body)
		}
		s.user(t, s.deployment.ID, "ada")
		linked := read[api.ConnectionResponse](t, s.send(t, request{method: "PATCH", path: at, body: object{"replies": "collaborators", "people": []object{{"login": "@OctoCat", "user": "ada"}}}})).Connection
		if linked.Replies != "collaborators" || len(linked.People) != 1 || linked.People[0].Login != "octocat" || linked.People[0].User != "ada" || linked.Name != "theirs" {
			t.Errorf("linked: %+v", linked)
		}
		tested := s.send(t, request{method: "POST", path: at + "/test"})
		if c := read[api.ConnectionResponse](t, tested).Connection; c.Problem != "" {
			t.Errorf("tested: %s", tested.body)
		}
		for range 2 {
			hooked := post[api.MakeWebhooksResponse](t, s, at+"/webhooks", nil)
			if hooked.Repositories != 2 || !strings.Contains(hooked.Problem, "acme/web-shop") {
				t.Errorf("webhooks: %+v", hooked)
			}
			repeated := s.send(t, keyedWrite{request: request{method: "POST", path: at + "/webhooks"}}.with("hooks"))
			if repeated.status != 200 || repeated.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("an item that the host rejected is stored: %v %s", repeated.header, repeated.body)
			}
		}
		s.keeper.HookURL = ""
		unreachable := s.send(t, request{method: "POST", path: at + "/webhooks"})
		refused(t, unreachable, 409, api.CodeConflict)
		if !strings.Contains(string(unreachable.body), "--public-url") {
			t.Errorf("a server without a public URL: %s", unreachable.body)
		}
		gone := s.send(t, request{method: "DELETE", path: at})
		refused(t, s.send(t, request{method: "GET", path: at}), 404, api.CodeNotFound)
		if list := get[api.ListProjectsResponse](t, s, "projects").Projects; len(list) != 3 {
			t.Errorf("%d projects remain", len(list))
		}
		for _, a := range []answer{first, changed, tested, gone} {
			if strings.Contains(string(a.body), rightToken) || a.status != 200 {
				t.Errorf("%d: %s", a.status, a.body)
			}
		}
	})
}

// TestBrokenConnectionShowsError checks that a test with a rejected credential returns the error
// of the host, which the list then contains.
func TestBrokenConnectionShowsError(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		var id int64
		err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGit, Name: "bare", BaseURL: "https://git.example/bare"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
			id = c.ID
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		tested := post[api.ConnectionResponse](t, s, fmt.Sprint("connections/", id, "/test"), nil).Connection
		for range 2 {
			repeated := s.send(t, keyedWrite{request: request{method: "POST", path: fmt.Sprint("connections/", id, "/test")}}.with("test"))
			if repeated.status != 200 || repeated.header.Get("Idempotency-Replayed") != "" {
				t.Errorf("an error is stored: %v %s", repeated.header, repeated.body)
			}
		}
		listed := get[api.ListConnectionsResponse](t, s, "connections").Connections[0]
		if !strings.Contains(tested.Problem, "401") || listed.Problem != tested.Problem {
			t.Errorf("tested %+v, listed %+v", tested, listed)
		}
	})
}

// TestFollowAndUnfollowRepositories follows repositories by name and by glob, and unfollows them.
func TestFollowAndUnfollowRepositories(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		made := post[api.ConnectionResponse](t, s, "connections", gitea("ours", "acme/*")).Connection
		at := fmt.Sprint("connections/", made.ID, "/repositories")
		list := func(query string) (names []string) {
			for cursor := ""; ; {
				page := get[api.ListRepositoriesResponse](t, s, at+"?limit=1&cursor="+cursor+query)
				for _, r := range page.Repositories {
					if (r.Project != nil) != (query == "&followed=true" || query == "" && r.Name != "group/tools" && r.Name != "other/archived") {
						t.Errorf("%q: %+v", query, r)
					}
					names = append(names, r.Name+" "+r.State)
				}
				if cursor = page.Cursor; cursor == "" {
					return names
				}
			}
		}
		for query, want := range map[string]string{
			"":                "[acme/payments present acme/web-shop present group/tools present other/archived archived]",
			"&followed=true":  "[acme/payments present acme/web-shop present]",
			"&followed=false": "[group/tools present other/archived archived]",
		} {
			if got := fmt.Sprint(list(query)); got != want {
				t.Errorf("%q: %s, want %s", query, got, want)
			}
		}
		names := func(list ...string) object { return object{"names": list} }
		if got := post[api.FollowRepositoriesResponse](t, s, at+"/follow", names("group/*", "other/*", "acme/payments")); !slices.Equal(got.Projects, []string{"group/tools"}) {
			t.Errorf("followed %+v", got)
		}
		if got := post[api.UnfollowRepositoriesResponse](t, s, at+"/unfollow", names("acme/web-shop", "group/**")); !slices.Equal(got.Repositories, []string{"acme/web-shop", "group/tools"}) {
			t.Errorf("unfollowed %+v", got)
		}
		post[api.ConnectionResponse](t, s, fmt.Sprint("connections/", made.ID, "/test"), nil)
		if got := get[api.ConnectionResponse](t, s, fmt.Sprint("connections/", made.ID)).Connection; got.Followed != 1 || !slices.Equal(got.Follow, []string{"acme/*", "!acme/web-shop"}) {
			t.Errorf("after another read: %+v", got)
		}
		refused(t, s.send(t, request{method: "POST", path: at + "/follow", body: names("missing/*")}), 404, api.CodeNotFound)
		invalid(t, s.send(t, request{method: "POST", path: at + "/follow", body: names()}), "body.names")
	})
}

// TestDeliveriesAreListed checks that deliveries are listed newest first, in pages.
func TestDeliveriesAreListed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		made := s.connect(t, "ours")
		err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			for i := range 3 {
				d, err := tx.AddDelivery(ctx, store.Delivery{ConnectionID: made.ID, Delivery: fmt.Sprint(i), Event: "push", Repository: "1"})
				if err == nil {
					err = tx.FinishDelivery(ctx, d.ID, fmt.Sprint("a push to b", i))
				}
				if err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		at := fmt.Sprint("connections/", made.ID, "/deliveries")
		first := get[api.ListDeliveriesResponse](t, s, at+"?limit=2")
		second := get[api.ListDeliveriesResponse](t, s, at+"?limit=2&cursor="+first.Cursor)
		if len(first.Deliveries) != 2 || first.Deliveries[0].Outcome != "a push to b2" || len(second.Deliveries) != 1 || second.Deliveries[0].Outcome != "a push to b0" || second.Cursor != "" {
			t.Errorf("%+v, then %+v", first, second)
		}
		other := post[api.ConnectionResponse](t, s, "connections", gitea("other")).Connection
		invalid(t, s.send(t, request{method: "GET", path: fmt.Sprint("connections/", other.ID, "/deliveries?cursor=", first.Cursor)}), "query.cursor")
	})
}

// TestRunsByAPI starts, reads, cancels and retries a run.
func TestRunsByAPI(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		post[api.ProjectResponse](t, s, "projects", object{"name": "acme/alone"})
		a := s.send(t, request{method: "POST", path: "runs", body: object{"project": "acme/alone"}})
		refused(t, a, 409, api.CodeConflict)
		s.connect(t, "ours")
		run := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments"}).Run
		repeated := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments"}).Run
		if run.State != "queued" || run.Cause != "manual" || run.Ref != "refs/heads/main" || repeated.ID != run.ID {
			t.Errorf("%+v, again %+v", run, repeated)
		}
		topic := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments", "ref": "topic"}).Run
		invalid(t, s.send(t, request{method: "POST", path: "runs", body: object{"project": "acme/payments", "ref": "-x"}}), "body.ref")
		s.work(t, run.ID)
		log := get[api.RunLogResponse](t, s, fmt.Sprint("runs/", run.ID, "/log"))
		rest := get[api.RunLogResponse](t, s, fmt.Sprint("runs/", run.ID, "/log?offset=9"))
		if log.Text != "fetching über git\n" || log.NextOffset != 19 || log.Ended || log.Run.State != "scanning" || log.Run.Runner != "r1" || rest.Text != "über git\n" || rest.NextOffset != 19 {
			t.Errorf("log %+v, rest %+v", log, rest)
		}
		if beyond := get[api.RunLogResponse](t, s, fmt.Sprint("runs/", run.ID, "/log?offset=4711")); beyond.Offset != 19 || beyond.Text != "" {
			t.Errorf("beyond its end: %+v", beyond)
		}
		refused(t, s.send(t, request{method: "POST", path: fmt.Sprint("runs/", run.ID, "/retry")}), 409, api.CodeConflict)
		stopped := post[api.RunResponse](t, s, fmt.Sprint("runs/", run.ID, "/cancel"), nil).Run
		if stopped.State != "cancelled" || stopped.EndedAt == nil || stopped.Reason == "" {
			t.Errorf("stopped %+v", stopped)
		}
		refused(t, s.send(t, request{method: "POST", path: fmt.Sprint("runs/", run.ID, "/cancel")}), 409, api.CodeConflict)
		if !get[api.RunLogResponse](t, s, fmt.Sprint("runs/", run.ID, "/log?offset=19")).Ended {
			t.Error("the log of a finished run grows")
		}
		retried := post[api.RunResponse](t, s, fmt.Sprint("runs/", run.ID, "/retry"), nil).Run
		for query, want := range map[string][]int64{
			"": {retried.ID, topic.ID, run.ID}, "?project=acme/payments&state=cancelled": {run.ID}, "?state=queued": {retried.ID, topic.ID}, "?state=queued&state=cancelled": {retried.ID, topic.ID, run.ID},
			"?project=acme/web-shop": {}, "?project=missing/none": {},
		} {
			got := []int64{}
			for _, r := range get[api.ListRunsResponse](t, s, "runs"+query).Runs {
				got = append(got, r.ID)
			}
			if !slices.Equal(got, want) {
				t.Errorf("%q: %v, want %v", query, got, want)
			}
		}
		first := get[api.ListRunsResponse](t, s, "runs?limit=2")
		second := get[api.ListRunsResponse](t, s, "runs?limit=2&cursor="+first.Cursor)
		if len(first.Runs) != 2 || len(second.Runs) != 1 || second.Runs[0].ID != run.ID || second.Cursor != "" {
			t.Errorf("%+v, then %+v", first, second)
		}
		invalid(t, s.send(t, request{method: "GET", path: "runs?state=lost"}), "query.state[0]")
	})
}

// work leases the oldest run to a runner and writes to its log.
func (s *site) work(t testing.TB, id int64) {
	t.Helper()
	var run model.Run
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		runner, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "r1", TokenID: 4711})
		if err == nil {
			run, _, err = tx.LeaseRun(ctx, runner.ID, nil)
		}
		return err
	})
	if err == nil {
		err = s.store.ProgressRun(t.Context(), s.deployment.ID, run.ID, run.Claim, store.RunProgress{State: model.RunScanning, Log: []byte("fetching über git\n")})
	}
	if err != nil || run.ID != id {
		t.Fatalf("run %d was leased, want %d: %v", run.ID, id, err)
	}
}

// TestManagedScanStatusMatchesScan checks the effective status after each step.
func TestManagedScanStatusMatchesScan(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		post[api.ProjectResponse](t, s, "projects", object{"name": "acme/payments"})
		status := func() api.ManagedScanStatus {
			p := get[api.ProjectResponse](t, s, "projects/acme/payments").Project
			if p.ManagedScanStatus == nil || p.ManagedScanConfig == nil {
				t.Fatalf("%+v", p)
			}
			return *p.ManagedScanStatus
		}
		if got := status(); got.State != "off" || got.NextAt != nil || got.Schedule != "weekly" {
			t.Errorf("at first %+v", got)
		}
		a := s.send(t, request{method: "PATCH", path: "projects/acme/payments/managed-scan", body: object{"full_scan": object{"enabled": true}, "schedule": "daily"}})
		if got := read[api.ProjectResponse](t, a).Project; got.ManagedScanStatus.State != "no_connection" || got.ManagedScanStatus.Schedule != "daily" || !got.ManagedScanConfig.FullScan.Enabled {
			t.Errorf("switched on: %s", a.body)
		}
		c := s.connect(t, "ours")
		if got := status(); got.State != "no_runner" || got.NextAt == nil || got.NextAt.Before(s.clock.Now()) || got.NextAt.After(s.clock.Now().Add(24*time.Hour)) {
			t.Errorf("connected: %+v", got)
		}
		r := s.runner(t, "there")
		if got := status(); got.State != "scheduled" {
			t.Errorf("with a runner: %+v", got)
		}
		run := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments"}).Run
		if got := status(); got.State != "scheduled" || got.OpenRunID == nil || *got.OpenRunID != run.ID || got.LastRunID != nil {
			t.Errorf("waiting: %+v", got)
		}
		s.work(t, run.ID)
		if got := status(); got.State != "running" {
			t.Errorf("in progress: %+v", got)
		}
		err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.FinishRun(ctx, run.ID, 1, model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: "the branch is gone"})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		if got := status(); got.State != "failing" || got.Reason != "the branch is gone" || got.LastRunID == nil || *got.LastRunID != run.ID || got.OpenRunID != nil || got.LastRunAt == nil {
			t.Errorf("failing: %+v", got)
		}
		gone := read[api.RevokeRunnerResponse](t, s.send(t, request{method: "DELETE", path: fmt.Sprint("runners/", r.ID)}))
		if !slices.Equal(gone.Runners, []string{"there"}) || status().State != "no_runner" {
			t.Errorf("revoked %+v: %+v", gone, status())
		}
		s.send(t, request{method: "DELETE", path: fmt.Sprint("connections/", c.ID)})
		if got := status(); got.State != "no_connection" || !strings.Contains(got.Reason, "Connections") {
			t.Errorf("disconnected: %+v", got)
		}
		if list := get[api.ListProjectsResponse](t, s, "projects").Projects; list[0].ManagedScanStatus != nil {
			t.Errorf("lists have it: %+v", list[0])
		}
	})
}

// TestRunnersAreListed checks that runners are listed with their runs.
func TestRunnersAreListed(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.connect(t, "ours")
		s.runner(t, "idle")
		s.clock.Advance(model.RunnerGone + time.Second)
		run := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments"}).Run
		s.work(t, run.ID)
		list := get[api.ListRunnersResponse](t, s, "runners").Runners
		if len(list) != 2 || list[0].Name != "r1" || !list[0].Present || list[0].RunID == nil || *list[0].RunID != run.ID || list[1].Present || list[1].RunID != nil || list[1].Isolation != "bubblewrap" {
			t.Errorf("%+v", list)
		}
	})
}

// TestBoundTokenListsOnlyRunsOfItsProjects checks that a restricted token sees only the runs of its
// projects.
func TestBoundTokenListsOnlyRunsOfItsProjects(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		post[api.ConnectionResponse](t, s, "connections", gitea("ours", "**"))
		foreign := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments"}).Run
		bound := s.newToken(t, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"group/**"}})
		own := read[api.RunResponse](t, s.send(t, request{method: "POST", path: "runs", body: object{"project": "group/tools"}, token: bound})).Run
		list := read[api.ListRunsResponse](t, s.send(t, request{method: "GET", path: "runs", token: bound})).Runs
		if len(list) != 1 || list[0].ID != own.ID {
			t.Errorf("sees %+v", list)
		}
		for _, r := range []request{{method: "GET", path: fmt.Sprint("runs/", foreign.ID)}, {method: "POST", path: "runs", body: object{"project": "acme/payments"}}, {method: "GET", path: "connections"}} {
			r.token = bound
			refused(t, s.send(t, r), 404, api.CodeNotFound)
		}
	})
}

// TestRunTokenCannotAccessOtherRuns checks that the token of a run cannot start or read runs, or
// add code to findings of other scans.
func TestRunTokenCannotAccessOtherRuns(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.connect(t, "ours")
		run := post[api.RunResponse](t, s, "runs", object{"project": "acme/payments"}).Run
		s.work(t, run.ID)
		scan := s.imported(t, "project=acme/payments&ref=release&filename=audit.sarif", []byte(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"tool"}},"results":[]}]}`))
		secret := auth.NewSecret(s.deployment.ID)
		err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			token, err := tx.CreateToken(ctx, model.Token{
				PublicID: secret.PublicID, Name: "managed run", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{"acme/payments"},
				ExpiresAt: tx.Now().Add(time.Hour),
			}, secret.Hash)
			if err != nil {
				return err
			}
			return tx.BindRunToken(ctx, run.ID, token.ID)
		})
		if err == nil {
			err = s.store.ProgressRun(t.Context(), s.deployment.ID, run.ID, 1, store.RunProgress{State: model.RunScanning, Ref: "refs/heads/main"})
		}
		if err != nil {
			t.Fatal(err)
		}
		ofScan, ofRun := "/api/v1/deployments/"+fmt.Sprint(s.deployment.ID)+"/scans/"+scan.ScanID+"/snippets", fmt.Sprint("runs/", run.ID)
		for _, c := range []struct {
			request
			status int
			code   string
		}{
			{request{method: "GET", path: ofScan}, 400, api.CodeInvalidArgument},
			{request{method: "POST", path: ofScan, body: object{"snippets": []object{}}}, 400, api.CodeInvalidArgument},
			{request{method: "POST", path: "runs", body: object{"project": "acme/payments"}}, 403, api.CodePermissionDenied},
			{request{method: "GET", path: ofRun}, 403, api.CodePermissionDenied},
			{request{method: "GET", path: ofRun + "/log"}, 403, api.CodePermissionDenied},
		} {
			c.token = secret.Text
			refused(t, s.send(t, c.request), c.status, c.code)
		}
	})
}
