package pages

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// change runs fn in a transaction of the deployment.
func (s *site) change(fn func(context.Context, *store.Tx) error) {
	s.t.Helper()
	if err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, fn); err != nil {
		s.t.Fatal(err)
	}
}

// TestScanCountsLinkToTheirRows checks that each count of a scan links to exactly its rows.
func TestScanCountsLinkToTheirRows(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "stays", "goes", "moves", "falls silent"))
	s.clock.Advance(time.Hour)
	u := branchReport(s, "main", true, "stays", "moves", "comes", "falls silent", "comes too")
	u.Report.Results[1].Path = "elsewhere/src/moves.go"
	u.Report.Results[3].Muted = true
	u.Commit = "second"
	scan := "/scans/" + ui.Decimal(s.build(u).ScanID)
	text := s.page(scan)
	numbers := map[string]int{}
	for _, m := range regexp.MustCompile(`<a href="([^"#]+)#rows" data-count="(\w+)"[^>]*>(\d+)<`).FindAllStringSubmatch(text, -1) {
		n, err := strconv.Atoi(m[3])
		if err != nil {
			t.Fatal(err)
		}
		numbers[m[2]] = n
		opened := s.page(strings.TrimPrefix(html.UnescapeString(m[1]), "/orgs/acme"))
		if got := scanTotal(t, opened); got != n {
			t.Errorf("%s shows %d and links to %d rows", m[2], n, got)
		}
		if rows := strings.Count(opened, `<td><a href="/orgs/acme/findings/`); rows != n {
			t.Errorf("%s shows %d but lists %d rows", m[2], n, rows)
		}
	}
	want := map[string]int{"new": 2, "fixed": 1, "moved": 1, "muted": 1, "returned": 0, "removed": 0, "unmuted": 0, "reported": 4}
	for key, n := range want {
		if got, found := numbers[key]; got != n || !found {
			t.Errorf("%s: %d, want %d", key, got, n)
		}
	}
	if a := s.get(scan + "?show=nothing"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an unknown count returns %s", a.Status)
	}
}

// scanTotal returns the total on a page of a scan.
func scanTotal(t *testing.T, page string) int {
	t.Helper()
	m := regexp.MustCompile(`data-total="(\d+)"`).FindStringSubmatch(page)
	if m == nil {
		t.Fatalf("the page shows no total:\n%s", page)
	}
	n, err := strconv.Atoi(m[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestSkippedFilesOfScan checks that files that a scan skipped are listed with the reason.
func TestSkippedFilesOfScan(t *testing.T) {
	s := newSite(t)
	u := branchReport(s, "main", true, "one")
	u.Unread = []string{"uv.lock"}
	u.Report.Skipped = []string{"vendor/big.js", "slow.py", "gone/by.py"}
	u.Report.Gaps = []model.ScanGap{
		{Kind: model.GapPath, What: "vendor/big.js", Why: "exceeded size limit"},
		{Kind: model.GapTimeout, What: "slow.py", Rule: "taint-x", Why: "Timeout"},
		{Kind: model.GapRule, What: "never-ran", Why: "in a policy of the project, but not run"},
	}
	u.Report.Refused = []model.Refusal{{Item: "results[9]", Reason: "has no rule"}}
	u.Report.MoreRefused = 12_000
	page := s.page("/scans/" + ui.Decimal(s.build(u).ScanID))
	containsAll(t, textAt(t, page, "[data-say=first-gaps]"), "12 006")
	for kind, named := range map[string][]string{
		model.GapLockfile: {"uv.lock"}, model.GapPath: {"vendor/big.js", "exceeded size limit", "gone/by.py"}, model.GapTimeout: {"slow.py", "taint-x"},
		model.GapRule: {"never-ran"}, model.GapItem: {"results[9]", "has no rule"},
	} {
		containsAll(t, textAt(t, page, "[data-gap="+kind+"]"), named...)
	}
}

// TestRunningScanPage checks the steps and the failure reason of a running scan, and that its page
// stops polling after the end.
func TestRunningScanPage(t *testing.T) {
	s := newSite(t)
	project := s.build(branchReport(s, "main", true, "one")).ProjectID
	var scan model.Scan
	s.change(func(ctx context.Context, tx *store.Tx) (err error) {
		scan = model.Scan{ProjectID: project, Ref: "refs/heads/main", Source: "semgrep", StartedAt: tx.Now(), Full: true, Status: model.ScanRunning, TotalTime: -1}
		if scan.ID, err = tx.AddScan(ctx, scan); err != nil {
			return err
		}
		return tx.AddAgentScan(ctx, model.AgentScan{UniqueID: "u", ScanID: scan.ID, Begun: []byte("{}")})
	})
	page := "/scans/" + ui.Decimal(scan.ID)
	checkStage := func(word string, polls bool) {
		t.Helper()
		one, list := s.page(page), s.page("/scans")
		shows(t, one, "h1 "+word)
		shows(t, list, "tr "+word)
		if strings.Contains(one, `hx-trigger="every`) != polls {
			t.Errorf("%s: the scan's page polls: %v", word, !polls)
		}
		if strings.Contains(list, `hx-trigger="every 2s"`) != polls {
			t.Errorf("%s: the list polls often: %v", word, !polls)
		}
	}
	checkStage(".tag.accent[data-stage='0']", true)
	s.change(func(ctx context.Context, tx *store.Tx) error { return tx.StoreAgentReport(ctx, "u", []byte("{}")) })
	checkStage(".tag.accent[data-stage='1']", true)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		return tx.QueueAgentScan(ctx, "u", []byte("{}"), model.Job{Kind: "scan", Token: "scan:u", Input: []byte("{}")})
	})
	checkStage(".tag.accent[data-stage='2']", true)
	const others, own, unknown = "[data-say=others]", "[data-say=own]", "#rows [data-say=not-known-yet]"
	running := s.page(page)
	shows(t, running, unknown)
	hides(t, running, others, own) // not counted while the scan runs, as its page polls
	shows(t, s.page(page+"?show=new"), unknown)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		scan.Status, scan.CompletedAt, scan.ExitCode, scan.Error = model.ScanError, tx.Now(), 2, "the results could not be stored: the disk is full"
		return tx.FinishScan(ctx, scan)
	})
	checkStage(".tag.bad[data-status=SCAN_STATUS_ERROR]", false)
	containsAll(t, s.page(page), "the results could not be stored: the disk is full")
	shows(t, s.page(page), others, own)
	hides(t, s.page(page), unknown)
}

// TestScanPageUpdatesWhileRunning checks that an open page follows the scan to its end, and then stops
// polling.
func TestScanPageUpdatesWhileRunning(t *testing.T) {
	s := newSite(t)
	u := branchReport(s, "main", true, "one")
	s.build(u)
	var scan model.Scan
	s.change(func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, "acme/app")
		if err != nil {
			return err
		}
		scan = model.Scan{ProjectID: project.ID, Ref: "refs/heads/main", Source: "gosec", StartedAt: tx.Now(), Full: true, Status: model.ScanRunning, TotalTime: -1}
		scan.ID, err = tx.AddScan(ctx, scan)
		return err
	})
	b := s.browse(1280, 800)
	b.open("/scans/" + ui.Decimal(scan.ID))
	b.until(`document.querySelector(".steps li:first-child.now")`)
	s.clock.Advance(time.Minute)
	next := branchReport(s, "main", true, "one", "two")
	next.Begun = &scan
	s.change(func(ctx context.Context, tx *store.Tx) error {
		_, err := ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, next)
		return err
	})
	b.until(`document.querySelector("[data-count=new]")?.textContent.startsWith("1") && !document.querySelector("[hx-trigger]") && document.querySelector("h1 [data-status=SCAN_STATUS_COMPLETED]")`)
}

// TestScansAreFoundByPartialName checks that scans are found by a part of the project's name.
func TestScansAreFoundByPartialName(t *testing.T) {
	s := demoSite(t)
	rows := func(query string) int {
		return strings.Count(s.page("/scans?project="+query), `href="/orgs/acme/scans/`)
	}
	exact := rows("acme%2Fpayments")
	if exact == 0 || rows("acme%2Fpay") != exact || rows("PAYMENTS") != exact {
		t.Errorf("%d scans by name, %d and %d by parts of it", exact, rows("acme%2Fpay"), rows("PAYMENTS"))
	}
	if all := rows("acme"); all <= exact {
		t.Errorf("all of acme have %d", all)
	}
	containsAll(t, textAt(t, s.page("/scans?project=missing%2Fno"), "[data-say=no-such-project]"), "missing/no")
}

// TestScansOfProjectsWithGlobCharacters checks project names that contain glob characters.
func TestScansOfProjectsWithGlobCharacters(t *testing.T) {
	s := newSite(t)
	names := []string{"acme/*", "acme/a", "acme/[a]", "acme/**", "acme/?", "acme/%", "acme/a_b"}
	for _, name := range names {
		s.change(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.CreateProject(ctx, model.Project{Name: name})
			if err != nil {
				return err
			}
			_, err = tx.AddScan(ctx, model.Scan{ProjectID: p.ID, Ref: "refs/heads/main", Source: "semgrep", StartedAt: s.clock.Now(), Status: model.ScanError})
			return err
		})
	}
	for _, name := range names {
		page := s.page("/scans?project=" + url.QueryEscape(name))
		if got := strings.Count(page, `href="/orgs/acme/scans/`); got != 1 || !strings.Contains(page, ">"+html.EscapeString(name)+"</a>") {
			t.Errorf("%d scans of %s", got, name)
		}
	}
}
