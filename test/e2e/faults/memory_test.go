//go:build faults && linux

package faults

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// largeFindings is the number of findings in a report of largeBytes.
const (
	largeFindings = 1500
	largeBytes    = 14 << 20
)

func largeReport(n int) string {
	line := strings.Repeat("x", largeBytes/largeFindings)
	return strings.ReplaceAll(semgrepResults("large", n), `"message":"no"`, `"message":"`+line+`"`)
}

// TestFaultsMemory limits a server to little more memory than it needs to start, and sends more
// data than that at once. Excess uploads are rejected, reads continue, and accepted uploads are
// stored.
func TestFaultsMemory(t *testing.T) {
	f := newFaulty(t, storageOn(t, "sqlite"))
	// The Go runtime reserves 1.8 GB of address space at its start.
	f.run([]string{"sh", "-c", `ulimit -v 2400000; GOMEMLIMIT=300MiB exec "$0" "$@"`, "redoubt", "--max-upload", "16777216"})
	f.base()
	f.importThree(t.Context(), "before")
	var uploads, readers sync.WaitGroup
	var done atomic.Bool
	var accepted, refused atomic.Int64
	for i := range 8 {
		uploads.Go(func() {
			q := api.ImportQuery{Project: fmt.Sprint("large/", i), Ref: "main"}
			_, err := f.client.ImportReport(t.Context(), f.ready.DeploymentSlug, q, strings.NewReader(largeReport(largeFindings)))
			switch problem, ok := errors.AsType[*api.Problem](err); {
			case err == nil:
				f.answered(nil, func() { f.projects[q.Project] = true })
				accepted.Add(1)
			case ok && (problem.Status == http.StatusServiceUnavailable || problem.Status == http.StatusRequestEntityTooLarge):
				refused.Add(1)
			default:
				t.Errorf("an upload of %d bytes: %v", largeBytes, err)
			}
		})
	}
	for range 4 {
		readers.Go(func() {
			for !done.Load() {
				_, err := f.client.ListFindings(t.Context(), f.ready.DeploymentSlug, api.FindingsQuery{Repos: []string{"imports/before"}})
				if err != nil {
					t.Errorf("a read during the uploads: %v", err)
					return
				}
			}
		})
	}
	uploads.Wait()
	done.Store(true)
	readers.Wait()
	// The eight uploads may have competed for memory; a single one must succeed.
	alone := api.ImportQuery{Project: "large/alone", Ref: "main"}
	if _, err := f.client.ImportReport(t.Context(), f.ready.DeploymentSlug, alone, strings.NewReader(largeReport(largeFindings))); err != nil {
		t.Errorf("an upload alone: %v", err)
	} else {
		f.answered(nil, func() { f.projects[alone.Project] = true })
	}
	_, err := f.client.ImportReport(t.Context(), f.ready.DeploymentSlug, api.ImportQuery{Project: "large/more", Ref: "main"}, strings.NewReader(largeReport(2*largeFindings)))
	if problem, ok := errors.AsType[*api.Problem](err); !ok || problem.Status != http.StatusRequestEntityTooLarge {
		t.Errorf("an upload of twice as much: %v", err)
	}
	f.importThree(t.Context(), "after")
	if !f.imports["imports/after"] {
		t.Errorf("after the uploads a small one is rejected:\n%s", f.output)
	}
	f.readiness(http.StatusOK)
	f.kill()
	f.checkStored()
	t.Logf("of 8 uploads of %d MiB at once %d were taken and %d refused", largeBytes>>20, accepted.Load(), refused.Load())
}
