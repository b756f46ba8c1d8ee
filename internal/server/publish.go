package server

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// publish gives the forms that many members share a name of their own, in the
// document as it is read by others: generators make one type of each, and fail
// where two places would need the same one.
func publish(doc *huma.OpenAPI) ([]byte, error) {
	text, err := json.Marshal(doc)
	if err != nil {
		return nil, err
	}
	var tree map[string]any
	if err := json.Unmarshal(text, &tree); err != nil {
		return nil, err
	}
	shared, components := map[string]string{}, map[string]any{}
	for _, f := range ownForms {
		if f.name == "" {
			continue
		}
		form := f.schema
		if len(f.values) > 0 { // a list of words, or one of them: the word has a name, too
			word := &huma.Schema{Type: huma.TypeString, Enum: f.values}
			ref := &huma.Schema{Ref: schemaPrefix + f.name}
			shared[encoded(word)] = f.name
			components[f.name] = word
			f.name += "List"
			// The second form repeats the words: generators import a type twice that a list and its alternative share.
			components[f.name] = &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeArray, Items: ref}, word}}
		} else {
			components[f.name] = &form
		}
		shared[encoded(&huma.Schema{OneOf: form.OneOf})] = f.name
	}
	named, _ := named(tree, shared).(map[string]any)
	schemas, _ := named["components"].(map[string]any)["schemas"].(map[string]any)
	maps.Copy(schemas, components)
	nullAtUse(named, nullableObjects(schemas))
	formFirst(named)
	return json.MarshalIndent(named, "", "  ")
}

// nullableObjects removes null from the types of the named objects that have it,
// and returns references to them.
func nullableObjects(schemas map[string]any) map[string]bool {
	refs := map[string]bool{}
	for name, schema := range schemas {
		object, _ := schema.(map[string]any)
		if types, _ := object["type"].([]any); slices.Contains(types, any(huma.TypeObject)) {
			object["type"] = huma.TypeObject
			refs[schemaPrefix+name] = true
		}
	}
	return refs
}

// nullAtUse adds null beside each of the references. Generators of clients read it
// there, and lose it where it is a type of the named schema.
func nullAtUse(node any, refs map[string]bool) {
	switch node := node.(type) {
	case []any:
		for _, v := range node {
			nullAtUse(v, refs)
		}
	case map[string]any:
		if ref, _ := node["$ref"].(string); refs[ref] {
			delete(node, "$ref")
			node["anyOf"] = []any{map[string]any{"$ref": ref}, map[string]any{"type": "null"}}
			return
		}
		for _, v := range node {
			nullAtUse(v, refs)
		}
	}
}

// formContent is the content of a body that may be a form, which is written first:
// openapi-generator describes a body by its first media type, and imports a type
// that it does not write where a form follows another one.
type formContent map[string]any

const formMedia = "multipart/form-data"

// MarshalJSON writes the form before the other media types.
func (c formContent) MarshalJSON() ([]byte, error) {
	form, err := json.Marshal(c[formMedia])
	if err != nil {
		return nil, err
	}
	others := maps.Clone(map[string]any(c))
	delete(others, formMedia)
	rest, err := json.Marshal(others)
	if err != nil {
		return nil, err
	}
	out := append([]byte(`{"`+formMedia+`":`), form...)
	if len(others) > 0 {
		out = append(out, ',')
	}
	return append(out, rest[1:]...), nil
}

// formFirst makes a formContent of the content of each body that may be a form.
func formFirst(node any) {
	switch node := node.(type) {
	case []any:
		for _, v := range node {
			formFirst(v)
		}
	case map[string]any:
		if content, _ := node["content"].(map[string]any); content[formMedia] != nil {
			node["content"] = formContent(content)
			return
		}
		for _, v := range node {
			formFirst(v)
		}
	}
}

const schemaPrefix = "#/components/schemas/"

// encoded is what tells two schemas apart.
func encoded(v any) string {
	text, err := json.Marshal(v)
	if err != nil {
		panic("server: a schema that is no JSON: " + err.Error())
	}
	var plain any
	if json.Unmarshal(text, &plain) == nil { // into the order of the document's own members
		text, _ = json.Marshal(plain) //nolint:errchkjson // it was JSON
	}
	return string(text)
}

// named replaces what is shared by a reference to it, and keeps what else its
// place says.
func named(node any, shared map[string]string) any {
	switch node := node.(type) {
	case []any:
		for i, v := range node {
			node[i] = named(v, shared)
		}
	case map[string]any:
		for _, members := range [][]string{{"oneOf"}, {"type", "enum"}} {
			part := map[string]any{}
			for _, m := range members {
				if v, there := node[m]; there {
					part[m] = v
				}
			}
			name, is := shared[encoded(part)]
			if !is || len(part) < len(members) {
				continue
			}
			for _, m := range members {
				delete(node, m)
			}
			node["$ref"] = schemaPrefix + name
			return node
		}
		for name, v := range node {
			node[name] = named(v, shared)
		}
	}
	return node
}

// schemaName names a schema after its type. Generators name the answer of an
// operation ListProjectsResponse by themselves.
func schemaName(t reflect.Type, hint string) string {
	name := huma.DefaultSchemaNamer(t, hint)
	if result, is := strings.CutSuffix(name, "Response"); is {
		return result + "Result"
	}
	if name == "Exception" { // a class of Java and of Python
		return "FindingException"
	}
	return name
}
