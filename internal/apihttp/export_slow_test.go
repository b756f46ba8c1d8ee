package apihttp

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/export"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// stuck is a client that reads some bytes and then blocks until it is released.
type stuck struct {
	*httptest.ResponseRecorder
	after int
	here  chan struct{} // closed when it blocks
	goOn  chan struct{}
}

func (s *stuck) Write(p []byte) (int, error) {
	if before := s.Body.Len(); before < s.after && before+len(p) >= s.after {
		close(s.here)
		<-s.goOn
	}
	return s.ResponseRecorder.Write(p)
}

// TestSlowExportHasNoOpenTransaction checks that findings can be imported, triaged and listed while an
// export is blocked by its client. No open transaction prevents the removal of old rows, and the
// export is complete in the end.
func TestSlowExportHasNoOpenTransaction(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			config := storetest.Database(t, engine, clock)
			h := newHarnessOn(t, config, clock, func(c *core.Config) {
				// Bodies are read from the store.
				c.Index = index.New(c.Store, index.Options{BodyCache: 1, Clock: clock.Now})
			})
			var lines []int
			for line := range 1500 {
				lines = append(lines, line+1)
			}
			h.imported(map[string][]int{"a.py": lines})
			for i, f := range export.Formats() {
				total := h.exported(f, &stuck{ResponseRecorder: httptest.NewRecorder()})
				slow := &stuck{httptest.NewRecorder(), total / 2, make(chan struct{}), make(chan struct{})}
				done := make(chan int)
				go func() { done <- h.exported(f, slow) }()
				<-slow.here
				if open := storetest.OpenTransactions(t, config); open != 0 {
					t.Errorf("%s: %d transactions are open", f, open)
				}
				h.imported(map[string][]int{"a.py": lines, "b.py": lines[:i+1]})
				if a := h.send(http.MethodPost, "/api/v1/deployments/acme/triage", `{"issue_type":"sast","new_triage_state":"reviewing","issue_ids":[1]}`); a.status != http.StatusOK {
					t.Errorf("%s: triage: %d %.200s", f, a.status, a.body)
				}
				if a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings", ""); a.status != http.StatusOK {
					t.Errorf("%s: the list: %d %.200s", f, a.status, a.body)
				}
				close(slow.goOn)
				if got := <-done; got < total*9/10 || f == export.JSONL && strings.Count(slow.Body.String(), "\n") < len(lines) {
					t.Errorf("%s: received %d of about %d bytes", f, got, total)
				}
			}
		})
	}
}

// exported exports all findings to a client and returns the number of received bytes.
func (h *harness) exported(f export.Format, to *stuck) int {
	r := httptest.NewRequestWithContext(h.t.Context(), http.MethodGet, "/api/v1/deployments/acme/findings/export?format="+string(f), nil)
	r.Header.Set("Authorization", "Bearer "+h.token)
	h.server.Handler().ServeHTTP(to, r)
	if to.Code != http.StatusOK {
		h.t.Errorf("%s: %d %.200s", f, to.Code, to.Body)
	}
	return to.Body.Len()
}
