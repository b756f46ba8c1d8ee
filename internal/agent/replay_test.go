package agent_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/agent"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/report/semgrep"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestMain(m *testing.M) { storetest.Main(m) }

// world is a server that scanners report to, on a fresh store.
type world struct {
	*testing.T
	store      *store.Store
	config     store.Config
	deployment model.Deployment
	clock      *storetest.Clock
	log        bytes.Buffer
	web        *httptest.Server
	metrics    http.Handler
	agent      *agent.Agent
	work       *queue.Queue
	stop       func() // the runner
	token      string
	userAgent  string
	runs       int // that beginAs named
}

func newWorld(t *testing.T, engine string, change ...func(*apihttp.Config)) *world {
	t.Helper()
	w := &world{T: t, clock: storetest.NewClock()}
	w.config = storetest.Database(t, engine, w.clock)
	w.store = storetest.Open(t, w.config)
	w.deployment = storetest.Deployment(t, w.store)
	logger := slog.New(slog.NewJSONHandler(&w.log, nil))
	key := []byte("0123456789abcdef0123456789abcdef")
	w.agent = agent.New(agent.Config{
		Store: w.store, Logger: logger, Clock: w.clock.Now, SecretKey: key, MaxUpload: 1 << 20, Wait: time.Minute,
		EncodeOutcome: gate.ScanAnswer,
	})
	w.work = queue.New(w.store, map[string]queue.Kind{agent.ScanJob: {Work: queue.Do(w.agent.Apply), Attempts: agent.Attempts, Abandoned: w.agent.Abandoned}}, queue.Options{Clock: w.clock.Now, Logger: logger})
	w.store.OnQueued(w.work.Wake)
	w.run()
	a := w.agent
	c := apihttp.Config{
		Store: w.store, Index: index.New(w.store, index.Options{BodyCache: 1 << 20, Clock: w.clock.Now}), Clock: w.clock.Now,
		Logger: logger, SigningKeys: httpx.OneKey(key), SecretKey: key, Version: "test", Limits: apihttp.Limits{Upload: 1 << 20}, Collectors: a.Collectors(), Mounted: a.Routes(),
	}
	for _, f := range change {
		f(&c)
	}
	s, err := apihttp.New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.web, w.metrics = httptest.NewServer(s.Handler()), s.MetricsHandler()
	t.Cleanup(w.web.Close)
	w.token = w.newToken(model.Token{Name: "all", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
	return w
}

// run has scans applied in the background until stop is called.
func (w *world) run() {
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() {
		var all sync.WaitGroup
		all.Go(func() { w.agent.Background(ctx) })
		w.work.Run(ctx, ctx)
		all.Wait()
		close(ended)
	}()
	w.stop = func() { cancel(); <-ended }
	w.Cleanup(w.stop)
}

func (w *world) newToken(token model.Token) string {
	w.Helper()
	secret := auth.NewSecret(w.deployment.ID)
	token.PublicID = secret.PublicID
	w.update(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, token, secret.Hash)
		return err
	})
	return secret.Text
}

func (w *world) update(fn func(context.Context, *store.Tx) error) {
	w.Helper()
	if err := w.store.Update(w.Context(), w.deployment.ID, storetest.Actor, fn); err != nil {
		w.Fatal(err)
	}
}

// rules serves the rules of the recorded runs, all in one mode.
func (w *world) rules(mode model.PolicyMode) {
	w.Helper()
	file, err := os.ReadFile("testdata/captures/rules.json")
	if err != nil {
		w.Fatal(err)
	}
	rules, err := policy.Parse(file)
	if err != nil {
		w.Fatal(err)
	}
	w.update(func(ctx context.Context, tx *store.Tx) error {
		for _, r := range rules {
			content, err := semgrep.SemgrepRule(r.Text)
			if err != nil {
				return err
			}
			if _, err := tx.ServeRule(ctx, store.Serving{Rule: *content, Text: r.Text, Checked: r.ID != "eqeq", Mode: mode}); err != nil {
				return err
			}
		}
		return nil
	})
}

// send makes a request as the token and returns its status and answer, which
// holds no null.
func (w *world) send(method, path, token string, body []byte) (int, string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), method, w.web.URL+path, bytes.NewReader(body))
	if err != nil {
		w.Fatal(err)
	}
	if w.userAgent != "" {
		req.Header.Set("User-Agent", w.userAgent)
	}
	if token != "" {
		req.Header.Set("Authorization", "Bearer "+token)
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		w.Fatal(err)
	}
	if !strings.HasPrefix(path, "/api/v1/") {
		var v any
		if strings.HasSuffix(strings.Split(res.Header.Get("Content-Type"), ";")[0], "json") {
			if err := json.Unmarshal(text, &v); err != nil || holdsNull(v) {
				w.Errorf("%s %s answers a null or no JSON: %s (%v)", method, path, text, err)
			}
		}
	}
	return res.StatusCode, string(bytes.TrimSpace(text))
}

func holdsNull(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for _, member := range v {
			if holdsNull(member) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, holdsNull)
	}
	return false
}

// ok makes a request that must succeed.
func (w *world) ok(method, path string, body []byte) string {
	w.Helper()
	status, text := w.send(method, path, w.token, body)
	if status != http.StatusOK {
		w.Fatalf("%s %s answers %d %s", method, path, status, text)
	}
	return text
}

// recorded is the body of a recorded request.
func (w *world) recorded(name string) []byte {
	w.Helper()
	text, err := os.ReadFile(filepath.Join("testdata/captures", name))
	if err != nil {
		w.Fatal(err)
	}
	var request struct {
		Body json.RawMessage `json:"body"`
	}
	if err := json.Unmarshal(text, &request); err != nil {
		w.Fatal(err)
	}
	return request.Body
}

// begin starts the recorded run and returns the path of its scan.
func (w *world) begin(run string) (path string) {
	w.Helper()
	var started struct {
		Info struct {
			ID int64 `json:"id"`
		} `json:"info"`
	}
	text := w.ok("POST", "/api/cli/v2/scans", w.recorded(run+"/1-scans.json"))
	if err := json.Unmarshal([]byte(text), &started); err != nil || started.Info.ID == 0 {
		w.Fatalf("%v: %s", err, text)
	}
	return fmt.Sprintf("/api/agent/scans/%d/", started.Info.ID)
}

// replay plays a recorded run, every request of it twice, and returns the
// answer to its completion. The clock moves on before.
func (w *world) replay(run string) string {
	w.Helper()
	w.clock.Advance(1e9)
	path := w.begin(run)
	if again := w.begin(run); again != path {
		w.Errorf("the same scan began twice: %s and %s", path, again)
	}
	for range 2 {
		if text := w.ok("POST", path+"results", w.recorded(run+"/3-results.json")); text != `{"errors":[]}` {
			w.Errorf("results: %s", text)
		}
	}
	w.clock.Advance(1e9)
	first := w.ok("POST", path+"complete", w.recorded(run+"/4-complete.json"))
	if second := w.ok("POST", path+"complete", w.recorded(run+"/4-complete.json")); second != first {
		w.Errorf("the completion was answered %s and then %s", first, second)
	}
	if text := w.ok("POST", path+"results", w.recorded(run+"/3-results.json")); text != `{"errors":[]}` {
		w.Errorf("results after the completion: %s", text)
	}
	return first
}

func (w *world) client() *api.Client { return &api.Client{BaseURL: w.web.URL, Token: w.token} }

// code lists code findings as rule, path and line: status, with the id.
func (w *world) code(ref string) (list map[string]string, ids map[string]int64) {
	w.Helper()
	list, ids = map[string]string{}, map[string]int64{}
	for f, err := range w.client().Findings(w.Context(), "acme", api.FindingsQuery{Ref: ref}) {
		if err != nil {
			w.Fatal(err)
		}
		place := fmt.Sprintf("%s %s:%d", f.RuleName, f.Location.FilePath, f.Location.Line)
		list[place], ids[place] = f.Status, f.ID
	}
	return list, ids
}

func (w *world) same(what string, want, got any) {
	w.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

func (w *world) scans() []api.Scan {
	w.Helper()
	out, err := w.client().SearchScans(w.Context(), "1", api.SearchScansRequest{})
	if err != nil {
		out, err = w.client().SearchScans(w.Context(), fmt.Sprint(w.deployment.ID), api.SearchScansRequest{})
	}
	if err != nil {
		w.Fatal(err)
	}
	return out.Scans
}
