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

// HostError is an error response of a host.
type HostError struct {
	Status int    // HTTP status
	Text   string // message of the host, one line; may be empty
}

// Error implements error.
func (e *HostError) Error() string {
	text := map[int]string{
		http.StatusUnauthorized: "the host rejected the credential: it was revoked, has expired or belongs to another host",
		http.StatusForbidden:    "the account has no permission for this at the host",
		http.StatusNotFound:     "not found at the host, or not visible to the account",
	}[e.Status]
	if text == "" {
		text = fmt.Sprintf("the host returned status %d", e.Status)
	}
	if e.Text != "" {
		text += " (message: " + e.Text + ")"
	}
	return text
}

// Unwrap returns the error of package model that the status corresponds to, or nil.
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

// transport restricts and limits requests to hosts. It returns an error of this package for each
// error response, so that the hosts' clients do not parse them.
type transport struct {
	base  http.RoundTripper
	clock func() time.Time
	name  string
}

// client returns an HTTP client for requests with one credential.
func (c Config) client(who requester) *http.Client {
	base := &http.Transport{
		DialContext:            c.Reach.Dial,
		ForceAttemptHTTP2:      true,
		MaxIdleConnsPerHost:    2,
		IdleConnTimeout:        requestTimeout,
		TLSHandshakeTimeout:    requestTimeout,
		MaxResponseHeaderBytes: 1 << 20,
	}
	var roundTripper http.RoundTripper = &transport{c.Known.revalidating(base, who, c.Clock), c.Clock, c.Name}
	if c.RateLimits != nil {
		roundTripper = limited{roundTripper, c.RateLimits, who, c.Clock}
	}
	return &http.Client{Transport: roundTripper, Timeout: 2 * requestTimeout, CheckRedirect: sameHost}
}

// sameHost follows redirects of renamed repositories on the same host only, because another host
// would receive the credential.
func sameHost(next *http.Request, before []*http.Request) error {
	if first := before[0].URL; next.URL.Host != first.Host || next.URL.Scheme != first.Scheme || len(before) > 3 {
		return &HostError{
			Status: http.StatusMovedPermanently,
			Text:   "redirect to another address: " + model.Line(next.URL.Host),
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

// refusal returns the error of an error response.
func (t *transport) refusal(answer *http.Response) error {
	limited := answer.StatusCode == http.StatusTooManyRequests ||
		answer.StatusCode == http.StatusForbidden &&
			(answer.Header.Get("Retry-After") != "" || answer.Header.Get("X-Ratelimit-Remaining") == "0")
	if limited {
		return &model.BusyError{Text: "the host requested a delay", Wait: t.waitOf(answer.Header)}
	}
	text, _ := io.ReadAll(io.LimitReader(answer.Body, 4<<10)) // a partial message is sufficient
	return &HostError{answer.StatusCode, reasonIn(text)}
}

// waitOf returns the wait that a host requests, between a second and an hour.
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

// reasonIn returns the message of an error response, or "".
func reasonIn(text []byte) string {
	var reply struct {
		Message  any             `json:"message"`
		Error    string          `json:"error"`
		Messages []string        `json:"errorMessages"` // Jira
		Errors   json.RawMessage `json:"errors"`        // Jira: messages by field; a list at other hosts
	}
	if json.Unmarshal(text, &reply) != nil {
		return ""
	}
	reason := reply.Error
	if reply.Message != nil {
		reason = fmt.Sprint(reply.Message)
	}
	if reason == "" {
		reason = jiraReason(reply.Messages, reply.Errors)
	}
	return model.Shorten(model.Line(reason), 200)
}

// jiraReason joins Jira's messages about a request and about its fields.
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

// boundedBody returns an error after a limit of bytes.
type boundedBody struct {
	io.ReadCloser
	left int64
}

// Read implements io.Reader.
func (b *boundedBody) Read(p []byte) (int, error) {
	if b.left <= 0 {
		return 0, fmt.Errorf("the host's response is longer than %d bytes: %w", maxAnswer, model.ErrTooLarge)
	}
	n, err := b.ReadCloser.Read(p[:min(int64(len(p)), b.left)])
	b.left -= int64(n)
	return n, err
}

// explained converts an error of a host's client to an error of this package.
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
	return fmt.Errorf("the request to the host failed: %s: %w",
		model.Shorten(model.Line(err.Error()), 300), model.ErrUnavailable)
}

// ownerAndName splits the name of a repository into owner and name.
func ownerAndName(r model.Repository) (owner, name string) {
	owner, name, _ = strings.Cut(r.FullName, "/")
	return owner, name
}

// cleaned returns a repository with limited texts, because names are used in pages, terminals and
// paths. It returns false if the repository is invalid. The clone URL is built from the
// connection's address, since git would send the credential to the host's own value.
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
