package server

import (
	"fmt"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// follower keeps what the feed of changes tells.
type follower struct {
	cursor   string
	findings map[int64]api.ChangedFinding
}

// step makes one call and reports whether there is more.
func (f *follower) step(h *harness, limit int64) bool {
	h.t.Helper()
	a, err := h.client.FindingChanges(h.t.Context(), "acme", api.FindingChangesQuery{Cursor: f.cursor, Limit: limit})
	if err != nil {
		h.t.Fatal(err)
	}
	for _, finding := range a.Changed {
		f.findings[finding.ID] = finding
	}
	for _, id := range a.Removed {
		delete(f.findings, id)
	}
	f.cursor = a.Cursor
	return a.HasMore
}

// TestFollowersHaveWhatThereIs: whatever happens, and however often and in however
// small parts somebody asks, they have what the list has, word for word.
func TestFollowersHaveWhatThereIs(t *testing.T) {
	h := newHarness(t)
	rnd := rand.New(rand.NewPCG(7, 11))
	followers := make([]follower, 3)
	for i := range followers {
		followers[i].findings = map[int64]api.ChangedFinding{}
	}
	for round := range 40 {
		h.happen(rnd)
		for i := range followers[:2] { // one asks all the time, one now and then, in the middle of a round too
			if i == 0 || rnd.IntN(3) == 0 {
				followers[i].step(h, int64(1+rnd.IntN(4)))
			}
		}
		if round%10 != 9 {
			continue
		}
		want := h.everyFinding()
		for i := range followers {
			for again := true; again; {
				again = followers[i].step(h, 3)
			}
			for again := true; again; { // the round that began with the last one
				again = followers[i].step(h, 3)
			}
			if diff := cmp.Diff(want, followers[i].findings); diff != "" {
				t.Fatalf("after %d rounds follower %d has (-list +follower):\n%s", round+1, i, diff)
			}
		}
	}
	if len(followers[0].findings) < 5 {
		t.Errorf("only %d findings are left to tell of", len(followers[0].findings))
	}
}

// happen does one thing that changes what findings answer.
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

// everyFinding is what an export of all findings has.
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

// TestForgottenChanges: a cursor that the feed no longer reaches is a conflict that
// says how to begin anew, one that was altered is bad input, and tokens that see a
// part of the projects learn nothing.
func TestForgottenChanges(t *testing.T) {
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
		t.Errorf("anew: %d %s", a.status, a.body)
	}
	h.token = h.newToken(redoubt.Token{Name: "bound", Scopes: []redoubt.Scope{redoubt.ScopeWebAPI}, ProjectGlobs: []string{"acme/**"}})
	h.wantProblem(h.send(http.MethodGet, at, ""), api.CodeNotFound)
}
