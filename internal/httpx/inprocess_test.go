package httpx

import (
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
)

// TestInProcess checks that a handler in the same process responds like one behind a network.
func TestInProcess(t *testing.T) {
	client := &http.Client{Transport: InProcess{
		Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/panic" {
				w.WriteHeader(http.StatusAccepted)
				panic("broken")
			}
			_, _ = io.WriteString(w, r.Method+" "+r.RequestURI+" "+r.Header.Get("X-Set"))
		}),
		Prepare: func(r *http.Request) *http.Request {
			r.Header.Set("X-Set", "prepared")
			return r
		},
	}}
	for address, want := range map[string]struct {
		status int
		body   string
		broken bool
	}{
		"http://here/a%2Fb?c=d": {http.StatusOK, "GET /a%2Fb?c=d prepared", false},
		"http://here/panic":     {http.StatusAccepted, "", true},
	} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		if err := resp.Body.Close(); err != nil {
			t.Error(err)
		}
		if resp.StatusCode != want.status || string(body) != want.body || (err != nil) != want.broken {
			t.Errorf("%s: %d %q, %v", address, resp.StatusCode, body, err)
		}
	}
}

// TestInProcessCaller checks that only the process can set the caller of a request. The token is
// not read then.
func TestInProcessCaller(t *testing.T) {
	callers := NewCallers(auth.New(oneToken{}, nil), 1, 1, nil)
	r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
	if _, err := callers.Find(http.Header{}, r, ""); !errors.Is(err, auth.ErrUnauthenticated) {
		t.Errorf("without a caller: %v", err)
	}
	operator := auth.ByOperator(model.Deployment{ID: 7, Slug: "acme"}, model.Actor{Kind: "cli", Name: "ada"})
	got, err := callers.Find(http.Header{}, r.WithContext(WithCaller(t.Context(), operator)), "any")
	if err != nil || got.Actor().Name != "ada" || !got.Is("acme") || !got.CanUse() || !got.CanWrite() || got.CanRun() || !got.Has(model.RoleAdmin) {
		t.Errorf("%+v, %v", got, err)
	}
}
