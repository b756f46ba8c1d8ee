package apihttp

import (
	"net/http"
	"path/filepath"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// backup copies the database into a new data folder and returns its path.
func (h *harness) backup() (dir string) {
	h.t.Helper()
	dir = h.t.TempDir()
	if err := h.store.Backup(h.t.Context(), filepath.Join(dir, store.FileName)); err != nil {
		h.t.Fatal(err)
	}
	return dir
}

// restore restarts the server on another data folder.
func (h *harness) restore(dir string) {
	h.t.Helper()
	h.store = storetest.Open(h.t, store.Config{Dir: dir, Clock: h.clock.Now})
	c := h.server.Config
	c.Store, c.Index = h.store, index.New(h.store, index.Options{BodyCache: 1 << 20, Clock: h.clock.Now})
	var err error
	if h.server, err = New(c); err != nil {
		h.t.Fatal(err)
	}
	h.url = serving(h.t, h.server.Handler())
	h.client = &api.Client{BaseURL: h.url, Token: h.token, Retries: -1}
}

// TestCursorsAfterRestore checks that cursors and tags of commits that a restore removed are
// rejected, even after as many new commits. Those of the backup remain valid.
func TestCursorsAfterRestore(t *testing.T) {
	h := newHarness(t, func(c *core.Config) { c.PublicURL = "https://r.example" })
	const base = "/api/v1/deployments/acme/"
	lists := []string{"findings?issue_type=sast", "projects", "secrets", "policies"}
	tags := func() map[string]string {
		out := map[string]string{}
		for _, list := range lists {
			out[list] = h.send(http.MethodGet, base+list, "").header.Get("ETag")
		}
		return out
	}
	known := func(tags map[string]string, status int, when string) {
		t.Helper()
		for list, tag := range tags {
			if a := h.send(http.MethodGet, base+list, "", "If-None-Match", tag); a.status != status {
				t.Errorf("%s, %s: %d, want %d", list, when, a.status, status)
			}
		}
	}
	h.imported(map[string][]int{"a.py": {1}})
	early := follower{findings: map[int64]api.ChangedFinding{}}
	early.step(h, 100)
	saved, dir := tags(), h.backup()

	h.imported(map[string][]int{"a.py": {1}, "b.py": {1, 2}})
	late, midway, first := early, early, follower{findings: map[int64]api.ChangedFinding{}}
	late.findings = map[int64]api.ChangedFinding{}
	late.step(h, 100)
	if midway.findings = map[int64]api.ChangedFinding{}; !midway.step(h, 1) || !first.step(h, 1) {
		t.Fatal("only one change, or one finding")
	}
	lost := tags()

	h.restore(dir)
	known(saved, http.StatusNotModified, "which the backup has")
	for _, when := range []string{"at once", "after as many commits", "after more"} {
		known(lost, http.StatusOK, when)
		for what, f := range map[string]follower{"a lost cursor": late, "one within a round": midway, "one within the first round": first} {
			a := h.send(http.MethodGet, base+"findings/changes?cursor="+f.cursor, "")
			if h.wantProblem(a, api.CodeConflict); a.status != http.StatusConflict {
				t.Errorf("%s, %s: %d %.80s", what, when, a.status, a.body)
			}
		}
		h.imported(map[string][]int{"a.py": {1}, when: {3, 4}})
	}
	for early.step(h, 2) {
	}
	if want := h.everyFinding(); len(early.findings) != len(want) {
		t.Errorf("a client from before the backup has %d of %d findings", len(early.findings), len(want))
	}
}
