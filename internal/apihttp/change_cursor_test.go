package apihttp

import (
	"maps"
	"math/rand/v2"
	"net/http"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TestListsReturnChangesCursor checks that a client can follow the feed from the cursor of a list
// or an export without losing changes. Tokens that may not follow the feed get no cursor.
func TestListsReturnChangesCursor(t *testing.T) {
	for name, c := range map[string]struct {
		target  string
		headers []string
	}{
		"list":        {"/api/v1/deployments/acme/findings", nil},
		"hosted list": {"/api/v1/deployments/acme/findings", []string{api.DialectHeader, "hosted"}},
		"export":      {"/api/v1/deployments/acme/findings/export?format=jsonl", nil},
	} {
		t.Run(name, func(t *testing.T) {
			h := newHarness(t)
			rnd := rand.New(rand.NewPCG(8, 13))
			for range 10 {
				h.happen(rnd)
			}
			a := h.send(http.MethodGet, c.target, "", c.headers...)
			cursor := a.header.Get(api.ChangesCursorHeader)
			if a.status != http.StatusOK || cursor == "" {
				t.Fatalf("%d, cursor %q", a.status, cursor)
			}
			had := h.everyFinding()
			if tag := a.header.Get("ETag"); tag != "" {
				repeated := h.send(http.MethodGet, c.target, "", append(c.headers, "If-None-Match", tag)...)
				if repeated.status != http.StatusNotModified || repeated.header.Get(api.ChangesCursorHeader) != cursor {
					t.Errorf("same list: %d, cursor %q, want the previous one, %q", repeated.status, repeated.header.Get(api.ChangesCursorHeader), cursor)
				}
			}
			still := h.send(http.MethodGet, "/api/v1/deployments/acme/findings/changes?cursor="+cursor, "")
			if want := `{"changed":[],"removed":[],`; still.status != http.StatusOK || len(still.body) < len(want) || still.body[:len(want)] != want {
				t.Errorf("before any change: %d %.200s", still.status, still.body)
			}
			for range 20 {
				h.happen(rnd)
			}
			f := follower{cursor: cursor, findings: maps.Clone(had)}
			for more := true; more; {
				more = f.step(h, 3)
			}
			now := h.everyFinding()
			if diff := cmp.Diff(now, f.findings); diff != "" || cmp.Equal(had, now) {
				t.Errorf("(-list +follower):\n%s", diff)
			}
			h.token = h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"acme/**"}})
			bound := h.send(http.MethodGet, c.target, "", c.headers...)
			if _, present := bound.header[api.ChangesCursorHeader]; present || bound.status != http.StatusOK {
				t.Errorf("restricted token: %d, cursor sent: %v", bound.status, present)
			}
		})
	}
}
