package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/advisorytest"
	"github.com/redoubt/redoubt/internal/updater"
)

// TestKilledMatchIsResumed kills the command with signal 9 during a match. Another process
// resumes after the last completed ref.
func TestKilledMatchIsResumed(t *testing.T) {
	const refs = 150
	dir := t.TempDir()
	st := advisorytest.OpenData(t, dir)
	d := advisorytest.ManyRefs(t, st, refs)
	file := filepath.Join(t.TempDir(), "all.zip")
	if err := command.ReplaceFile(file, advisorytest.Archive(t, map[string]string{"A-1": advisorytest.OSVRecord("A-1", "a", "1.0.0")})); err != nil {
		t.Fatal(err)
	}
	update := exec.Command("redoubt", "advisories", "update", "--data", dir, "--from", file)
	if err := update.Start(); err != nil {
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- update.Wait() }()
	for done := 0; done == 0; done = advisorytest.Matched(t, st, d) {
		select {
		case err := <-exited:
			t.Fatalf("the command ended before anything was matched: %v", err)
		default:
		}
	}
	if err := update.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	<-exited
	before := advisorytest.Matched(t, st, d)
	if before >= refs {
		t.Fatalf("all %d refs were matched before the command was killed", before)
	}
	// The lease of the killed worker has expired by the clock of the next.
	later := func() time.Time { return time.Now().Add(time.Hour) }
	next, err := store.Open(t.Context(), store.Config{Dir: dir, Clock: later})
	if err != nil {
		t.Fatal(err)
	}
	defer next.Close()
	var swept advisory.SweepResult
	if err := updater.MatchDeployments(t.Context(), next, advisory.NewLibrary(command.AdvisoryOrders), nil, func(_ model.Deployment, s advisory.SweepResult) { swept = s }); err != nil {
		t.Fatal(err)
	}
	if got := advisorytest.Matched(t, next, d); got != refs || swept.Refs != refs-before {
		t.Errorf("%d of %d refs have the finding, %d of them from before the kill; %d were matched after it", got, refs, before, swept.Refs)
	}
}

// TestServeAppliesAdvisoriesLoadedElsewhere checks that a server applies, without a scan, advisories loaded by
// the command line or by its own schedule.
func TestServeAppliesAdvisoriesLoadedElsewhere(t *testing.T) {
	p := &advisorytest.Publisher{Tag: `"one"`, Files: map[string][]byte{"/npm/all.zip": advisorytest.Archive(t, map[string]string{"A-1": advisorytest.OSVRecord("A-1", "a", "1.0.0")})}}
	h := httptest.NewServer(p)
	defer h.Close()
	dir := t.TempDir()
	st := advisorytest.OpenData(t, dir)
	d := advisorytest.ManyRefs(t, st, 2)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan error, 1)
	file := filepath.Join(t.TempDir(), "ready.json")
	a := &command.App{Ctx: ctx, Out: io.Discard, Err: io.Discard, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	go func() {
		done <- serveCmd{Storage: config.Storage{Data: dir}, Deployment: "acme", LogFormat: "text", Server: config.Server{
			Addr: "127.0.0.1:0", ReadyFile: file, MaxUpload: 1 << 20, ShutdownTimeout: 5 * time.Second,
			AdvisoriesEvery: time.Hour, AdvisoriesEcosystems: []string{"npm"}, AdvisoriesArchives: h.URL,
		}}.Run(a)
	}()
	waitReady(t, file, done)
	for advisorytest.Matched(t, st, d) < 2 {
		select {
		case err := <-done:
			t.Fatalf("the server stopped: %v", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	registry := prometheus.NewRegistry()
	registry.MustRegister(updater.Collector{Store: st, Clock: time.Now})
	recorder := httptest.NewRecorder()
	promhttp.HandlerFor(registry, promhttp.HandlerOpts{}).ServeHTTP(recorder, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	for _, want := range []string{"redoubt_advisories_version ", `redoubt_advisories_records{kind="osv",source="` + h.URL + `/npm/all.zip"} 1`, "redoubt_advisories_age_seconds{"} {
		if !strings.Contains(recorder.Body.String(), want) {
			t.Errorf("the metrics do not tell %s:\n%s", want, recorder.Body)
		}
	}
	stop()
	if err := <-done; err != nil {
		t.Errorf("the server stopped with %v", err)
	}
}
