package server

import (
	"net/http"
	"testing"

	"github.com/redoubt/redoubt"
)

// TestUnchangedLists: who has a list is told so as long as it is the same, for the
// same question of the same caller alone.
func TestUnchangedLists(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	const list = "/api/v1/deployments/acme/findings?status=open"
	first := h.send(http.MethodGet, list, "")
	tag := first.header.Get("ETag")
	if first.status != http.StatusOK || tag == "" || tag[:3] != `W/"` {
		t.Fatalf("%d with the tag %q", first.status, tag)
	}
	for _, sent := range []string{tag, tag[2:], `"x", ` + tag, "*"} {
		if a := h.send(http.MethodGet, list, "", "If-None-Match", sent); a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != tag {
			t.Errorf("%s: %d %q %s", sent, a.status, a.header.Get("ETag"), a.body)
		}
	}
	packed := h.send(http.MethodGet, list, "", "Accept-Encoding", "gzip")
	if a := h.send(http.MethodGet, list, "", "If-None-Match", packed.header.Get("ETag")); a.status != http.StatusNotModified {
		t.Errorf("the tag of a compressed answer, %s: %d", packed.header.Get("ETag"), a.status)
	}
	for what, a := range map[string]answer{
		"another tag":        h.send(http.MethodGet, list, "", "If-None-Match", `W/"x"`),
		"another query":      h.send(http.MethodGet, "/api/v1/deployments/acme/findings?status=fixed", "", "If-None-Match", tag),
		"the hosted dialect": h.send(http.MethodGet, list, "", "If-None-Match", tag, "Redoubt-Dialect", "hosted"),
	} {
		if a.status != http.StatusOK || a.body == "" {
			t.Errorf("%s: %d", what, a.status)
		}
	}
	all := h.token
	h.token = h.newToken(redoubt.Token{Name: "bound", Scopes: []redoubt.Scope{redoubt.ScopeWebAPI}, ProjectGlobs: []string{"other/**"}})
	if a := h.send(http.MethodGet, list, "", "If-None-Match", tag); a.status != http.StatusOK || a.body == first.body {
		t.Errorf("a token that sees less: %d", a.status)
	}
	h.token = all
	h.imported(map[string][]int{"a.py": {1, 2, 3}})
	if a := h.send(http.MethodGet, list, "", "If-None-Match", tag); a.status != http.StatusOK || a.body == first.body {
		t.Errorf("after a scan: %d", a.status)
	}
}
