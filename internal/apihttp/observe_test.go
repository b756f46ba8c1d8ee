package apihttp

import (
	"context"
	"encoding/json"
	"net/http"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

func contains(text, part string) bool { return strings.Contains(text, part) }

func TestOneLogLinePerRequest(t *testing.T) {
	h := newHarness(t)
	h.send(http.MethodGet, "/api/v1/deployments/acme/findings?ref=a-secret-branch", "")
	h.send(http.MethodGet, "/api/v1/nowhere/hunter2", "")
	h.send(http.MethodGet, findingsPath, "", "Authorization", "Bearer hunter3")
	h.send(http.MethodPut, findingsPath, "")
	lines := strings.Split(strings.TrimSpace(h.log.String()), "\n")
	if len(lines) != 4 {
		t.Fatalf("%d lines:\n%s", len(lines), h.log.String())
	}
	for _, leaked := range []string{"a-secret-branch", "hunter2", "hunter3", h.token} {
		if contains(h.log.String(), leaked) {
			t.Errorf("the log contains %q:\n%s", leaked, h.log.String())
		}
	}
	var routes []string
	for i, line := range lines {
		var l map[string]any
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatal(err)
		}
		routes = append(routes, l["route"].(string))
		for _, member := range []string{"request_id", "method", "status", "duration", "bytes"} {
			if l[member] == nil {
				t.Errorf("no %s in %s", member, line)
			}
		}
		if i == 0 && (l["deployment"] != float64(h.deployment.ID) || !strings.HasPrefix(l["token"].(string), "tok_")) {
			t.Errorf("the caller is missing: %s", line)
		}
	}
	pattern := "/api/v1/deployments/{deploymentSlug}/findings"
	if want := []string{pattern, "unmatched", pattern, pattern}; !slices.Equal(routes, want) {
		t.Errorf("routes %v", routes)
	}
}

func TestMetrics(t *testing.T) {
	h := newHarness(t)
	h.send(http.MethodGet, findingsPath, "")
	h.send("BREW", "/api/v1/nowhere", "")
	a := serve(t, h.server.MetricsHandler(), http.MethodGet, "/metrics")
	for _, want := range []string{
		`redoubt_http_requests_total{method="GET",route="/api/v1/deployments/{deploymentSlug}/findings",status="200"} 1`,
		`redoubt_http_requests_total{method="other",route="unmatched",status="404"} 1`, `redoubt_index_deployments 1`, `redoubt_build_info{version="test"} 1`,
	} {
		if !contains(a.body, want) {
			t.Errorf("no %s", want)
		}
	}
}

// TestMetricsAreServedOnOneListener checks that metrics are served with the API or on a separate listener.
func TestMetricsAreServedOnOneListener(t *testing.T) {
	h := newHarness(t)
	if a := h.send(http.MethodGet, "/metrics", "", "Authorization", ""); a.status != http.StatusOK || !contains(a.body, "redoubt_build_info") {
		t.Errorf("beside the API: %d", a.status)
	}
	elsewhere := h.server.Config
	elsewhere.MetricsElsewhere = true
	s, err := New(elsewhere)
	if err != nil {
		t.Fatal(err)
	}
	if a := serve(t, s.Handler(), http.MethodGet, "/metrics"); a.status != http.StatusNotFound {
		t.Errorf("with a separate listener, on the API too: %d", a.status)
	}
}

// TestReadinessWaitsForIndex checks that a server is not ready while its index is loading,
// but for one minute at most. It serves requests meanwhile.
func TestReadinessWaitsForIndex(t *testing.T) {
	h := newHarness(t)
	loaded := make(chan struct{})
	h.server.Index.Start(t.Context(), func(context.Context) ([]int64, error) {
		<-loaded
		return []int64{h.deployment.ID}, nil
	})
	ready := func(status int, want string) {
		t.Helper()
		if a := h.send(http.MethodGet, "/readyz", ""); a.status != status || a.body != want+"\n" || status != http.StatusOK && a.header.Get("Retry-After") != "1" {
			t.Errorf("%d %s, Retry-After %q, want %d %s", a.status, a.body, a.header.Get("Retry-After"), status, want)
		}
	}
	ready(http.StatusServiceUnavailable, `{"status":"starting","reads":"ok","writes":"ok","index":"loading"}`)
	if a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings", ""); a.status != http.StatusOK {
		t.Errorf("meanwhile findings return %d", a.status)
	}
	h.clock.Advance(time.Minute)
	ready(http.StatusOK, `{"status":"ok","reads":"ok","writes":"ok","index":"loading"}`)
	close(loaded)
	for h.server.Index.Starting() {
		time.Sleep(time.Millisecond)
	}
	ready(http.StatusOK, `{"status":"ok","reads":"ok","writes":"ok"}`)
}

func TestProbes(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{"/healthz", "/readyz", "/version"} {
		if a := h.send(http.MethodGet, path, "", "Authorization", ""); a.status != http.StatusOK {
			t.Errorf("%s: %d", path, a.status)
		}
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	if a := h.send(http.MethodGet, "/readyz", ""); a.status != http.StatusServiceUnavailable {
		t.Errorf("without a database: %d", a.status)
	}
	if a := h.send(http.MethodGet, "/healthz", ""); a.status != http.StatusOK {
		t.Errorf("alive without a database: %d", a.status)
	}
	a := h.send(http.MethodGet, findingsPath, "")
	h.wantProblem(a, api.CodeUnavailable)
	if a.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
}

func TestHeadAndCompression(t *testing.T) {
	h := newHarness(t)
	h.importFindings()
	if a := h.send(http.MethodHead, findingsPath, ""); a.status != http.StatusOK || a.body != "" {
		t.Errorf("HEAD: %d %q", a.status, a.body)
	}
	for _, encoding := range []string{"gzip", "zstd"} {
		a := h.send(http.MethodGet, findingsPath, "", "Accept-Encoding", encoding)
		if a.header.Get("Content-Encoding") != encoding || contains(a.body, "sastFindings") {
			t.Errorf("%s: %v", encoding, a.header)
		}
	}
	if a := h.send(http.MethodGet, findingsPath, ""); a.header.Get("Content-Encoding") != "" {
		t.Errorf("unasked: %v", a.header)
	}
}

func TestBaseURL(t *testing.T) {
	proxy := netip.MustParsePrefix("127.0.0.0/8")
	forwarded := []string{"X-Forwarded-Proto", "https", "X-Forwarded-Host", "redoubt.example.com"}
	for _, test := range []struct {
		name   string
		change func(*core.Config)
		want   string
	}{
		{"a stranger's headers do not count", func(*core.Config) {}, "http://127.0.0.1"},
		{"a proxy's do", func(c *core.Config) { c.TrustedProxies = []netip.Prefix{proxy} }, "https://redoubt.example.com/"},
		{"the public address wins", func(c *core.Config) { c.PublicURL = "https://public.example.com/" }, "https://public.example.com/api"},
	} {
		t.Run(test.name, func(t *testing.T) {
			h := newHarness(t, test.change)
			if a := h.send(http.MethodGet, "/api/v1/deployments", "", forwarded...); !contains(a.body, `"url":"`+test.want) {
				t.Error(a.body)
			}
		})
	}
}
