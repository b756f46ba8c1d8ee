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

// Client calls the Web API of one server with one token. It is safe for concurrent use.
type Client struct {
	// BaseURL is the server's address, for example https://redoubt.example.com.
	BaseURL string
	// Token is sent with every call.
	Token string
	// HTTP sends the calls. If nil, http.DefaultClient is used.
	HTTP *http.Client
	// Retries limits how often a failed call is repeated: 0 means the default of 4, negative means
	// never. Calls are repeated if the server returns 429 or 503, or if the result is unknown
	// (broken connection, 502, 504). Calls that reach the timeout of HTTP are not repeated. All
	// attempts of a write share one Idempotency-Key, so it is done once. Bodies that are streamed,
	// such as an upload from a reader, are sent once.
	Retries int
	// UserAgent is the User-Agent header. If empty, Go's default is sent.
	UserAgent string
}

// maxWait is the longest delay before a retry.
const maxWait = time.Minute

// firstWait is the longest delay before the first retry. It doubles with each retry.
const firstWait = 200 * time.Millisecond

// maxProblem limits the bytes read of an error response.
const maxProblem = 1 << 20

// New returns a client for the server at baseURL.
func New(baseURL, token string) *Client { return &Client{BaseURL: baseURL, Token: token} }

// call describes one API call.
type call struct {
	method string
	base   string // base of the path; empty is /api/v1
	path   string // escaped
	query  url.Values
	body   any       // sent as JSON; nil for none
	raw    io.Reader // streamed, therefore sent once
	packed []byte    // encoded body
	media  string    // of raw and packed
	reads  bool      // changes nothing, although the method is not GET
	key    string    // Idempotency-Key
	tag    string    // If-Match
	accept string    // Accept, if the response is not always JSON
}

// Option modifies a write call.
type Option func(*call)

// WithKey sets the Idempotency-Key of a request: 1 to 200 visible ASCII characters. For a day, the
// server returns the stored response to requests with the same key in the same deployment, and does
// not repeat the work. By default the client generates a key for each call. Set a key to repeat a
// request from another process; use a new one, such as a UUID, for every new request.
func WithKey(key string) Option { return func(k *call) { k.key = key } }

// IfMatch rejects a change to a project or finding as a conflict if its ETag is not tag.
func IfMatch(tag string) Option { return func(k *call) { k.tag = tag } }

// tagged is a response that stores its ETag.
type tagged interface{ setTag(tag string) }

// do performs a call and decodes the response into out.
func (c *Client) do(ctx context.Context, k call, out any) error {
	return c.send(ctx, k, func(resp *http.Response) error {
		defer resp.Body.Close()
		text, err := io.ReadAll(resp.Body)
		if err != nil {
			return &lostError{err}
		}
		if err := json.Unmarshal(text, out); err != nil {
			return fmt.Errorf("decode the response: %w", err)
		}
		if t, ok := out.(tagged); ok {
			t.setTag(resp.Header.Get("ETag"))
		}
		return nil
	})
}

// send performs a call, with retries where they are safe, and calls read with a successful
// response. Error responses are returned as *Problem.
func (c *Client) send(ctx context.Context, k call, read func(*http.Response) error) error {
	body := k.packed
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return fmt.Errorf("%s %s: encode the request: %w", k.method, k.path, err)
		}
	}
	if k.key == "" && k.raw == nil && k.method != http.MethodGet && !k.reads && k.base == "" {
		k.key = strings.ToLower(rand.Text()) // the same for all attempts, so that the call is done once
	}
	retries := cmp.Or(c.Retries, 4)
	for try := 0; ; try++ {
		err := c.try(ctx, k, body, read)
		if err == nil {
			return nil
		}
		pause, retry := k.shouldRetry(err, try)
		if !retry || try >= retries || ctx.Err() != nil {
			return err
		}
		if stopped := wait(ctx, pause); stopped != nil {
			return errors.Join(stopped, err)
		}
	}
}

// try performs a call once.
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

// lostError is the failure of a call with unknown outcome.
type lostError struct{ error }

// Unwrap returns the cause.
func (e *lostError) Unwrap() error { return e.error }

// shouldRetry reports whether a failed call is retried, and the delay before the retry. A call that was
// rejected with 429 or 503 was not done. A lost call may have been done, so it is retried only if
// it changes nothing or has a key.
func (k *call) shouldRetry(err error, try int) (pause time.Duration, retry bool) {
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
		return 0, false // the timeout of HTTP was reached
	}
	return pause, lost && harmless
}

// backoff returns a random delay between half and all of a value that doubles with each try. The
// randomness spreads the retries of clients that failed together.
func backoff(try int) time.Duration {
	wait := min(firstWait<<min(try, 20), maxWait)
	return wait/2 + mathrand.N(wait/2+1)
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
	req.Header.Set(DialectHeader, "contract") // the client reads this dialect, whatever the token's dialect is
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

// readProblem reads an error response, including those that proxies generate.
func readProblem(resp *http.Response) *Problem {
	defer resp.Body.Close()
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxProblem))
	p := &Problem{}
	if err != nil || json.Unmarshal(data, p) != nil || p.Code == "" {
		p = &Problem{Title: http.StatusText(resp.StatusCode), Detail: "the server returned " + resp.Status}
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

// retryAfter parses a Retry-After header in seconds or as a time. A time is compared to the Date
// header. It returns 0 if the header is missing or invalid.
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
