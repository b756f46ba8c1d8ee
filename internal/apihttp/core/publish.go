package core

import (
	"encoding/json"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"
)

// publish encodes the document for client generators. Null is an alternative of a reference instead
// of a part of the named schema. A form is the first media type of a body.
func publish(doc *huma.OpenAPI) ([]byte, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	nullable := map[string]bool{} // references to named objects that may be null
	for name, schema := range doc.Components.Schemas.Map() {
		nullable[schemaPrefix+name] = schema.Nullable
	}
	forGenerators(tree, nullable)
	return json.MarshalIndent(tree, "", "  ")
}

// forGenerators rewrites the parts of a document that generators misread.
func forGenerators(node any, nullable map[string]bool) {
	switch node := node.(type) {
	case []any:
		for _, v := range node {
			forGenerators(v, nullable)
		}
	case map[string]any:
		if content, _ := node["content"].(map[string]any); content[formMedia] != nil {
			node["content"] = formContent(content)
		}
		if types, _ := node["type"].([]any); slices.Contains(types, any(huma.TypeObject)) {
			node["type"] = huma.TypeObject
		}
		if ref, _ := node["$ref"].(string); nullable[ref] {
			delete(node, "$ref")
			node["anyOf"] = []any{map[string]any{"$ref": ref}, map[string]any{"type": "null"}}
			return
		}
		for _, v := range node {
			forGenerators(v, nullable)
		}
	}
}

// formContent is the content of a body that may be a form. The form is encoded first:
// openapi-generator describes a body by its first media type, and imports a missing type if a form
// follows another one.
type formContent map[string]any

const formMedia = "multipart/form-data"

// MarshalJSON encodes the form before the other media types.
func (c formContent) MarshalJSON() ([]byte, error) {
	others := maps.Clone(c)
	delete(others, formMedia)
	form, err := json.Marshal(map[string]any{formMedia: c[formMedia]})
	if err != nil || len(others) == 0 {
		return form, err
	}
	rest, err := json.Marshal(map[string]any(others))
	return slices.Concat(form[:len(form)-1], []byte(","), rest[1:]), err
}
