package apihttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestUnchangedLists checks that a list is sent again only after a change. The tag is valid for the
// same query of the same caller only.
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
		t.Errorf("ETag of a compressed response, %s: %d", packed.header.Get("ETag"), a.status)
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
	h.token = h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/**"}})
	if a := h.send(http.MethodGet, list, "", "If-None-Match", tag); a.status != http.StatusOK || a.body == first.body {
		t.Errorf("restricted token: %d", a.status)
	}
	h.token = all
	h.imported(map[string][]int{"a.py": {1, 2, 3}})
	if a := h.send(http.MethodGet, list, "", "If-None-Match", tag); a.status != http.StatusOK || a.body == first.body {
		t.Errorf("after a scan: %d", a.status)
	}
}

// TestOtherListsAreConditional checks that the other lists return 304 until any write.
func TestOtherListsAreConditional(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1}})
	var policies api.ListPoliciesResponse
	if err := json.Unmarshal([]byte(h.send(http.MethodGet, "/api/v1/deployments/acme/policies", "").body), &policies); err != nil || len(policies.Policies) == 0 {
		t.Fatalf("%+v, %v", policies, err)
	}
	lists := []string{"projects", "secrets", "policies", "policies/" + policies.Policies[0].ID}
	tags := map[string]string{}
	for _, list := range lists {
		path := "/api/v1/deployments/acme/" + list
		first := h.send(http.MethodGet, path, "")
		tags[list] = first.header.Get("ETag")
		if a := h.send(http.MethodGet, path, "", "If-None-Match", tags[list]); a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != tags[list] {
			t.Errorf("%s: %d %q", list, a.status, a.body)
		}
		if a := h.send(http.MethodGet, path, "", "If-None-Match", tags[list], "Redoubt-Dialect", "hosted"); a.status != http.StatusOK {
			t.Errorf("%s in the hosted dialect: %d", list, a.status)
		}
		if a := h.send(http.MethodGet, path+"?limit=many&page=many", "", "If-None-Match", tags[list]); list != "policies" && (a.status != http.StatusBadRequest || a.header.Get("ETag") != "") {
			t.Errorf("%s, refused: %d, %q", list, a.status, a.header.Get("ETag"))
		}
	}
	h.importedOn("develop", map[string][]int{"a.py": {}}) // without findings
	for _, list := range lists {
		if a := h.send(http.MethodGet, "/api/v1/deployments/acme/"+list, "", "If-None-Match", tags[list]); a.status != http.StatusOK || a.header.Get("ETag") == tags[list] {
			t.Errorf("%s after a scan: %d", list, a.status)
		}
	}
	all := h.token
	h.token = h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"other/**"}})
	bound := h.send(http.MethodGet, "/api/v1/deployments/acme/projects", "")
	h.token = all
	if a := h.send(http.MethodGet, "/api/v1/deployments/acme/projects", "", "If-None-Match", bound.header.Get("ETag")); a.status != http.StatusOK || a.body == bound.body {
		t.Errorf("ETag of a restricted token: %d", a.status)
	}
}

// TestETagsDependOnNameAndVersion checks that the tag covers the deployment's name,
// which links contain, and the version of the server.
func TestETagsDependOnNameAndVersion(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1}})
	base := fmt.Sprintf("/api/v1/deployments/%d/", h.deployment.ID) // unchanged by the rename
	tags := map[[2]string]string{}
	changed := func(what string) {
		t.Helper()
		for _, dialect := range []string{"contract", "hosted"} {
			for _, list := range []string{"findings?issue_type=sast", "projects", "policies"} {
				of := [2]string{dialect, list}
				a := h.send(http.MethodGet, base+list, "", "Redoubt-Dialect", dialect, "If-None-Match", tags[of])
				if tags[of] = a.header.Get("ETag"); a.status != http.StatusOK {
					t.Errorf("%s, %s, after %s: %d", dialect, list, what, a.status)
				}
				if a := h.send(http.MethodGet, base+list, "", "Redoubt-Dialect", dialect, "If-None-Match", tags[of]); a.status != http.StatusNotModified {
					t.Errorf("%s, %s, the same after %s: %d", dialect, list, what, a.status)
				}
			}
		}
	}
	changed("nothing")
	if _, err := h.store.RenameDeployment(t.Context(), h.deployment.ID, "acme-2", "", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	h.clock.Advance(time.Hour) // past the lifetime of cached tokens
	changed("a rename")
	h.server.Version = "test-2"
	changed("an update")
}

// TestPOSTListsIgnoreIfNoneMatch checks that lists read by POST ignore If-None-Match: HTTP defines 304
// for GET and HEAD only, and a read must not fail because of a tag.
func TestPOSTListsIgnoreIfNoneMatch(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1}})
	for _, list := range []string{"dependencies", "dependencies/repositories", "ssc-vulns"} {
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/"+list, "{}", "If-None-Match", "*")
		if a.status != http.StatusOK || a.header.Get("ETag") != "" {
			t.Errorf("%s: %d %q %s", list, a.status, a.header.Get("ETag"), a.body)
		}
	}
}
