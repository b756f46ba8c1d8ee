package main

import (
	"archive/zip"
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// osvRecord is a record of one npm package, affected before a version.
func osvRecord(id, name, fixed string) string {
	return fmt.Sprintf(`{"id":%q,"modified":"2024-05-01T00:00:00Z","summary":"Trouble with %s","affected":[{"package":{"ecosystem":"npm","name":%q},
		"ranges":[{"type":"SEMVER","events":[{"introduced":"0"},{"fixed":%q}]}]}]}`, id, name, name, fixed)
}

// archive packs records as OSV does.
func archive(t testing.TB, records map[string]string) []byte {
	t.Helper()
	var b bytes.Buffer
	z := zip.NewWriter(&b)
	for id, text := range records {
		w, err := z.CreateHeader(&zip.FileHeader{Name: id + ".json", Method: zip.Store})
		if err == nil {
			_, err = io.WriteString(w, text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// publisher gives out archives over HTTP, as OSV's bucket does.
type publisher struct {
	files  map[string][]byte
	tag    string
	breaks bool // after half of the file
	asked  []http.Header
}

func (p *publisher) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.asked = append(p.asked, r.Header)
	data, ok := p.files[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("ETag", p.tag)
	if p.breaks {
		w.Header().Set("Content-Length", fmt.Sprint(len(data)))
		if _, err := w.Write(data[:len(data)/2]); err == nil {
			w.(http.Flusher).Flush()
		}
		panic(http.ErrAbortHandler)
	}
	http.ServeContent(w, r, "all.zip", time.Unix(1700000000, 0), bytes.NewReader(data))
}

func testApp(out io.Writer) *app {
	return &app{ctx: context.Background(), out: out, err: io.Discard, clock: time.Now, getenv: os.Getenv, environ: os.Environ}
}

// output runs the command and returns what it printed.
func (c advisoriesUpdateCmd) output(t *testing.T) (string, error) {
	t.Helper()
	var out bytes.Buffer
	err := c.Run(testApp(&out))
	return out.String(), err
}

var figure = regexp.MustCompile(`\b\d+\b`)

// figures are the numbers of the line about a source, in their order.
func figures(out, source string) string {
	_, rest, _ := strings.Cut(out, source+":")
	line, _, _ := strings.Cut(rest, "\n")
	return strings.Join(figure.FindAllString(line, -1), " ")
}

func TestUpdateFromAPublisher(t *testing.T) {
	p := &publisher{tag: `"one"`, files: map[string][]byte{
		"/npm/all.zip":       archive(t, map[string]string{"A-1": osvRecord("A-1", "a", "1.0.0"), "A-2": osvRecord("A-2", "b", "1.0.0"), "bad": "{"}),
		"/crates.io/all.zip": archive(t, map[string]string{"C-1": osvRecord("C-1", "c", "1.0.0")}),
	}}
	h := httptest.NewServer(p)
	defer h.Close()
	c := advisoriesUpdateCmd{Archives: h.URL, Ecosystems: []string{"npm", "cargo"}}
	c.Data = t.TempDir()
	counts := func(what, npm, crates string) {
		t.Helper()
		out, err := c.output(t)
		if got := figures(out, "/npm/all.zip"); err != nil || got != npm {
			t.Errorf("%s: of npm %q, want %q: %v\n%s", what, got, npm, err, out)
		}
		if got := figures(out, "/crates.io/all.zip"); got != crates {
			t.Errorf("%s: of crates.io %q, want %q:\n%s", what, got, crates, out)
		}
		if refused := strings.Contains(out, "bad.json"); refused != (npm == "2 2 1") {
			t.Errorf("%s: bad.json is named: %v\n%s", what, refused, out)
		}
	}
	counts("the first update", "2 2 1", "1 1 0") // records, new or changed, refused
	p.asked = nil
	counts("nothing new", "", "")
	if tag := p.asked[0].Get("If-None-Match"); tag != `"one"` || p.asked[0].Get("If-Modified-Since") == "" {
		t.Errorf("asked with %v", p.asked[0])
	}

	p.tag, p.breaks = `"two"`, true
	p.files["/npm/all.zip"] = archive(t, map[string]string{"A-1": osvRecord("A-1", "a", "1.0.0"), "A-2": osvRecord("A-2", "b", "2.0.0"), "A-3": osvRecord("A-3", "c", "1.0.0")})
	c.Ecosystems = []string{"npm"}
	if out, err := c.output(t); err == nil || !strings.Contains(err.Error(), "/npm/all.zip") {
		t.Errorf("a download that breaks off: %q %v", out, err)
	}
	p.breaks, p.asked = false, nil
	counts("after it broke off", "3 2 0", "")
	if r := p.asked[0]; r.Get("Range") == "" || r.Get("If-Range") != `"two"` {
		t.Errorf("it did not go on with the part: %v", r)
	}

	delete(p.files, "/npm/all.zip")
	c.Ecosystems = []string{"npm", "cargo"}
	c.Force = true
	out, err := c.output(t)
	if err == nil || !strings.Contains(err.Error(), "404") || figures(out, "/crates.io/all.zip") != "1 0 0" {
		t.Errorf("a source that fails stops another: %q %v", out, err)
	}
	var status bytes.Buffer
	if err := (advisoriesStatusCmd{storageOnly{c.Storage}}).Run(testApp(&status)); err != nil || !strings.Contains(status.String(), "4 advisories (0 withdrawn)") {
		t.Errorf("%s %v", status.String(), err)
	}
}

// manyRefs makes a deployment with a vulnerable package on many refs.
func manyRefs(t *testing.T, st *store.Store, n int) model.Deployment {
	t.Helper()
	d, err := st.CreateDeployment(t.Context(), "acme", "", model.Actor{})
	for i := 0; i < n && err == nil; i++ {
		err = st.Update(t.Context(), d.ID, model.Actor{}, func(ctx context.Context, tx *store.Tx) error {
			report := &model.Report{Tool: "lockfile", Products: model.Products(0).With(model.SCA), Inventories: []model.Inventory{
				{Lockfile: "package-lock.json", Dependencies: []model.Dependency{{Ecosystem: "npm", Name: "a", Version: "0.1.0"}}},
			}}
			_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, ingest.Upload{Project: model.Project{Name: "acme/shop"}, Ref: fmt.Sprint("b", i), Full: true, Report: report})
			return err
		})
	}
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func openData(t *testing.T, dir string) *store.Store {
	t.Helper()
	st, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { st.Close() })
	return st
}

// matched counts the findings of a deployment's advisories.
func matched(t *testing.T, st *store.Store, d model.Deployment) int {
	t.Helper()
	var list []model.Impact
	err := st.View(t.Context(), d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, _, err = tx.Impact(ctx, store.ImpactQuery{Group: 1, Names: []string{"A-1"}, Limit: 10_000})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return len(list)
}

// TestAMatchThatWasKilledIsTakenUp kills the command with signal 9 in the middle
// of the match; another goes on after the last ref that was done.
func TestAMatchThatWasKilledIsTakenUp(t *testing.T) {
	const refs = 150
	dir := t.TempDir()
	st := openData(t, dir)
	d := manyRefs(t, st, refs)
	file := filepath.Join(t.TempDir(), "all.zip")
	if err := replaceFile(file, archive(t, map[string]string{"A-1": osvRecord("A-1", "a", "1.0.0")})); err != nil {
		t.Fatal(err)
	}
	command := exec.Command("redoubt", "advisories", "update", "--data", dir, "--from", file)
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- command.Wait() }()
	for done := 0; done == 0; done = matched(t, st, d) {
		select {
		case err := <-exited:
			t.Fatalf("the command ended before anything was matched: %v", err)
		default:
		}
	}
	if err := command.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-exited
	before := matched(t, st, d)
	if before >= refs {
		t.Fatalf("all %d refs were matched before the command was killed", before)
	}
	// The dead worker's lease has run out by the clock of the next.
	later := func() time.Time { return time.Now().Add(time.Hour) }
	next, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: later})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	var swept advisory.SweepResult
	if err := matchDeployments(t.Context(), next, advisory.NewLibrary(orders), nil, func(_ model.Deployment, s advisory.SweepResult) { swept = s }); err != nil {
		t.Fatal(err)
	}
	if got := matched(t, next, d); got != refs || swept.Refs != refs-before {
		t.Errorf("%d of %d refs have the finding, %d of them from before the kill; %d were matched after it", got, refs, before, swept.Refs)
	}
}

// TestServeFollowsWhatOthersLoad: a server sees what the command line loaded
// beside it, and what its own schedule brings, without a scan.
func TestServeFollowsWhatOthersLoad(t *testing.T) {
	p := &publisher{tag: `"one"`, files: map[string][]byte{"/npm/all.zip": archive(t, map[string]string{"A-1": osvRecord("A-1", "a", "1.0.0")})}}
	h := httptest.NewServer(p)
	defer h.Close()
	dir := t.TempDir()
	st := openData(t, dir)
	d := manyRefs(t, st, 2)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	file := filepath.Join(t.TempDir(), "ready.json")
	a := &app{ctx: ctx, out: io.Discard, err: io.Discard, clock: time.Now, getenv: os.Getenv, environ: os.Environ}
	go func() {
		done <- serveCmd{Storage: config.Storage{Data: dir}, Deployment: "acme", LogFormat: "text", Server: config.Server{
			Addr: "127.0.0.1:0", ReadyFile: file, MaxUpload: 1 << 20, ShutdownTimeout: 5 * time.Second,
			AdvisoriesEvery: time.Hour, AdvisoriesEcosystems: []string{"npm"}, AdvisoriesArchives: h.URL,
		}}.Run(a)
	}()
	waitReady(t, file, done)
	for matched(t, st, d) < 2 {
		select {
		case err := <-done:
			t.Fatalf("the server stopped: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(advisoryCollector{st, time.Now})
	told := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(told, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"redoubt_advisories_version ", `redoubt_advisories_records{kind="osv",source="` + h.URL + `/npm/all.zip"} 1`, "redoubt_advisories_age_seconds{"} {
		if !strings.Contains(told.Body.String(), want) {
			t.Errorf("the metrics do not tell %s:\n%s", want, told.Body)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the server stopped with %v", err)
	}
}
