package apihttp

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/httpx"
)

var updateGolden = flag.Bool("update", false, "write golden files")

func TestOpenAPIIsCurrent(t *testing.T) {
	got, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	const golden = "../../api/openapi.json"
	if *updateGolden {
		if err := os.WriteFile(golden, append(got, '\n'), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(string(want), string(got)+"\n"); diff != "" {
		t.Errorf("openapi.json is not current; go test ./internal/apihttp -update writes it:\n%s", diff)
	}
}

// TestEverySchemaIsUsed checks that openapi.json has no unused schema.
func TestEverySchemaIsUsed(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	for name := range theSpec().OpenAPI().Components.Schemas.Map() {
		if !strings.Contains(string(text), `"#/components/schemas/`+name+`"`) {
			t.Errorf("%s is unused", name)
		}
	}
}

// TestDocumentedBodiesAreAccepted checks that the server accepts the documented media types, and an
// absent body where none is required.
func TestDocumentedBodiesAreAccepted(t *testing.T) {
	h := newHarness(t)
	for _, r := range Routes() {
		body := theSpec().Operation(r.ID).RequestBody
		if body == nil {
			continue
		}
		path := addressOf(r)
		for media := range body.Content {
			if a := h.send(r.Method, path, "{}", "Content-Type", media); a.status == http.StatusUnsupportedMediaType {
				t.Errorf("%s does not accept %s: %s", r.ID, media, a.body)
			}
		}
		if r.ID == "removeProjectTags" {
			path += "?tags=x" // in place of the body's tags
		}
		if a := h.send(r.Method, path, ""); body.Required != (a.status == http.StatusBadRequest) && a.status != http.StatusNotFound {
			t.Errorf("%s without a body returns %d, but the body is required: %t", r.ID, a.status, body.Required)
		}
	}
}

// TestOpenAPIDetails checks the parts of openapi.json that the library does not generate.
func TestOpenAPIDetails(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			Security  *[]map[string][]string
			Responses map[string]struct{ Headers map[string]any }
		}
		Components struct {
			Responses map[string]struct{ Headers map[string]any }
			Schemas   map[string]struct {
				Properties map[string]struct {
					Format   string
					Default  any
					Examples []any
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for _, r := range Routes() {
		if s := doc.Paths[r.Pattern][strings.ToLower(r.Method)].Security; s == nil || (len(*s) == 0) != (r.Scope == httpx.Anyone) {
			t.Errorf("security of %s: %v", r.ID, s)
		}
		for status, answer := range doc.Paths[r.Pattern][strings.ToLower(r.Method)].Responses {
			if documented := answer.Headers["RateLimit-Remaining"] != nil; (status == "200" || status == "304") && documented != (r.Scope != httpx.Anyone) {
				t.Errorf("%s: %s has RateLimit-Remaining: %v", r.ID, status, documented)
			}
		}
	}
	limited := doc.Components.Responses["TooManyRequests"].Headers
	for _, name := range []string{"Retry-After", "RateLimit-Limit", "RateLimit-Remaining", "RateLimit-Reset"} {
		if limited[name] == nil {
			t.Errorf("429 lacks %s", name)
		}
	}
	if d := doc.Components.Schemas["TriageRequest"].Properties["include_historical"].Default; d != true {
		t.Errorf("include_historical is %v by default", d)
	}
	dates := 0
	for schema, object := range doc.Components.Schemas {
		for name, member := range object.Properties {
			if member.Format != "date-time" {
				continue
			}
			for _, example := range member.Examples {
				dates++
				if _, err := time.Parse(time.RFC3339, fmt.Sprint(example)); err != nil {
					t.Errorf("%s.%s: %v", schema, name, err)
				}
			}
		}
	}
	if dates < 5 {
		t.Errorf("only %d dates have examples", dates)
	}
}

// TestBoundsHaveNoExponent checks that errors contain bounds without an exponent.
func TestBoundsHaveNoExponent(t *testing.T) {
	h := newHarness(t)
	for query, want := range map[string]string{
		"repository_ids=4294967296": "expected number <= 4294967295",
		"page_size=99":              "expected number >= 100",
	} {
		a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+query, "")
		h.wantProblem(a, "invalid_argument")
		if len(a.problem.Errors) != 1 || a.problem.Errors[0].Message != want {
			t.Errorf("%s: %s", query, a.body)
		}
	}
}

// TestSharedSchemasAreNamed checks that shared forms are one schema of the document. No schema may have a
// name that generators use for the result of a call.
func TestSharedSchemasAreNamed(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct{ Schemas map[string]any }
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for name, schema := range doc.Components.Schemas {
		if strings.HasSuffix(name, "Response") {
			t.Errorf("%s is the name of an operation's result in generated clients", name)
		}
		members, _ := schema.(map[string]any)["properties"].(map[string]any)
		for member, form := range members {
			if form, _ := form.(map[string]any); form["oneOf"] != nil {
				t.Errorf("%s.%s has unnamed alternatives", name, member)
			}
		}
	}
	for _, name := range []string{"ID", "WholeNumber", "Flag", "TextList", "Status", "StatusList", "Product", "ProductList", "ScanStatus", "ScanStatusList", "Confidence", "ConfidenceList"} {
		if doc.Components.Schemas[name] == nil {
			t.Errorf("%s is missing", name)
		}
	}
}

// TestOpenAPISupportsClientGenerators checks that the document avoids problems of client generators.
// These are null in the types of a named schema, types shared by a list and its alternative, and
// names of classes.
func TestOpenAPISupportsClientGenerators(t *testing.T) {
	text, err := OpenAPI()
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Components struct {
			Schemas map[string]struct {
				Type  any
				OneOf []struct {
					Ref   string `json:"$ref"`
					Items struct {
						Ref string `json:"$ref"`
					}
				}
			}
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	for name, schema := range doc.Components.Schemas {
		if _, several := schema.Type.([]any); several {
			t.Errorf("%s has several types: %v", name, schema.Type)
		}
		for i, form := range schema.OneOf {
			for _, other := range schema.OneOf[:i] {
				if form.Ref != "" && (form.Ref == other.Items.Ref || form.Ref == other.Ref) {
					t.Errorf("%s refers to %s in two alternatives", name, form.Ref)
				}
			}
		}
	}
	for _, name := range []string{"Exception", "Error", "Object", "String", "Number", "Int", "Int32", "Int64", "Float64", "Bool", "Time"} {
		if _, exists := doc.Components.Schemas[name]; exists {
			t.Errorf("%s is a type of generated clients", name)
		}
	}
	content := string(text)[strings.Index(string(text), `"operationId": "importReports"`):]
	if form, raw := strings.Index(content, `"multipart/form-data"`), strings.Index(content, `"application/octet-stream"`); form < 0 || form > raw {
		t.Error("the form is not the first content of importReports")
	}
}
