package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strings"
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

// idleFor is the time during which statements of idle servers are counted.
const idleFor = 5 * time.Second

// idleServers are servers of one database with all features enabled and counted statements.
type idleServers struct {
	*several
	count    func() int
	receiver *httptest.Server
	got      chan struct{} // receives when a message arrives
}

// newIdle starts n servers with all features enabled and one tenant.
func newIdle(t *testing.T, engine string, n int, flags ...string) *idleServers {
	t.Helper()
	s := &idleServers{several: &several{t: t}, got: make(chan struct{}, 100)}
	s.receiver = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/hook":
			_, _ = io.Copy(io.Discard, r.Body)
			s.got <- struct{}{}
		case r.URL.Path == "/api/v1/user": // of a code host
			fmt.Fprint(w, `{"id":1,"login":"bot"}`)
		case strings.HasPrefix(r.URL.Path, "/api/v1/"):
			fmt.Fprint(w, `[]`)
		default: // no advisories
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	t.Cleanup(s.receiver.Close)
	dir := t.TempDir()
	s.on = config.Storage{Data: filepath.Join(dir, "data"), KeyFile: filepath.Join(dir, "key")}
	var storage, env []string
	if engine == "sqlite" {
		counted := filepath.Join(dir, "statements")
		env = []string{countVariable + "=" + counted}
		s.count = func() int {
			info, err := os.Stat(counted)
			if err != nil {
				t.Fatal(err)
			}
			return int(info.Size())
		}
	} else {
		proxy, through := storetest.Through(t, storetest.Empty(t, "postgres"))
		s.on.DatabaseURL = config.Secret(through.DatabaseURL)
		storage = []string{"--database-url", through.DatabaseURL}
		s.count = proxy.RoundTrips
	}
	for i := range n {
		data := filepath.Join(dir, fmt.Sprint(i))
		if engine == "sqlite" {
			data = s.on.Data
		}
		node := &node{t: t, url: "http://" + freeAddress(t), env: env, flags: append(append([]string{
			"--key-file", filepath.Join(dir, "key"), "--data", data, "--deployment", "acme", "--runner", "--isolation", "none",
			"--advisories-every", "24h", "--advisories-archives", s.receiver.URL,
			"--no-advisories-scores", "--advisories-ecosystems", "npm",
			"--notify-to", "127.0.0.0/8", "--connect-to", "127.0.0.0/8",
		}, storage...), flags...)}
		node.start()
		s.nodes = append(s.nodes, node)
	}
	s.token = s.firstToken()
	s.furnish()
	return s
}

// intoAPI imports into the project with a notification rule.
var intoAPI = api.ImportQuery{Project: "acme/api", Ref: "main"}

// furnish creates a project with a schedule, a connection and a notification rule.
func (s *idleServers) furnish() {
	s.t.Helper()
	c, ctx := s.at(0), s.t.Context()
	if _, err := c.ImportReport(ctx, "acme", intoAPI, strings.NewReader(programtest.Results(3, "first"))); err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.CreateConnection(ctx, "acme", api.CreateConnectionRequest{
		Kind: "gitea", Name: "ours", BaseURL: s.receiver.URL,
		Credential: &api.ConnectionCredential{Kind: "token", Secret: "not-one"},
	}); err != nil {
		s.t.Fatal(err)
	}
	if _, err := c.CreateNotificationRule(ctx, "acme", api.CreateNotificationRuleRequest{
		Name: "on call", Events: []string{"new_finding", "scan_failed"}, Channel: "webhook", URL: s.receiver.URL + "/hook",
	}); err != nil {
		s.t.Fatal(err)
	}
}

// waitUntilIdle waits until the work of a start is completed: until at most most statements were executed
// in a time of idleFor.
func (s *idleServers) waitUntilIdle(most int) {
	s.t.Helper()
	const seconds = int(idleFor / time.Second)
	var counts []int // one per second
	for range 12 * seconds {
		counts = append(counts, s.count())
		time.Sleep(time.Second)
		if first := len(counts) - seconds; first >= 0 && s.count()-counts[first] <= most {
			return
		}
	}
	s.t.Fatalf("the servers do not come to rest:\n%s", s.nodes[0].stderr)
}

// scanFails stores a failed scan as another process would.
func (s *idleServers) scanFails() {
	s.t.Helper()
	a := &command.App{Ctx: s.t.Context(), Out: io.Discard, Err: io.Discard, Clock: time.Now, Getenv: os.Getenv, Environ: os.Environ}
	err := (command.Tenant{Storage: s.on, Deployment: "acme"}).Update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := tx.ProjectByName(ctx, "acme/api")
		if err == nil {
			_, err = tx.AddScan(ctx, model.Scan{
				ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep", StartedAt: tx.Now(), CompletedAt: tx.Now(),
				Status: model.ScanError, Error: "out of memory",
			})
		}
		return "", err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestIdleServersExecuteFewStatements checks that an idle server with all features enabled executes at most
// one statement per second, and fewer if three servers share a database.
func TestIdleServersExecuteFewStatements(t *testing.T) {
	for name, c := range map[string]struct {
		engine  string
		servers int
		flags   []string
	}{
		"sqlite":                           {"sqlite", 1, nil},
		"postgres":                         {"postgres", 1, nil},
		"postgres, that announces nothing": {"postgres", 1, []string{"--no-database-listen"}},
		"three on one postgres":            {"postgres", 3, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newIdle(t, c.engine, c.servers, c.flags...)
			most := c.servers * int(idleFor/time.Second)
			s.waitUntilIdle(most)
			var statements []int
			for range 3 { // one of them may include periodic work of each minute
				before := s.count()
				time.Sleep(idleFor)
				statements = append(statements, s.count()-before)
				if slices.Min(statements) <= most {
					break
				}
			}
			if n := slices.Min(statements); n > most || n == 0 {
				t.Errorf("they asked the database %d times in %s each, at most %d were to be", statements, idleFor, most)
			}
		})
	}
}

// delivery commits an event, as another process if other is set, and returns the time until the
// receiver is notified.
func (s *idleServers) delivery(other bool, name string) time.Duration {
	s.t.Helper()
	if other {
		s.scanFails()
	} else if _, err := s.at(0).ImportReport(s.t.Context(), "acme", intoAPI, strings.NewReader(programtest.Results(4, name))); err != nil {
		s.t.Fatal(err)
	}
	committed := time.Now()
	select {
	case <-s.got:
	case <-time.After(programtest.WaitAtMost):
		s.t.Fatal("no notification was sent")
	}
	return time.Since(committed)
}

// TestEventProcessingLatency checks that an event is processed within a second if the process
// committed it or is notified, and within three seconds otherwise.
func TestEventProcessingLatency(t *testing.T) {
	for name, c := range map[string]struct {
		engine string
		flags  []string
		within time.Duration
		other  bool // the event is from another process
	}{
		"sqlite":                           {"sqlite", nil, time.Second, false},
		"sqlite, of another process":       {"sqlite", nil, 3 * time.Second, true},
		"postgres":                         {"postgres", nil, time.Second, false},
		"postgres, of another process":     {"postgres", []string{"--database-listen"}, time.Second, true},
		"postgres, that announces nothing": {"postgres", []string{"--no-database-listen"}, 3 * time.Second, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newIdle(t, c.engine, 1, c.flags...)
			s.waitUntilIdle(int(idleFor / time.Second))
			// Two jobs run: matching the event with rules, and the delivery. A busy machine may
			// delay one event.
			var took []time.Duration
			for i := range 3 {
				took = append(took, s.delivery(c.other, fmt.Sprint("event", i)))
				if took[i] <= c.within+500*time.Millisecond {
					return
				}
			}
			t.Errorf("it took %s, at most %s was to be", took, c.within)
		})
	}
}
