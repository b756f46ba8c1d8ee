package core

import (
	"bytes"
	"context"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// harness is a server with two operations on an empty SQLite store with one deployment.
type harness struct {
	server     *Server
	deployment model.Deployment
	log        bytes.Buffer
}

func newHarness(t testing.TB) *harness {
	t.Helper()
	h, clock := &harness{}, storetest.NewClock()
	db := storetest.Open(t, storetest.Database(t, "sqlite", clock))
	var err error
	if h.deployment, err = db.CreateDeployment(t.Context(), "acme", "Acme", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	h.server, err = New(Config{
		Store: db, Index: index.New(db, index.Options{BodyCache: 1 << 20, Clock: clock.Now}), Clock: clock.Now,
		Logger:      slog.New(slog.NewJSONHandler(&h.log, nil)),
		SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")), Version: "test",
	}, testSpec)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

// testSpec has two operations whose bodies have members of all kinds.
var testSpec = NewSpec(Table{Routes: []Route{
	Op(httpx.Row(http.MethodPost, ByID+"/dependencies", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
		"listDependencies", "dependencies", Plain(nothing[Request[api.ListDependenciesRequest], api.ListDependenciesResponse])),
	Op(httpx.Row(http.MethodPost, BySlug+"/triage", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Filtered),
		"triageFindings", "findings", Plain(nothing[Request[api.TriageRequest], api.TriageResponse])),
}})

func nothing[In, Out any](context.Context, *Call, *In) (*Out, error) { return new(Out), nil }

// serve sends a request to a handler.
func serve(t testing.TB, handler http.Handler, method, target string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	handler.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), method, target, strings.NewReader("")))
	return w
}
