package apihttp

import (
	"encoding/json"
	"maps"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
)

// published is openapi.json as clients read it.
type published struct {
	Paths      map[string]map[string]struct{ RequestBody schemaHolder }
	Components struct{ Schemas map[string]jsonSchema }
}

type schemaHolder struct {
	Content map[string]struct{ Schema jsonSchema }
}

// jsonSchema is the part of JSON Schema that bodies in openapi.json use.
type jsonSchema struct {
	Ref        string `json:"$ref"`
	Type       any
	Properties map[string]jsonSchema
	Items      *jsonSchema
	OneOf      []jsonSchema
	AnyOf      []jsonSchema
}

func readPublished(t *testing.T) *published {
	t.Helper()
	text, err := os.ReadFile("../../api/openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	out := &published{}
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatal(err)
	}
	return out
}

func (p *published) Resolve(s jsonSchema) jsonSchema {
	for s.Ref != "" {
		s = p.Components.Schemas[strings.TrimPrefix(s.Ref, "#/components/schemas/")]
	}
	return s
}

// admitsNull reports whether a schema permits null.
func (p *published) admitsNull(s jsonSchema) bool {
	s = p.Resolve(s)
	if types, ok := s.Type.([]any); s.Type == "null" || ok && slices.Contains(types, any("null")) {
		return true
	}
	return slices.ContainsFunc(s.OneOf, p.admitsNull) || slices.ContainsFunc(s.AnyOf, p.admitsNull)
}

// Members calls fn with each member and each item of a body, at any depth.
func (p *published) Members(s jsonSchema, at bodyPath, fn func(at bodyPath, s jsonSchema)) {
	s = p.Resolve(s)
	if len(at) > 0 {
		fn(at, s)
	}
	if len(s.AnyOf) > 0 { // the first alternative, or null
		s = p.Resolve(s.AnyOf[0])
	}
	for _, form := range s.OneOf {
		if form.Items != nil {
			p.Members(*form.Items, append(slices.Clip(at), "[]"), fn)
		}
	}
	if s.Items != nil {
		p.Members(*s.Items, append(slices.Clip(at), "[]"), fn)
	}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		p.Members(s.Properties[name], append(slices.Clip(at), name), fn)
	}
}

// TestNullRequiresNullableSchema sends null for every member of every body, and checks that the
// server accepts it exactly where openapi.json permits it.
func TestNullRequiresNullableSchema(t *testing.T) {
	h, spec := newHarness(t), readPublished(t)
	admitted, refused := 0, 0
	for _, r := range Routes() {
		if acceptsFiles(r.ID) { // a report, whose format has its own rules
			continue
		}
		body, ok := spec.Paths[r.Pattern][strings.ToLower(r.Method)].RequestBody.Content["application/json"]
		if !ok {
			continue
		}
		if a := h.send(r.Method, addressOf(r), "null"); a.status != http.StatusBadRequest || !slices.Contains(a.locations(), "body") {
			t.Errorf("%s accepts null as the body: %d %s", r.ID, a.status, a.body)
		}
		spec.Members(body.Schema, nil, func(at bodyPath, s jsonSchema) {
			a := h.send(r.Method, addressOf(r), at.holding(nil))
			named := 0
			for _, location := range a.locations() {
				if location == at.String() {
					named++
				}
			}
			switch {
			case spec.admitsNull(s):
				admitted++
				if named > 0 {
					t.Errorf("%s: %s can be null but is rejected: %s", r.ID, at, a.body)
				}
			case a.status != http.StatusBadRequest || named != 1:
				t.Errorf("%s: %s must not be null, but the response is %d: %s", r.ID, at, a.status, a.body)
			default:
				refused++
			}
		})
	}
	if admitted < 8 || refused < 100 {
		t.Errorf("%d can be null and %d not, fewer than expected", admitted, refused)
	}
}

// TestNullIsReportedWithOtherErrors checks that all errors are reported at once, each once.
func TestNullIsReportedWithOtherErrors(t *testing.T) {
	h := newHarness(t)
	for body, want := range map[string]string{
		`{"issue_type":null,"repos":null,"limit":0,"new_note":"x","ref":"main"}`:              "body.issue_type body.repos body.limit",
		`{"issue_type":"sast","repos":[null,"a"],"new_note":"x"}`:                             "body.repos[0]",
		`{"issue_type":"sast","Repos":null,"severities":["low"],"new_triage_state":"fixing"}`: "body.repos",
	} {
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/triage", body)
		h.wantProblem(a, "invalid_argument")
		if got := strings.Join(a.locations(), " "); got != want {
			t.Errorf("%s: names %s, want %s", body, got, want)
		}
	}
}
