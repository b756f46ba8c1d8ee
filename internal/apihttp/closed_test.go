package apihttp

import (
	"encoding/json"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// openBodies are the operations whose bodies may have unknown members. Absent members change
// nothing in them. All other operations select or decide, and an ignored member would widen their
// effect.
var openBodies = []string{"createProject", "updateProject", "toggleManagedScan", "putSnippets"}

// bodyOf returns the schema of an operation's JSON body, or nil.
func bodyOf(op *huma.Operation) *huma.Schema {
	if op.RequestBody == nil || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	return theSpec().Resolve(op.RequestBody.Content["application/json"].Schema)
}

// bodyPath is a location in a body: names of members, and [] for the first item of a list.
type bodyPath []string

// String returns the location in the notation of errors.
func (p bodyPath) String() string {
	return strings.ReplaceAll("body."+strings.Join(p, "."), ".[]", "[0]")
}

// holding returns a body with the value at the location and nothing else.
func (p bodyPath) holding(value any) string {
	for _, part := range slices.Backward(p) {
		if part == "[]" {
			value = []any{value}
		} else {
			value = map[string]any{part: value}
		}
	}
	text, err := json.Marshal(value)
	if err != nil {
		panic(err)
	}
	return string(text)
}

// eachMember calls fn with every member of a schema, at any depth.
func eachMember(schema *huma.Schema, at bodyPath, fn func(at bodyPath, object, member *huma.Schema)) {
	schema = theSpec().Resolve(schema)
	for _, form := range schema.OneOf {
		eachMember(form, at, fn)
	}
	if schema.Items != nil {
		eachMember(schema.Items, append(slices.Clip(at), "[]"), fn)
	}
	for _, name := range slices.Sorted(maps.Keys(schema.Properties)) {
		below := append(slices.Clip(at), name)
		fn(below, schema, schema.Properties[name])
		eachMember(schema.Properties[name], below, fn)
	}
}

var pathPart = regexp.MustCompile(`\{\w+\}`)

// acceptsFiles reports whether the body of an operation consists of files.
func acceptsFiles(id string) bool {
	body := theSpec().Operation(id).RequestBody
	return body != nil && body.Content["multipart/form-data"] != nil
}

// addressOf fills in the parts of a path: an existing deployment and unknown ids.
func addressOf(r core.Route) string {
	path := strings.NewReplacer("{deploymentId}", "acme", "{deploymentSlug}", "acme", "{projectName}", "acme/nothing").Replace(r.Pattern)
	return pathPart.ReplaceAllString(path, "999")
}

// TestUnknownMembersAreRejected checks that every object of a body that selects or decides rejects
// unknown members, as openapi.json documents.
func TestUnknownMembersAreRejected(t *testing.T) {
	h := newHarness(t)
	for _, r := range Routes() {
		body := bodyOf(theSpec().Operation(r.ID))
		if body == nil || r.Method == http.MethodGet || acceptsFiles(r.ID) {
			continue
		}
		if open := slices.Contains(openBodies, r.ID); open == (body.AdditionalProperties == false) {
			t.Errorf("%s: open is %t, but its schema has %v", r.ID, open, body.AdditionalProperties)
		}
		objects := map[string]*huma.Schema{"": body}
		paths := map[string]bodyPath{}
		eachMember(body, nil, func(at bodyPath, object, _ *huma.Schema) {
			key := strings.Join(at[:len(at)-1], ".")
			objects[key], paths[key] = object, at[:len(at)-1]
		})
		for key, object := range objects {
			at := append(slices.Clip(paths[key]), "unknownMember")
			a := h.send(r.Method, addressOf(r), at.holding(true))
			if refused := slices.Contains(a.locations(), at.String()); refused != (object.AdditionalProperties == false) {
				t.Errorf("%s: %s is rejected: %t, but the schema has %v: %d %s", r.ID, at, refused, object.AdditionalProperties, a.status, a.body)
			}
		}
	}
}
