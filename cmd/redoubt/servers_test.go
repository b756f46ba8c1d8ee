package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// node is one of several servers of a database: a process with a fixed address.
type node struct {
	t      *testing.T
	url    string
	flags  []string
	env    []string // in addition to the test's environment
	server *exec.Cmd
	ended  chan error
	stderr *programtest.Output
	stdout programtest.Output // standard output of the first start
}

// freeAddress returns an unused address.
func freeAddress(t *testing.T) string {
	t.Helper()
	l, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

// start starts the server and waits until it is ready.
func (n *node) start() {
	n.t.Helper()
	n.launch()
	n.status(http.StatusOK)
}

func (n *node) launch() {
	n.t.Helper()
	args := append([]string{"serve", "--addr", strings.TrimPrefix(n.url, "http://"), "--log-format", "text"}, n.flags...)
	n.server, n.stderr, n.ended = exec.Command("redoubt", args...), &programtest.Output{}, make(chan error, 1)
	n.server.Stdout, n.server.Stderr = &n.stdout, n.stderr
	n.server.Env = append(os.Environ(), n.env...)
	if err := n.server.Start(); err != nil {
		n.t.Fatal(err)
	}
	server, ended := n.server, n.ended
	go func() { ended <- server.Wait() }()
	n.t.Cleanup(func() { _ = server.Process.Kill() })
}

// status waits until /readyz returns a status, using a separate connection each time.
func (n *node) status(want int) (body string) {
	n.t.Helper()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: programtest.WaitAtMost}
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		res, err := client.Get(n.url + "/readyz")
		if err != nil {
			select {
			case err := <-n.ended:
				n.t.Fatalf("the server ended with %v:\n%s", err, n.stderr)
			default:
				continue
			}
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		if err == nil && res.StatusCode == want {
			return string(text)
		}
	}
	n.t.Fatalf("the server's readiness is never %d:\n%s", want, n.stderr)
	return ""
}

// stop stops the server like a service manager.
func (n *node) stop() {
	n.t.Helper()
	if err := n.server.Process.Signal(syscall.SIGTERM); err != nil {
		n.t.Fatal(err)
	}
	if err := <-n.ended; err != nil {
		n.t.Errorf("the server ended with %v:\n%s", err, n.stderr)
	}
}

// client returns a client with a token that does not retry.
func client(url, token string) *api.Client {
	return &api.Client{BaseURL: url, Token: token, Retries: -1, HTTP: &http.Client{Timeout: programtest.WaitAtMost}}
}

// several are servers of one PostgreSQL database.
type several struct {
	t     *testing.T
	on    config.Storage
	nodes []*node
	token string
}

// newSeveral starts three servers at once on an empty database.
func newSeveral(t *testing.T, flags ...string) *several {
	t.Helper()
	dir := t.TempDir()
	s := &several{t: t, on: config.Storage{
		Data: dir, KeyFile: filepath.Join(dir, "postgres.key"), DatabaseURL: config.Secret(storetest.Empty(t, "postgres").DatabaseURL),
	}}
	for i := range 3 {
		n := &node{t: t, url: "http://" + freeAddress(t), flags: append([]string{
			"--database-url", string(s.on.DatabaseURL), "--key-file", s.on.KeyFile, "--data", filepath.Join(dir, fmt.Sprint(i)), "--deployment", "acme",
		}, flags...)}
		n.launch()
		s.nodes = append(s.nodes, n)
	}
	for _, n := range s.nodes {
		n.status(http.StatusOK)
	}
	s.token = s.firstToken()
	return s
}

// firstToken returns the token that one of the servers prints. No other server must replace it.
func (s *several) firstToken() (token string) {
	s.t.Helper()
	done := func(n *node) bool { return strings.Contains(n.stdout.String(), "/setup/") } // printed after the token
	for end := time.Now().Add(programtest.WaitAtMost); slices.ContainsFunc(s.nodes, func(n *node) bool { return !done(n) }); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			for _, n := range s.nodes {
				s.t.Logf("%s told %q and said\n%s", n.url, n.stdout.String(), n.stderr)
			}
			s.t.Fatal("not all servers finish their start")
		}
	}
	printed := 0
	for _, n := range s.nodes {
		if found := tokenPattern.FindString(n.stdout.String()); found != "" {
			token = found
			printed++
		}
	}
	if printed != 1 {
		s.t.Fatalf("%d of the servers told a first token", printed)
	}
	return token
}

// tokenPattern matches a token in the output of a first start.
var tokenPattern = regexp.MustCompile(`\brdt_\w+`)

func (s *several) command(args ...string) string {
	s.t.Helper()
	cmd := exec.Command("redoubt", append(args, "--database-url", string(s.on.DatabaseURL), "--data", s.on.Data)...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		s.t.Fatalf("redoubt %v: %v\n%s", args, err, stderr.String())
	}
	return strings.TrimSpace(string(out))
}

func (s *several) mint(name string) string {
	s.t.Helper()
	return s.command("token", "create", "--scope", "web_api,ci", name)
}

// at returns a client of one of the servers, by index modulo their number.
func (s *several) at(i int) *api.Client { return client(s.nodes[i%len(s.nodes)].url, s.token) }

// view reads the database.
func (s *several) view(read func(context.Context, *store.Tx) error) {
	s.t.Helper()
	a := &command.App{Ctx: s.t.Context(), Out: io.Discard, Err: io.Discard, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	if err := (command.Tenant{Storage: s.on}).View(a, read); err != nil {
		s.t.Fatal(err)
	}
}

func (s *several) names(c *api.Client) (names []string) {
	s.t.Helper()
	for p, err := range c.Projects(s.t.Context(), "acme", api.ProjectsQuery{}) {
		if err != nil {
			s.t.Fatal(err)
		}
		names = append(names, p.Name)
	}
	return names
}

// TestServersSharingDatabase checks that writes of one of three servers are visible on the others:
// stored data immediately, and cached tokens within a second.
func TestServersSharingDatabase(t *testing.T) {
	t.Parallel()
	s := newSeveral(t)
	s.readsOwnWrites()
	s.doesOnce()
	s.refusesLostUpdates()
	s.followsAnywhere()
	s.revokesEverywhere()
	s.exportsOnce()
	s.measuresEach()
	s.isReplaced()
}

// readsOwnWrites writes to one server and reads immediately from another.
func (s *several) readsOwnWrites() {
	s.t.Helper()
	for i := range 12 {
		project := fmt.Sprintf("own/p%d", i)
		done, err := s.at(i).ImportReport(s.t.Context(), "acme", api.ImportQuery{Project: project, Ref: "main"}, strings.NewReader(programtest.Results(3, fmt.Sprint("f", i))))
		if err != nil {
			s.t.Fatal(err)
		}
		listed := 0
		for _, err := range s.at(i+1).Findings(s.t.Context(), "acme", api.FindingsQuery{Repos: api.List[string]{project}}) {
			if err != nil {
				s.t.Fatal(err)
			}
			listed++
		}
		if listed != 3 {
			s.t.Fatalf("of 3 findings another server lists %d", listed)
		}
		id := done.Imports[0].Items[0].FindingID
		if _, err := s.at(i+1).TriageFindings(s.t.Context(), "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: "reviewing"}); err != nil {
			s.t.Fatal(err)
		}
		found, err := s.at(i+2).GetFinding(s.t.Context(), "acme", id)
		if err != nil || found.Finding.TriageState != "reviewing" {
			s.t.Errorf("a finding triaged on another server is %q, %v", found.Finding.TriageState, err)
		}
	}
}

// doesOnce sends requests with one idempotency key to all servers at once.
func (s *several) doesOnce() {
	s.t.Helper()
	ids := make([]int64, len(s.nodes))
	var group sync.WaitGroup
	for i := range s.nodes {
		group.Go(func() {
			made, err := s.at(i).CreateProject(s.t.Context(), "acme", api.CreateProjectRequest{Name: "once/only"}, api.WithKey("once"))
			if err != nil {
				s.t.Error(err)
				return
			}
			ids[i] = made.Project.ID
		})
	}
	group.Wait()
	if len(slices.Compact(ids)) != 1 {
		s.t.Errorf("one request under a key made %v", ids)
	}
}

// refusesLostUpdates checks conditional updates with an ETag from another server.
func (s *several) refusesLostUpdates() {
	s.t.Helper()
	before, err := s.at(0).GetProject(s.t.Context(), "acme", "once/only")
	if err != nil {
		s.t.Fatal(err)
	}
	tags := api.List[string]{"first"}
	if _, err := s.at(1).UpdateProject(s.t.Context(), "acme", "once/only", api.UpdateProjectRequest{Tags: &tags}, api.IfMatch(before.ETag)); err != nil {
		s.t.Errorf("a change of what another server told is refused: %v", err)
	}
	_, err = s.at(2).UpdateProject(s.t.Context(), "acme", "once/only", api.UpdateProjectRequest{Tags: &tags}, api.IfMatch(before.ETag))
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Code != api.CodeConflict {
		s.t.Errorf("a change of what changed since is answered with %v", err)
	}
}

// followsAnywhere reads changes and pages alternately from all servers.
func (s *several) followsAnywhere() {
	s.t.Helper()
	seen, cursor := map[string]bool{}, ""
	for i := 0; ; i++ {
		part, err := s.at(i).FindingChanges(s.t.Context(), "acme", api.FindingChangesQuery{Cursor: cursor, Limit: 7})
		if err != nil {
			s.t.Fatal(err)
		}
		for _, f := range part.Changed {
			seen[fmt.Sprint(f.ID)] = true
		}
		if cursor = part.Cursor; !part.HasMore {
			break
		}
	}
	if len(seen) != 36 {
		s.t.Errorf("who follows changes around the servers sees %d of 36 findings", len(seen))
	}
}

// revokesEverywhere revokes a token that all servers have cached.
func (s *several) revokesEverywhere() {
	s.t.Helper()
	token := s.mint("short")
	for _, n := range s.nodes {
		if _, err := client(n.url, token).Me(s.t.Context()); err != nil {
			s.t.Errorf("a token made just now is refused: %v", err)
		}
	}
	s.command("token", "revoke", "short")
	time.Sleep(time.Second) // the documented caching time
	for _, n := range s.nodes {
		_, err := client(n.url, token).Me(s.t.Context())
		if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Status != http.StatusUnauthorized {
			s.t.Errorf("a second after it was revoked a token is answered with %v", err)
		}
	}
}

// exportsOnce requests exports from all servers at once and checks the number of executed jobs.
func (s *several) exportsOnce() {
	s.t.Helper()
	var group sync.WaitGroup
	for i := range s.nodes {
		group.Go(func() {
			for range 4 {
				s.exports(s.at(i), s.at(i+1))
			}
		})
	}
	group.Wait()
	s.view(func(ctx context.Context, tx *store.Tx) error {
		jobs, err := tx.Jobs(ctx, "sbom", 100)
		for _, j := range jobs {
			if j.State != model.JobDone || j.Claim != 1 || j.Attempt != 1 {
				s.t.Errorf("an export is in state %v after %d claims and %d attempts", j.State, j.Claim, j.Attempt)
			}
		}
		if len(jobs) == 0 || len(jobs) > 4*len(s.nodes) { // equal requests share a waiting job
			s.t.Errorf("%d exports were asked for, and there are %d", 4*len(s.nodes), len(jobs))
		}
		return err
	})
}

// exports requests an export from one server and downloads it from another.
func (s *several) exports(creator, reader *api.Client) {
	job, err := creator.CreateSBOMExport(s.t.Context(), "acme", api.CreateSBOMExportRequest{})
	if err != nil {
		s.t.Error(err)
		return
	}
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		status, err := reader.GetSBOMExport(s.t.Context(), "acme", job.TaskToken)
		if err != nil {
			s.t.Error(err)
			return
		}
		if status.Status == "SBOM_EXPORT_STATUS_COMPLETED" {
			if _, _, err := reader.DownloadSBOM(s.t.Context(), status.DownloadURL); err != nil {
				s.t.Errorf("an address that another server signed: %v", err)
			}
			return
		}
	}
	s.t.Error("an export is never done")
}

// measuresEach checks that each server has separate metrics.
func (s *several) measuresEach() {
	s.t.Helper()
	for i, n := range s.nodes {
		for range i + 1 {
			if _, err := s.at(i).ListPolicies(s.t.Context(), "acme"); err != nil {
				s.t.Fatal(err)
			}
		}
		res, err := http.Get(n.url + "/metrics")
		if err != nil {
			s.t.Fatal(err)
		}
		text, err := io.ReadAll(res.Body)
		res.Body.Close()
		found := policiesRead.FindStringSubmatch(string(text))
		if err != nil || found == nil || found[1] != fmt.Sprint(i+1) {
			s.t.Errorf("the metrics of server %d count %v, want %d: %v", i, found, i+1, err)
		}
	}
}

// policiesRead matches the metric of the requests in measuresEach.
var policiesRead = regexp.MustCompile(`(?m)^redoubt_http_requests_total\{method="GET",route="[^"]*/policies",status="200"\} (\d+)$`)

// isReplaced simulates a migration by a newer version. Within about a second the servers reject all
// requests as unavailable, with a time for the retry.
func (s *several) isReplaced() {
	s.t.Helper()
	db, err := sql.Open("pgx", string(s.on.DatabaseURL))
	if err != nil {
		s.t.Fatal(err)
	}
	defer db.Close()
	if _, err := db.ExecContext(s.t.Context(), `INSERT INTO goose_db_version (version_id, is_applied) VALUES (9999, TRUE)`); err != nil {
		s.t.Fatal(err)
	}
	for i, n := range s.nodes {
		n.stderr.Wait(s.t, "of a newer redoubt")
		n.status(http.StatusServiceUnavailable)
		for what, err := range map[string]error{
			"a read":  errOf(s.at(i).ListFindings(s.t.Context(), "acme", api.FindingsQuery{})),
			"a write": errOf(s.at(i).CreateProject(s.t.Context(), "acme", api.CreateProjectRequest{Name: "too/late"})),
		} {
			problem, ok := errors.AsType[*api.Problem](err)
			if !ok || problem.Status != http.StatusServiceUnavailable || problem.RetryAfter == 0 || !strings.Contains(problem.Detail, "newer Redoubt") {
				s.t.Errorf("%s on a server that is replaced is answered with %v", what, err)
			}
		}
	}
}

func errOf[T any](_ T, err error) error { return err }
