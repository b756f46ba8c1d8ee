package bench

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/klauspost/compress/gzhttp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var scales = flag.String("findings", "10000,100000", "sizes of the deployments to measure; with -short only the first")

// BenchmarkDeployment measures requests to a deployment, for each size.
func BenchmarkDeployment(b *testing.B) {
	for i, text := range strings.Split(*scales, ",") {
		n, err := strconv.Atoi(text)
		if err != nil {
			b.Fatalf("-findings %s: %v", *scales, err)
		}
		if i > 0 && testing.Short() {
			return
		}
		b.Run(text+" findings", func(b *testing.B) {
			w := newWorld(b)
			w.fill(n)
			b.Run("page", func(b *testing.B) { benchPages(b, w) })
			b.Run("gzip", func(b *testing.B) { benchGzip(b, w) })
			b.Run("changes", func(b *testing.B) { benchChanges(b, w) })
			b.Run("export", func(b *testing.B) { benchExport(b, w) })
			b.Run("write", func(b *testing.B) { benchWriting(b, w) })
			b.Run("load", func(b *testing.B) { benchLoad(b, w) })
			b.Run("dependencies", func(b *testing.B) { benchDependencies(b, w) })
			b.Run("triage", func(b *testing.B) { benchTriage(b, w) })
			benchImport(b, w)
		})
	}
}

// world is a server on loopback with a SQLite file and a deployment.
type world struct {
	tb         testing.TB
	config     store.Config
	store      *store.Store
	index      *index.Index
	deployment model.Deployment
	token      string
	address    string // host and port
	client     *wire
	ready      atomic.Pointer[[]byte] // response of /ready
	made       *generator
	findings   int // ids go from 1 to this
}

func newWorld(tb testing.TB) *world {
	tb.Helper()
	return newWorldOn(tb, "sqlite")
}

func newWorldOn(tb testing.TB, engine string) *world {
	tb.Helper()
	w := &world{tb: tb, config: storetest.Database(tb, engine, storetest.NewClock()), made: newGenerator()}
	w.config.Clock = time.Now
	w.store = storetest.Open(tb, w.config)
	w.index = w.newIndex()
	w.deployment = storetest.Deployment(tb, w.store)
	w.token = w.newToken()
	w.serve()
	w.client = dial(tb, w.address)
	return w
}

func (w *world) newIndex() *index.Index {
	return index.New(w.store, index.Options{BodyCache: 4 << 30, Clock: time.Now})
}

// runIndex runs the index as in a server, until it is stopped.
func (w *world) runIndex() (stop func()) {
	w.store.OnCommit(w.index.Committed)
	ctx, cancel := context.WithCancel(w.tb.Context())
	done := make(chan struct{})
	go func() {
		w.index.Run(ctx)
		close(done)
	}()
	return func() {
		cancel()
		<-done
	}
}

// serve starts the server, with additional handlers that return bytes from memory: the baseline of
// pages.
func (w *world) serve() {
	s, err := apihttp.New(apihttp.Config{
		Store: w.store, Index: w.index, Clock: time.Now, Logger: slog.New(slog.NewJSONHandler(discard{}, nil)),
		SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")), SecretKey: []byte("a key for secrets"), Version: "bench",
	})
	w.check(err)
	ready := http.HandlerFunc(func(out http.ResponseWriter, _ *http.Request) {
		body := *w.ready.Load()
		out.Header().Set("Content-Type", "application/json")
		_, _ = out.Write(body)
	})
	compress, err := gzhttp.NewWrapper(gzhttp.MinSize(1024))
	w.check(err)
	mux := http.NewServeMux()
	mux.Handle("/", s.Handler())
	mux.Handle("/ready", ready)
	mux.Handle("/ready.gz", compress(ready))
	web := httptest.NewServer(mux)
	w.tb.Cleanup(web.Close)
	address, err := url.Parse(web.URL)
	w.check(err)
	w.address = address.Host
}

// discard receives the log.
type discard struct{}

func (discard) Write(b []byte) (int, error) { return len(b), nil }

func (w *world) newToken() string {
	secret := auth.NewSecret(w.deployment.ID)
	token := model.Token{Name: "bench", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}, PublicID: secret.PublicID}
	w.check(w.store.Update(w.tb.Context(), w.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateToken(ctx, token, secret.Hash)
		return err
	}))
	return secret.Text
}

func (w *world) check(err error) {
	w.tb.Helper()
	if err != nil {
		w.tb.Fatal(err)
	}
}

// byID and bySlug return the paths of the deployment.
func (w *world) byID() string   { return fmt.Sprintf("/api/v1/deployments/%d", w.deployment.ID) }
func (w *world) bySlug() string { return "/api/v1/deployments/" + w.deployment.Slug }

// upload returns the request that uploads a file.
func (w *world) upload(project, ref, name string, file []byte, more ...string) []byte {
	q := url.Values{"project": {project}, "ref": {ref}, "filename": {name}, "repo_url": {"https://git.example/" + project}}
	for i := 0; i+1 < len(more); i += 2 {
		q.Set(more[i], more[i+1])
	}
	return w.request("POST", w.byID()+"/imports?"+q.Encode(), file, "Content-Type", "application/octet-stream")
}

// importUpload sends an upload and returns its result.
func (w *world) importUpload(upload []byte) api.Import {
	w.tb.Helper()
	var answer api.ImportResponse
	w.check(json.Unmarshal(w.client.body(upload), &answer))
	if len(answer.Imports) != 1 || len(answer.Imports[0].Refused) > 0 {
		w.tb.Fatalf("import: %+v", answer)
	}
	return answer.Imports[0]
}

// fill imports n findings and triages some of them.
func (w *world) fill(n int) {
	w.tb.Helper()
	for i, size := range w.made.sizes(n * 100 / (100 + elsewhere)) {
		w.project(fmt.Sprintf("acme/service-%d", i), size, i%4 == 0)
	}
	for i := range max(n/perLockfile/2, 20) {
		w.importUpload(w.upload(fmt.Sprintf("acme/service-%d", i), "main", fmt.Sprintf("part-%d/package-lock.json", i), w.made.packageLock(perLockfile)))
	}
	w.triage("ignored", "acceptable_risk", 12)
	w.triage("ignored", "false_positive", 8)
	w.triage("reviewing", "", 3)
	w.triage("fixing", "", 2)
}

// project imports the findings of one project, some of them on another ref, too. If mended is set,
// a part of them is fixed.
func (w *world) project(name string, size int, fixed bool) {
	w.tb.Helper()
	results := w.made.results(size)
	report := w.upload(name, "main", "semgrep.json", semgrep(results))
	w.findings += w.importUpload(report).New
	w.findings += w.importUpload(w.upload(name, "release", "semgrep.json", semgrep(results[:size*elsewhere/100]))).New
	if fixed {
		w.importUpload(w.upload(name, "main", "semgrep.json", semgrep(results[size*2/5:]), "commit", "2"))
	}
}

// triage triages a percentage of the findings.
func (w *world) triage(state, reason string, percent int) {
	w.tb.Helper()
	var ids []string
	for id := range w.findings {
		if w.made.rnd.IntN(100) < percent {
			ids = append(ids, strconv.Itoa(id+1))
		}
	}
	for part := range slices.Chunk(ids, model.MaxTriage) {
		body := fmt.Sprintf(`{"issue_type":"sast","new_triage_state":%q,"issue_ids":[%s]}`, state, strings.Join(part, ","))
		if reason != "" {
			body = strings.Replace(body, "{", fmt.Sprintf(`{"new_triage_reason":%q,`, reason), 1)
		}
		w.client.discard(w.triageRequest(body))
	}
}

func (w *world) triageRequest(body string) []byte {
	return w.request("POST", w.bySlug()+"/triage", []byte(body), "Content-Type", "application/json")
}

// fromMemory sets the response of /ready, and returns the request for it.
func (w *world) fromMemory(path string, body []byte, headers ...string) []byte {
	body = bytes.Clone(body)
	w.ready.Store(&body)
	return w.request("GET", path, nil, headers...)
}
