package apihttp

import (
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// untagged are the GET operations without an ETag, since their responses cannot be reused.
var untagged = map[string]bool{
	"ping": true, "pingAgent": true, "checkHealth": true, "exportFindings": true, "listFindingChanges": true,
	"getSBOMExport": true, "downloadSBOM": true,
}

// TestReadsHaveETag checks that every other GET operation documents an ETag.
func TestReadsHaveETag(t *testing.T) {
	reasons := map[string]bool{}
	for _, r := range Routes() {
		if r.Method != http.MethodGet {
			continue
		}
		o := theSpec().Operation(r.ID)
		accepts := false
		for _, p := range o.Parameters {
			accepts = accepts || p.Name == "If-None-Match"
		}
		why := untagged[r.ID]
		reasons[r.ID] = why
		if answers := o.Responses["200"].Headers["ETag"] != nil; answers == why || accepts == why {
			t.Errorf("%s: untagged %t, takes If-None-Match %t, answers ETag %t", r.ID, untagged[r.ID], accepts, answers)
		}
	}
	for id := range untagged {
		if !reasons[id] {
			t.Errorf("%s is listed without an ETag, but is not a GET operation", id)
		}
	}
}

// TestUnchangedResponsesReturn304 reads every address without an id. A client that has the response
// gets 304, and a client with another tag gets the response.
func TestUnchangedResponsesReturn304(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	deployment, requested := regexp.MustCompile(`\{deployment(Id|Slug)\}`), 0
	for _, r := range Routes() {
		path := deployment.ReplaceAllString(r.Pattern, "acme")
		if r.Method != http.MethodGet || untagged[r.ID] || strings.Contains(path, "{") {
			continue
		}
		if r.ID == "search" {
			path += "?q=app" // required
		}
		requested++
		first := h.send(http.MethodGet, path, "")
		tag := first.header.Get("ETag")
		if first.status != http.StatusOK || !strings.HasPrefix(tag, `W/"`) {
			t.Errorf("%s: %d with the tag %q", r.ID, first.status, tag)
			continue
		}
		if a := h.send(http.MethodGet, path, "", "If-None-Match", tag); a.status != http.StatusNotModified || a.body != "" || a.header.Get("ETag") != tag {
			t.Errorf("%s again: %d %q %q", r.ID, a.status, a.header.Get("ETag"), a.body)
		}
		if a := h.send(http.MethodGet, path, "", "If-None-Match", tag, api.DialectHeader, "hosted"); a.status != http.StatusOK {
			t.Errorf("%s in the other dialect: %d", r.ID, a.status)
		}
	}
	if requested < 15 {
		t.Errorf("%d operations were called", requested)
	}
}

// TestETagsChangeWithTime checks that the tag changes with a response that depends on time. A
// write without effect must not change the tag.
func TestETagsChangeWithTime(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1}})
	a := h.send(http.MethodPost, "/api/v1/deployments/acme/exceptions", `{"target":"eqeq","reason":"for a while","projects":["acme/app"],"until":"`+
		h.clock.Now().Add(time.Hour).Format(time.RFC3339)+`"}`)
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	const list = "/api/v1/deployments/acme/exceptions"
	tag := h.send(http.MethodGet, list, "").header.Get("ETag")
	if _, err := h.store.RenameDeployment(t.Context(), h.deployment.ID, "", "Another name", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	if a := h.send(http.MethodGet, list, "", "If-None-Match", tag); a.status != http.StatusNotModified {
		t.Errorf("after a write that changes nothing: %d", a.status)
	}
	h.clock.Advance(2 * time.Hour)
	if a := h.send(http.MethodGet, list, "", "If-None-Match", tag); a.status != http.StatusOK || a.header.Get("ETag") == tag {
		t.Errorf("after its end: %d %s", a.status, a.body)
	}
}
