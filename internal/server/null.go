package server

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt"
)

// nulls finds what is null in a body where its schema does not admit it
// (semantics §2). The library overlooks null wherever a member may be left out,
// and the decoder makes no value of it: a filter that is null would select
// everything.
func (o *operation) nulls(body []byte) []redoubt.FieldError {
	if o.body == nil || !bytes.Contains(body, []byte("null")) {
		return nil
	}
	var v any
	if json.Unmarshal(body, &v) != nil { // what is malformed was refused
		return nil
	}
	var found []redoubt.FieldError
	findNulls(o.body, v, "body", &found)
	return found
}

func findNulls(schema *huma.Schema, v any, at string, found *[]redoubt.FieldError) {
	forms := formsOf(schema)
	switch v := v.(type) {
	case nil:
		if !slices.ContainsFunc(forms, func(s *huma.Schema) bool { return s.Nullable }) && len(*found) <= maxFaults {
			*found = append(*found, redoubt.FieldError{Location: at, Message: "may not be null; leave out what is not to be said"})
		}
	case map[string]any:
		for _, name := range slices.Sorted(maps.Keys(v)) {
			for _, form := range forms {
				if member := form.Properties[name]; member != nil {
					findNulls(member, v[name], at+"."+name, found)
				}
			}
		}
	case []any:
		for _, form := range forms {
			for i := 0; form.Items != nil && i < len(v); i++ {
				findNulls(form.Items, v[i], fmt.Sprintf("%s[%d]", at, i), found)
			}
		}
	}
}

// formsOf are the forms of which a value may have one.
func formsOf(schema *huma.Schema) []*huma.Schema {
	schema = theSpec().resolve(schema)
	if len(schema.OneOf) == 0 {
		return []*huma.Schema{schema}
	}
	forms := make([]*huma.Schema, len(schema.OneOf))
	for i, form := range schema.OneOf {
		forms[i] = theSpec().resolve(form)
	}
	return forms
}

// refuseNulls is the error of what is null and may not be, where nothing else
// is wrong.
func (c *call) refuseNulls() error {
	if len(c.nulls) == 0 {
		return nil
	}
	return invalidProblem(c.nulls)
}

// withNulls puts what is null before the other faults of a body, of which some
// may be the same.
func withNulls(nulls, faults []redoubt.FieldError) []redoubt.FieldError {
	if len(nulls) == 0 {
		return faults
	}
	return append(slices.Clip(nulls), slices.DeleteFunc(faults, func(f redoubt.FieldError) bool {
		return slices.ContainsFunc(nulls, func(n redoubt.FieldError) bool { return n.Location == f.Location })
	})...)
}
