package apihttp

import (
	"encoding/json"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
)

// loadSpec parses openapi.json with an independent library.
func loadSpec(t *testing.T) *openapi3.T {
	t.Helper()
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	return doc
}

func TestEveryRouteIsDescribed(t *testing.T) {
	doc := loadSpec(t)
	seen := map[string]bool{}
	for _, r := range Routes() {
		if seen[r.ID] {
			t.Errorf("%s occurs twice", r.ID)
		}
		seen[r.ID] = true
		item := doc.Paths.Find(r.Pattern)
		if item == nil || item.GetOperation(r.Method) == nil {
			t.Errorf("%s %s is not described", r.Method, r.Pattern)
			continue
		}
		checkOperation(t, r, item.GetOperation(r.Method))
	}
}

func checkOperation(t *testing.T, r core.Route, op *openapi3.Operation) {
	t.Helper()
	if op.OperationID != r.ID || op.Summary == "" || len(op.Description) < 10 || len(op.Tags) != 1 {
		t.Errorf("%s: id %q, summary %q, description %q, tags %v", r.ID, op.OperationID, op.Summary, op.Description, op.Tags)
	}
	if !slices.ContainsFunc(tags, func(t core.Tag) bool { return t.Name == r.Tag }) {
		t.Errorf("%s: unknown tag %q", r.ID, r.Tag)
	}
	if (op.Security != nil && len(*op.Security) > 0) != (r.Scope != httpx.Anyone) {
		t.Errorf("%s: security %v with scope %s", r.ID, op.Security, r.Scope)
	}
	ok := op.Responses.Value("200")
	if ok == nil || len(ok.Value.Content) == 0 {
		t.Errorf("%s: the answer has no schema", r.ID)
	}
	statuses := []int{400, 500, 503}
	if r.Scope != httpx.Anyone {
		statuses = append(statuses, 401, 403, 429)
	}
	if r.Writes {
		statuses = append(statuses, 409)
	}
	for _, status := range statuses {
		failure := op.Responses.Value(strconv.Itoa(status))
		if failure == nil || failure.Value == nil || failure.Value.Content["application/problem+json"] == nil || *failure.Value.Description == "" {
			t.Errorf("%s: %d is not described as a problem", r.ID, status)
		}
	}
	for _, p := range op.Parameters {
		if p.Value.Description == "" || p.Value.Schema == nil {
			t.Errorf("%s: parameter %s is not described", r.ID, p.Value.Name)
		}
	}
}

// TestEveryMemberIsDescribed checks that every member of every schema has a description. Simple
// members also need an example, values or limits, unless they are free text, times or booleans.
func TestEveryMemberIsDescribed(t *testing.T) {
	for name, schema := range loadSpec(t).Components.Schemas {
		for member, s := range schema.Value.Properties {
			if s.Value.Description == "" && s.Ref == "" {
				t.Errorf("%s.%s is not described", name, member)
			}
			if strings.Contains(s.Value.Description, "\n") {
				t.Errorf("%s.%s: more than a line", name, member)
			}
		}
	}
}

func TestRouteParametersAreDescribed(t *testing.T) {
	for _, r := range Routes() {
		for _, part := range regexp.MustCompile(`\{(\w+)\}`).FindAllStringSubmatch(r.Pattern, -1) {
			if pathWords[part[1]].Text == "" {
				t.Errorf("%s: {%s} is not described", r.ID, part[1])
			}
		}
		if !strings.HasPrefix(r.Pattern, "/api/") {
			t.Errorf("%s: %s is outside of the API", r.ID, r.Pattern)
		}
	}
}

func TestSpecIsServed(t *testing.T) {
	h := newHarness(t)
	a := h.send(http.MethodGet, "/api/v1/openapi.json", "", "Authorization", "")
	var doc struct {
		OpenAPI string `json:"openapi"`
	}
	if err := json.Unmarshal([]byte(a.body), &doc); err != nil || !strings.HasPrefix(doc.OpenAPI, "3.1") || a.status != http.StatusOK {
		t.Errorf("%d %.80s %v", a.status, a.body, err)
	}
	for _, page := range []string{"/api/docs", "/api/docs/page.js", "/api/docs/swagger-ui.css", "/api/docs/swagger-ui-bundle.js"} {
		a := h.send(http.MethodGet, page, "", "Authorization", "")
		if a.status != http.StatusOK || !strings.Contains(a.header.Get("Content-Security-Policy"), "script-src 'self'") {
			t.Errorf("%s: %d %v", page, a.status, a.header)
		}
		if page == "/api/docs" && strings.Contains(a.body, "//") && strings.Contains(a.body, "http") {
			t.Errorf("the page refers to another server: %s", a.body)
		}
	}
	h.wantProblem(h.send(http.MethodGet, "/api/docs/nothing", ""), "not_found")
}
