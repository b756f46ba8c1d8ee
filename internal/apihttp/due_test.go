package apihttp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
)

// TestDueDates checks that findings, filters, counts, exports and the list's tag follow the due
// days of a policy and the current date.
func TestDueDates(t *testing.T) {
	h := newHarness(t)
	h.imported(map[string][]int{"a.py": {1, 2}})
	const findings = "/api/v1/deployments/acme/findings"
	get := func(query string) answer {
		t.Helper()
		a := h.send(http.MethodGet, findings+query, "")
		if a.status != http.StatusOK {
			t.Fatalf("%s: %d %s", query, a.status, a.body)
		}
		return a
	}
	if a := get(""); strings.Contains(a.body, "due") {
		t.Errorf("due dates without due days: %s", a.body)
	}
	policies, err := h.client.ListPolicies(t.Context(), "acme")
	if err != nil {
		t.Fatal(err)
	}
	id := policies.Policies[0].ID
	days := api.SetDueDaysRequest{Critical: 7, High: 7, Medium: 7, Low: 7}
	set, err := h.client.SetDueDays(t.Context(), "acme", id, days)
	if err != nil || set.DueDays.Low != 7 || set.Policy.ID != id {
		t.Fatalf("%+v, %v", set, err)
	}
	if got, err := h.client.GetDueDays(t.Context(), "acme", id); err != nil || got.DueDays != set.DueDays {
		t.Errorf("%+v, %v", got, err)
	}
	last := h.clock.Now().UTC().AddDate(0, 0, 7).Format(time.DateOnly)
	due := fmt.Sprintf(`"due_at":"%sT23:59:59.999999Z","overdue":`, last)
	list := get("?due=7d")
	if n := strings.Count(list.body, due+"false"); n != 2 {
		t.Errorf("%d findings are due on %s: %s", n, last, list.body)
	}
	counted := func(query string) int { return strings.Count(get(query).body, `"relevant_since"`) }
	for query, want := range map[string]int{
		"?due=overdue": 0, "?due=none": 0, "?due=30d": 2, "?due=later,overdue": 0, "?due=later&due=7d": 2, "?due_before=" + last: 0,
		"?due_before=" + h.clock.Now().UTC().AddDate(0, 0, 8).Format(time.DateOnly): 2,
	} {
		if n := counted(query); n != want {
			t.Errorf("%s: %d findings, want %d", query, n, want)
		}
	}
	tag := list.header.Get("ETag")
	h.clock.Advance(8 * 24 * time.Hour)
	if a := h.send(http.MethodGet, findings+"?due=7d", "", "If-None-Match", tag); a.status != http.StatusOK || strings.Contains(a.body, due) {
		t.Errorf("eight days later: %d %s", a.status, a.body)
	}
	if n := strings.Count(get("?due=overdue").body, due+"true"); n != 2 {
		t.Errorf("%d findings are overdue", n)
	}
	if a := get("/counts?group_by=due&issue_type=sast"); !strings.Contains(a.body, `{"value":"overdue","count":2}`) {
		t.Error(a.body)
	}
	if a := get("/export?due=overdue"); !strings.Contains(a.body, ",due_at,overdue") || strings.Count(a.body, last+"T23:59:59.999999Z,true") != 2 {
		t.Error(a.body)
	}
	if a := h.send(http.MethodPost, "/api/v1/deployments/acme/triage", `{"issue_type":"sast","due":["overdue"],"new_note":"late"}`); !strings.Contains(a.body, `"num_triaged":2`) {
		t.Errorf("triage of overdue findings: %d %s", a.status, a.body)
	}
	for _, bad := range []string{"?due=soon", "?due_before=tomorrow", "?due_before=0001-01-01"} {
		h.wantProblem(h.send(http.MethodGet, findings+bad, ""), "invalid_argument")
	}
	for _, bad := range []string{`{"critical":-1}`, `{"critical":3651}`, `{"urgent":1}`, `{"not_rated":5}`} {
		h.wantProblem(h.send(http.MethodPut, "/api/v1/deployments/acme/policies/"+id+"/due-days", bad), "invalid_argument")
	}
}
