package pages

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// build applies a report and evaluates the gate, as the server does for builds.
func (s *site) build(u ingest.Upload) (sum ingest.Summary) {
	s.t.Helper()
	s.clock.Advance(1)
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		var judge *policy.Judge
		u.Before = func(ctx context.Context, project model.Project, scan model.Scan, seen []ingest.Sighting) error {
			given, err := policy.LoadEffectivePolicy(ctx, tx, project)
			if err != nil {
				return err
			}
			reported := make([]policy.Sighting, len(seen))
			for i := range seen {
				reported[i] = policy.Sighting{Finding: seen[i].Finding}
			}
			judge, err = given.Judge(ctx, tx, project, scan, reported)
			return err
		}
		var err error
		if sum, err = ingest.Apply(ctx, tx, exceptions.ForImport{Store: tx}, u); err != nil {
			return err
		}
		verdict, err := judge.Outcome(ctx, model.ScanApplied)
		if err != nil {
			return err
		}
		return tx.PutScanGate(ctx, sum.ScanID, verdict.Record())
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return sum
}

// branchReport returns a report of a branch with one finding for each rule.
func branchReport(s *site, ref string, full bool, rules ...string) ingest.Upload {
	r := &model.Report{Tool: "gosec", Products: model.Products(0).With(model.SAST), StartedAt: s.clock.Now()}
	for i, name := range rules {
		rule := &model.Rule{Name: name, Message: "Do not do **" + name + "**: " + hostile, IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceHigh}
		r.Rules = append(r.Rules, rule)
		r.Results = append(r.Results, model.Result{
			Item: "results[0]", Rule: rule, Path: "src/" + name + ".go", Location: model.Location{Line: i + 1}, Code: "do_" + name + "()",
			Message: rule.Message, Severity: model.SeverityHigh, Confidence: model.ConfidenceHigh,
		})
	}
	return ingest.Upload{Project: model.Project{Name: "acme/app"}, Ref: ref, Commit: "c" + strings.Join(rules, ""), Full: full, DeclaredFull: full, Report: r}
}

// setMode sets the mode of a rule in all policies that have it.
func (s *site) setMode(rule string, mode model.PolicyMode) {
	s.t.Helper()
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		for _, p := range policies {
			if p.Product == model.SAST {
				_, err = tx.SetRuleMode(ctx, p.ID, rule, mode)
			}
		}
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
}

// blocks selects the heading of a build with n blocking findings, and together the form that
// decides about all of them.
func blocks(n int) string { return fmt.Sprintf("h1[data-say=blocks][data-left='%d']", n) }

const together = `form[action$="/triage/preview"]`

// TestBlockingFindingsPage checks that the page about blocking findings reflects changed rules, decisions and
// primary branches without another scan.
func TestBlockingFindingsPage(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", false, "one", "two", "three")) // the rules are known after this scan
	s.setMode("one", model.ModeBlock)
	s.setMode("two", model.ModeBlock)
	page := "/scans/" + ui.Decimal(s.build(branchReport(s, "topic", false, "one", "two", "three")).ScanID) + "/blocking"
	if text := s.page(page); document(t, text).Find("[data-say=not-blocked]").Length() == 0 {
		// an identical upload returns the existing scan
		shows(t, text, blocks(2))
	}
	s.as(model.RoleAdmin)
	text := highlights.ReplaceAllString(s.page(page), "$1")
	shows(t, text, blocks(2), "[data-verdict=block]", "[data-by=rule]")
	for _, at := range []string{"h1", "[data-verdict]"} {
		if n := visibleNumbers(textAt(t, text, at)); n != "2" {
			t.Errorf("%s shows %s blocking findings", at, n)
		}
	}
	containsAll(t, text, "src/one.go:1", "do_one()")
	if n := document(t, text).Find(together + " [name=id]").Length(); n != 2 {
		t.Errorf("%d are offered for a common decision", n)
	}
	if strings.Contains(text, "src/three.go") {
		t.Error("a finding that does not block is on the page")
	}
	if strings.Contains(text, "<script>window") || strings.Contains(text, "<img") {
		t.Error("a scanner's text is not escaped on the page")
	}

	// One rule now blocks, and another no longer does.
	s.setMode("two", model.ModeMonitor)
	s.setMode("three", model.ModeBlock)
	text = s.page(page)
	shows(t, text, blocks(2), "[data-say=passes]", "[data-say=mode]", "[data-say=blocks-since]")
	containsAll(t, text, "src/three.go:3")

	// A joint decision returns to the page.
	form := url.Values{"pick": {"1"}, "type": {"sast"}, "back": {"/orgs/acme" + page}}
	for _, m := range regexp.MustCompile(`name="id" value="(\d+)"`).FindAllStringSubmatch(s.page(page), -1) {
		form.Add("id", m[1])
	}
	preview := s.post("/triage/preview", form)
	decision := url.Values{"state": {"ignored"}, "reason": {"acceptable_risk"}}
	for _, m := range regexp.MustCompile(`type="hidden" name="(\w+)" value="([^"]*)"`).FindAllStringSubmatch(preview.text, -1) {
		decision.Set(m[1], m[2])
	}
	done := s.post("/triage", decision)
	if to := done.Header.Get("Location"); !strings.HasPrefix(to, "/orgs/acme"+page+"?done=") {
		t.Fatalf("the decision redirects to %q: %s\n%s", to, done.text, preview.text)
	}
	text = s.page(page)
	shows(t, text, "[data-say=nothing-blocks]", "[data-verdict=pass][data-say=rerun-passes]")
	for _, why := range document(t, text).Find(".blocked dd[data-say=ignored]").EachIter() {
		containsAll(t, why.Text(), "ada", "Acceptable risk")
	}
	shows(t, text, ".blocked dd[data-say=ignored]")

	s.as(model.RoleViewer)
	if text := s.page(page); strings.Contains(text, "<textarea") {
		t.Error("the decision form is shown to a viewer")
	}
}

// TestBlockedBuildShowsApproversToViewer checks that viewers see whom to contact instead of
// decisions.
func TestBlockedBuildShowsApproversToViewer(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", false, "one", "two")) // the rules are known after this scan
	s.setMode("one", model.ModeBlock)
	s.setMode("two", model.ModeBlock)
	page := "/scans/" + ui.Decimal(s.build(branchReport(s, "topic", false, "one", "two")).ScanID) + "/blocking"
	const request, role, decide = "[data-say=fix-or-ask]", "[data-say=may-look-and-ask]", "[data-say=fix-or-decide]"
	const forms, states = `form[action^="/orgs/acme/triage"]`, "[name=state]"
	for _, c := range []struct {
		role         model.Role
		shows, hides []string
	}{
		{model.RoleViewer, []string{request, role}, []string{decide, together, states, forms}},
		{model.RoleTriager, []string{decide, together, states, forms}, []string{request, role}},
	} {
		s.as(c.role)
		text := s.page(page)
		shows(t, text, append(c.shows, blocks(2))...)
		hides(t, text, c.hides...)
	}
}

// TestBlockingFindingsOfRecordedScan checks that a scan that is only recorded fails its build,
// too. Its account contains only the blocking findings.
func TestBlockingFindingsOfRecordedScan(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", true, "one", "two"))
	s.setMode("one", model.ModeBlock)
	s.setMode("two", model.ModeBlock)
	s.build(branchReport(s, "topic", true, "old"))
	sum := s.build(branchReport(s, "topic", true, "one", "two"))
	if sum.Outcome != model.ScanSuperseded {
		t.Fatalf("the returned commit is %v", sum.Outcome)
	}
	page := "/scans/" + ui.Decimal(sum.ScanID) + "/blocking"
	shows(t, s.page(page), blocks(2), "[data-verdict=block]")
	containsAll(t, s.page(page), "src/one.go:1")
	s.setMode("one", model.ModeMonitor)
	shows(t, s.page(page), blocks(1), "dd[data-say=mode]")
	s.setMode("two", model.ModeMonitor)
	text := s.page(page)
	shows(t, text, "[data-say=nothing-blocks]", "[data-verdict=pass][data-say=failed-on-passes]")
	hides(t, text, "[data-say=rerun-passes]") // the other findings are unknown
}

// TestEachPassingFindingHasReason checks that each finding that no longer blocks has a reason, for many findings
// and for deleted ones.
func TestEachPassingFindingHasReason(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	rules := make([]string, 2*20)
	for i := range rules {
		rules[i] = "rule" + ui.Decimal(int64(i))
	}
	s.build(branchReport(s, "topic", true, rules...))
	for _, name := range rules {
		s.setMode(name, model.ModeBlock)
	}
	repeated := branchReport(s, "topic", true, rules...)
	repeated.Commit = "again"
	page := "/scans/" + ui.Decimal(s.build(repeated).ScanID) + "/blocking"
	shows(t, s.page(page), blocks(len(rules)))
	for _, name := range rules[1:] {
		s.setMode(name, model.ModeMonitor)
	}
	text := s.page(page)
	shows(t, text, blocks(1))
	if n := document(t, text).Find("dd[data-say=mode]").Length(); n != len(rules)-1 {
		t.Errorf("%d of %d have a pass reason", n, len(rules)-1)
	}
}

// TestBlockingPageOfPassingScan checks the page for scans that did not fail their build.
func TestBlockingPageOfPassingScan(t *testing.T) {
	s := newSite(t)
	passed := s.build(branchReport(s, "main", true, "old"))
	shows(t, s.page("/scans/"+ui.Decimal(passed.ScanID)+"/blocking"), "[data-say=not-blocked]", "[data-say=policies-pass]")
	var running int64
	err := s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		running, err = tx.AddScan(ctx, model.Scan{ProjectID: passed.ProjectID, Ref: "refs/heads/main", Source: "semgrep", StartedAt: tx.Now(), Status: model.ScanRunning, TotalTime: -1})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	shows(t, s.page("/scans/"+ui.Decimal(running)+"/blocking"), "[data-say=not-ended]")
	if a := s.get("/scans/999999/blocking"); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown scan returns %s", a.Status)
	}
}

// TestBlockingPageRedirectsToSignIn checks that a request without a session is redirected to the
// sign-in page and back.
func TestBlockingPageRedirectsToSignIn(t *testing.T) {
	s := newSite(t)
	s.viewer = nil
	a := s.get("/scans/7/blocking")
	if to := a.Header.Get("Location"); a.StatusCode != http.StatusSeeOther || to != "/login?next="+url.QueryEscape("/orgs/acme/scans/7/blocking") {
		t.Errorf("%s to %q", a.Status, to)
	}
}

// TestBlockingPageIsAccessible checks the page in both themes and on a small screen.
func TestBlockingPageIsAccessible(t *testing.T) {
	s := newSite(t)
	s.build(branchReport(s, "main", true, "old"))
	s.build(branchReport(s, "topic", false, "one", "two"))
	s.setMode("one", model.ModeBlock)
	s.setMode("two", model.ModeBlock)
	u := branchReport(s, "topic", false, "one", "two")
	u.Commit = "again"
	page := "/scans/" + ui.Decimal(s.build(u).ScanID) + "/blocking"
	s.setMode("two", model.ModeMonitor)
	shows(t, s.page(page), blocks(1), "[data-say=passes]")
	b := s.browse(390, 844)
	for _, page := range []string{page, strings.TrimSuffix(page, "/blocking") + "?show=reported"} {
		b.open(page)
		b.run(axe)
		for _, fault := range b.axe(allRules) {
			t.Errorf("%s: %s", page, fault)
		}
		b.run(`document.documentElement.dataset.theme = "dark"`)
		for _, fault := range b.axe(colourRules) {
			t.Errorf("%s, dark: %s", page, fault)
		}
		if wide := read[int](b, `document.documentElement.scrollWidth`); wide > read[int](b, `innerWidth`) {
			t.Errorf("%s is %d wide", page, wide)
		}
	}
}
