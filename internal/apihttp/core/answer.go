package core

import (
	"errors"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// TimeOrNull is null where there is no time.
func TimeOrNull(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	return api.NewTime(t)
}

// InBody says of faults that a room found where in the body they are.
func InBody(err error) error { return InPart("body.", err) }

// InPart is an error about members of a part of the request, as "body.".
func InPart(part string, err error) error {
	invalid, ok := errors.AsType[*model.InvalidError](err)
	if !ok {
		return err
	}
	out := &model.InvalidError{Fields: make([]model.FieldError, len(invalid.Fields))}
	for i, f := range invalid.Fields {
		f.Location = part + f.Location
		out.Fields[i] = f
	}
	return out
}

// Decimal writes an id as the string that most of the API has it as.
func Decimal(id int64) string { return strconv.FormatInt(id, 10) }

// Upper writes an enumeration as the policies' part of the API does, with what
// it counts as where it was not told.
func Upper[T interface {
	comparable
	String() string
}](prefix string, v, unknown T) string {
	var zero T
	if v == zero {
		v = unknown
	}
	return prefix + strings.ToUpper(v.String())
}

// OrEmpty returns an empty list in place of nil, which would be null in JSON.
func OrEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// NotWebAddress says what is wrong with what webAddress refuses. The value is
// not shown, since it may hold a password.
const NotWebAddress = "expected an absolute http or https URL without a user or password"

// WebAddress reports whether a text is an absolute http or https URL without a user or password.
func WebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// IDOrNull is null in place of 0.
func IDOrNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}
