package conformance

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// scanSite creates scans of every kind. These are imports of two projects on two refs with several
// durations, a failed scan, and two running ones, one of them for too long.
func scanSite(t *testing.T, s *site) []api.Scan {
	t.Helper()
	w := &world{site: s, rules: map[string]scanRule{}}
	reports := [][2]int{{0, 2}, {2, 3}, {3, 4}, {0, 8}, {4, 6}} // sast, sca, secrets, all, sast again
	for i, r := range reports {
		for _, project := range []string{"acme/payments", "acme/web-shop"} {
			text := semgrepReport(w.matches(len(project), r[0], r[1])...)
			s.upload(t, project, "main", "full", withTime(text, 1.5*float64(i)))
			s.upload(t, project, "feature/x", "diff", text)
		}
	}
	failed := bytes.Replace(semgrepReport(w.matches(5, 0, 4)...), []byte(`"errors":[]`), []byte(`"errors":[{"level":"error","type":"Fatal","message":"out of memory"}]`), 1)
	id := s.upload(t, "acme/payments", "main", "full", failed).ProjectID
	for _, age := range []time.Duration{2 * time.Hour, 50 * time.Minute} {
		s.addRunningScan(t, id, age)
	}
	return all(t, s.api().Scans(t.Context(), s.deployment.Slug, api.SearchScansRequest{}))
}

// withTime adds the duration of the scan to a report.
func withTime(report []byte, seconds float64) []byte {
	return bytes.Replace(report, []byte(`{`), fmt.Appendf(nil, `{"time":{"profiling_times":{"total_time":%g}},`, seconds), 1)
}

// addRunningScan starts a scan like a scanner, which an import cannot do.
func (s *site) addRunningScan(t testing.TB, project int64, age time.Duration) {
	t.Helper()
	err := s.store.Update(t.Context(), s.deployment.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.AddScan(ctx, model.Scan{
			ProjectID: project, Ref: "refs/heads/main", Source: "semgrep", StartedAt: s.clock.Now().Add(-age), Full: true,
			Status: model.ScanRunning, Products: model.Products(0).With(model.SCA), TotalTime: -1,
		})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

func TestScans(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		rows := scanSite(t, s)
		t.Run("order and members", func(t *testing.T) { testScanMembers(t, rows, s) })
		t.Run("filters", func(t *testing.T) { testScanFilters(t, s, rows) })
		t.Run("walk", func(t *testing.T) { testScanPagination(t, s, rows) })
		t.Run("refusals", func(t *testing.T) { testScanRefusals(t, s) })
		t.Run("never finished by the clock", func(t *testing.T) { testScanNeverFinished(t, s) })
	})
}

func testScanMembers(t *testing.T, rows []api.Scan, s *site) {
	if len(rows) != 23 {
		t.Fatalf("%d scans, want 23", len(rows))
	}
	if !slices.IsSortedFunc(rows, func(a, b api.Scan) int { return b.StartedAt.Compare(a.StartedAt.Time) }) {
		t.Error("scans are not by started_at, descending")
	}
	byStatus := map[string]int{}
	for _, r := range rows {
		byStatus[r.Status]++
		running := r.Status == "SCAN_STATUS_RUNNING" || r.Status == "SCAN_STATUS_NEVER_FINISHED"
		if (r.CompletedAt == nil) != running || (r.ExitCode == nil) != running || r.DeploymentID != fmt.Sprint(s.deployment.ID) {
			t.Errorf("%s completed at %v with %v: %+v", r.Status, r.CompletedAt, r.ExitCode, r)
		}
		if n := r.FindingsCounts; n.Total != n.Code+n.Secrets+n.SupplyChain {
			t.Errorf("counts %+v", n)
		}
		if (r.Status == "SCAN_STATUS_ERROR") != (r.ExitCode != nil && *r.ExitCode > 1) {
			t.Errorf("%s with exit code %v", r.Status, r.ExitCode)
		}
	}
	want := map[string]int{"SCAN_STATUS_RUNNING": 1, "SCAN_STATUS_COMPLETED": 20, "SCAN_STATUS_ERROR": 1, "SCAN_STATUS_NEVER_FINISHED": 1}
	if diff := cmp.Diff(want, byStatus); diff != "" {
		t.Errorf("statuses (-want +got):\n%s", diff)
	}
	for _, r := range rows {
		got, err := s.api().GetScan(t.Context(), s.deployment.Slug, integer(r.ID))
		if err != nil {
			t.Fatal(err)
		}
		want := api.ScanResponse{
			ID: integer(r.ID), DeploymentID: s.deployment.ID, RepositoryID: integer(r.RepositoryID), StartedAt: r.StartedAt, CompletedAt: r.CompletedAt, ExitCode: r.ExitCode,
			Status: r.Status, IsFullScan: r.IsFullScan, EnabledProducts: r.EnabledProducts, Stats: api.ScanStats{Findings: r.FindingsCounts.Total, TotalTime: r.TotalTime},
			Meta: api.ScanMeta{Repository: got.Meta.Repository, RepoURL: got.Meta.RepoURL, Branch: r.Branch, Commit: r.Commit},
		}
		if diff := cmp.Diff(want, *got); diff != "" {
			t.Errorf("one scan (-searched +got):\n%s", diff)
		}
		if p := get[api.ProjectResponse](t, s, "projects/"+got.Meta.Repository).Project; p.ID != got.RepositoryID || p.URL != got.Meta.RepoURL {
			t.Errorf("of %+v: %+v", p, got)
		}
	}
	want8 := api.FindingsCounts{Code: 3, SupplyChain: 2, Secrets: 2, Total: 7} // of 8, one of them muted
	if n := len(filterSlice(rows, func(r api.Scan) bool { return r.FindingsCounts == want8 })); n != 4 {
		t.Errorf("%d scans count %+v, want 4", n, want8)
	}
}

// scanCases are filters with their conditions.
func scanCases(rows []api.Scan) map[string]struct {
	body    object
	matches func(api.Scan) bool
} {
	project := rows[len(rows)-1].RepositoryID
	middle := rows[len(rows)/2].StartedAt
	status := func(words ...string) func(api.Scan) bool {
		return func(r api.Scan) bool { return slices.Contains(words, strings.TrimPrefix(r.Status, "SCAN_STATUS_")) }
	}
	products := func(words ...string) func(api.Scan) bool {
		return func(r api.Scan) bool {
			return slices.ContainsFunc(words, func(word string) bool { return slices.Contains(r.EnabledProducts, word) })
		}
	}
	took := func(low, high float64) func(api.Scan) bool {
		return func(r api.Scan) bool { return r.TotalTime != nil && *r.TotalTime >= low && *r.TotalTime <= high }
	}
	full := func(want bool) func(api.Scan) bool { return func(r api.Scan) bool { return r.IsFullScan == want } }
	onMain := func(r api.Scan) bool { return r.Branch == "refs/heads/main" }
	return map[string]struct {
		body    object
		matches func(api.Scan) bool
	}{
		"branch":                    {object{"branch": "main"}, onMain},
		"branch in full":            {object{"branch": "refs/heads/feature/x"}, func(r api.Scan) bool { return !onMain(r) }},
		"full by number":            {object{"is_full_scan": 1}, full(true)},
		"diff by number":            {object{"is_full_scan": 0}, full(false)},
		"full by word":              {object{"is_full_scan": true}, full(true)},
		"diff by word":              {object{"is_full_scan": false}, full(false)},
		"one product":               {object{"products": []string{"PRODUCT_SECRETS"}}, products("secrets")},
		"a product as text":         {object{"products": "PRODUCT_SCA"}, products("sca")},
		"several products":          {object{"products": []string{"PRODUCT_SCA", "PRODUCT_SECRETS"}}, products("sca", "secrets")},
		"sast":                      {object{"products": []string{"PRODUCT_SAST", "PRODUCT_AI_SAST"}}, products("sast")},
		"no such product":           {object{"products": []string{"PRODUCT_AI_SAST"}}, products()},
		"unspecified":               {object{"products": []string{"PRODUCT_UNSPECIFIED"}}, func(api.Scan) bool { return true }},
		"project":                   {object{"repository_id": integer(project)}, func(r api.Scan) bool { return r.RepositoryID == project }},
		"project as text":           {object{"repository_id": project}, func(r api.Scan) bool { return r.RepositoryID == project }},
		"since":                     {object{"since": middle}, func(r api.Scan) bool { return r.StartedAt.After(middle.Time) }},
		"since with a zone":         {object{"since": middle.Add(-time.Microsecond).In(time.FixedZone("", 7200)).Format(time.RFC3339Nano)}, func(r api.Scan) bool { return !r.StartedAt.Before(middle.Time) }},
		"since as Python prints it": {object{"since": middle.Add(-time.Microsecond).UTC().Format("2006-01-02 15:04:05.000000")}, func(r api.Scan) bool { return !r.StartedAt.Before(middle.Time) }},
		"since in the basic form":   {object{"since": middle.Add(-time.Microsecond).UTC().Format("20060102T150405.000000Z")}, func(r api.Scan) bool { return !r.StartedAt.Before(middle.Time) }},
		"since in UTC":              {object{"since": middle.Add(-time.Microsecond).UTC().Format("2006-01-02T15:04:05.000000")}, func(r api.Scan) bool { return !r.StartedAt.Before(middle.Time) }},
		"running":                   {object{"statuses": "SCAN_STATUS_RUNNING"}, status("RUNNING")},
		"completed":                 {object{"statuses": []string{"SCAN_STATUS_COMPLETED"}}, status("COMPLETED")},
		"failed":                    {object{"statuses": "SCAN_STATUS_ERROR"}, status("ERROR")},
		"never finished":            {object{"statuses": "SCAN_STATUS_NEVER_FINISHED"}, status("NEVER_FINISHED")},
		"several statuses":          {object{"statuses": []string{"SCAN_STATUS_ERROR", "SCAN_STATUS_NEVER_FINISHED"}}, status("ERROR", "NEVER_FINISHED")},
		"at least":                  {object{"total_time": object{"min": 3}}, took(3, 1e9)},
		"at most":                   {object{"total_time": object{"max": 4.5}}, took(0, 4.5)},
		"between":                   {object{"total_time": object{"min": 1.5, "max": 3}}, took(1.5, 3)},
		"all together": {object{"branch": "main", "is_full_scan": 1, "products": "PRODUCT_SAST", "repository_id": project, "statuses": "SCAN_STATUS_COMPLETED", "total_time": object{"min": 1}}, func(r api.Scan) bool {
			return onMain(r) && r.IsFullScan && products("sast")(r) && r.RepositoryID == project && status("COMPLETED")(r) && took(1, 1e9)(r)
		}},
	}
}

func testScanFilters(t *testing.T, s *site, rows []api.Scan) {
	for name, c := range scanCases(rows) {
		want := filterSlice(rows, c.matches)
		if diff := cmp.Diff(want, post[api.SearchScansResponse](t, s, "scans/search", c.body).Scans); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		c.body["limit"] = 2
		if diff := cmp.Diff(want, append([]api.Scan{}, all(t, s.api().Scans(t.Context(), s.deployment.Slug, typed[api.SearchScansRequest](t, c.body)))...)); diff != "" {
			t.Errorf("%s by 2 (-want +got):\n%s", name, diff)
		}
		if trivial := name == "no such product" || name == "unspecified"; (len(want) == 0 || len(want) == len(rows)) && !trivial {
			t.Errorf("%s selects %d of %d, which proves nothing", name, len(want), len(rows))
		}
	}
}

func testScanPagination(t *testing.T, s *site, rows []api.Scan) {
	for _, limit := range []int64{1, 5, 23, 500} {
		got := all(t, s.api().Scans(t.Context(), s.deployment.Slug, api.SearchScansRequest{Limit: limit}))
		if diff := cmp.Diff(rows, got); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", limit, diff)
		}
	}
	for _, cursor := range beginnings {
		got := post[api.SearchScansResponse](t, s, "scans/search", object{"limit": 5, "cursor": cursor})
		if diff := cmp.Diff(rows[:5], got.Scans); diff != "" {
			t.Errorf("from cursor %#v (-want +got):\n%s", cursor, diff)
		}
	}
	if a := s.send(t, request{method: "POST", path: "scans/search", body: object{"limit": 23}}); strings.Contains(string(a.body), `"cursor"`) {
		t.Errorf("the last page has a cursor: %s", a.body)
	}
}

func testScanRefusals(t *testing.T, s *site) {
	cursor := post[api.SearchScansResponse](t, s, "scans/search", object{"limit": 1}).Cursor
	for _, c := range []struct {
		body object
		bad  string
	}{
		{object{"limit": 501}, "body.limit"},
		{object{"limit": -1}, "body.limit"},
		{object{"limit": "x"}, "body.limit"},
		{object{"statuses": "SCAN_STATUS_PENDING"}, "body.statuses"},
		{object{"products": []string{"PRODUCT_DAST"}}, "body.products"},
		{object{"is_full_scan": 2}, "body.is_full_scan"},
		{object{"is_full_scan": "yes"}, "body.is_full_scan"},
		{object{"since": "yesterday"}, "body.since"},
		{object{"since": 17}, "body.since"},
		{object{"since": ""}, "body.since"},
		{object{"since": "2024-02-30"}, "body.since"},
		{object{"since": "2024-05-28_06:38"}, "body.since"},
		{object{"since": "202405281"}, "body.since"},
		{object{"since": "2024-05-28T06:38:54+2:00"}, "body.since"},
		{object{"repository": 1}, "body.repository"},
		{object{"total_time": object{"minimum": 1}}, "body.total_time.minimum"},
		{object{"pageSize": 501}, "body.pageSize"},
		{object{"repository_id": "x"}, "body.repository_id"},
		{object{"total_time": object{"min": "x"}}, "body.total_time.min"},
		{object{"total_time": object{"min": 2, "max": 1}}, "body.total_time"},
		{object{"cursor": cursor, "branch": "main"}, "body.cursor"},
		{object{"cursor": cursor[:len(cursor)-1]}, "body.cursor"},
		{object{"cursor": "x"}, "body.cursor"},
		{object{"deploymentId": "1"}, "body.deploymentId"},
	} {
		t.Run(fmt.Sprint(c.body), func(t *testing.T) {
			invalid(t, s.send(t, request{method: "POST", path: "scans/search", body: c.body}), c.bad)
		})
	}
}

// testScanNeverFinished checks that a scan that runs for over an hour is shown as never finished, without a
// write.
func testScanNeverFinished(t *testing.T, s *site) {
	count := func(status string) int {
		return len(post[api.SearchScansResponse](t, s, "scans/search", object{"statuses": status}).Scans)
	}
	s.clock.Advance(10 * time.Minute) // the newer one now runs for an hour
	if running, never := count("SCAN_STATUS_RUNNING"), count("SCAN_STATUS_NEVER_FINISHED"); running != 1 || never != 1 {
		t.Errorf("at an hour %d run and %d never finished", running, never)
	}
	s.clock.Advance(time.Microsecond)
	if running, never := count("SCAN_STATUS_RUNNING"), count("SCAN_STATUS_NEVER_FINISHED"); running != 0 || never != 2 {
		t.Errorf("after an hour %d run and %d never finished", running, never)
	}
}
