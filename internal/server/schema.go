package server

import (
	"cmp"
	"fmt"
	"reflect"
	"regexp"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// aliases give the types of package api that have forms of their own a schema,
// since that package knows no schemas.
var aliases = map[reflect.Type]reflect.Type{
	reflect.TypeFor[api.Time]():                 reflect.TypeFor[timeForm](),
	reflect.TypeFor[api.ID]():                   reflect.TypeFor[idForm](),
	reflect.TypeFor[api.Int]():                  reflect.TypeFor[intForm](),
	reflect.TypeFor[api.Flag]():                 reflect.TypeFor[flagForm](),
	reflect.TypeFor[api.Optional[bool]]():       reflect.TypeFor[bool](),
	reflect.TypeFor[api.List[string]]():         reflect.TypeFor[tagsForm](),
	reflect.TypeFor[api.List[api.Confidence]](): reflect.TypeFor[confidencesForm](),
	reflect.TypeFor[api.List[api.Status]]():     reflect.TypeFor[statusesForm](),
	reflect.TypeFor[api.List[api.Product]]():    reflect.TypeFor[productsForm](),
	reflect.TypeFor[api.List[api.ScanStatus]](): reflect.TypeFor[scanStatusesForm](),
	reflect.TypeFor[document]():                 reflect.TypeFor[documentForm](),
}

type (
	timeForm         struct{}
	idForm           struct{}
	intForm          struct{}
	flagForm         struct{}
	tagsForm         struct{}
	confidencesForm  struct{}
	statusesForm     struct{}
	productsForm     struct{}
	scanStatusesForm struct{}
	documentForm     struct{}
)

// Schema is a date-time.
func (timeForm) Schema(huma.Registry) *huma.Schema {
	return &huma.Schema{Type: huma.TypeString, Format: "date-time"}
}

// Schema is a string or a number.
func (idForm) Schema(huma.Registry) *huma.Schema {
	return either(&huma.Schema{Type: huma.TypeString, MaxLength: new(256)}, &huma.Schema{Type: huma.TypeNumber})
}

// Schema is an integer, or a string of digits.
func (intForm) Schema(huma.Registry) *huma.Schema {
	least, most := 0.0, float64(1<<53)
	return either(&huma.Schema{Type: huma.TypeInteger, Minimum: &least, Maximum: &most}, &huma.Schema{Type: huma.TypeString, Pattern: "^[0-9]{1,15}$"})
}

// Schema is 0, 1, false or true.
func (flagForm) Schema(huma.Registry) *huma.Schema {
	return either(&huma.Schema{Type: huma.TypeInteger, Enum: []any{0.0, 1.0}}, &huma.Schema{Type: huma.TypeBoolean})
}

// Schema is a list of texts, or one text with commas.
func (tagsForm) Schema(huma.Registry) *huma.Schema {
	text := func() *huma.Schema { return &huma.Schema{Type: huma.TypeString} }
	return either(&huma.Schema{Type: huma.TypeArray, Items: text()}, text())
}

// Schema is one confidence, or a list.
func (confidencesForm) Schema(huma.Registry) *huma.Schema { return oneOrMany("low", "medium", "high") }

// Schema is one status, or a list.
func (statusesForm) Schema(huma.Registry) *huma.Schema {
	return oneOrMany("open", "fixed", "ignored", "reviewing", "fixing")
}

// Schema is one product, or a list.
func (productsForm) Schema(huma.Registry) *huma.Schema {
	return oneOrMany("PRODUCT_UNSPECIFIED", "PRODUCT_SAST", "PRODUCT_SCA", "PRODUCT_SECRETS", "PRODUCT_AI_SAST")
}

// Schema is one status, or a list.
func (scanStatusesForm) Schema(huma.Registry) *huma.Schema {
	return oneOrMany("SCAN_STATUS_RUNNING", "SCAN_STATUS_COMPLETED", "SCAN_STATUS_ERROR", "SCAN_STATUS_NEVER_FINISHED")
}

// Schema is a document in its own media type.
func (documentForm) Schema(huma.Registry) *huma.Schema { return &huma.Schema{Type: huma.TypeString} }

func oneOrMany(values ...string) *huma.Schema {
	enum := make([]any, len(values))
	for i, v := range values {
		enum[i] = v
	}
	list := &huma.Schema{Type: huma.TypeArray, Items: &huma.Schema{Type: huma.TypeString, Enum: enum}}
	return either(list, &huma.Schema{Type: huma.TypeString, Enum: enum})
}

func either(forms ...*huma.Schema) *huma.Schema {
	for _, f := range forms {
		f.PrecomputeMessages()
	}
	return &huma.Schema{OneOf: forms}
}

var missing = regexp.MustCompile(`^expected required property (\w+) to be present$`)

// fieldError is a fault as this server tells it. The library names the object
// that lacks a member, and of a member with several forms it only says that
// none of them fits. Of a body that its decoder refuses, it gives the decoder's
// words and all of the body, which may hold anything.
func fieldError(op *huma.Operation, d *huma.ErrorDetail) redoubt.FieldError {
	if m := missing.FindStringSubmatch(d.Message); m != nil {
		return redoubt.FieldError{Location: d.Location + "." + m[1], Message: "is needed"}
	}
	if strings.HasPrefix(d.Message, "json: ") {
		return redoubt.FieldError{Location: d.Location, Message: "holds a number out of range, or a value of another type than its member has"}
	}
	out := redoubt.FieldError{Location: d.Location, Message: d.Message, Value: d.Value}
	if d.Message != validation.MsgExpectedMatchExactlyOneSchema {
		return out
	}
	if s := walk(op, d.Location); s != nil {
		forms := make([]string, len(s.OneOf))
		for i, form := range s.OneOf {
			forms[i] = formOf(form)
		}
		out.Message = "expected " + strings.Join(forms, "; or ")
	}
	return out
}

// formOf describes a simple schema.
func formOf(s *huma.Schema) string {
	switch {
	case s.Items != nil:
		return "a list of: " + formOf(s.Items)
	case len(s.Enum) > 0:
		values := make([]string, len(s.Enum))
		for i, v := range s.Enum {
			values[i] = fmt.Sprint(v)
		}
		return strings.Join(values, ", ")
	case s.Pattern != "":
		return "a string that matches " + s.Pattern
	}
	return s.Type
}

var locationPart = regexp.MustCompile(`[^.\[\]]+`)

// walk finds the schema of a location such as body.packageFilters[2].name.
func walk(op *huma.Operation, location string) *huma.Schema {
	parts := locationPart.FindAllString(location, -1)
	if op.RequestBody == nil || len(parts) == 0 || parts[0] != "body" || op.RequestBody.Content["application/json"] == nil {
		return nil
	}
	s := theSpec().resolve(op.RequestBody.Content["application/json"].Schema)
	for _, part := range parts[1:] {
		if s == nil {
			return nil
		}
		s = theSpec().resolve(cmp.Or(s.Properties[part], s.Items))
	}
	return s
}
