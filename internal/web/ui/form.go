package ui

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// Refusal returns the status and the text of an input error or a conflict, and false for other
// errors.
func Refusal(err error) (status int, why string, is bool) {
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		return http.StatusBadRequest, invalid.Fields[0].Message, true
	}
	if errors.Is(err, model.ErrConflict) {
		return http.StatusConflict, strings.TrimSuffix(err.Error(), ": "+model.ErrConflict.Error()), true
	}
	return 0, "", false
}

// RedirectAfter redirects to a page of the deployment unless err is set, and returns err.
func RedirectAfter(req *Request, err error, to string) error {
	if err == nil {
		req.Redirect(req.To(to))
	}
	return err
}

// Lines splits a text into its non-empty lines, without surrounding space.
func Lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// IsLocal reports whether an address is below the viewer's deployment.
func (req *Request) IsLocal(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(address, req.To("/")) &&
		!strings.ContainsAny(address, "\\\r\n")
}

// Decimal formats an id.
func Decimal(id int64) string { return strconv.FormatInt(id, 10) }

// Number parses a number in a query, 0 if it is missing. An invalid number is added to the fields
// of bad.
func Number(q url.Values, name string, bad *model.InvalidError) int {
	text := q.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: name, Message: "must be a whole number", Value: text,
		})
	}
	return int(n)
}

// InputError returns the message of an error that the user can correct in the form.
func InputError(err error) (string, bool) {
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		return (&model.InvalidError{Fields: AsFilledIn(invalid.Fields)}).Error(), true
	}
	if errors.Is(err, model.ErrConflict) {
		return strings.TrimSuffix(err.Error(), ": "+model.ErrConflict.Error()), true
	}
	return "", false
}

// DeleteNamed deletes an object if the form contains its name, and reports whether it did. Typing
// the name prevents deleting the wrong object.
func DeleteNamed(
	req *Request, nameOf func(context.Context, *store.Tx, int64) (string, error),
	remove func(*store.Tx, context.Context, int64) error,
) (meant bool, err error) {
	form, err := req.Form()
	if err != nil {
		return false, err
	}
	err = req.Update(func(ctx context.Context, tx *store.Tx) error {
		name, err := nameOf(ctx, tx, req.PathID)
		if meant = strings.TrimSpace(form.Get("name")) == name; err != nil || !meant {
			return err
		}
		return remove(tx, ctx, req.PathID)
	})
	return meant, err
}

// Limits of a search. Each word costs one pass over the searched texts.
const (
	maxSearch      = 200 // characters
	maxSearchWords = 16
)

// searchable rejects searches that exceed the limits.
func searchable(text string) error {
	if utf8.RuneCountInString(text) > maxSearch || len(strings.Fields(text)) > maxSearchWords {
		return model.Invalid("q", "is too long: use at most %d words and %d characters", maxSearchWords, maxSearch)
	}
	return nil
}

// TextualValues rejects values that are not valid text.
func TextualValues(location string, values url.Values) error {
	for name, list := range values {
		if !httpx.IsText(name) || slices.ContainsFunc(list, func(s string) bool { return !httpx.IsText(s) }) {
			return model.Invalid(location, "contains a zero byte or invalid UTF-8")
		}
	}
	return nil
}

// WithForm returns a handler that parses the form of a request and passes it to handle.
func WithForm(handle func(*Request, url.Values) error) func(*Request) error {
	return func(req *Request) error {
		form, err := req.Form()
		if err != nil {
			return err
		}
		return handle(req, form)
	}
}

// BaseURL returns the address of the server, as browsers reach it.
func (req *Request) BaseURL() string {
	if found := httpx.OriginOf(req.HTTP); found.Base != "" {
		return found.Base
	}
	trust := httpx.Trust{PublicURL: req.PublicURL}
	if req.SignIn != nil {
		trust.Proxies = req.SignIn.TrustedProxies
	}
	return trust.Origin(req.HTTP).Base
}

// Form parses the request's form of at most 2 MiB.
func (req *Request) Form() (url.Values, error) {
	req.HTTP.Body = http.MaxBytesReader(req.Writer, req.HTTP.Body, 2<<20)
	if err := req.HTTP.ParseForm(); err != nil {
		return nil, fmt.Errorf("read the form: %w", model.Invalid("form", "cannot be parsed: send it again"))
	}
	return req.HTTP.PostForm, TextualValues("form", req.HTTP.PostForm)
}

// Today returns the current date in UTC. Decisions expire by UTC dates.
func (req *Request) Today() string { return req.Clock().UTC().Format(time.DateOnly) }
