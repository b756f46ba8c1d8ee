package api

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// scripted returns the next of its steps to each call, and repeats the last one. It records the
// idempotency keys.
type scripted struct {
	steps []func() (*http.Response, error)
	keys  []string
	at    []time.Time
}

func (s *scripted) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Body != nil {
		_, _ = io.Copy(io.Discard, r.Body)
	}
	step := s.steps[min(len(s.keys), len(s.steps)-1)]
	s.keys, s.at = append(s.keys, r.Header.Get("Idempotency-Key")), append(s.at, time.Now())
	return step()
}

func answers(status int, body string, headers ...string) func() (*http.Response, error) {
	return func() (*http.Response, error) {
		h := http.Header{}
		for i := 0; i+1 < len(headers); i += 2 {
			h.Set(headers[i], headers[i+1])
		}
		return &http.Response{StatusCode: status, Status: http.StatusText(status), Header: h, Body: io.NopCloser(strings.NewReader(body))}, nil
	}
}

func breaks() (*http.Response, error) { return nil, errors.New("connection reset") }

// breaksHalfway returns a response whose body ends with an error.
func breaksHalfway() (*http.Response, error) {
	torn := io.MultiReader(strings.NewReader(`{"depl`), iotestError{})
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: io.NopCloser(torn)}, nil
}

type iotestError struct{}

func (iotestError) Read([]byte) (int, error) { return 0, io.ErrUnexpectedEOF }

// TestLostCallsAreRetried checks which kinds of call are retried after which failures.
func TestLostCallsAreRetried(t *testing.T) {
	read := func(ctx context.Context, c *Client) error { _, err := c.ListDeployments(ctx); return err }
	search := func(ctx context.Context, c *Client) error {
		_, err := c.SearchScans(ctx, "acme", SearchScansRequest{})
		return err
	}
	write := func(ctx context.Context, c *Client) error {
		_, err := c.TriageFindings(ctx, "acme", TriageRequest{})
		return err
	}
	stream := func(ctx context.Context, c *Client) error {
		_, err := c.ImportReport(ctx, "acme", ImportQuery{}, strings.NewReader("{}"))
		return err
	}
	gateway := answers(http.StatusBadGateway, "<html>")
	busy := answers(http.StatusServiceUnavailable, `{"code":"unavailable"}`)
	bad := answers(http.StatusBadRequest, `{"code":"invalid_argument"}`)
	for _, c := range []struct {
		name  string
		call  func(context.Context, *Client) error
		fails func() (*http.Response, error)
		tries int
		keyed bool
	}{
		{"a read, broken", read, breaks, 3, false},
		{"a read, broken within the answer", read, breaksHalfway, 3, false},
		{"a read, lost behind a proxy", read, gateway, 3, false},
		{"a read by POST, broken", search, breaks, 3, false},
		{"a write, broken", write, breaks, 3, true},
		{"a write, broken within the answer", write, breaksHalfway, 3, true},
		{"a write, lost behind a proxy", write, gateway, 3, true},
		{"a write, put off", write, busy, 3, true},
		{"a write, refused", write, bad, 1, true},
		{"a stream, broken", stream, breaks, 1, false},
		{"a read, too slow", read, func() (*http.Response, error) { return nil, os.ErrDeadlineExceeded }, 1, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				transport := &scripted{steps: []func() (*http.Response, error){c.fails, c.fails, answers(http.StatusOK, "{}")}}
				client := New("http://server", "")
				client.HTTP = &http.Client{Transport: transport}
				if err := c.call(t.Context(), client); (err == nil) != (c.tries == 3) || len(transport.keys) != c.tries {
					t.Errorf("%v after %d tries, want %d", err, len(transport.keys), c.tries)
				}
				if len(slices.Compact(slices.Clone(transport.keys))) != 1 || (transport.keys[0] != "") != c.keyed {
					t.Errorf("the keys are %q", transport.keys)
				}
			})
		})
	}
}

// TestEachCallHasItsOwnKey checks that each call has a new key unless WithKey sets it.
func TestEachCallHasItsOwnKey(t *testing.T) {
	transport := &scripted{steps: []func() (*http.Response, error){answers(http.StatusOK, "{}")}}
	c := New("http://server", "")
	c.HTTP = &http.Client{Transport: transport}
	for _, options := range [][]Option{nil, nil, {WithKey("mine")}} {
		if _, err := c.TriageFindings(t.Context(), "acme", TriageRequest{}, options...); err != nil {
			t.Fatal(err)
		}
	}
	if transport.keys[0] == transport.keys[1] || transport.keys[2] != "mine" {
		t.Errorf("%q", transport.keys)
	}
}

// TestRetryDelaysGrow checks that delays double up to the limit and stay within their range.
func TestRetryDelaysGrow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		transport := &scripted{steps: []func() (*http.Response, error){breaks}}
		c := New("http://server", "")
		c.HTTP, c.Retries = &http.Client{Transport: transport}, 12
		if _, err := c.ListDeployments(t.Context()); err == nil || len(transport.at) != 13 {
			t.Fatalf("%v after %d tries", err, len(transport.at))
		}
		maxDelay := firstWait
		for i := 1; i < len(transport.at); i++ {
			if waited := transport.at[i].Sub(transport.at[i-1]); waited < maxDelay/2 || waited > maxDelay {
				t.Errorf("waited %v before try %d, want %v to %v", waited, i+1, maxDelay/2, maxDelay)
			}
			maxDelay = min(2*maxDelay, maxWait)
		}
		now := time.Date(2026, 1, 31, 12, 0, 0, 0, time.UTC)
		later := now.Add(30 * time.Second).Format(http.TimeFormat)
		for header, want := range map[string]time.Duration{"7": 7 * time.Second, "86400": maxWait, "99999999999999999999": time.Second, later: 30 * time.Second, "soon": time.Second} {
			resp, _ := answers(http.StatusTooManyRequests, "{}", "Retry-After", header, "Date", now.Format(http.TimeFormat))()
			if p := readProblem(resp); p.RetryAfter != want {
				t.Errorf("Retry-After: %s waits %v, want %v", header, p.RetryAfter, want)
			}
		}
	})
}

// TestEveryOperationHasAMethod checks that the client has a method for each operation of
// openapi.json.
func TestEveryOperationHasAMethod(t *testing.T) {
	text, err := os.ReadFile("openapi.json")
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string `json:"operationId"`
			Parameters  []struct{ Name string }
		}
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	called := map[string]string{"getMe": "Me", "getAdvisoryImpact": "AdvisoryImpact", "listFindingChanges": "FindingChanges"}
	reads := []string{"searchIssues", "listDependencies", "listDependencyRepositories", "listLockfiles", "searchScans", "listVulns", "previewPolicy"}
	methods := map[string]bool{}
	for m := range reflect.TypeFor[*Client]().Methods() {
		methods[strings.ToLower(m.Name)] = true
	}
	for path, operations := range doc.Paths {
		for method, o := range operations {
			if o.OperationID == "" {
				continue
			}
			name := o.OperationID
			if called[name] != "" {
				name = called[name]
			}
			if !methods[strings.ToLower(name)] {
				t.Errorf("%s (%s %s) has no method", o.OperationID, method, path)
			}
			keyed := slices.ContainsFunc(o.Parameters, func(p struct{ Name string }) bool { return p.Name == "Idempotency-Key" })
			if method != "get" && keyed == slices.Contains(reads, o.OperationID) {
				t.Errorf("%s accepts a key: %t; reads must be marked in the client", o.OperationID, keyed)
			}
		}
	}
}
