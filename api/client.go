package api

import (
	"bytes"
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client calls the Web API of one server with one token. It is safe for
// concurrent use.
type Client struct {
	// BaseURL is the server's address, as https://redoubt.example.com.
	BaseURL string
	// Token is sent with every call.
	Token string
	// HTTP sends the calls; nil takes http.DefaultClient.
	HTTP *http.Client
	// Retries is how often a call is sent again that the server puts off (429, 503),
	// or that is lost on the way (its connection breaks, 502, 504); negative for
	// never, 0 for the default of 4. One that runs out of the time that HTTP gives it
	// is not. A write has one Idempotency-Key for all its
	// tries, so it is done once. What is read as it is sent, as an upload from a
	// stream, is sent once.
	Retries int
	// UserAgent names the program; empty takes Go's.
	UserAgent string
}

// maxWait bounds how long a call waits before one try.
const maxWait = time.Minute

// firstWait is how long a call waits at most before it is sent the second time; each
// time after it is twice as long.
const firstWait = 200 * time.Millisecond

// maxProblem bounds what is read of an error's body.
const maxProblem = 1 << 20

// New makes a client of the server at an address.
func New(baseURL, token string) *Client { return &Client{BaseURL: baseURL, Token: token} }

// call is one call to make.
type call struct {
	method string
	base   string // of the path; empty is /api/v1
	path   string // escaped
	query  url.Values
	body   any       // sent as JSON; nil for none
	raw    io.Reader // sent as it is, and therefore once
	packed []byte    // sent as it is
	media  string    // of raw and packed
	reads  bool      // by another method than GET
	key    string    // Idempotency-Key
	tag    string    // If-Match
	accept string    // Accept, of what is not JSON by itself
}

// Option adds to a call that changes something.
type Option func(*call)

// WithKey names the request, for a day and within the deployment: sent again
// with the same key it is answered as before and not done again. Without it the
// client makes a key for each call; name one to send a request again from another
// process. Take a new key, as a UUID, for every new request: 1 to 200 visible ASCII
// characters.
func WithKey(key string) Option { return func(k *call) { k.key = key } }

// IfMatch has a change of a project or finding refused as a conflict when it is
// no longer what an earlier answer with that ETag told.
func IfMatch(tag string) Option { return func(k *call) { k.tag = tag } }

// tagged is an answer that keeps its ETag.
type tagged interface{ setTag(tag string) }

// do makes a call and decodes what it answers into out.
func (c *Client) do(ctx context.Context, k call, out any) error {
	return c.send(ctx, k, func(resp *http.Response) error {
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return &lostError{err}
		}
		if err := json.Unmarshal(text, out); err != nil {
			return fmt.Errorf("decode the answer: %w", err)
		}
		if t, ok := out.(tagged); ok {
			t.setTag(resp.Header.Get("ETag"))
		}
		return nil
	})
}

// send makes a call, again where that is of use and does no harm, and has a response
// that succeeded read. A refusal is a *Problem.
func (c *Client) send(ctx context.Context, k call, read func(*http.Response) error) error {
	body := k.packed
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return fmt.Errorf("%s %s: encode the request: %w", k.method, k.path, err)
		}
	}
	if k.key == "" && k.raw == nil && k.method != http.MethodGet && !k.reads && k.base == "" {
		k.key = strings.ToLower(rand.Text()) // the same for all tries: whether one was done or not, it is done once
	}
	retries := cmp.Or(c.Retries, 4)
	for try := 0; ; try++ {
		err := c.try(ctx, k, body, read)
		if err == nil {
			return nil
		}
		pause, again := k.again(err, try)
		if !again || try >= retries || ctx.Err() != nil {
			return err
		}
		if stopped := wait(ctx, pause); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// try makes a call once.
func (c *Client) try(ctx context.Context, k call, body []byte, read func(*http.Response) error) error {
	resp, err := c.once(ctx, k, body)
	switch {
	case err != nil:
		err = &lostError{err}
	case resp.StatusCode != http.StatusOK:
		return readProblem(resp)
	default:
		err = read(resp)
	}
	if err != nil {
		return fmt.Errorf("%s %s: %w", k.method, k.path, err)
	}
	return nil
}

// lostError is a call of which nobody knows whether it was done.
type lostError struct{ error }

// Unwrap returns why.
func (e *lostError) Unwrap() error { return e.error }

// again says whether a call that failed is sent again, and how long to wait before. What
// the server puts off was not done; what was lost may have been, so it is sent again
// where that changes nothing, or has a key.
func (k *call) again(err error, try int) (pause time.Duration, again bool) {
	if k.raw != nil {
		return 0, false
	}
	pause = backoff(try)
	harmless := k.key != "" || k.reads || k.method == http.MethodGet
	if p, ok := errors.AsType[*Problem](err); ok {
		lost := p.Status == http.StatusBadGateway || p.Status == http.StatusGatewayTimeout
		return max(pause, p.RetryAfter), p.RetryAfter > 0 || lost && harmless
	}
	_, lost := errors.AsType[*lostError](err)
	var slow interface{ Timeout() bool }
	if errors.As(err, &slow) && slow.Timeout() {
		return 0, false // it had the time that HTTP gives it
	}
	return pause, lost && harmless
}

// backoff is between the half and the whole of what doubles with each try, so that
// clients that failed together do not come back together.
func backoff(try int) time.Duration {
	whole := min(firstWait<<min(try, 20), maxWait)
	return whole/2 + mathrand.N(whole/2+1)
}

func (c *Client) once(ctx context.Context, k call, body []byte) (*http.Response, error) {
	address := strings.TrimSuffix(c.BaseURL, "/") + cmp.Or(k.base, "/api/v1") + k.path
	if len(k.query) > 0 {
		address += "?" + k.query.Encode()
	}
	var reader io.Reader
	media := k.media
	switch {
	case k.raw != nil:
		reader = k.raw
	case k.packed != nil:
		reader = bytes.NewReader(body)
	case body != nil:
		reader, media = bytes.NewReader(body), "application/json"
	}
	req, err := http.NewRequestWithContext(ctx, k.method, address, reader)
	if err != nil {
		return nil, err
	}
	if media != "" {
		req.Header.Set("Content-Type", media)
	}
	for name, value := range map[string]string{"Idempotency-Key": k.key, "If-Match": k.tag, "Accept": k.accept} {
		if value != "" {
			req.Header.Set(name, value)
		}
	}
	req.Header.Set(DialectHeader, "contract") // which is what is read here, whatever the token's
	if c.Token != "" {
		req.Header.Set("Authorization", "Bearer "+c.Token)
	}
	if c.UserAgent != "" {
		req.Header.Set("User-Agent", c.UserAgent)
	}
	client := c.HTTP
	if client == nil {
		client = http.DefaultClient
	}
	return client.Do(req)
}

// readProblem reads an error, of whatever kind what stands between us and the
// server made of it.
func readProblem(resp *http.Response) *Problem {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	p := &Problem{}
	if err != nil || json.Unmarshal(data, p) != nil || p.Code == "" {
		p = &Problem{Title: http.StatusText(resp.StatusCode), Detail: "the server answered " + resp.Status}
	}
	p.Status = resp.StatusCode
	if p.RequestID == "" {
		p.RequestID = resp.Header.Get("X-Request-Id")
	}
	if resp.StatusCode == http.StatusTooManyRequests || resp.StatusCode == http.StatusServiceUnavailable {
		p.RetryAfter = time.Second
		if wait := retryAfter(resp.Header); wait > 0 {
			p.RetryAfter = min(wait, maxWait)
		}
	}
	return p
}

// retryAfter reads seconds, or the time that a proxy may name, by the server's clock;
// 0 for neither.
func retryAfter(h http.Header) time.Duration {
	text := h.Get("Retry-After")
	if seconds, err := strconv.Atoi(text); err == nil && seconds > 0 {
		return time.Duration(min(seconds, 3600)) * time.Second
	}
	at, err := http.ParseTime(text)
	now, unknown := http.ParseTime(h.Get("Date"))
	if err != nil || unknown != nil {
		return 0
	}
	return at.Sub(now)
}

func wait(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
