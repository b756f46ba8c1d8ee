package web

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

// refusal returns the status and the text of an error in the input or of a conflict; false for
// other errors.
func refusal(err error) (status int, why string, is bool) {
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		return http.StatusBadRequest, invalid.Fields[0].Message, true
	}
	if errors.Is(err, model.ErrConflict) {
		return http.StatusConflict, strings.TrimSuffix(err.Error(), ": "+model.ErrConflict.Error()), true
	}
	return 0, "", false
}

// then leads on where something was done.
func then(req *request, err error, to string) error {
	if err == nil {
		req.redirect(req.to(to))
	}
	return err
}

// lines reads a list that has one entry a line.
func lines(text string) (out []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			out = append(out, line)
		}
	}
	return out
}

// local reports whether an address is below the viewer's deployment.
func (req *request) local(address string) bool {
	u, err := url.Parse(address)
	return err == nil && u.Scheme == "" && u.Host == "" && strings.HasPrefix(address, req.to("/")) &&
		!strings.ContainsAny(address, "\\\r\n")
}

func decimal(id int64) string { return strconv.FormatInt(id, 10) }

func number(q url.Values, name string, bad *model.InvalidError) int {
	text := q.Get(name)
	if text == "" {
		return 0
	}
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		bad.Fields = append(bad.Fields, model.FieldError{Location: name, Message: "is a whole number", Value: text})
	}
	return int(n)
}

// sayable is what a form says about an error that whoever filled it in can mend.
func sayable(err error) (string, bool) {
	if invalid, ok := errors.AsType[*model.InvalidError](err); ok {
		return (&model.InvalidError{Fields: asFilledIn(invalid.Fields)}).Error(), true
	}
	if errors.Is(err, model.ErrConflict) {
		return strings.TrimSuffix(err.Error(), ": "+model.ErrConflict.Error()), true
	}
	return "", false
}

// whole reads a number that is not negative.
func whole(q url.Values, name string, bad *model.InvalidError) int64 {
	n, err := strconv.ParseInt(q.Get(name), 10, 64)
	if err != nil || n < 0 || n > 1<<53 {
		bad.Fields = append(bad.Fields, model.FieldError{Location: name, Message: "is a whole number", Value: q.Get(name)})
	}
	return n
}

// deleteNamed deletes what a page is about if the form has its name, so that nobody hits
// another one by mistake, and reports whether it has.
func deleteNamed(
	req *request, nameOf func(context.Context, *store.Tx, int64) (string, error), remove func(*store.Tx, context.Context, int64) error,
) (meant bool, err error) {
	form, err := req.form()
	if err != nil {
		return false, err
	}
	err = req.update(func(ctx context.Context, tx *store.Tx) error {
		name, err := nameOf(ctx, tx, req.pathID)
		if meant = strings.TrimSpace(form.Get("name")) == name; err != nil || !meant {
			return err
		}
		return remove(tx, ctx, req.pathID)
	})
	return meant, err
}

// What a search may have: each word costs a look at all that is searched.
const (
	maxSearch      = 200 // characters
	maxSearchWords = 16
)

// searchable refuses what no person searches for.
func searchable(text string) error {
	if utf8.RuneCountInString(text) > maxSearch || len(strings.Fields(text)) > maxSearchWords {
		return model.Invalid("q", "has at most %d words and %d characters: search for less", maxSearchWords, maxSearch)
	}
	return nil
}

// textualValues refuses what is no text among the values of an address or a form.
func textualValues(place string, values url.Values) error {
	for name, list := range values {
		if !httpx.IsText(name) || slices.ContainsFunc(list, func(s string) bool { return !httpx.IsText(s) }) {
			return model.Invalid(place, "holds what is no text: a zero byte, or bytes that are not UTF-8")
		}
	}
	return nil
}

// formed reads the form of a request for a handler.
func formed(handle func(*request, url.Values) error) func(*request) error {
	return func(req *request) error {
		form, err := req.form()
		if err != nil {
			return err
		}
		return handle(req, form)
	}
}

// base is the address of the server, as browsers know it.
func (req *request) base() string {
	if found := httpx.OriginOf(req.r); found.Base != "" {
		return found.Base
	}
	trust := httpx.Trust{PublicURL: req.PublicURL}
	if req.SignIn != nil {
		trust.Proxies = req.SignIn.TrustedProxies
	}
	return trust.Origin(req.r).Base
}

// form reads a form of bounded size.
func (req *request) form() (url.Values, error) {
	req.r.Body = http.MaxBytesReader(req.w, req.r.Body, 2<<20)
	if err := req.r.ParseForm(); err != nil {
		return nil, fmt.Errorf("read the form: %w", model.Invalid("form", "cannot be read: send it again"))
	}
	return req.r.PostForm, textualValues("form", req.r.PostForm)
}

// today is the day in UTC, in which decisions end.
func (req *request) today() string { return req.Clock().UTC().Format(time.DateOnly) }
