package apihttp

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// follower is a client that applies the feed of changes.
type follower struct {
	cursor   string
	findings map[int64]api.ChangedFinding
}

// step performs one call and reports whether there are more changes.
func (f *follower) step(h *harness, limit int64) bool {
	h.t.Helper()
	a, err := h.client.FindingChanges(h.t.Context(), "acme", api.FindingChangesQuery{Cursor: f.cursor, Limit: limit})
	if err != nil {
		h.t.Fatal(err)
	}
	f.apply(a)
	return a.HasMore
}

func (f *follower) apply(a *api.FindingChangesResponse) {
	for _, finding := range a.Changed {
		f.findings[finding.ID] = finding
	}
	for _, id := range a.Removed {
		delete(f.findings, id)
	}
	f.cursor = a.Cursor
}

// TestChangeFeedMirrorsFindings checks that clients that follow the feed have the same findings as
// the list. The changes, the interval of calls and the page size vary.
func TestChangeFeedMirrorsFindings(t *testing.T) {
	h := newHarness(t)
	rnd := rand.New(rand.NewPCG(7, 11))
	followers := make([]follower, 3)
	for i := range followers {
		followers[i].findings = map[int64]api.ChangedFinding{}
	}
	for round := range 40 {
		h.happen(rnd)
		for i := range followers[:2] { // one calls all the time, one rarely and also within a round
			if i == 0 || rnd.IntN(3) == 0 {
				followers[i].step(h, int64(1+rnd.IntN(4)))
			}
		}
		if round%10 != 9 {
			continue
		}
		want := h.everyFinding()
		for i := range followers {
			for more := true; more; {
				more = followers[i].step(h, 3)
			}
			for more := true; more; { // the round that began with the last call
				more = followers[i].step(h, 3)
			}
			if diff := cmp.Diff(want, followers[i].findings); diff != "" {
				t.Fatalf("after %d rounds follower %d has (-list +follower):\n%s", round+1, i, diff)
			}
		}
	}
	if len(followers[0].findings) < 5 {
		t.Errorf("only %d findings are left", len(followers[0].findings))
	}
}

// happen makes one random change to findings.
func (h *harness) happen(rnd *rand.Rand) {
	h.t.Helper()
	project := fmt.Sprintf("acme/p%d", rnd.IntN(3))
	files := map[string][]int{}
	for range 1 + rnd.IntN(4) {
		files[fmt.Sprintf("f%d.py", rnd.IntN(6))] = []int{1 + rnd.IntN(9)}
	}
	state := []string{"ignored", "reviewing", "reopened"}[rnd.IntN(3)]
	var err error
	switch rnd.IntN(8) {
	case 0:
		_, err = h.client.TriageFindings(h.t.Context(), "acme", api.TriageRequest{IssueType: "sast", NewTriageState: state, Limit: 1, TriageFilter: api.TriageFilter{Repos: api.List[string]{project}}})
	case 1:
		h.send(http.MethodDelete, "/api/v1/deployments/acme/projects/"+project, "")
	case 2:
		h.send(http.MethodPatch, "/api/v1/deployments/acme/projects/"+project, `{"tags":["a","b"]}`)
	case 3:
		h.send(http.MethodDelete, "/api/v1/deployments/acme/refs?project="+project+"&ref=feature", "")
	case 4:
		h.send(http.MethodPost, "/api/v1/deployments/acme/imports?ref=feature&full=true&project="+project, semgrepReport(files))
	default:
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/imports?ref=main&full=true&project="+project, semgrepReport(files))
		if a.status != http.StatusOK {
			h.t.Fatalf("%d: %s", a.status, a.body)
		}
	}
	if err != nil {
		h.t.Fatal(err)
	}
}

// everyFinding returns all findings as an export contains them.
func (h *harness) everyFinding() map[int64]api.ChangedFinding {
	h.t.Helper()
	out := map[int64]api.ChangedFinding{}
	for f, err := range h.client.Findings(h.t.Context(), "acme", api.FindingsQuery{}) {
		if err != nil {
			h.t.Fatal(err)
		}
		out[f.ID] = api.ChangedFinding{IssueType: "sast", Finding: api.Finding{
			FindingCore: f.FindingCore, ClickToFixPRs: f.ClickToFixPRs, ClickToFixFailures: f.ClickToFixFailures, SourcingPolicy: f.SourcingPolicy, Assistant: f.Assistant,
		}}
	}
	return out
}

// TestExpiredChanges checks that an expired cursor is a conflict and an altered one is invalid.
// Tokens that are restricted to projects are denied.
func TestExpiredChanges(t *testing.T) {
	h := newHarness(t)
	f := follower{findings: map[int64]api.ChangedFinding{}}
	h.imported(map[string][]int{"a.py": {1}})
	f.step(h, 100)
	for line := range 3 {
		h.imported(map[string][]int{"a.py": {2 + line}})
	}
	d, err := h.store.Deployment(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	if err := h.store.PruneChanges(t.Context(), d.ID, 0); err != nil {
		t.Fatal(err)
	}
	const at = "/api/v1/deployments/acme/findings/changes?cursor="
	h.wantProblem(h.send(http.MethodGet, at+f.cursor, ""), api.CodeConflict)
	h.wantProblem(h.send(http.MethodGet, at+f.cursor+"x", ""), api.CodeInvalidArgument)
	if a := h.send(http.MethodGet, at, ""); a.status != http.StatusOK {
		t.Errorf("starting over: %d %s", a.status, a.body)
	}
	h.token = h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"acme/**"}})
	h.wantProblem(h.send(http.MethodGet, at, ""), api.CodeNotFound)
}

// TestChangesSinceTime checks that a client that starts at a time gets all later changes and
// removals. By cursors it then reaches the state of the lists.
func TestChangesSinceTime(t *testing.T) {
	h := newHarness(t)
	rnd := rand.New(rand.NewPCG(3, 5))
	for range 10 {
		h.happen(rnd)
		h.clock.Advance(7 * time.Second)
	}
	had, since := h.everyFinding(), h.clock.Now()
	for range 20 {
		h.happen(rnd)
		h.clock.Advance(7 * time.Second)
	}
	f, responses := follower{findings: maps.Clone(had)}, 0
	for part, err := range h.client.FollowFindings(t.Context(), "acme", api.FindingChangesQuery{UpdatedSince: since.Format(time.RFC3339Nano), Limit: 2}) {
		if err != nil {
			t.Fatal(err)
		}
		f.apply(part)
		responses++
	}
	if diff := cmp.Diff(h.everyFinding(), f.findings); diff != "" || responses < 3 {
		t.Errorf("after %d answers (-list +follower):\n%s", responses, diff)
	}

	h.clock.Advance(time.Hour)
	request := func(since time.Time) answer {
		return h.send(http.MethodGet, "/api/v1/deployments/acme/findings/changes?updated_since="+since.Format(time.RFC3339Nano), "")
	}
	for name, since := range map[string]time.Time{"now": h.clock.Now(), "a client that is ahead": h.clock.Now().Add(30 * time.Second)} {
		if a := request(since); a.status != http.StatusOK || !strings.HasPrefix(a.body, `{"changed":[],"removed":[],`) {
			t.Errorf("%s: %d %.200s", name, a.status, a.body)
		}
	}
	h.wantProblem(request(h.clock.Now().Add(2*time.Minute)), api.CodeInvalidArgument)
	h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/acme/findings/changes?updated_since=yesterday", ""), api.CodeInvalidArgument)
	if err := h.store.PruneChanges(t.Context(), h.deployment.ID, 1); err != nil {
		t.Fatal(err)
	}
	a := request(since)
	h.wantProblem(a, api.CodeConflict)
}

// TestRemovedFindingInChangesSince checks that removals are listed even since the first
// version of a deployment.
func TestRemovedFindingInChangesSince(t *testing.T) {
	h := newHarness(t)
	since := h.clock.Now()
	h.imported(map[string][]int{"a.py": {1}})
	had := h.everyFinding()
	h.send(http.MethodDelete, "/api/v1/deployments/acme/projects/acme/app", "")
	a, err := h.client.FindingChanges(t.Context(), "acme", api.FindingChangesQuery{UpdatedSince: since.Format(time.RFC3339Nano)})
	if err != nil {
		t.Fatal(err)
	}
	if len(had) != 1 || len(a.Changed) != 0 || !slices.Equal(a.Removed, slices.Collect(maps.Keys(had))) {
		t.Errorf("changes since %v: %+v", had, a)
	}
}

// TestRoundsAreCachedAndEvicted checks that the cache does not change the pages of a round. A
// finished round must not be cached.
func TestRoundsAreCachedAndEvicted(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 3, 5, 7}, "b.py": {1, 3, 5}})
	request := func(cursor string) *api.FindingChangesResponse {
		t.Helper()
		a, err := h.client.FindingChanges(t.Context(), "acme", api.FindingChangesQuery{Cursor: cursor, Limit: 3})
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	first := request("")
	cached := request(first.Cursor)
	if n := h.server.Rounds.Len(); n != 1 {
		t.Fatalf("%d rounds", n)
	}
	h.server.Rounds = core.NewRounds(1 << 20)
	read := request(first.Cursor)
	if diff := cmp.Diff(cached, read); diff != "" {
		t.Errorf("(-kept +read):\n%s", diff)
	}
	if last := request(read.Cursor); last.HasMore || h.server.Rounds.Len() != 0 {
		t.Errorf("after the last response %d rounds are cached, more: %t", h.server.Rounds.Len(), last.HasMore)
	}
}
