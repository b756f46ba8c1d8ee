package main

import (
	"context"
	"fmt"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// balancer is a typical reverse proxy before several servers. It polls /readyz and distributes
// requests over the ready servers on persistent connections, without retries.
type balancer struct {
	*httptest.Server
	backends []*backend
	next     atomic.Int64
	mu       sync.Mutex
	failed   []string
}

type backend struct {
	url      string
	ready    atomic.Bool
	passing  *httputil.ReverseProxy
	requests atomic.Int64 // requests
}

// pollInterval is the polling interval of the balancer.
const pollInterval = 100 * time.Millisecond

func newBalancer(t *testing.T, nodes []*node) *balancer {
	t.Helper()
	b := &balancer{}
	for _, n := range nodes {
		to, err := url.Parse(n.url)
		if err != nil {
			t.Fatal(err)
		}
		one := &backend{url: n.url, passing: &httputil.ReverseProxy{
			Rewrite:   func(r *httputil.ProxyRequest) { r.SetURL(to); r.Out.GetBody = nil },
			Transport: &http.Transport{MaxIdleConnsPerHost: 20},
			ErrorLog:  log.New(&programtest.Output{}, "", 0),
			ErrorHandler: func(w http.ResponseWriter, r *http.Request, err error) {
				b.fails("%s %s at %s: %v", r.Method, r.URL.Path, n.url, err)
				w.WriteHeader(http.StatusBadGateway)
			},
		}}
		b.backends = append(b.backends, one)
		go one.watch(t.Context())
	}
	b.Server = httptest.NewServer(b)
	t.Cleanup(b.Close)
	return b
}

func (b *backend) watch(ctx context.Context) {
	client := &http.Client{Timeout: 10 * time.Second}
	for ctx.Err() == nil {
		res, err := client.Get(b.url + "/readyz")
		if err == nil {
			res.Body.Close()
		}
		b.ready.Store(err == nil && res.StatusCode == http.StatusOK)
		time.Sleep(pollInterval)
	}
}

func (b *balancer) fails(format string, args ...any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.failed = append(b.failed, fmt.Sprintf(format, args...))
}

// ServeHTTP forwards a request to the next ready server.
func (b *balancer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for range b.backends {
		one := b.backends[int(b.next.Add(1))%len(b.backends)]
		if one.ready.Load() {
			one.requests.Add(1)
			one.passing.ServeHTTP(w, r)
			return
		}
	}
	b.fails("%s %s: no server is ready", r.Method, r.URL.Path)
	w.WriteHeader(http.StatusServiceUnavailable)
}

// waits waits until the balancer uses the given number of servers.
func (b *balancer) waits(t *testing.T, ready int) {
	t.Helper()
	for end := time.Now().Add(programtest.WaitAtMost); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		n := 0
		for _, one := range b.backends {
			if one.ready.Load() {
				n++
			}
		}
		if n == ready {
			return
		}
	}
	t.Fatalf("the proxy never knows of %d servers", ready)
}

// TestRollingRestart restarts three servers one after another while clients read, import and triage
// through a proxy. No request fails and no data is lost.
func TestRollingRestart(t *testing.T) {
	t.Parallel()
	s := newSeveral(t, "--drain", "3s")
	b := newBalancer(t, s.nodes)
	b.waits(t, 3)
	ctx, stop := context.WithCancel(context.Background())
	defer stop()
	var group sync.WaitGroup
	var mu sync.Mutex
	var imported []string
	work := func(do func(c *api.Client, n int) error) {
		c := client(b.URL, s.token)
		group.Go(func() {
			for n := 0; ctx.Err() == nil; n++ {
				if err := do(c, n); err != nil {
					b.fails("%v", err)
				}
			}
		})
	}
	for i := range 2 {
		work(func(c *api.Client, n int) error {
			project := fmt.Sprintf("rolled/%d-%d", i, n)
			done, err := c.ImportReport(t.Context(), "acme", api.ImportQuery{Project: project, Ref: "main"}, strings.NewReader(programtest.Results(3, project)))
			if err != nil {
				return err
			}
			mu.Lock()
			imported = append(imported, project)
			mu.Unlock()
			id := done.Imports[0].Items[0].FindingID
			_, err = c.TriageFindings(t.Context(), "acme", api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: "reviewing"})
			return err
		})
	}
	work(func(c *api.Client, _ int) error {
		_, err := c.ListFindings(t.Context(), "acme", api.FindingsQuery{})
		time.Sleep(5 * time.Millisecond)
		return err
	})
	for _, n := range s.nodes {
		n.stop()
		n.start()
		b.waits(t, 3)
	}
	stop()
	group.Wait()
	for _, failed := range b.failed[:min(20, len(b.failed))] {
		t.Error(failed)
	}
	names := s.names(s.at(0))
	for _, project := range imported {
		if !slices.Contains(names, project) {
			t.Errorf("%s was imported and is lost", project)
		}
	}
	if len(imported) < 3 {
		t.Errorf("%d imports were done meanwhile", len(imported))
	}
	t.Logf("%d requests failed; %d imports, and of requests the servers took %d, %d and %d", len(b.failed), len(imported),
		b.backends[0].requests.Load(), b.backends[1].requests.Load(), b.backends[2].requests.Load())
}

// TestSecondSignalTerminatesImmediately sends two signals to a server with a grace period of five minutes.
// The second one terminates it immediately.
func TestSecondSignalTerminatesImmediately(t *testing.T) {
	t.Parallel()
	n := &node{t: t, url: "http://" + freeAddress(t), flags: []string{"--data", t.TempDir(), "--deployment", "acme", "--drain", "5m"}}
	n.start()
	for end := time.Now().Add(programtest.WaitAtMost); !strings.Contains(n.stdout.String(), "/setup/"); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("the start is never done:\n%s", n.stderr)
		}
	}
	if err := n.server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	n.status(http.StatusServiceUnavailable)
	if err := n.server.Process.Signal(syscall.SIGTERM); err != nil {
		t.Fatal(err)
	}
	select {
	case <-n.ended:
	case <-time.After(programtest.WaitAtMost):
		t.Errorf("the server goes on:\n%s", n.stderr)
	}
}
