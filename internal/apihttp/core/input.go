package core

import (
	"errors"
	"reflect"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Faults collects the errors of a request that its schema cannot express, so that the client gets
// all of them at once.
type Faults []error

// Add adds an error at a location such as query.cursor, with the invalid value.
func (f *Faults) Add(location string, value any, message string) {
	*f = append(*f, &huma.ErrorDetail{Location: location, Message: message, Value: value})
}

// AddInvalid adds the errors of a *model.InvalidError.
func (f *Faults) AddInvalid(err error) {
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		for _, e := range invalid.Fields {
			f.Add(e.Location, e.Value, e.Message)
		}
	}
}

// Undecoded reports whether decoding a body failed. The schema reports the errors; members that
// seem to be missing may have been sent.
func Undecoded(ctx huma.Context, body any) bool {
	return CallOf(ctx.Context()).hasBody && reflect.ValueOf(body).Elem().IsZero()
}

// Copies checks the members of a body that repeat a part of the path. They may be absent, but must
// not differ (docs/reference/addressing.md). It also returns the nulls that are not permitted,
// because every body passes this check.
func Copies(ctx huma.Context, body any) []error {
	c := CallOf(ctx.Context())
	var bad Faults
	for _, n := range c.nulls {
		bad.Add(n.Location, nil, n.Message)
	}
	v := reflect.ValueOf(body).Elem()
	for i := range v.NumField() {
		field := v.Field(i)
		if field.Kind() != reflect.String || field.String() == "" {
			continue
		}
		name, _, _ := strings.Cut(v.Type().Field(i).Tag.Get("json"), ",")
		sent := field.String()
		switch name {
		case "deploymentId", "deploymentSlug":
			if !c.Caller.Is(sent) {
				bad.Add("body."+name, sent, "differs from the deployment in the path: omit it or repeat the path")
			}
		case "projectName", "repositoryId", "policyId":
			if part := ctx.Param(name); part != "" && part != sent {
				bad.Add("body."+name, sent, "differs from the path: omit it or repeat the path")
			}
		}
	}
	return bad
}

// Parsed parses values of an enumeration. Invalid values are skipped; the schema reports them.
func Parsed[T any, S ~string](values []S, parse func(string) (T, bool)) []T {
	var out []T
	for _, value := range values {
		if v, ok := parse(string(value)); ok {
			out = append(out, v)
		}
	}
	return out
}

// Single returns a list of value, or nil if it is empty.
func Single(value string) []string {
	if value == "" {
		return nil
	}
	return []string{value}
}

// RefFilter returns a full ref, or "" if it sets no filter (docs/reference/addressing.md).
func RefFilter(ref string) string {
	if ref == "" || ref == model.DefaultRefFilter {
		return ""
	}
	return model.FullRef(ref)
}

// InstantParam parses an RFC 3339 parameter. It returns the zero time for an invalid one, which the
// schema reports.
func InstantParam(text string) time.Time {
	t, err := time.Parse(time.RFC3339, text)
	if err != nil {
		return time.Time{}
	}
	return t
}
