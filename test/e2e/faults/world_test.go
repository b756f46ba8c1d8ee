//go:build faults && linux

package faults

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math"
	"math/rand/v2"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/admin"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// killsEach is the number of times that a server is killed on each engine.
const killsEach = 100

// faulty is a storage under test, its acknowledged writes, and a server.
type faulty struct {
	t       *testing.T
	storage config.Storage
	flags   []string // of the storage
	server  *exec.Cmd
	ended   <-chan error
	output  *programtest.Output
	ready   programtest.Ready
	client  *api.Client

	mu       sync.Mutex
	refused  []error // responses that are neither a success nor a 503
	acks     int
	imports  map[string]bool
	notes    map[string]bool
	projects map[string]bool
	excepted map[string]bool
	loads    map[string]bool
	scans    map[string]bool
	tokens   map[string]bool // true if revoked
	tags     []string        // the last acknowledged tag, and later unacknowledged ones
}

func newFaulty(t *testing.T, c config.Storage) *faulty {
	f := &faulty{
		t: t, storage: c, imports: map[string]bool{}, notes: map[string]bool{}, projects: map[string]bool{},
		excepted: map[string]bool{}, loads: map[string]bool{}, scans: map[string]bool{}, tokens: map[string]bool{}, tags: []string{"none"},
	}
	f.flags = []string{"--data", c.Data}
	if c.DatabaseURL != "" {
		f.flags = append(f.flags, "--database-url", string(c.DatabaseURL))
	}
	return f
}

func storageOn(t *testing.T, engine string) config.Storage {
	if engine == "postgres" {
		return config.Storage{Data: t.TempDir(), DatabaseURL: config.Secret(storetest.Empty(t, engine).DatabaseURL)}
	}
	return config.Storage{Data: t.TempDir()}
}

// start starts a server and waits until it is ready.
func (f *faulty) start(flags ...string) {
	f.t.Helper()
	f.run(append([]string{"redoubt"}, flags...))
}

// run starts a server with a command that ends with the program's name and flags.
func (f *faulty) run(command []string) {
	f.t.Helper()
	file := filepath.Join(f.t.TempDir(), "ready.json")
	done := f.launch(command, file)
	f.ready = programtest.WaitReady(f.t, file, done)
	f.client = &api.Client{BaseURL: f.ready.BaseURL, Token: f.ready.Token, Retries: -1, HTTP: &http.Client{Timeout: 30 * time.Second}}
}

// launch starts a server with a ready file. The returned channel receives its end.
func (f *faulty) launch(command []string, file string) <-chan error {
	f.t.Helper()
	at := slices.Index(command, "redoubt")
	args := slices.Concat(command[:at+1], []string{"serve", "--addr", "127.0.0.1:0", "--ready-file", file, "--log-format", "text"}, f.flags, command[at+1:])
	f.server, f.output = exec.Command(args[0], args[1:]...), &programtest.Output{}
	f.server.Stderr = f.output
	if err := f.server.Start(); err != nil {
		f.t.Fatal(err)
	}
	done := make(chan error, 1)
	server := f.server
	go func() { done <- server.Wait() }()
	f.t.Cleanup(func() { _ = server.Process.Kill() })
	f.ended = done
	return done
}

// kill kills the server, like a system that is out of memory.
func (f *faulty) kill() {
	f.t.Helper()
	if err := f.server.Process.Kill(); err != nil {
		f.t.Fatal(err)
	}
	<-f.ended
}

// answered records an acknowledged write, or an error response other than 503. Broken connections
// are ignored.
func (f *faulty) answered(err error, note func()) bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	if err == nil {
		note()
		f.acks++
		return true
	}
	if problem, ok := errors.AsType[*api.Problem](err); ok && problem.Status != http.StatusServiceUnavailable {
		f.refused = append(f.refused, err)
	}
	return false
}

// writers contains all kinds of writes. Each receives a unique name.
var writers = []func(f *faulty, ctx context.Context, name string){
	(*faulty).importThree, (*faulty).triageOne, (*faulty).tag, (*faulty).create, (*faulty).except, (*faulty).load,
	(*faulty).scan, (*faulty).mintToken,
}

func semgrepResults(rule string, n int) string {
	results := make([]reporttest.Result, n)
	for i := range results {
		results[i] = reporttest.Result{
			Rule: rule, Path: fmt.Sprintf("f%d.py", i), EndColumn: 5, Message: "no", Code: fmt.Sprintf("x == %d", i),
			Fingerprint: fmt.Sprintf("%s-%d", rule, i),
		}
	}
	return string(reporttest.SemgrepOf([]string{"f0.py", "f1.py", "f2.py"}, results...))
}

func (f *faulty) importThree(ctx context.Context, name string) {
	q := api.ImportQuery{Project: "imports/" + name, Ref: "main"}
	_, err := f.client.ImportReport(ctx, f.ready.DeploymentSlug, q, strings.NewReader(semgrepResults("eqeq", 3)))
	f.answered(err, func() { f.imports[q.Project] = true })
}

func (f *faulty) triageOne(ctx context.Context, name string) {
	done, err := f.client.ImportReport(ctx, f.ready.DeploymentSlug, api.ImportQuery{Project: "triages/" + name, Ref: "main"}, strings.NewReader(semgrepResults("eqeq", 3)))
	if !f.answered(err, func() { f.imports["triages/"+name] = true }) {
		return
	}
	id := done.Imports[0].Items[0].FindingID
	_, err = f.client.TriageFindings(ctx, f.ready.DeploymentSlug, api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: "reviewing", NewNote: name})
	f.answered(err, func() { f.notes[name] = true })
}

func (f *faulty) tag(ctx context.Context, name string) {
	f.mu.Lock()
	f.tags = append(f.tags, name)
	f.mu.Unlock()
	tags := api.List[string]{name}
	_, err := f.client.UpdateProject(ctx, f.ready.DeploymentSlug, "base/tagged", api.UpdateProjectRequest{Tags: &tags})
	f.answered(err, func() { f.tags = f.tags[slices.Index(f.tags, name):] })
}

func (f *faulty) create(ctx context.Context, name string) {
	_, err := f.client.CreateProject(ctx, f.ready.DeploymentSlug, api.CreateProjectRequest{Name: "created/" + name}, api.WithKey(name))
	f.answered(err, func() { f.projects["created/"+name] = true })
}

func (f *faulty) except(ctx context.Context, name string) {
	_, err := f.client.CreateException(ctx, f.ready.DeploymentSlug, api.CreateExceptionRequest{Target: "eqeq-" + name, Reason: name, Forever: true})
	f.answered(err, func() { f.excepted[name] = true })
}

// load runs a separate process, which is killed with the server.
func (f *faulty) load(ctx context.Context, name string) {
	file := filepath.Join(f.t.TempDir(), name+".json")
	record := fmt.Sprintf(`{"schema_version":"1.6.0","id":"FAULT-%s","modified":"2026-01-02T03:04:05Z","summary":"s","affected":[{"package":{"ecosystem":"npm","name":"left"},"versions":["1.0.0"]}]}`, name)
	if err := os.WriteFile(file, []byte(record), 0o600); err != nil {
		return // the directory was removed: the test has ended
	}
	out, err := exec.CommandContext(ctx, "redoubt", append([]string{"advisories", "update", "--from", file}, f.flags...)...).CombinedOutput()
	if err != nil && ctx.Err() == nil {
		f.answered(fmt.Errorf("%w: %s", err, out), nil)
		return
	}
	f.answered(err, func() { f.loads["FAULT-"+name] = true })
}

// write runs all writers until stop is called.
func (f *faulty) write(round string) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	for kind, writer := range writers {
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				writer(f, ctx, fmt.Sprintf("%s-%d-%d", round, kind, n))
			}
		})
	}
	return func() {
		cancel()
		group.Wait()
	}
}

// checkStored checks that all acknowledged writes are stored completely and once, and that redoubt check
// reports no faults. No server may be running.
func (f *faulty) checkStored() {
	f.t.Helper()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, err := range f.refused {
		f.t.Errorf("a response is neither a success nor a 503: %v", err)
	}
	a := &command.App{Ctx: f.t.Context(), Out: io.Discard, Err: io.Discard, Clock: time.Now, Log: slog.New(slog.DiscardHandler), Getenv: os.Getenv, Environ: os.Environ}
	report := admin.NewCheckReport(a, true)
	if err := (admin.CheckCmd{Storage: f.storage}).Check(a, report); err != nil {
		f.t.Fatalf("redoubt check: %v", err)
	}
	for _, c := range report.Checks {
		if len(c.Faults) > 0 {
			f.t.Errorf("redoubt check: %s: %v", c.Check, c.Faults)
		}
	}
	st, err := a.Open(f.storage)
	if err != nil {
		f.t.Fatal(err)
	}
	defer st.Close()
	d, err := st.Deployment(f.t.Context(), f.ready.DeploymentSlug)
	if err == nil {
		err = st.View(f.t.Context(), d.ID, f.checkTx)
	}
	if err != nil {
		f.t.Fatal(err)
	}
}

func (f *faulty) checkTx(ctx context.Context, tx *store.Tx) error {
	projects, err := tx.Projects(ctx, store.ProjectQuery{})
	if err != nil {
		return err
	}
	counts, err := tx.CountFindings(ctx)
	if err != nil {
		return err
	}
	findings, names := map[int64]int{}, map[string]bool{}
	for c, n := range counts {
		findings[c.ProjectID] += n
	}
	for _, p := range projects {
		names[p.Name] = true
		reported := strings.HasPrefix(p.Name, "imports/") || strings.HasPrefix(p.Name, "triages/")
		if reported && findings[p.ID] != 3 {
			f.t.Errorf("%s has %d of 3 findings", p.Name, findings[p.ID])
		}
		if n := findings[p.ID]; strings.HasPrefix(p.Name, "scans/") && n != scanFindings && (n != 0 || f.scans[p.Name]) {
			f.t.Errorf("%s has %d of %d findings, acknowledged: %v", p.Name, n, scanFindings, f.scans[p.Name])
		}
		if n := findings[p.ID]; strings.HasPrefix(p.Name, "large/") && n != largeFindings {
			f.t.Errorf("%s has %d of %d findings", p.Name, n, largeFindings)
		}
		if p.Name == "base/tagged" && len(f.tags) > 0 && (len(p.Tags) != 1 || !slices.Contains(f.tags, p.Tags[0])) {
			f.t.Errorf("the tags are %v, acknowledged or under way were %v", p.Tags, f.tags)
		}
	}
	f.lost("import", f.imports, names)
	f.lost("project", f.projects, names)
	f.lost("scan", f.scans, names)
	if err := f.checkTokens(ctx, tx); err != nil {
		return err
	}
	notes, exceptions := map[string]bool{}, map[string]bool{}
	trail, err := tx.TriageEvents(ctx, 0, math.MaxInt64)
	for _, e := range trail {
		if notes[e.Note] && e.Note != "" {
			f.t.Errorf("the triage %s was executed twice", e.Note)
		}
		notes[e.Note] = true
	}
	f.lost("triage", f.notes, notes)
	if err != nil {
		return err
	}
	all, err := tx.Exceptions(ctx)
	for _, e := range all {
		exceptions[e.Reason] = true
	}
	f.lost("exception", f.excepted, exceptions)
	for id := range f.loads {
		if _, err := tx.AdvisoryGroup(ctx, id); err != nil {
			f.t.Errorf("the advisory %s is missing: %v", id, err)
		}
	}
	return err
}

func (f *faulty) lost(what string, acknowledged, stored map[string]bool) {
	for name := range acknowledged {
		if !stored[name] {
			f.t.Errorf("an acknowledged %s is missing: %s", what, name)
		}
	}
}

// TestFaultsKills kills servers and concurrent commands during all kinds of writes, each time after
// a different number of acknowledged writes.
func TestFaultsKills(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			f := newFaulty(t, storageOn(t, engine))
			for round := range killsEach {
				f.start()
				if round == 0 {
					f.base()
				}
				stop := f.write(fmt.Sprint("r", round))
				f.acknowledge(1 + rand.IntN(20))
				for f.slowest() <= round/20 { // slow writers must be acknowledged in some rounds
					f.acknowledge(1)
				}
				f.kill()
				stop()
				f.checkStored()
				if t.Failed() {
					t.Fatalf("after kill %d:\n%s", round+1, f.output)
				}
			}
			for kind, n := range map[string]int{"imports": len(f.imports), "triages": len(f.notes), "projects": len(f.projects), "exceptions": len(f.excepted), "loads": len(f.loads), "scans": len(f.scans), "tokens": len(f.tokens)} {
				if n == 0 {
					t.Errorf("none of the %s was acknowledged", kind)
				}
			}
			t.Logf("%d kills; acknowledged: %d imports, %d triages, %d projects, %d exceptions, %d loads, %d scans, %d tokens, %d writes in all",
				killsEach, len(f.imports), len(f.notes), len(f.projects), len(f.excepted), len(f.loads), len(f.scans), len(f.tokens), f.acks)
		})
	}
}

func (f *faulty) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.acks
}

// slowest counts the acknowledged writes of kinds with a separate process or many steps.
func (f *faulty) slowest() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return min(len(f.loads), 2*len(f.scans), 2*len(f.tokens))
}

// acknowledge waits until n more writes are acknowledged.
func (f *faulty) acknowledge(n int) {
	f.t.Helper()
	for want, end := f.count()+n, time.Now().Add(programtest.WaitAtMost); f.count() < want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			f.t.Fatalf("nothing is acknowledged any more:\n%s", f.output)
		}
	}
}

// base creates the project whose tags are changed.
func (f *faulty) base() {
	f.t.Helper()
	if _, err := f.client.CreateProject(f.t.Context(), f.ready.DeploymentSlug, api.CreateProjectRequest{Name: "base/tagged", Tags: api.List[string]{"none"}}); err != nil {
		f.t.Fatal(err)
	}
}

// readiness waits until /readyz returns a status and a body with all words.
func (f *faulty) readiness(status int, words ...string) {
	f.t.Helper()
	var got string
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		res, err := http.Get(f.ready.BaseURL + "/readyz")
		if err != nil {
			f.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		got = fmt.Sprint(res.StatusCode, string(text), err)
		if res.StatusCode == status && !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(string(text), w) }) {
			return
		}
	}
	f.t.Fatalf("readiness is %s, want %d %q", got, status, words)
}

// TestFaultsPostgresCrashes repeatedly crashes PostgreSQL under a running server.
func TestFaultsPostgresCrashes(t *testing.T) {
	f := newFaulty(t, storageOn(t, "postgres"))
	f.start()
	f.base()
	stop := f.write("crash")
	for range 8 {
		f.acknowledge(10)
		storetest.CrashPostgres(t)
	}
	f.acknowledge(10)
	stop()
	f.readiness(http.StatusOK, `"writes":"ok"`)
	f.kill()
	f.checkStored()
}

// TestFaultsPostgresStalls stalls PostgreSQL between the starts of servers and under a running one.
func TestFaultsPostgresStalls(t *testing.T) {
	database := storetest.Empty(t, "postgres")
	proxy, through := storetest.Through(t, database)
	f := newFaulty(t, config.Storage{Data: t.TempDir(), DatabaseURL: config.Secret(through.DatabaseURL)})
	f.flags = append(f.flags, "--database-timeout", "1s")
	f.start()
	f.base()
	for range 3 {
		stop := f.write(fmt.Sprint("stall", f.count()))
		f.acknowledge(10)
		proxy.Stall()
		f.readiness(http.StatusServiceUnavailable, "does not respond")
		_, err := f.client.ListFindings(t.Context(), f.ready.DeploymentSlug, api.FindingsQuery{})
		if problem := (*api.Problem)(nil); !errors.As(err, &problem) || problem.Status != http.StatusServiceUnavailable || problem.RetryAfter == 0 {
			t.Errorf("findings are %v", err)
		}
		start := exec.Command("redoubt", append([]string{"deployment", "list"}, f.flags...)...)
		if out, err := start.CombinedOutput(); err == nil || !strings.Contains(string(out), "does not respond") {
			t.Errorf("a command on an unresponsive database prints %q, %v", out, err)
		}
		proxy.Resume()
		f.acknowledge(10)
		stop()
	}
	f.readiness(http.StatusOK)
	f.kill()
	f.checkStored()
}

// TestFaultsDescriptors limits the file descriptors of a server: each response must be correct or a
// 503.
func TestFaultsDescriptors(t *testing.T) {
	f := newFaulty(t, storageOn(t, "sqlite"))
	f.run([]string{"sh", "-c", `ulimit -n 40; exec "$0" "$@"`, "redoubt"})
	f.base()
	var group sync.WaitGroup
	for range 20 {
		group.Go(func() {
			for range 20 {
				_, err := f.client.ListFindings(t.Context(), f.ready.DeploymentSlug, api.FindingsQuery{})
				f.answered(err, func() {})
				f.importThree(t.Context(), fmt.Sprint("few-", rand.Int64()))
			}
		})
	}
	group.Wait()
	f.kill()
	f.checkStored()
}
