package server

import (
	"cmp"
	"fmt"
	"math"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/validation"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/api"
)

// ownForm is the schema of a type that has forms of its own.
type ownForm struct {
	of, as reflect.Type // as stands for the type where the library asks
	schema huma.Schema
	name   string // among the published schemas; empty where each member shows it
	values []any  // of a list, or one of it
}

func own[T any](schema huma.Schema) ownForm {
	return ownForm{of: reflect.TypeFor[T](), as: reflect.TypeFor[wireForm[T]](), schema: schema}
}

// namedForm is a form that the published document names.
func namedForm[T any](name string, schema huma.Schema, values ...any) ownForm {
	f := own[T](schema)
	f.name, f.values = name, values
	return f
}

// words is a list of words, or one of them.
func words[T any](name string, values ...any) ownForm {
	return namedForm[T](name, oneOrMany(values...), values...)
}

// instantPattern is what an api.Instant looks like.
var instantPattern = regexp.MustCompile(`^([0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])([T ]([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9]([.,][0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?)?|` +
	`[0-9]{4}(0[1-9]|1[0-2])(0[1-9]|[12][0-9]|3[01])(T([01][0-9]|2[0-3])[0-5][0-9]([0-5][0-9]([.,][0-9]{1,9})?)?(Z|[+-]([01][0-9]|2[0-3]):?[0-5][0-9])?)?)$`)

// numberPattern is a number of up to 32 bits in digits.
const numberPattern = `^0*([0-9]{1,9}|[1-3][0-9]{9}|4[01][0-9]{8}|42[0-8][0-9]{7}|429[0-3][0-9]{6}|4294[0-8][0-9]{5}|` +
	`42949[0-5][0-9]{4}|429496[0-6][0-9]{3}|4294967[01][0-9]{2}|42949672[0-8][0-9]|429496729[0-5])$`

// ownForms are those of package api, which knows no schemas.
var ownForms = []ownForm{
	own[api.Time](huma.Schema{Type: huma.TypeString, Format: "date-time"}),
	own[api.Instant](huma.Schema{
		Type: huma.TypeString, Pattern: instantPattern.String(),
		PatternDescription: "an ISO 8601 date or date and time, as 2024-05-28, 2024-05-28T06:38:54 or 2024-05-28T06:38:54Z",
	}),
	namedForm[api.ID]("ID", either(&huma.Schema{Type: huma.TypeString, MaxLength: new(256)}, &huma.Schema{Type: huma.TypeNumber})),
	// Every id is an unsigned number of 32 bits, as the contract types those of findings. Generators for Go have an Int of their own.
	namedForm[api.Int]("WholeNumber", either(
		&huma.Schema{Type: huma.TypeInteger, Format: "int64", Minimum: new(0.0), Maximum: new(float64(math.MaxUint32))}, &huma.Schema{Type: huma.TypeString, Pattern: numberPattern},
	)),
	namedForm[api.Flag]("Flag", either(&huma.Schema{Type: huma.TypeInteger, Enum: []any{0.0, 1.0}}, &huma.Schema{Type: huma.TypeBoolean})),
	own[api.Optional[bool]](huma.Schema{Type: huma.TypeBoolean}),
	namedForm[api.List[string]]("TextList", oneOrMany()),
	words[api.List[api.Confidence]]("Confidence", "low", "medium", "high"),
	words[api.List[api.Status]]("Status", "open", "fixed", "ignored", "reviewing", "fixing"),
	words[api.List[api.Product]]("Product", "PRODUCT_UNSPECIFIED", "PRODUCT_SAST", "PRODUCT_SCA", "PRODUCT_SECRETS", "PRODUCT_AI_SAST"),
	words[api.List[api.ScanStatus]]("ScanStatus", "SCAN_STATUS_RUNNING", "SCAN_STATUS_COMPLETED", "SCAN_STATUS_ERROR", "SCAN_STATUS_NEVER_FINISHED"),
	own[document](huma.Schema{Type: huma.TypeString}), // in its own media type
}

// wireForm stands for a type, since the library asks types for their schemas.
type wireForm[T any] struct{}

// Schema is a copy, which the field that has the type may add to.
func (wireForm[T]) Schema(huma.Registry) *huma.Schema {
	i := slices.IndexFunc(ownForms, func(f ownForm) bool { return f.of == reflect.TypeFor[T]() })
	schema := ownForms[i].schema
	return &schema
}

// oneOrMany is a list of texts, or one text; of the values, where there are any.
func oneOrMany(values ...any) huma.Schema {
	one := &huma.Schema{Type: huma.TypeString, Enum: values}
	return either(&huma.Schema{Type: huma.TypeArray, Items: one}, one)
}

func either(forms ...*huma.Schema) huma.Schema { return huma.Schema{OneOf: forms} }

// fieldError is a fault as this server tells it. The library names the object
// that lacks a member, and of a member with several forms it only says that
// none of them fits. Of a body that its decoder refuses, it gives the decoder's
// words and all of the body, which may hold anything.
func fieldError(op *huma.Operation, d *huma.ErrorDetail) redoubt.FieldError {
	var missing string
	if _, err := fmt.Sscanf(d.Message, validation.MsgExpectedRequiredProperty, &missing); err == nil {
		return redoubt.FieldError{Location: d.Location + "." + missing, Message: "is needed"}
	}
	if strings.HasPrefix(d.Message, "json: ") {
		return redoubt.FieldError{Location: d.Location, Message: "holds a number out of range, or a value of another type than its member has"}
	}
	out := redoubt.FieldError{Location: d.Location, Message: plainNumber(d.Message), Value: d.Value}
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

// plainNumber writes the bound of a message without an exponent.
func plainNumber(message string) string {
	words := strings.Fields(message)
	if len(words) == 0 || !strings.HasPrefix(message, "expected number") {
		return message
	}
	last := &words[len(words)-1]
	if n, err := strconv.ParseFloat(*last, 64); err == nil {
		*last = strconv.FormatFloat(n, 'f', -1, 64)
	}
	return strings.Join(words, " ")
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
	case s.Pattern == numberPattern:
		return "its digits as a string, up to 4294967295"
	case s.Pattern != "":
		return "a string that matches " + s.Pattern
	}
	return s.Type
}

// walk finds the schema of a location such as body.packageFilters[2].name.
func walk(op *huma.Operation, location string) *huma.Schema {
	parts := strings.FieldsFunc(location, func(r rune) bool { return strings.ContainsRune(".[]", r) })
	s := theSpec().operations[op.OperationID].body
	if len(parts) == 0 || parts[0] != "body" {
		return nil
	}
	for _, part := range parts[1:] {
		if s == nil {
			return nil
		}
		s = theSpec().resolve(cmp.Or(s.Properties[part], s.Items))
	}
	return s
}
