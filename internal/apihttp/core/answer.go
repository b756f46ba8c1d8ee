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

// TimeOrNull returns nil for the zero time, which is null in JSON.
func TimeOrNull(t time.Time) *api.Time {
	if t.IsZero() {
		return nil
	}
	return api.NewTime(t)
}

// InBody prefixes the locations of invalid members with "body.".
func InBody(err error) error { return InPart("body.", err) }

// InPart prefixes the locations of invalid members with part, for example "body.". Other errors are
// returned unchanged.
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

// Decimal formats an id as the string that most operations return.
func Decimal(id int64) string { return strconv.FormatInt(id, 10) }

// Upper formats a value of an enumeration in upper case after prefix. The zero value is formatted
// as unknown.
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

// OrEmpty returns an empty list instead of nil, which would be null in JSON.
func OrEmpty(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

// NotWebAddress is the message for addresses that WebAddress rejects. It omits the address, which
// may contain a password.
const NotWebAddress = "expected an absolute http or https URL without a user or password"

// WebAddress reports whether text is an absolute http or https URL without a user or password.
func WebAddress(text string) bool {
	u, err := url.Parse(text)
	return err == nil && (u.Scheme == "http" || u.Scheme == "https") && u.Host != "" && u.User == nil
}

// IDOrNull returns nil for 0, which is null in JSON.
func IDOrNull(id int64) *int64 {
	if id == 0 {
		return nil
	}
	return &id
}
