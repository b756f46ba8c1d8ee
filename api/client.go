package api

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
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
	// Retries is how often a call that the server puts off (429, 503) is sent
	// again; negative for never, 0 for the default of 4.
	Retries int
	// UserAgent names the program; empty takes Go's.
	UserAgent string
}

// maxWait bounds how long one Retry-After may hold a call up.
const maxWait = time.Minute

// lostWait is how long a call waits whose connection broke.
const lostWait = 100 * time.Millisecond

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
	key    string    // Idempotency-Key
	tag    string    // If-Match
}

// Option adds to a call that changes something.
type Option func(*call)

// WithKey names the request, for a day and within the deployment: sent again
// with the same key it is answered as before and not done again, so a call whose
// answer was lost on the way is tried again too. Take a new key, as a UUID, for
// every new request: 1 to 200 visible ASCII characters.
func WithKey(key string) Option { return func(k *call) { k.key = key } }

// IfMatch has a change of a project or finding refused as a conflict when it is
// no longer what an earlier answer with that ETag told.
func IfMatch(tag string) Option { return func(k *call) { k.tag = tag } }

// tagged is an answer that keeps its ETag.
type tagged interface{ setTag(tag string) }

// do makes a call and decodes what it answers into out.
func (c *Client) do(ctx context.Context, k call, out any) error {
	resp, err := c.send(ctx, k)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		return fmt.Errorf("%s %s: decode the answer: %w", k.method, k.path, err)
	}
	if t, ok := out.(tagged); ok {
		t.setTag(resp.Header.Get("ETag"))
	}
	return nil
}

// send makes a call, again where the server asks for it, and answers a response
// that succeeded. A refusal is a *Problem.
func (c *Client) send(ctx context.Context, k call) (*http.Response, error) {
	body := k.packed
	if k.body != nil {
		var err error
		if body, err = json.Marshal(k.body); err != nil {
			return nil, fmt.Errorf("%s %s: encode the request: %w", k.method, k.path, err)
		}
	}
	retries := cmp.Or(c.Retries, 4)
	for try := 0; ; try++ {
		resp, err := c.once(ctx, k, body)
		if err != nil {
			err = fmt.Errorf("%s %s: %w", k.method, k.path, err)
			if k.key == "" || k.raw != nil || try >= retries || ctx.Err() != nil || wait(ctx, lostWait) != nil {
				return nil, err
			}
			continue // whether it was done or not, the key makes it once
		}
		if resp.StatusCode == http.StatusOK {
			return resp, nil
		}
		problem := readProblem(resp)
		if problem.RetryAfter == 0 || try >= retries || k.raw != nil {
			return nil, problem
		}
		if err := wait(ctx, problem.RetryAfter); err != nil {
			return nil, errors.Join(err, problem)
		}
	}
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
	for name, value := range map[string]string{"Idempotency-Key": k.key, "If-Match": k.tag} {
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
		if seconds, err := strconv.Atoi(resp.Header.Get("Retry-After")); err == nil && seconds > 0 {
			p.RetryAfter = min(time.Duration(seconds)*time.Second, maxWait)
		}
	}
	return p
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
