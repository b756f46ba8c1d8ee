package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/apihttp/dependencies"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/hosts"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// site is a running server with its own database, and a token for it.
type site struct {
	config     store.Config
	clock      *storetest.Clock
	store      *store.Store
	deployment model.Deployment
	token      string
	server     *apihttp.Server
	keeper     *hosts.Service
	url        string
	client     *http.Client
	log        *logBuffer
}

// Keys that all servers of a database share.
var (
	signingKey = []byte("signing key of the tests, 32 by.")
	secretKey  = []byte("secret key of the tests, 32 byte")
)

// each runs a test on a new site of each engine.
func each(t *testing.T, test func(t *testing.T, s *site)) {
	t.Helper()
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			test(t, newSite(t, engine))
		})
	}
}

func newSite(t testing.TB, engine string, limits ...apihttp.Limits) *site {
	t.Helper()
	clock := storetest.NewClock()
	s := &site{config: storetest.Database(t, engine, clock), clock: clock}
	s.open(t, limits...)
	s.deployment = storetest.Deployment(t, s.store)
	s.token = s.newToken(t, model.Token{Name: "main", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
	return s
}

// another returns a second server on the same database, with its own store and index.
func (s *site) another(t testing.TB) *site {
	t.Helper()
	other := &site{config: s.config, clock: s.clock, deployment: s.deployment, token: s.token}
	other.open(t)
	return other
}

// open configures and starts a server like the program.
func (s *site) open(t testing.TB, limits ...apihttp.Limits) {
	t.Helper()
	s.store = storetest.Open(t, s.config)
	s.log = &logBuffer{}
	log := slog.New(slog.NewJSONHandler(s.log, nil))
	jobs := queue.New(s.store, map[string]queue.Kind{dependencies.SBOMJob: {Work: s.exportSBOM}}, queue.Options{Clock: s.clock.Now, Logger: log, Poll: 20 * time.Millisecond})
	c := apihttp.Config{
		Store: s.store, Index: index.New(s.store, index.Options{BodyCache: 64 << 20, Clock: s.clock.Now, Logger: log}),
		Clock: s.clock.Now, Logger: log, Version: "test", SigningKeys: httpx.OneKey(signingKey), SecretKey: secretKey,
		Advisories: advisory.NewLibrary(orders), Connections: codeHosts(t, s, log), Notifier: notifier(t, s), ReadQuery: web.FindingQuery,
	}
	if len(limits) > 0 {
		c.Limits = limits[0]
	}
	srv, err := apihttp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	s.server = srv
	h := httptest.NewServer(srv.Handler())
	s.url, s.client = h.URL, &http.Client{Transport: judge{h.Client().Transport}}
	ctx, stop := context.WithCancel(context.Background())
	var background sync.WaitGroup
	background.Go(func() { jobs.Run(ctx, ctx) })
	background.Go(func() { srv.Background(ctx) })
	t.Cleanup(func() {
		h.Close()
		stop()
		background.Wait()
	})
}

// exportSBOM runs the job of an SBOM export.
func (s *site) exportSBOM(ctx context.Context, j model.Job) (result []byte, mediaType string, err error) {
	var request model.SBOMRequest
	if err := json.Unmarshal(j.Input, &request); err != nil {
		return nil, "", queue.PermanentError{Reason: err.Error()}
	}
	err = s.store.View(ctx, j.DeploymentID, func(ctx context.Context, tx *store.Tx) error {
		result, mediaType, err = sbom.Export(ctx, tx, request, sbom.Options{Created: s.clock.Now(), Tool: "test"})
		return err
	})
	return result, mediaType, err
}

// newToken creates a token of the site's deployment and returns its secret.
func (s *site) newToken(t testing.TB, token model.Token) string {
	t.Helper()
	return tokenOf(t, s.store, s.deployment.ID, token)
}

func tokenOf(t testing.TB, st *store.Store, deploymentID int64, token model.Token) string {
	t.Helper()
	secret := auth.NewSecret(deploymentID)
	token.PublicID = secret.PublicID
	err := st.Update(t.Context(), deploymentID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return secret.Text
}

// revoke revokes a token like the command line, without the server.
func (s *site) revoke(t testing.TB, name string) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		token, err := tx.Token(ctx, name)
		if err != nil {
			return err
		}
		return tx.RevokeToken(ctx, token.ID)
	})
	if err != nil {
		t.Fatal(err)
	}
}

// api returns a client with the site's token, whose responses the judge validates.
func (s *site) api(token ...string) *api.Client {
	c := api.New(s.url, s.token)
	c.HTTP, c.Retries = s.client, -1
	for _, other := range token {
		c.Token = other
	}
	return c
}

// root returns the address of the site's deployment.
func (s *site) root() string {
	return "/api/v1/deployments/" + strconv.FormatInt(s.deployment.ID, 10)
}

// request is one call.
type request struct {
	method string
	path   string // with its query; absolute, or below the deployment if it has no leading slash
	token  string // empty for the site's token, "-" for none
	body   any    // nil, []byte, string, or a value that is encoded as JSON
	header map[string]string
}

// answer is a response.
type answer struct {
	status int
	header http.Header
	body   []byte
}

// send performs a call and validates the response with the judge.
func (s *site) send(t testing.TB, r request) answer {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), r.method, s.address(r.path), bodyOf(t, r.body))
	if err != nil {
		t.Fatal(err)
	}
	if r.body != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	if r.token == "" {
		r.token = s.token
	}
	if r.token != "-" {
		req.Header.Set("Authorization", "Bearer "+r.token)
	}
	for name, value := range r.header {
		req.Header.Set(name, value)
	}
	resp, err := s.client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	body, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return answer{resp.StatusCode, resp.Header, body}
}

func (s *site) address(path string) string {
	switch {
	case strings.HasPrefix(path, "http"):
		return path
	case strings.HasPrefix(path, "/"):
		return s.url + path
	}
	return s.url + s.root() + "/" + path
}

func bodyOf(t testing.TB, body any) io.Reader {
	t.Helper()
	switch body := body.(type) {
	case nil:
		return nil
	case []byte:
		return bytes.NewReader(body)
	case string:
		return strings.NewReader(body)
	}
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	return bytes.NewReader(text)
}

// logBuffer is a log that tests read while the server writes it. It is safe for concurrent use.
type logBuffer struct {
	mu   sync.Mutex
	text bytes.Buffer
}

// Write appends to the log.
func (b *logBuffer) Write(p []byte) (int, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.Write(p)
}

// String returns the log so far.
func (b *logBuffer) String() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.text.String()
}

// lines returns the lines of the log that contain a text.
func (b *logBuffer) lines(text string) string {
	return strings.Join(filterSlice(strings.Split(b.String(), "\n"), func(line string) bool { return strings.Contains(line, text) }), "\n")
}
