package apihttp

import (
	"context"
	"fmt"
	"net/http"
	"strconv"
	"testing"

	"github.com/redoubt/redoubt/internal/apihttp/scans"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// TestLargeUploadIsListedBeforeResponse checks that lists contain a large upload before its
// response. The next read then does not wait.
func TestLargeUploadIsListedBeforeResponse(t *testing.T) {
	h := newHarness(t)
	h.store.OnCommit(h.server.Index.Committed)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		h.server.Index.Run(ctx)
		close(done)
	}()
	defer func() {
		stop()
		<-done
	}()
	if a := h.send(http.MethodGet, findingsPath, ""); a.status != http.StatusOK { // loads the deployment
		t.Fatalf("%d %s", a.status, a.body)
	}
	var results []reporttest.Result
	for i := range scans.LargeImport {
		id := strconv.Itoa(i)
		results = append(results, reporttest.Result{Rule: "eqeq", Path: "f" + id + ".py", Code: "x", Fingerprint: id})
	}
	report := string(reporttest.SemgrepOf([]string{"f0.py"}, results...))
	a := h.send(http.MethodPost, fmt.Sprintf("/api/v1/deployments/%d/imports?project=acme/large&ref=main", h.deployment.ID), report, "Content-Type", "application/octet-stream")
	if a.status != http.StatusOK {
		t.Fatalf("%d %s", a.status, a.body)
	}
	if n := h.server.Index.Stats().Findings; n != scans.LargeImport {
		t.Errorf("the upload returned when %d of %d findings were listed", n, scans.LargeImport)
	}
}
