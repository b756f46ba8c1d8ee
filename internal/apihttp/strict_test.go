package apihttp

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestBodiesAreStrict checks that no operation, of the contract or an extension, silently accepts
// an invalid body.
func TestBodiesAreStrict(t *testing.T) {
	h := newHarness(t)
	const acme = "/api/v1/deployments/acme"
	for _, op := range []struct {
		method, path, member string // of type string, or a list of strings
		open                 bool   // ignores unknown members
	}{
		{http.MethodPost, "/dependencies", "cursor", false},
		{http.MethodPost, "/dependencies/repositories/1/lockfiles", "cursor", false},
		{http.MethodPost, "/scans/search", "branch", false},
		{http.MethodPost, "/triage", "new_note", false},
		{http.MethodPatch, "/projects/acme/nothing", "primary_branch", true},
		{http.MethodPatch, "/projects/acme/nothing/managed-scan", "projectName", true},
		{http.MethodPost, "/sbom/export", "ref", false},
		// Extensions.
		{http.MethodPost, "/exceptions", "reason", false},
		{http.MethodPost, "/saved-views", "name", false},
		{http.MethodPost, "/policies/1/conditions", "severity", false},
		{http.MethodPost, "/runs", "project", false},
		{http.MethodPost, "/projects", "url", true},
	} {
		m := `{"` + op.member + `":`
		for _, test := range []struct{ body, location string }{
			{`{`, "body"},
			{`{} {}`, "body"},
			{`{}` + "\x00", "body"},
			{`[]`, "body"},
			{`null`, "body"},
			{strings.Repeat("[", 20000) + strings.Repeat("]", 20000), "body"},
			{strings.Repeat(m, 20000) + "1" + strings.Repeat("}", 20000), "body"},
			{m + `"a\u0000b"}`, "body"},
			{m + `"a","` + op.member + `":"a"}`, "body." + op.member},
			{m + `"a","` + strings.ToUpper(op.member) + `":"a"}`, "body." + op.member},
			{m + `null}`, "body." + op.member},
			{m + `{"a":1}}`, "body." + op.member},
			{m + `true}`, "body." + op.member},
			{m + `1e999}`, "body"},
			{`{"unknownMember":1}`, "body.unknownMember"},
		} {
			a := h.send(op.method, acme+op.path, test.body)
			if test.location == "body.unknownMember" && op.open {
				if slices.Contains(a.locations(), test.location) {
					t.Errorf("%s %s refuses %s: %s", op.method, op.path, test.body, a.body)
				}
				continue
			}
			h.wantProblem(a, api.CodeInvalidArgument)
			if !slices.Contains(a.locations(), test.location) {
				t.Errorf("%s %s: %.60q names %v, not %s", op.method, op.path, test.body, a.locations(), test.location)
			}
		}
	}
}

// TestQueriesAreStrict checks the same for parameters.
func TestQueriesAreStrict(t *testing.T) {
	h := newHarness(t)
	for _, op := range []struct {
		path, text, number string
		strict             bool // rejects unknown parameters
	}{
		{"/findings", "ref", "page", false},
		{"/projects", "", "page", false},
		{"/policies/1", "cursor", "limit", false},
		// Extensions.
		{"/findings/counts", "ref", "since", true},
		{"/findings/export", "ref", "since", true},
		{"/findings/changes", "cursor", "limit", true},
		{"/search", "q", "limit", true},
		{"/runs", "cursor", "limit", false},
		{"/exceptions", "cursor", "limit", false},
	} {
		refused := map[string]string{
			"a;b=1": "query", op.number + "=x": "query." + op.number, op.number + "=1&" + op.number + "=2": "query." + op.number,
			op.number + "=%00": "query." + op.number, op.number + "=%ff": "query." + op.number,
		}
		if op.text != "" {
			refused[op.text+"=a%00b"] = "query." + op.text
			refused[op.text+"=a&"+op.text+"=b"] = "query." + op.text
		}
		if op.strict {
			refused["unknown_parameter=1"] = "query.unknown_parameter"
		}
		for query, location := range refused {
			a := h.send(http.MethodGet, "/api/v1/deployments/acme"+op.path+"?"+query, "")
			h.wantProblem(a, api.CodeInvalidArgument)
			if !slices.Contains(a.locations(), location) {
				t.Errorf("%s?%s names %v, not %s", op.path, query, a.locations(), location)
			}
		}
		a := h.send(http.MethodGet, "/api/v1/deployments/acme"+op.path+"?unknown_parameter=1", "")
		if !op.strict && a.status == http.StatusBadRequest {
			t.Errorf("%s rejects an unknown parameter: %s", op.path, a.body)
		}
	}
}
