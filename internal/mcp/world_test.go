package mcp_test

import (
	"context"
	"encoding/json"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/mcp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/version"
	"github.com/redoubt/redoubt/internal/web"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a server with two tenants, one of which has two projects.
type world struct {
	*testing.T
	store *store.Store
	clock *storetest.Clock
	url   string
	ours  model.Deployment
	token string // all permissions
	rival string // all permissions in the other tenant

	called map[string]bool // tools that were called
}

func newWorld(t *testing.T, public string) *world {
	t.Helper()
	w := &world{T: t, clock: storetest.NewClock(), called: map[string]bool{}}
	w.store = storetest.Open(t, storetest.Database(t, "sqlite", w.clock))
	key := []byte("0123456789abcdef0123456789abcdef")
	var srv *apihttp.Server
	assistants := mcp.NewHTTP(mcp.HTTPConfig{API: func() http.Handler { return srv.Handler() }, PublicURL: public, Version: "test", Clock: w.clock.Now})
	jobs := queue.New(w.store, map[string]queue.Kind{dependencies.SBOMJob: {Work: w.exportSBOM}}, queue.Options{Clock: w.clock.Now, Logger: slog.New(slog.DiscardHandler), Poll: 20 * time.Millisecond})
	srv, err := apihttp.New(apihttp.Config{
		Store: w.store, Index: index.New(w.store, index.Options{BodyCache: 1 << 20, Clock: w.clock.Now}), Clock: w.clock.Now, Logger: slog.New(slog.DiscardHandler),
		SigningKeys: httpx.OneKey(key), SecretKey: key, Version: "test", Mounted: assistants.Routes(), PublicURL: public, ReadQuery: web.FindingQuery,
		Advisories: advisory.NewLibrary(func(ecosystem string) advisory.Order { return version.OrderOf(ecosystem) }),
	})
	if err != nil {
		t.Fatal(err)
	}
	site := httptest.NewServer(srv.Handler())
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { jobs.Run(ctx, ctx) })
	t.Cleanup(func() {
		site.Close()
		stop()
		background.Wait()
	})
	w.url = site.URL
	if w.ours, err = w.store.CreateDeployment(t.Context(), "acme", "Acme", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	all := []model.Scope{model.ScopeWebAPI, model.ScopeCI}
	w.token = w.newToken(w.ours, model.Token{Name: "all", Scopes: all})
	w.upload(w.token, "acme/app", "eval is dangerous", 1, 2, 3)
	w.upload(w.token, "acme/other", "eval is dangerous", 1)
	rival, err := w.store.CreateDeployment(t.Context(), "rival", "Rival", storetest.Actor)
	if err != nil {
		t.Fatal(err)
	}
	w.rival = w.newToken(rival, model.Token{Name: "all", Scopes: all})
	w.upload(w.rival, "rival/secretive", "of the rival", 1)
	return w
}

// exportSBOM runs the job of an SBOM export.
func (w *world) exportSBOM(ctx context.Context, j model.Job) (result []byte, media string, err error) {
	var request model.SBOMRequest
	if err := json.Unmarshal(j.Input, &request); err != nil {
		return nil, "", queue.PermanentError{Reason: err.Error()}
	}
	err = w.store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) error {
		result, media, err = sbom.Export(ctx, tx, request, sbom.Options{Created: w.clock.Now(), Tool: "test"})
		return err
	})
	return result, media, err
}

func (w *world) newToken(d model.Deployment, token model.Token) string {
	w.Helper()
	secret := auth.NewSecret(d.ID)
	token.PublicID = secret.PublicID
	err := w.store.Update(w.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	if err != nil {
		w.Fatal(err)
	}
	return secret.Text
}

func (w *world) client(token string) *api.Client {
	return &api.Client{BaseURL: w.url, Token: token, Retries: -1}
}

// upload uploads a full scan with findings on the given lines.
func (w *world) upload(token, project, message string, lines ...int) {
	w.Helper()
	var results []reporttest.Result
	for _, line := range lines {
		results = append(results, reporttest.Result{
			Rule: "python.eval", Path: "a.py", Line: line, EndColumn: 9, Message: message, Code: "eval(x)",
			Fingerprint: strings.Repeat("f", line), Metadata: map[string]any{"category": "security"},
		})
	}
	text := reporttest.SemgrepOf([]string{"a.py"}, results...)
	me, err := w.client(token).Me(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	if _, err := w.client(token).ImportReports(w.Context(), me.Deployment.Slug, api.ImportQuery{Project: project, Ref: "main", Full: true}, []api.File{{Name: "semgrep.json", Data: text}}); err != nil {
		w.Fatal(err)
	}
}

// bearer sends a token with each request.
type bearer string

func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// connect returns a session of the official client over HTTP.
func (w *world) connect(token string) *sdk.ClientSession {
	w.Helper()
	return w.session(&sdk.StreamableClientTransport{Endpoint: w.url + mcp.Path, HTTPClient: &http.Client{Transport: bearer(token)}, DisableStandaloneSSE: true, MaxRetries: -1})
}

// inMemory returns a session with a server like that of redoubt mcp.
func (w *world) inMemory(token string, mayWrite bool) *sdk.ClientSession {
	w.Helper()
	here, clientTransport := sdk.NewInMemoryTransports()
	s := mcp.New(mcp.Config{Client: w.client(token), Deployment: "acme", Caller: "me", MayWrite: mayWrite, Changes: mcp.NewChanges(w.clock.Now), Version: "test"})
	if _, err := s.Connect(w.Context(), here, nil); err != nil {
		w.Fatal(err)
	}
	return w.session(clientTransport)
}

func (w *world) session(transport sdk.Transport) *sdk.ClientSession {
	w.Helper()
	s, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(w.Context(), transport, nil)
	if err != nil {
		w.Fatal(err)
	}
	w.Cleanup(func() { _ = s.Close() })
	return s
}

// call calls a tool and returns its whole text.
func (w *world) call(s *sdk.ClientSession, tool string, arguments map[string]any) (text string, refused bool) {
	w.Helper()
	if arguments == nil {
		arguments = map[string]any{}
	}
	w.called[tool] = true
	out, err := s.CallTool(w.Context(), &sdk.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		w.Fatalf("%s: %v", tool, err)
	}
	if out.StructuredContent != nil {
		w.Errorf("%s: answers data without marks: %v", tool, out.StructuredContent)
	}
	for _, c := range out.Content {
		text += c.(*sdk.TextContent).Text
	}
	return text, out.IsError
}

var fence = regexp.MustCompile(`(?s)^(.*)\nBEGIN UNTRUSTED DATA ([A-Z2-7]{26})\n(.*)\nEND UNTRUSTED DATA ([A-Z2-7]{26})$`)

// data calls a tool, which must succeed, and decodes the data between the marks.
func (w *world) data(s *sdk.ClientSession, tool string, arguments map[string]any, out any) (message string) {
	w.Helper()
	text, refused := w.call(s, tool, arguments)
	m := fence.FindStringSubmatch(text)
	if refused || m == nil || m[2] != m[4] || strings.Contains(m[3], "\n") || !strings.Contains(m[1], m[2]) {
		w.Fatalf("%s: refused %t, or not marked as data: %s", tool, refused, text)
	}
	if err := json.Unmarshal([]byte(m[3]), out); err != nil {
		w.Fatalf("%s: %v in %s", tool, err, m[3])
	}
	return m[1]
}
