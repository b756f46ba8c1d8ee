package pages

import (
	"context"
	"encoding/json"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/sbom"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

func TestProjects(t *testing.T) {
	s := demoSite(t)
	page := s.page("/projects")
	containsAll(t, page, "acme/payments", "platform/infra/terraform-modules", "team:platform")
	if strings.Index(page, "acme/web-shop") > strings.Index(page, "acme/gateway") {
		t.Error("the most severe is not first")
	}
	byName := s.page("/projects?sort=name")
	if strings.Index(byName, "acme/web-shop") < strings.Index(byName, "acme/gateway") {
		t.Error("not by name")
	}
	for query, want := range map[string]string{"?q=GATE": "acme/gateway", "?tag=pci": "acme/payments", "?silent=1": "acme/gateway"} {
		narrowed := s.page("/projects" + query)
		containsAll(t, narrowed, want)
		if strings.Contains(narrowed, "<b>acme/web-shop</b>") {
			t.Errorf("%s shows everything", query)
		}
	}
	shows(t, s.page("/projects?q=nothing"), "[data-say=no-project-fits]")
	containsAll(t, newSite(t).page("/projects"), "redoubt import --project")
	if a := s.get("/projects?page=x"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("a bad page: %d", a.StatusCode)
	}
}

// TestProjectCountsLinkToTheirRows checks that the counts of open findings of a project, by product
// and by branch, match the lists.
func TestProjectCountsLinkToTheirRows(t *testing.T) {
	s := demoSite(t)
	page := s.page("/projects/" + first(s, "/projects?q=payments", "/projects/"))
	containsAll(t, page, "acme/payments", "release/1.3", "requirements.txt")
	shows(t, page, `a[href="/orgs/acme/scans?project=acme%2fpayments"]`)
	parts := regexp.MustCompile(`<a class="(?:soft part|big)" href="([^"]+)"[^>]*>[^<0-9]*([0-9]+)`).FindAllStringSubmatch(page, -1)
	if len(parts) < 5 {
		t.Fatalf("only %d counts", len(parts))
	}
	for _, m := range parts {
		address := strings.TrimPrefix(html.UnescapeString(m[1]), "/orgs/acme")
		if got := total(t, s.page(address)); got != m[2] {
			t.Errorf("the project shows %s, %s shows %s", m[2], address, got)
		}
	}
	if a := s.get("/projects/99999999"); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown project: %d", a.StatusCode)
	}
}

func TestProjectSettings(t *testing.T) {
	s := demoSite(t)
	id := first(s, "/projects?q=gateway", "/projects/")
	if a := s.post("/projects/"+id, url.Values{}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager: %d", a.StatusCode)
	}
	s.as(model.RoleAdmin)
	page := s.follow("/projects/"+id, url.Values{"tags": {"edge, tier:1,edge"}, "primary": {"release/3.1"}, "visibility": {"private"}, "managed_full": {"on"}})
	shows(t, page, "[data-say=saved]", `input[name=tags][value="edge, tier:1"]`)
	if got := textAt(t, page, "[data-primary]"); got != "release/3.1" {
		t.Errorf("the primary branch is %q", got)
	}
	err := s.store.View(t.Context(), s.org.ID, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/gateway")
		if p.PrimaryBranch != "refs/heads/release/3.1" || !p.ManagedScan.Full || p.ManagedScan.Diff || p.Visibility != model.VisibilityPrivate {
			t.Errorf("stored: %+v", p)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if a := s.post("/projects/"+id, url.Values{"tags": {strings.Repeat("x", 65)}, "visibility": {"private"}}); a.StatusCode != http.StatusBadRequest || document(t, a.text).Find("[role=alert]").Length() == 0 {
		t.Errorf("a long tag: %d", a.StatusCode)
	}
}

// latestLink selects the link from a later page of a list to its first page.
const latestLink = ".pager .pages a:not([rel])"

func TestScans(t *testing.T) {
	s := demoSite(t)
	page := s.page("/scans")
	containsAll(t, page, "semgrep", "gitleaks", "acme/payments")
	shows(t, page, "[data-status=SCAN_STATUS_COMPLETED]")
	hides(t, page, latestLink)
	older, _ := document(t, page).Find(".pager a[rel=next]").Attr("href")
	shows(t, s.page(strings.TrimPrefix(older, "/orgs/acme")), latestLink)
	narrowed := s.page("/scans?project=acme/gateway&full=1&product=sast&status=completed&ref=main")
	containsAll(t, narrowed, "acme/gateway")
	if strings.Contains(narrowed, ">acme/payments<") {
		t.Error("other projects are shown")
	}
	for query, want := range map[string]int{"?status=odd": 400, "?product=dast": 400, "?after=x": 400} {
		if a := s.get("/scans" + query); a.StatusCode != want {
			t.Errorf("%s: %d, want %d", query, a.StatusCode, want)
		}
	}
}

// TestScanPageShowsItsResults checks that the counts of new and fixed findings of a scan match its
// page.
func TestScanPageShowsItsResults(t *testing.T) {
	s := demoSite(t)
	kinds := map[string]bool{}
	for _, m := range regexp.MustCompile(`/scans/(\d+)"`).FindAllStringSubmatch(s.page("/scans?project=acme/payments"), -1) {
		page := s.page("/scans/" + m[1])
		checkInline(t, page)
		for _, c := range regexp.MustCompile(`data-count="(new|fixed|moved|returned|removed)"[^>]*>(\d+)<`).FindAllStringSubmatch(page, -1) {
			listed := strings.Count(page, `<tr data-change="`+c[1]+`"`)
			if ui.Count(listed) != c[2] {
				t.Errorf("scan %s shows %s %s and lists %d", m[1], c[2], c[1], listed)
			}
			if listed > 0 {
				kinds[c[1]] = true
			}
		}
	}
	for _, kind := range []string{"new", "fixed", "moved"} {
		if !kinds[kind] {
			t.Errorf("no scan of the demo did %q", kind)
		}
	}
}

func TestRunningScansAreRefreshed(t *testing.T) {
	s := demoSite(t)
	var id int64
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.ProjectByName(ctx, "acme/payments")
		if err != nil {
			return err
		}
		id, err = tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep", StartedAt: s.clock.Now(), Status: model.ScanRunning, Unread: []string{"strange.lock"}})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	list, running := s.page("/scans"), s.page("/scans/"+ui.Decimal(id))
	shows(t, list, "[data-status=SCAN_STATUS_RUNNING][data-stage='0']", `[hx-trigger="every 2s"]`)
	shows(t, running, "[data-status=SCAN_STATUS_RUNNING][data-stage='0']", `[hx-trigger="every 2s"]`)
	containsAll(t, running, "strange.lock")
	containsAll(t, textAt(t, s.page("/supply-chain/dependencies"), "[data-say=unread]"), "strange.lock")
	s.clock.Advance(2 * time.Hour)
	page := s.page("/scans/" + ui.Decimal(id))
	shows(t, page, "[data-status=SCAN_STATUS_NEVER_FINISHED]")
	if strings.Contains(page, "hx-trigger") {
		t.Error("the page polls for a scan that never finished")
	}
}

func TestProjectsUsingPackage(t *testing.T) {
	s := demoSite(t)
	containsAll(t, s.page("/supply-chain/dependencies"), "package-lock.json", "npm", "MIT")
	page := s.page("/supply-chain/dependencies?name=LODASH")
	containsAll(t, page, "lodash", "acme/web-shop")
	rows := func(query string) int {
		return strings.Count(s.page("/supply-chain/dependencies"+query), "data-dependency")
	}
	all := rows("?name=requests&exact=1")
	for query, want := range map[string]int{
		"?name=requests&exact=1&ecosystem=pypi": all, "?name=requests&exact=1&ecosystem=npm": 0, "?name=requests&exact=1&upper=<1.0": 0,
		"?name=requests&exact=1&lower=1.0": all, "?name=reques&exact=1": 0, "?license=NO-SUCH": 0, "?project=acme/gateway&name=requests": 0,
	} {
		if got := rows(query); got != want {
			t.Errorf("%s: %d rows, want %d", query, got, want)
		}
	}
	if all == 0 {
		t.Error("requests has no users")
	}
	for _, query := range []string{"?name=x&lower=%3E%3E1", "?project=missing/none"} {
		if a := s.get("/supply-chain/dependencies" + query); a.StatusCode != http.StatusBadRequest || !strings.Contains(a.text, `role="alert"`) {
			t.Errorf("%s: %d", query, a.StatusCode)
		}
	}
	next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(s.page("/supply-chain/dependencies"))
	shows(t, s.page(strings.TrimPrefix(html.UnescapeString(next[1]), "/orgs/acme")), latestLink)
	containsAll(t, newSite(t).page("/supply-chain/dependencies"), "redoubt import --project")
}

func TestPolicyModes(t *testing.T) {
	s := demoSite(t)
	ofCode := `tr:has(a[href="/orgs/acme/policies/` + policyOf(s, "code") + `"]) `
	shows(t, s.page("/policies"), ofCode+"[data-default]", ofCode+"[data-everything]")
	id := first(s, "/policies", "/policies/")
	found := s.page("/policies/" + id + "?q=SQL-string")
	containsAll(t, found, "redoubt.python.sql-string-format")
	shows(t, found, "td[data-mode=block]")
	if page := s.page("/policies/" + id + "?mode=comment"); strings.Contains(page, "sql-string-format") {
		t.Error("a blocking rule among those that comment")
	}
	change := url.Values{"rule": {"redoubt.python.eval"}, "mode": {"block"}, "back": {"q=eval"}}
	if a := s.post("/policies/"+id+"/rules", change); a.StatusCode != http.StatusForbidden {
		t.Errorf("a triager: %d", a.StatusCode)
	}
	s.as(model.RoleAdmin)
	page := s.follow("/policies/"+id+"/rules", change)
	if rule := textAt(t, page, "[data-say=mode-set] code"); rule != "redoubt.python.eval" {
		t.Errorf("the mode of %q is shown as set", rule)
	}
	containsAll(t, page, `value="block" aria-pressed="true"`)
	containsAll(t, textAt(t, page, "[data-changed-by]"), "ada")
	filter := model.FindingFilter{IssueType: model.SAST, Rules: []string{"redoubt.python.eval"}, Modes: []model.PolicyMode{model.ModeBlock}}
	if s.View().Count(filter) == 0 {
		t.Error("the mode has no effect")
	}
	for _, bad := range []url.Values{{"rule": {"redoubt.python.eval"}, "mode": {"never"}}, {"rule": {"no such"}, "mode": {"block"}}} {
		if a := s.post("/policies/"+id+"/rules", bad); a.StatusCode < 400 {
			t.Errorf("%v: %d", bad, a.StatusCode)
		}
	}
}

func TestSBOMExportForm(t *testing.T) {
	s := demoSite(t)
	empty := s.page("/sbom")
	containsAll(t, empty, "CycloneDX 1.6 JSON", "SPDX 2.3 JSON", "OpenVEX 0.2.0 JSON", "acme/payments")
	shows(t, empty, "[data-say=no-exports]")
	project := first(s, "/projects?q=web-shop", "/projects/")
	waiting := s.follow("/sbom", url.Values{"format": {"SBOM_FORMAT_CYCLONEDX 1.6 json"}, "project": {project}})
	containsAll(t, textAt(t, waiting, "tr:has([data-say=being-made])"), "acme/web-shop")
	shows(t, waiting, `[hx-trigger="every 2s"]`)
	s.runSBOMJob()
	done := s.page("/sbom")
	m := regexp.MustCompile(`href="/orgs/acme(/sbom/[^"]+/download)"`).FindStringSubmatch(done)
	if m == nil {
		t.Fatalf("nothing to download:\n%s", done)
	}
	a := s.get(m[1])
	var document struct {
		BOMFormat  string
		Components []any
	}
	if err := json.Unmarshal([]byte(a.text), &document); err != nil || document.BOMFormat != "CycloneDX" || len(document.Components) < 100 {
		t.Errorf("downloaded %.80s: %v", a.text, err)
	}
	if !strings.HasPrefix(a.Header.Get("Content-Disposition"), "attachment") {
		t.Error("a browser would show it")
	}
	for _, bad := range []url.Values{{"format": {"x"}}, {"format": {"SBOM_FORMAT_CYCLONEDX 9.9 json"}}, {"format": {"SBOM_FORMAT_SPDX 2.3 xml"}}, {"format": {"SBOM_FORMAT_SPDX 2.3 json"}, "project": {"x"}}} {
		if a := s.post("/sbom", bad); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%v: %d", bad, a.StatusCode)
		}
	}
	if a := s.get("/sbom/task_none/download"); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown one: %d", a.StatusCode)
	}
}

// runSBOMJob runs the next SBOM job as the server does.
func (s *site) runSBOMJob() {
	s.t.Helper()
	job, err := storetest.Claim(s.t.Context(), s.store, time.Minute, "sbom")
	if err != nil || job == nil {
		s.t.Fatalf("no job: %v", err)
	}
	var request model.SBOMRequest
	if err := json.Unmarshal(job.Input, &request); err != nil {
		s.t.Fatal(err)
	}
	var text []byte
	var mediaType string
	err = s.store.View(s.t.Context(), job.DeploymentID, func(ctx context.Context, tx *store.Tx) (err error) {
		text, mediaType, err = sbom.Export(ctx, tx, request, sbom.Options{Created: s.clock.Now(), Tool: "test"})
		return err
	})
	if err == nil {
		err = s.store.FinishJob(s.t.Context(), *job, text, mediaType)
	}
	if err != nil {
		s.t.Fatal(err)
	}
}

// TestDependencyPages checks that the pages of the list contain each dependency once.
func TestDependencyPages(t *testing.T) {
	s := demoSite(t)
	want := 0
	err := s.store.View(t.Context(), s.org.ID, func(ctx context.Context, tx *store.Tx) error {
		list, more, err := tx.Dependencies(ctx, model.DependencyFilter{}, 0, 100_000)
		if want = len(list); more || want <= 200 {
			t.Fatalf("the demo has %d dependencies, and more: %v; three pages at least are needed", want, more)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	rows, path := 0, "/supply-chain/dependencies"
	for range want {
		page := s.page(path)
		rows += strings.Count(page, "data-dependency")
		next := regexp.MustCompile(`rel="next" href="([^"]+)"`).FindStringSubmatch(page)
		if next == nil {
			break
		}
		path = strings.TrimPrefix(html.UnescapeString(next[1]), "/orgs/acme")
	}
	if rows != want {
		t.Errorf("the pages list %d of %d dependencies", rows, want)
	}
}
