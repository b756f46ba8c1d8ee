package apihttp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestDamageIsReportedAtOnce damages the database while the server runs. The request that detects the
// damage gets a 503 with that reason. From then on readiness, metrics and writes report it too,
// while undamaged data can still be read.
func TestDamageIsReportedAtOnce(t *testing.T) {
	const findings = "/api/v1/deployments/acme/findings"
	for name, change := range map[string]string{
		"a row that cannot be read":   `UPDATE lineage SET annotations_json = '{"epss_score*'`,
		"a finding without its issue": `DELETE FROM lineage`,
	} {
		for _, engine := range storetest.Engines {
			t.Run(name+"/"+engine, func(t *testing.T) {
				clock := storetest.NewClock()
				database := storetest.Database(t, engine, clock)
				h := newHarnessOn(t, database, clock)
				report := semgrepReport(map[string][]int{"a.py": {1, 2}})
				upload := func(project string) answer { return h.send(http.MethodPost, imports+"?project="+project, report) }
				if a := upload("acme/one"); a.status != http.StatusOK {
					t.Fatalf("before: %d %s", a.status, a.body)
				}
				storetest.Change(t, database, change)
				before := h.send(http.MethodGet, "/readyz", "")
				damaged := func(what string, a answer) {
					t.Helper()
					h.wantProblem(a, api.CodeUnavailable)
					if a.problem.Detail != model.ErrDamaged.Text() || a.header.Get("Retry-After") != "30" {
						t.Errorf("%s: %d, retry after %q: %s", what, a.status, a.header.Get("Retry-After"), a.body)
					}
				}
				damaged("a list of findings", h.send(http.MethodGet, findings, ""))
				damaged("an upload", upload("acme/two"))
				damaged("another write", h.send(http.MethodPost, "/api/v1/deployments/acme/exceptions", `{"target":"a","reason":"b","triage_reason":"acceptable_risk","forever":true}`))
				ready := h.send(http.MethodGet, "/readyz", "")
				if before.status != http.StatusOK || ready.status != http.StatusServiceUnavailable || strings.Count(ready.body, model.ErrDamaged.Text()) != 2 {
					t.Errorf("readiness was %d, is %d %s", before.status, ready.status, ready.body)
				}
				if a := h.send(http.MethodGet, "/metrics", "", "Authorization", ""); !contains(a.body, `redoubt_store_up{does="writes",outage="damaged"} 0`) {
					t.Errorf("the metrics do not report it: %d", a.status)
				}
				for _, path := range []string{"/healthz", "/api/v1/deployments/acme/projects"} {
					if a := h.send(http.MethodGet, path, ""); a.status != http.StatusOK {
						t.Errorf("%s: %d %s", path, a.status, a.body)
					}
				}
			})
		}
	}
}
