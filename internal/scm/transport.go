package scm

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// HostError is what a host answered that it would not do.
type HostError struct {
	Status int    // of HTTP
	Text   string // the host's own, a line; may be empty
}

// Error says what the host means, for people.
func (e *HostError) Error() string {
	text := map[int]string{
		http.StatusUnauthorized: "the host does not take the credential: it was revoked, has expired or is another host's",
		http.StatusForbidden:    "the account may not do that at the host",
		http.StatusNotFound:     "the host has no such thing, or the account may not see it",
	}[e.Status]
	if text == "" {
		text = fmt.Sprintf("the host answered %d", e.Status)
	}
	if e.Text != "" {
		text += " (it says: " + e.Text + ")"
	}
	return text
}

// Unwrap tells what callers tell apart.
func (e *HostError) Unwrap() error {
	switch {
	case e.Status == http.StatusNotFound || e.Status == http.StatusGone:
		return model.ErrNotFound
	case e.Status >= 500:
		return model.ErrUnavailable
	case e.Status == http.StatusConflict || e.Status == http.StatusUnprocessableEntity:
		return model.ErrConflict
	}
	return nil
}

// transport asks a host: only where hosts may be, with bounds, and with an error of this
// package for each answer that is none, so that no client reads what hosts say of errors.
type transport struct {
	base  http.RoundTripper
	clock func() time.Time
	name  string
}

// client asks for who shows one credential.
func (c Config) client(who asker) *http.Client {
	base := &http.Transport{
		DialContext:            c.Reach.Dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        askFor,
		TLSHandshakeTimeout:    askFor,
		MaxResponseHeaderBytes: 1 << 20,
	}
	var asks http.RoundTripper = &transport{c.Known.asked(base, who, c.Clock), c.Clock, c.Name}
	if c.RateLimits != nil {
		asks = limited{asks, c.RateLimits, who, c.Clock}
	}
	return &http.Client{Transport: asks, Timeout: 2 * askFor, CheckRedirect: sameHost}
}

// sameHost follows a repository to its new name, and nobody to another host, who would
// be shown the credential.
func sameHost(next *http.Request, before []*http.Request) error {
	if first := before[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(before) > 3 {
		return &HostError{
			Status: http.StatusMovedPermanently,
			Text:   "it moved to another address: " + model.Line(next.URL.Host),
		}
	}
	return nil
}

// RoundTrip implements http.RoundTripper.
func (t *transport) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("User-Agent", t.name)
	answer, err := t.base.RoundTrip(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode >= 400 {
		defer answer.Body.Close()
		return nil, t.refusal(answer)
	}
	answer.Body = &boundedBody{answer.Body, maxAnswer}
	return answer, nil
}

// refusal reads an answer that is none.
func (t *transport) refusal(answer *http.Response) error {
	limited := answer.StatusCode == http.StatusTooManyRequests ||
		answer.StatusCode == http.StatusForbidden &&
			(answer.Header.Get("Retry-After") != "" || answer.Header.Get("X-Ratelimit-Remaining") == "0")
	if limited {
		return &model.BusyError{Text: "the host asks to wait", Wait: t.waitOf(answer.Header)}
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // what came of it is enough
	return &HostError{answer.StatusCode, reasonIn(text)}
}

// waitOf is how long a host wants to be left alone: a second at least, an hour at most.
func (t *transport) waitOf(h http.Header) time.Duration {
	wait := time.Minute
	if s, err := strconv.Atoi(h.Get("Retry-After")); err == nil {
		wait = time.Duration(min(s, 3600)) * time.Second
	} else if at, err := http.ParseTime(h.Get("Retry-After")); err == nil {
		wait = at.Sub(t.clock())
	} else if at, err := strconv.ParseInt(h.Get("X-Ratelimit-Reset"), 10, 64); err == nil {
		wait = time.Unix(at, 0).Sub(t.clock())
	}
	return min(max(wait, time.Second), time.Hour)
}

// reasonIn is what a host says in the words of its API, where it does.
func reasonIn(text []byte) string {
	var said struct {
		Message  any             `json:"message"`
		Error    string          `json:"error"`
		Messages []string        `json:"errorMessages"` // of Jira
		Errors   json.RawMessage `json:"errors"`        // of Jira: by field; others have lists there
	}
	if json.Unmarshal(text, &said) != nil {
		return ""
	}
	reason := said.Error
	if said.Message != nil {
		reason = fmt.Sprint(said.Message)
	}
	if reason == "" {
		reason = jiraReason(said.Messages, said.Errors)
	}
	return model.Shorten(model.Line(reason), 200)
}

// jiraReason puts together what Jira says of a request and of its fields.
func jiraReason(messages []string, errors json.RawMessage) string {
	var fields map[string]string
	if json.Unmarshal(errors, &fields) != nil {
		fields = nil
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		messages = append(messages, name+": "+fields[name])
	}
	return strings.Join(messages, " ")
}

// boundedBody fails on an answer that does not end.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the host's answer is longer than %d bytes: %w", maxAnswer, model.ErrTooLarge)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// explained is an error of a host's client as one of this package.
func explained(err error) error {
	var host *HostError
	var busy *model.BusyError
	var unreachable unreachableError
	switch {
	case err == nil:
		return nil
	case errors.As(err, &host):
		return host
	case errors.As(err, &busy):
		return busy
	case errors.As(err, &unreachable):
		return unreachable
	case errors.Is(err, context.Canceled), errors.Is(err, model.ErrTooLarge), errors.Is(err, model.ErrNotFound),
		errors.Is(err, ErrUnsupported), errors.Is(err, model.ErrConflict):
		return err
	}
	return fmt.Errorf("the host cannot be asked: %s: %w",
		model.Shorten(model.Line(err.Error()), 300), model.ErrUnavailable)
}

// ownerAndName are the parts of a repository's name that hosts ask for.
func ownerAndName(r model.Repository) (owner, name string) {
	owner, name, _ = strings.Cut(r.FullName, "/")
	return owner, name
}

// cleaned is a repository as a host tells of it, with what others may have written in
// it bounded: names end up in pages, terminals and paths. Where it is fetched from is not
// the host's to say: git would show the credential there.
func cleaned(base string, r model.Repository) (model.Repository, bool) {
	for _, s := range []*string{&r.FullName, &r.DefaultBranch, &r.WebURL, &r.HostID} {
		if *s = model.Line(*s); len(*s) > 1000 {
			return r, false
		}
	}
	if !strings.HasPrefix(r.WebURL, "https://") && !strings.HasPrefix(r.WebURL, "http://") {
		r.WebURL = ""
	}
	if r.HostID == "" || model.CheckProjectName(r.FullName) != nil {
		return r, false
	}
	r.CloneURL = base
	for part := range strings.SplitSeq(r.FullName, "/") {
		r.CloneURL += at(part)
	}
	r.CloneURL += ".git"
	return r, true
}
