package server

import (
	"encoding/json"
	"maps"
	"reflect"
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
			components[f.name] = &huma.Schema{OneOf: []*huma.Schema{{Type: huma.TypeArray, Items: ref}, ref}}
		} else {
			components[f.name] = &form
		}
		shared[encoded(&huma.Schema{OneOf: form.OneOf})] = f.name
	}
	named, _ := named(tree, shared).(map[string]any)
	schemas, _ := named["components"].(map[string]any)["schemas"].(map[string]any)
	maps.Copy(schemas, components)
	tell(schemas)
	return json.MarshalIndent(named, "", "  ")
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
	return name
}
