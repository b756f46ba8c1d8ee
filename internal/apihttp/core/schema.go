package core

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// ownForm is the schema of a type with a custom encoding.
type ownForm struct {
	of, as reflect.Type // as replaces the type when the library requests a schema
	name   string       // name of the schema in the document; empty if it is inlined
	schema huma.Schema
}

func own[T any](name string, schema huma.Schema) ownForm {
	return ownForm{reflect.TypeFor[T](), reflect.TypeFor[wireForm[T]](), name, schema}
}

// instantPattern matches a valid api.Instant.
var instantPattern = regexp.MustCompile(`^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])` +
	`([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?)?|` +
	`[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])` +
	`(T([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9]([.,][0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?)?)$`)

// numberPattern matches a decimal number of up to 32 bits.
const numberPattern = `^0*([0-9]{1,9}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|4294[0-8][0-9]{5}|` +
	`42949[0-5][0-9]{4}|429496[0-6][0-9]{3}|4294967[01][0-9]{2}|42949672[0-8][0-9]|429496729[0-5])$`

// ownForms are the schemas of the types of package api, which does not depend on schemas. Client
// generators create one type of each named schema, and fail if two places would need the same one.
var ownForms = []ownForm{
	own[api.Time]("", huma.Schema{Type: huma.TypeString, Format: "date-time"}),
	own[api.Instant]("", huma.Schema{
		Type: huma.TypeString, Pattern: instantPattern.String(),
		PatternDescription: "an ISO 8601 date or date and time, as 2024-05-28, 2024-05-28T06:38:54 or 2024-05-28T06:38:54Z",
	}),
	own[api.ID]("ID", either(huma.Schema{Type: huma.TypeString, MaxLength: new(256)}, huma.Schema{Type: huma.TypeNumber})),
	// Every id is an unsigned number of 32 bits, like the contract's finding ids. The name avoids
	// Int, which generators for Go define themselves.
	own[api.Int]("WholeNumber", either(
		huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: new(0.0), Maximum: new(float64(math.MaxUint32))},
		huma.Schema{Type: huma.TypeString, Pattern: numberPattern},
	)),
	own[api.Flag](
		"Flag", either(huma.Schema{Type: huma.TypeInteger, Enum: []any{0.0, 1.0}}, huma.Schema{Type: huma.TypeBoolean}),
	),
	own[api.Optional[bool]]("", huma.Schema{Type: huma.TypeBoolean}),
	own[api.List[string]]("TextList", oneOrMany(huma.Schema{Type: huma.TypeString}, huma.Schema{Type: huma.TypeString})),
	own[api.List[api.Confidence]]("ConfidenceList", listOf("Confidence")),
	own[api.List[api.Status]]("StatusList", listOf("Status")),
	own[api.List[api.Product]]("ProductList", listOf("Product")),
	own[api.List[api.ScanStatus]]("ScanStatusList", listOf("ScanStatus")),
	own[Document]("", huma.Schema{Type: huma.TypeString}), // with its own media type
}

// enumerations are the named enumerations of the document.
var enumerations = map[string][]any{
	"Confidence": {"low", "medium", "high"},
	"Status":     {"open", "fixed", "ignored", "reviewing", "fixing"},
	"Product":    {"PRODUCT_UNSPECIFIED", "PRODUCT_SAST", "PRODUCT_SCA", "PRODUCT_SECRETS", "PRODUCT_AI_SAST"},
	"ScanStatus": {"SCAN_STATUS_RUNNING", "SCAN_STATUS_COMPLETED", "SCAN_STATUS_ERROR", "SCAN_STATUS_NEVER_FINISHED"},
}

const schemaPrefix = "#/components/schemas/"

// wireForm replaces a type, since the library calls a method of the type for its schema.
type wireForm[T any] struct{}

// Schema returns a reference or a copy, to which the field of this type may add.
func (wireForm[T]) Schema(huma.Registry) *huma.Schema {
	form := ownForms[slices.IndexFunc(ownForms, func(f ownForm) bool { return f.of == reflect.TypeFor[T]() })]
	if form.name != "" {
		return &huma.Schema{Ref: schemaPrefix + form.name}
	}
	return &form.schema
}

// register adds the schemas to the document.
func register(registry huma.Registry) {
	for name, words := range enumerations {
		registry.Map()[name] = &huma.Schema{Type: huma.TypeString, Enum: words}
	}
	for _, form := range ownForms {
		registry.RegisterTypeAlias(form.of, form.as)
		if form.name != "" {
			registry.Map()[form.name] = &form.schema
		}
	}
	for _, schema := range registry.Map() {
		schema.PrecomputeMessages()
	}
}

// nameWords replaces the values of an enumeration by a reference to the named one.
func nameWords(schema *huma.Schema) {
	for name, words := range enumerations {
		if schema.Type == huma.TypeString && !schema.Nullable && slices.Equal(schema.Enum, words) {
			schema.Ref, schema.Type, schema.Enum = schemaPrefix+name, "", nil
		}
	}
	if schema.Items != nil {
		nameWords(schema.Items)
	}
}

// listOf is the schema of a list of values or a single one. The alternative repeats the values:
// generators import a type twice if a list and its alternative share it.
func listOf(name string) huma.Schema {
	return oneOrMany(huma.Schema{Ref: schemaPrefix + name}, huma.Schema{Type: huma.TypeString, Enum: enumerations[name]})
}

func oneOrMany(item, one huma.Schema) huma.Schema {
	return either(huma.Schema{Type: huma.TypeArray, Items: &item}, one)
}

func either(first, second huma.Schema) huma.Schema {
	return huma.Schema{OneOf: []*huma.Schema{&first, &second}}
}

// schemaName returns the name of a type's schema. The suffix Response is replaced, because
// generators use it for the response of an operation, such as ListProjectsResponse.
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

// fieldError converts an error of the library. For a missing member, the library reports only the
// object, and for a member with alternatives, only that none matches. If decoding fails, it reports
// the decoder's message and the whole body, which may contain secrets.
func (s *Spec) fieldError(op *huma.Operation, d *huma.ErrorDetail) model.FieldError {
	var missing string
	if _, err := fmt.Sscanf(d.Message, validation.MsgExpectedRequiredProperty, &missing); err == nil {
		return model.FieldError{Location: d.Location + "." + missing, Message: "is required"}
	}
	if strings.HasPrefix(d.Message, "json: ") {
		return model.FieldError{
			Location: d.Location,
			Message:  "contains a number out of range or a value of the wrong type",
		}
	}
	out := model.FieldError{Location: d.Location, Message: d.Message, Value: d.Value}
	if d.Message != validation.MsgExpectedMatchExactlyOneSchema {
		return out
	}
	if found := s.walk(op, d.Location); found != nil {
		forms := model.Map(found.OneOf, s.formOf)
		out.Message = "expected " + strings.Join(forms, "; or ")
	}
	return out
}

// formOf describes a simple schema.
func (s *Spec) formOf(schema *huma.Schema) string {
	switch schema = s.Resolve(schema); {
	case schema.Items != nil:
		return "a list of: " + s.formOf(schema.Items)
	case len(schema.Enum) > 0:
		values := make([]string, len(schema.Enum))
		for i, v := range schema.Enum {
			values[i] = fmt.Sprint(v)
		}
		return strings.Join(values, ", ")
	case schema.Pattern == numberPattern:
		return "a string of digits, up to 4294967295"
	}
	return schema.Type
}

// walk returns the schema at a location such as body.packageFilters[2].name.
func (s *Spec) walk(op *huma.Operation, location string) *huma.Schema {
	parts := strings.FieldsFunc(location, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	if parts[0] != "body" {
		return nil
	}
	found := s.operations[op.OperationID].body
	for _, part := range parts[1:] {
		if found != nil {
			found = s.Resolve(cmp.Or(found.Properties[part], found.Items))
		}
	}
	return found
}
