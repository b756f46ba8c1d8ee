package api

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// fakeServer starts a server that returns the given answers in order and repeats the last one. It
// returns a client and a counter of the calls.
func fakeServer(t *testing.T, answers ...http.HandlerFunc) (*Client, *int) {
	t.Helper()
	calls := 0
	web := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		calls++
		answers[min(calls, len(answers))-1](w, r)
	}))
	t.Cleanup(web.Close)
	return New(web.URL+"/", "a-token"), &calls
}

func respondWith(status int, body string, headers ...string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		for i := 0; i+1 < len(headers); i += 2 {
			w.Header().Set(headers[i], headers[i+1])
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(body))
	}
}

func TestClientSendsRequests(t *testing.T) {
	var got *http.Request
	var body TriageRequest
	c, _ := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		got = r
		_ = json.NewDecoder(r.Body).Decode(&body)
		_, _ = w.Write([]byte(`{"num_triaged":1,"triaged_issues":[7]}`))
	})
	out, err := c.TriageFindings(t.Context(), "acme", TriageRequest{IssueType: "sast", IssueIDs: []Int{7}, NewNote: "<b>"})
	if err != nil || out.NumTriaged != 1 || len(out.TriagedIssues) != 1 {
		t.Fatalf("%+v, %v", out, err)
	}
	if got.Header.Get("Authorization") != "Bearer a-token" || got.Header.Get("Content-Type") != "application/json" || got.URL.Path != "/api/v1/deployments/acme/triage" {
		t.Errorf("sent %s %v", got.URL, got.Header)
	}
	if body.NewNote != "<b>" || body.IssueIDs[0] != 7 {
		t.Errorf("sent %+v", body)
	}
}

func TestClientEscapesNames(t *testing.T) {
	var path string
	c, _ := fakeServer(t, func(w http.ResponseWriter, r *http.Request) {
		path = r.URL.EscapedPath()
		_, _ = w.Write([]byte(`{}`))
	})
	if _, err := c.ToggleManagedScan(t.Context(), "acme", "group/100% x", ToggleManagedScanRequest{}); err != nil {
		t.Fatal(err)
	}
	if path != "/api/v1/deployments/acme/projects/group%2F100%25%20x/managed-scan" {
		t.Error(path)
	}
}

// inProcess is a transport that calls a handler without a network, which works with fake time.
type inProcess struct{ handler http.Handler }

func (p inProcess) RoundTrip(r *http.Request) (*http.Response, error) {
	if err := r.Context().Err(); err != nil {
		return nil, err
	}
	w := httptest.NewRecorder()
	p.handler.ServeHTTP(w, r)
	return w.Result(), nil
}

func TestClientRetriesAfterDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		calls, ready := 0, 3
		c := New("http://server", "")
		c.HTTP = &http.Client{Transport: inProcess{http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if calls++; calls < ready {
				respondWith(http.StatusTooManyRequests, `{"code":"rate_limited","detail":"slower"}`, "Retry-After", "7")(w, r)
				return
			}
			respondWith(http.StatusOK, `{"deployments":[]}`)(w, r)
		})}}
		began := time.Now()
		if _, err := c.ListDeployments(t.Context()); err != nil || calls != 3 || time.Since(began) != 14*time.Second {
			t.Errorf("%v after %d calls and %v", err, calls, time.Since(began))
		}
		calls, ready, c.Retries = 0, 100, -1
		var p *Problem
		if _, err := c.ListDeployments(t.Context()); !errors.As(err, &p) || p.RetryAfter != 7*time.Second || calls != 1 {
			t.Errorf("%v after %d calls", err, calls)
		}
		calls, c.Retries = 0, 0
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		if _, err := c.ListDeployments(ctx); !errors.Is(err, context.DeadlineExceeded) || !errors.As(err, &p) || calls != 2 {
			t.Errorf("%v after %d calls", err, calls)
		}
	})
}

func TestClientProblems(t *testing.T) {
	c, calls := fakeServer(t, respondWith(http.StatusBadRequest, `{"type":"about:blank","status":400,"code":"invalid_argument","detail":"wrong","request_id":"r1","errors":[{"location":"query.page","message":"bad"}]}`))
	var p *Problem
	_, err := c.ListFindings(t.Context(), "acme", FindingsQuery{})
	if !errors.As(err, &p) || p.Code != CodeInvalidArgument || p.Errors[0].Location != "query.page" || *calls != 1 {
		t.Errorf("%v after %d calls", err, *calls)
	}
	c, _ = fakeServer(t, respondWith(http.StatusBadGateway, "<html>", "X-Request-Id", "r2"))
	_, err = c.ListFindings(t.Context(), "acme", FindingsQuery{})
	if !errors.As(err, &p) || p.Status != http.StatusBadGateway || p.RequestID != "r2" {
		t.Errorf("proxy error: %v", err)
	}
	c, _ = fakeServer(t, respondWith(http.StatusOK, "<html>"))
	if _, err := c.ListDeployments(t.Context()); err == nil || errors.As(err, &p) && strings.Contains(err.Error(), "r2") {
		t.Errorf("invalid response: %v", err)
	}
}

func TestIteratorsReadAllPages(t *testing.T) {
	c, _ := fakeServer(t,
		respondWith(http.StatusOK, `{"scans":[{"id":"3"},{"id":"2"}],"cursor":"next"}`),
		func(w http.ResponseWriter, r *http.Request) {
			var sent SearchScansRequest
			_ = json.NewDecoder(r.Body).Decode(&sent)
			respondWith(http.StatusOK, `{"scans":[{"id":"`+string(sent.Cursor)+`"}]}`)(w, r)
		})
	var ids []string
	for s, err := range c.Scans(t.Context(), "acme", SearchScansRequest{}) {
		if err != nil {
			t.Fatal(err)
		}
		ids = append(ids, s.ID)
	}
	if diff := cmp.Diff([]string{"3", "2", "next"}, ids); diff != "" {
		t.Error(diff)
	}
	c, calls := fakeServer(t, respondWith(http.StatusOK, `{"projects":[{"id":1},{"id":2}]}`), respondWith(http.StatusOK, `{"projects":[{"id":3}]}`), respondWith(http.StatusOK, `{"projects":[]}`))
	n := 0
	for range c.Projects(t.Context(), "acme", ProjectsQuery{}) {
		n++
	}
	if n != 3 || *calls != 3 {
		t.Errorf("%d projects in %d calls", n, *calls)
	}
	c, _ = fakeServer(t, respondWith(http.StatusForbidden, `{}`))
	for _, err := range c.Dependencies(t.Context(), "acme", ListDependenciesRequest{}) {
		if err == nil {
			t.Error("the error is missing")
		}
	}
}

func TestQueryValues(t *testing.T) {
	got := values(FindingsQuery{
		IssueType: "sca", Since: 1716878334.962941, Page: 2, Dedup: true, Repos: []string{"a/b", "c,d"}, RepositoryIDs: []int64{1, 2}, IsMalicious: Some(false),
	}).Encode()
	want := "dedup=true&is_malicious=false&issue_type=sca&page=2&repos=a%2Fb&repos=c%2Cd&repository_ids=1&repository_ids=2&since=1716878334.962941"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := values(FindingsQuery{}); len(got) != 0 {
		t.Errorf("an empty query became %v", got)
	}
}

func TestUnmarshalValueForms(t *testing.T) {
	type all struct {
		ID   ID           `json:"id"`
		Int  Int          `json:"int"`
		Flag Flag         `json:"flag"`
		List List[string] `json:"list"`
		Time Time         `json:"time"`
	}
	const want = `{"id":"7","int":7,"flag":1,"list":["a","b"],"time":"2024-05-28T06:38:54.962941Z"}`
	for _, in := range []string{
		want,
		`{"id":7,"int":"7","flag":true,"list":"a, b","time":"2024-05-28T08:38:54.9629414+02:00"}`,
	} {
		var v all
		if err := json.Unmarshal([]byte(in), &v); err != nil {
			t.Fatal(err)
		}
		if got, err := json.Marshal(v); err != nil || string(got) != want {
			t.Errorf("%s became %s, %v", in, got, err)
		}
	}
	for _, bad := range []string{`{"id":[]}`, `{"int":1.5}`, `{"int":"x"}`, `{"flag":2}`, `{"flag":"1"}`, `{"list":7}`, `{"time":"yesterday"}`, `{"time":7}`} {
		if err := json.Unmarshal([]byte(bad), &all{}); err == nil {
			t.Errorf("%s was accepted", bad)
		}
	}
}
