package bench

import (
	"bytes"
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// tenantSizes is the environment variable with other numbers of deployments, as "10,100,1000".
const tenantSizes = "REDOUBT_TEST_TENANTS"

// ofTenant is the number of findings of each deployment in BenchmarkTenants.
const ofTenant = 10_000

// indexMemory limits the memory of the index in BenchmarkTenants, so that only about a hundred of
// its deployments fit.
const indexMemory = 1 << 30

// tenant is one of many deployments.
type tenant struct {
	deployment model.Deployment
	token      string
	findings   int
}

// BenchmarkTenants measures a server by the number of its deployments and prints one table. It
// measures the time to the first response, pages of loaded and unloaded deployments, an import, and
// memory.
func BenchmarkTenants(b *testing.B) {
	all := newSheet("deployments of 10,000 findings")
	tenantCounts := "5,20"
	if text := os.Getenv(tenantSizes); text != "" {
		tenantCounts = text
	}
	for i, text := range strings.Split(tenantCounts, ",") {
		n, err := strconv.Atoi(text)
		if err != nil || n < 2 {
			b.Fatalf("%s: %q is not a number of deployments, 2 or more", tenantSizes, text)
		}
		if i > 0 && testing.Short() {
			break
		}
		b.Run(text, func(b *testing.B) {
			all.column(text)
			w := newWorld(b)
			benchTenants(b, w, w.tenants(n), all)
		})
	}
	fmt.Print(all)
}

func benchTenants(b *testing.B, w *world, tenants []tenant, to *sheet) {
	s := newStarted(b, w)
	s.more = []string{"--index-memory", strconv.Itoa(indexMemory)}
	b.Run("start, to the first page", func(b *testing.B) {
		to.put("start, to the first page", compare(b, s.first).Round(10*time.Microsecond))
	})
	b.Run("pages", func(b *testing.B) {
		for b.Loop() {
			s.serve(func(ctx context.Context) {
				s.requestPage(ctx)
				s.pages(tenants, to)
			})
		}
	})
}

// tenants creates n deployments with equal numbers of findings.
func (w *world) tenants(n int) []tenant {
	w.tb.Helper()
	list := make([]tenant, n)
	for i := range list {
		if i > 0 {
			w.enter(i)
		}
		w.findings = 0
		w.fill(ofTenant)
		list[i] = tenant{w.deployment, w.token, w.findings}
	}
	return list
}

// enter creates another deployment and uses it for later requests.
func (w *world) enter(i int) {
	w.tb.Helper()
	slug := fmt.Sprintf("tenant-%d", i)
	d, err := w.store.CreateDeployment(w.tb.Context(), slug, slug, model.Actor{Kind: "cli", Name: "bench"})
	w.check(err)
	w.deployment = d
	w.token = w.newToken()
}

// pages reads a page of each deployment in random order and again, when the deployment is loaded.
// It also imports into some of them.
func (s *started) pages(tenants []tenant, to *sheet) {
	w := s.w
	defer func(was tenant) { w.deployment, w.token, w.findings = was.deployment, was.token, was.findings }(tenant{w.deployment, w.token, w.findings})
	client := dial(w.tb, s.address)
	var away, here, imports []time.Duration
	for i, turn := range rand.New(rand.NewPCG(1, 2)).Perm(len(tenants)) {
		t := tenants[turn]
		w.deployment, w.token, w.findings = t.deployment, t.token, t.findings
		page := client.took(w.request("GET", w.target(nil, false, 100), nil))
		away = append(away, page())
		here = append(here, page())
		if i%max(len(tenants)/5, 1) == 0 {
			report := semgrep(w.made.results(imported))
			imports = append(imports, client.took(w.upload("tenants/new", "main", "semgrep.json", report, "commit", fmt.Sprintf("%040x", i+1)))())
		}
	}
	to.put("page of an idle deployment, median", median(away).Round(10*time.Microsecond))
	to.put("the same, the longest of all", slices.Max(away).Round(10*time.Microsecond))
	to.put("page of one in memory, median", median(here).Round(10*time.Microsecond))
	to.put("import of 10,000, over HTTP", median(imports).Round(10*time.Millisecond))
	to.put("memory of the process, after all of them", fmt.Sprintf("%d MB", s.resident()>>20))
}

// resident returns the resident memory of the server in bytes, or 0 if the system does not provide
// it.
func (s *started) resident() int64 {
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", s.pid))
	if err != nil {
		return 0
	}
	_, rest, found := bytes.Cut(status, []byte("VmRSS:"))
	if !found {
		return 0
	}
	fields := bytes.Fields(rest)
	kilobytes, err := strconv.ParseInt(string(fields[0]), 10, 64)
	s.w.check(err)
	return kilobytes << 10
}
