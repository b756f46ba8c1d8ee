package apihttp

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// harness is a server on a new SQLite store with one deployment and a token with all permissions.
type harness struct {
	t          testing.TB
	store      *store.Store
	server     *core.Server
	url        string
	deployment model.Deployment
	token      string
	client     *api.Client
	clock      *storetest.Clock
	log        *logBuffer
}

type logBuffer struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *logBuffer) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *logBuffer) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

func newHarness(t testing.TB, change ...func(*core.Config)) *harness {
	t.Helper()
	clock := storetest.NewClock()
	return newHarnessOn(t, storetest.Database(t, "sqlite", clock), clock, change...)
}

// newHarnessOn is newHarness with an existing database and its clock.
func newHarnessOn(t testing.TB, database store.Config, clock *storetest.Clock, change ...func(*core.Config)) *harness {
	t.Helper()
	h := &harness{t: t, clock: clock, log: &logBuffer{}}
	h.store = storetest.Open(t, database)
	c := core.Config{
		Store: h.store, Index: index.New(h.store, index.Options{BodyCache: 1 << 20, Clock: h.clock.Now}), Clock: h.clock.Now,
		Logger:      slog.New(slog.NewJSONHandler(h.log, nil)),
		SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")), SecretKey: []byte("a key for secrets"), Version: "test",
	}
	for _, f := range change {
		f(&c)
	}
	var err error
	if h.server, err = New(c); err != nil {
		t.Fatal(err)
	}
	if h.deployment, err = h.store.CreateDeployment(t.Context(), "acme", "Acme", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	h.url = serving(t, h.server.Handler())
	h.token = h.newToken(model.Token{Name: "all", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
	h.client = &api.Client{BaseURL: h.url, Token: h.token, Retries: -1}
	return h
}

// newToken stores a token of the deployment and returns its secret.
func (h *harness) newToken(token model.Token) string {
	h.t.Helper()
	secret := auth.NewSecret(h.deployment.ID)
	token.PublicID = secret.PublicID
	err := h.store.Update(h.t.Context(), h.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	if err != nil {
		h.t.Fatal(err)
	}
	return secret.Text
}

// statusOf maps the codes of problems to statuses.
var statusOf = map[string]int{
	api.CodeInvalidArgument: 400, api.CodeUnauthenticated: 401, api.CodePermissionDenied: 403, api.CodeNotFound: 404,
	api.CodeMethodNotAllowed: 405, api.CodeConflict: 409, api.CodeTooLarge: 413, api.CodeUnsupportedMediaType: 415,
	api.CodeRateLimited: 429, api.CodeInternal: 500, api.CodeUnavailable: 503,
}

// answer is the response to a raw call.
type answer struct {
	status  int
	header  http.Header
	body    string
	problem api.Problem
}

// send performs a raw call. The parameter headers contains alternating names and values.
func (h *harness) send(method, target, body string, headers ...string) answer {
	h.t.Helper()
	req, err := http.NewRequestWithContext(h.t.Context(), method, h.url+target, strings.NewReader(body))
	if err != nil {
		h.t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+h.token)
	if body != "" {
		req.Header.Set("Content-Type", "application/json")
	}
	for i := 0; i+1 < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	resp, err := (&http.Transport{DisableCompression: true}).RoundTrip(req)
	if err != nil {
		h.t.Fatal(err)
	}
	defer resp.Body.Close()
	data, err := io.ReadAll(resp.Body)
	if err != nil {
		h.t.Fatal(err)
	}
	out := answer{status: resp.StatusCode, header: resp.Header, body: string(data)}
	if resp.Header.Get("Content-Type") == "application/problem+json" {
		if err := json.Unmarshal(data, &out.problem); err != nil && method != http.MethodHead {
			h.t.Fatalf("%s %s: %v in %s", method, target, err, data)
		}
	}
	return out
}

// wantProblem checks that a response is a complete problem document with a code.
func (h *harness) wantProblem(a answer, code string) {
	h.t.Helper()
	p := a.problem
	if p.Code != code || p.Status != a.status || statusOf[code] != a.status {
		h.t.Errorf("got %d %s, want %s: %s", a.status, p.Code, code, a.body)
		return
	}
	if p.Type == "" || p.Title == "" || p.Detail == "" || p.Message != p.Detail || p.Instance == "" || p.Errors == nil ||
		p.RequestID == "" || p.RequestID != a.header.Get("X-Request-Id") {
		h.t.Errorf("incomplete problem: %s", a.body)
	}
	strict := json.NewDecoder(strings.NewReader(a.body))
	strict.DisallowUnknownFields() // details for the log only must be absent
	if err := strict.Decode(new(api.Problem)); err != nil {
		h.t.Errorf("%v: %s", err, a.body)
	}
}

// locations returns the locations of a problem's errors.
func (a answer) locations() []string {
	out := []string{}
	for _, e := range a.problem.Errors {
		out = append(out, e.Location)
	}
	return out
}

// semgrepReport returns a report with findings of eval on the given lines of files.
func semgrepReport(files map[string][]int) string {
	metadata := map[string]any{"category": "security", "confidence": "HIGH", "cwe": []string{"CWE-95"}}
	var results []reporttest.Result
	for _, name := range sortedKeys(files) {
		for _, line := range files[name] {
			results = append(results, reporttest.Result{
				Rule: "python.lang.security.eval", Path: name, Line: line, EndColumn: 9, Message: "eval is dangerous", Code: "eval(x)",
				Fingerprint: name + "-" + string(rune('a'+line)), Metadata: metadata,
			})
		}
	}
	return string(reporttest.SemgrepOf(sortedKeys(files), results...))
}

// serve sends a request to a handler.
func serve(t *testing.T, handler http.Handler, method, target string) answer {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequest(method, target, nil))
	a := answer{status: w.Code, header: w.Header(), body: w.Body.String()}
	_ = json.Unmarshal(w.Body.Bytes(), &a.problem)
	return a
}
