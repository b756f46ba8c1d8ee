package apihttp

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestOutageProblems checks that a response contains the kind of outage and a retry delay, but
// nothing of the cause.
func TestOutageProblems(t *testing.T) {
	for outage, want := range map[model.OutageError]struct {
		word string
		wait time.Duration
	}{
		model.ErrBusy: {"busy", time.Second}, model.ErrUnreachable: {"does not respond", time.Second}, model.ErrCancelled: {"canceled", time.Second},
		model.ErrDiskFull: {"full", 30 * time.Second}, model.ErrDiskFailed: {"failed", 30 * time.Second},
		model.ErrReadOnly: {"read-only", 30 * time.Second}, model.ErrDamaged: {"damaged", 30 * time.Second},
		model.ErrOutOfFiles: {"too many files", time.Second}, model.ErrOutOfMemory: {"memory", time.Second},
		model.ErrReplaced: {"newer Redoubt", time.Second},
	} {
		p := core.ProblemOf(fmt.Errorf("a handler: %w", fmt.Errorf("%w: %w", outage, errors.New("/var/lib/redoubt.db: inside"))))
		if p.Code != api.CodeUnavailable || p.Wait != want.wait || !strings.Contains(p.Detail, want.word) || strings.Contains(p.Detail, "redoubt.db") {
			t.Errorf("%s: %+v, after %v", string(outage), p.Problem, p.Wait)
		}
	}
}

// TestMetricsWithoutDatabase checks that metrics of the process are available without a database.
func TestMetricsWithoutDatabase(t *testing.T) {
	h := newHarness(t)
	up := `redoubt_store_up{does="reads",outage=""} 1`
	if a := h.send(http.MethodGet, "/metrics", "", "Authorization", ""); a.status != http.StatusOK || !contains(a.body, up) {
		t.Errorf("with a database: %d, no %s", a.status, up)
	}
	if err := h.store.Close(); err != nil {
		t.Fatal(err)
	}
	a := h.send(http.MethodGet, "/metrics", "", "Authorization", "")
	for _, want := range []string{`redoubt_store_up{does="reads",outage="busy"} 0`, `redoubt_store_up{does="writes",outage="busy"} 0`, "redoubt_build_info", "go_goroutines"} {
		if a.status != http.StatusOK || !contains(a.body, want) {
			t.Errorf("%d, no %s", a.status, want)
		}
	}
	if a := h.send(http.MethodGet, "/readyz", ""); a.body != `{"status":"unavailable","reads":"`+model.ErrBusy.Text()+`","writes":"`+model.ErrBusy.Text()+`"}`+"\n" {
		t.Errorf("readiness is %s", a.body)
	}
}

// TestStalledDatabaseIsReported checks that readiness and metrics report a database that does not
// respond as unreachable and not as busy.
func TestStalledDatabaseIsReported(t *testing.T) {
	clock := storetest.NewClock()
	proxy, config := storetest.Through(t, storetest.Database(t, "postgres", clock))
	h := newHarnessOn(t, config, clock)
	proxy.Stall()
	defer proxy.Resume()
	if a := h.send(http.MethodGet, "/readyz", ""); a.status != http.StatusServiceUnavailable || !contains(a.body, model.ErrUnreachable.Text()) {
		t.Errorf("readiness is %d %s", a.status, a.body)
	}
	want := `redoubt_store_up{does="reads",outage="unreachable"} 0`
	if a := h.send(http.MethodGet, "/metrics", "", "Authorization", ""); a.status != http.StatusOK || !contains(a.body, want) {
		t.Errorf("%d, no %s", a.status, want)
	}
}

// unread is a body that must not be read.
type unread struct{ t *testing.T }

func (u unread) Read([]byte) (int, error) {
	u.t.Error("the body was read")
	return 0, errors.New("read")
}

// TestLargeBodyIsRejectedUnread sends a Content-Length over the limit to each kind of operation.
func TestLargeBodyIsRejectedUnread(t *testing.T) {
	h := newHarness(t)
	for _, path := range []string{"/api/v1/deployments/acme/projects", "/api/v1/deployments/acme/imports?project=acme/a"} {
		r := httptest.NewRequestWithContext(context.Background(), http.MethodPost, path, unread{t})
		r.ContentLength = 1 << 40
		r.Header.Set("Authorization", "Bearer "+h.token)
		r.Header.Set("Content-Type", "application/json")
		w := httptest.NewRecorder()
		h.server.Handler().ServeHTTP(w, r)
		if w.Code != http.StatusRequestEntityTooLarge || !bytes.Contains(w.Body.Bytes(), []byte(`"code":"too_large"`)) {
			t.Errorf("%s: %d %s", path, w.Code, w.Body)
		}
	}
}
