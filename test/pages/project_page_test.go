package pages

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestProjectPage checks the trend of a project over the requested period, which ends with the
// current number of open findings.
func TestProjectPage(t *testing.T) {
	s := demoSite(t)
	address := "/projects/" + first(s, "/projects?q=payments", "/projects/")
	for query, weeks := range map[string]int{"": 13, "?weeks=4": 4, "?weeks=52": 52} {
		page := s.page(address + query)
		shows(t, page, fmt.Sprintf("[data-say=trend][data-weeks='%d']", weeks), "[data-say=top-rules] li", "tr[data-package=jinja2]")
		open := 0
		for _, l := range countLinks(t, page) {
			if l.of == "open" {
				open += l.n
			}
		}
		rows := regexp.MustCompile(`<tr><td>\d+ \w+ \d{4}</td><td class="num">(\d+)</td>`).FindAllStringSubmatch(page, -1)
		if len(rows) != weeks || rows[weeks-1][1] != fmt.Sprint(open) {
			t.Errorf("%q: %d weeks, the last with %v open; %d are", query, len(rows), rows[len(rows)-1:], open)
		}
	}
	if a := s.get(address + "?weeks=5"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("five weeks: %s", a.Status)
	}
}

// TestProjectPageListsBranches checks that branches are listed with their latest scan, including
// failed ones. Of many branches, the primary one and the most recently scanned ones are listed.
func TestProjectPageListsBranches(t *testing.T) {
	s := demoSite(t)
	id := first(s, "/projects?q=payments", "/projects/")
	branch := func(n int) string { return fmt.Sprintf("feature-%02d", n) }
	for n := range 20 + 5 {
		reading := &report.Reading{}
		if err := reading.Add(bytes.NewReader([]byte(`{"results":[],"errors":[],"paths":{"scanned":[]}}`)), report.Options{Name: "semgrep.json", Key: []byte("key")}); err != nil {
			t.Fatal(err)
		}
		s.upload(ingest.Upload{Project: model.Project{Name: "acme/payments"}, Ref: "refs/heads/" + branch(n), Full: true, DeclaredFull: true, At: storetest.Epoch}, reading)
	}
	page := s.page("/projects/" + id)
	branches, err := document(t, page).Find("[data-say=branches]").Html()
	if err != nil {
		t.Fatal(err)
	}
	rows := regexp.MustCompile(`<tr><td><span class="mono">([^<]+)</span>`).FindAllStringSubmatch(branches, -1)
	if len(rows) != 20 || rows[0][1] != "main" {
		t.Errorf("%d branches, the first %v", len(rows), rows[0])
	}
	shows(t, branches, "[data-status=SCAN_STATUS_COMPLETED]", "[data-say=more-branches]")
	scan := rowsOfScan.FindStringSubmatch(branches)
	if scan == nil {
		t.Fatal("no branch has a scan")
	}
	containsAll(t, s.page("/scans/"+scan[1]), "main")
}

var rowsOfScan = regexp.MustCompile(`href="/orgs/acme/scans/(\d+)"`)

// TestEmptyProject checks that an empty project shows the next steps.
func TestEmptyProject(t *testing.T) {
	s := newSite(t)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.CreateProject(ctx, model.Project{Name: "acme/empty"})
		return err
	})
	page := s.page("/projects/" + first(s, "/projects", "/projects/"))
	shows(t, page, "[data-say=nothing-open]", `[data-say=no-lockfile] a[href="/orgs/acme/upload"]`, `[data-say=no-scan] a[href="/orgs/acme/start"]`)
	s.as(model.RoleViewer)
	if page = s.page("/projects/" + first(s, "/projects", "/projects/")); strings.Contains(page, `href="/orgs/acme/upload"`) {
		t.Error("the upload command is shown to a viewer")
	}
}
