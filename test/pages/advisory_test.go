package pages

import (
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// rowsOf returns the names in a list of advisories, in order.
func rowsOf(page string) (names []string) {
	for _, part := range strings.Split(page, "<tr><td><a href=\"/orgs/acme/advisories/")[1:] {
		name, _, _ := strings.Cut(part, `"`)
		names = append(names, name)
	}
	return names
}

func TestAffectingAdvisoriesAreListedFirst(t *testing.T) {
	s := advisedSite(t)
	page := s.page("/advisories")
	checkInline(t, page)
	if got := strings.Join(rowsOf(page), " "); got != "CVE-2021-23337 CVE-2022-24999 GHSA-0000-0000-0000" {
		t.Errorf("listed %s", got)
	}
	containsAll(t, page, "Trouble with lodash", "npm/lodash", "42")
	shows(t, page, "[data-say=exploited]", "[data-projects='1']", "option[value=npm][data-count='3']", "option[value=high][data-count='1']", "[name=here][data-count='2']", "[name=kev][data-count='1']")
	for query, want := range map[string]string{
		"q=ghsa-35jh": "CVE-2021-23337", "q=LEFT-pad": "GHSA-0000-0000-0000", "q=trouble+qs": "CVE-2022-24999", "q=npm%2Flodash": "CVE-2021-23337",
		"severity=low": "GHSA-0000-0000-0000", "kev=1": "CVE-2021-23337", "here=1": "CVE-2021-23337 CVE-2022-24999", "ecosystem=pypi": "",
		"ecosystem=npm&severity=medium": "CVE-2022-24999", "q=no+such": "", "malicious=1": "", "page=7": "",
	} {
		if got := strings.Join(rowsOf(s.page("/advisories?"+query)), " "); got != want {
			t.Errorf("%s lists %q, want %q", query, got, want)
		}
	}
	for _, bad := range []string{"severity=worst", "page=x"} {
		if a := s.get("/advisories?" + bad); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d", bad, a.StatusCode)
		}
	}
	containsAll(t, newSite(t).page("/advisories"), "redoubt advisories update")
}

// TestDependencyPathOfPackage checks that a finding and the page of a package show how it is included.
func TestDependencyPathOfPackage(t *testing.T) {
	s := advisedSite(t)
	path := func(page string) string {
		found := document(t, page).Find(".way")
		found.Find(".hidden-text").Remove()
		return strings.Join(strings.Fields(found.Text()), " ")
	}
	finding := func(name string) string {
		return s.page("/findings/" + rowID(s, "/supply-chain/vulnerabilities?q="+name))
	}
	const direct, others = "[data-say=direct]", "[data-others='1']"
	page := finding("qs")
	if got := path(page); got != "acme/shop → express 4.18.0 → qs 6.5.0" {
		t.Errorf("the path is %s", got)
	}
	shows(t, page, others)
	hides(t, page, direct)
	page = finding("lodash")
	if got := path(page); got != "acme/shop → lodash 4.17.20" {
		t.Errorf("the path is %s", got)
	}
	shows(t, page, direct)
	hides(t, page, others)
	containsAll(t, path(s.page("/supply-chain/dependencies?name=qs&exact=1&ecosystem=npm")), "acme/shop → express 4.18.0 → qs 6.5.0")
	// A lockfile that only differs in its dependency graph is stored again.
	s.clock.Advance(time.Hour)
	s.lockfile("acme/shop", "main", "package-lock.json", strings.Replace(shopLock, `"body-parser":"1.20.0","qs":"6.5.0"`, `"body-parser":"1.20.0"`, 1))
	containsAll(t, path(s.page("/supply-chain/dependencies?name=qs&exact=1")), "acme/shop → express 4.18.0 → body-parser 1.20.0 → qs 6.5.0")
}

// TestAdvisoriesUpdateAfterChanges checks that the list reflects changed advisories and findings.
func TestAdvisoriesUpdateAfterChanges(t *testing.T) {
	s := advisedSite(t)
	s.page("/advisories")
	s.clock.Advance(time.Hour)
	s.lockfile("acme/shop", "main", "package-lock.json", strings.ReplaceAll(shopLock, "4.17.20", "4.17.21"))
	s.lockfile("acme/shop", "release/1", "package-lock.json", strings.ReplaceAll(shopLock, "4.17.20", "4.17.21"))
	withdrawn := osv("GHSA-0000-0000-0000", "left-pad", "1.3.1", "LOW")
	withdrawn["withdrawn"], withdrawn["modified"] = "2024-01-01T00:00:00Z", "2024-01-01T00:00:00Z"
	s.advise(withdrawn, osv("MAL-2024-1", "evil", "9.0.0", ""))
	s.rematch()
	page := s.page("/advisories")
	if got := strings.Join(rowsOf(page), " "); got != "CVE-2022-24999 GHSA-0000-0000-0000 MAL-2024-1 CVE-2021-23337" {
		t.Errorf("listed %s", got)
	}
	shows(t, page, "[data-say=withdrawn]", "[data-say=malicious]", "[name=malicious][data-count='1']", "[name=here][data-count='1']")
}

func TestAdvisoryListsAffectedProjects(t *testing.T) {
	s := advisedSite(t)
	page := s.page("/advisories/CVE-2021-23337")
	checkInline(t, page)
	containsAll(t, page, "Trouble with lodash", "<strong>lodash</strong>", "GHSA-35jh-r3h4-6jhm", "CWE-1321", "https://example.org/GHSA-35jh-r3h4-6jhm",
		"acme/shop", "release/1", "package-lock.json:6", "lodash 4.17.20", "42")
	shows(t, page, "[data-say=ransomware]", "[data-published='2021-02-15']", "[data-how=direct]")
	if due := textAt(t, page, "[data-kev-due]"); due != storetest.Epoch.AddDate(0, 0, 21).Format(time.DateOnly) {
		t.Errorf("it is due by %s", due)
	}
	containsAll(t, textAt(t, page, "[data-affected]"), "4.17.21")
	if links := countLinks(t, page); !slices.ContainsFunc(links, func(l countLink) bool { return l.of == "open" && l.n == 1 }) {
		t.Errorf("the page counts %v", links)
	}
	if strings.Count(page, `<td><a href="/orgs/acme/findings/`) != 2 {
		t.Error("not every ref is named")
	}
	if a := s.get("/advisories/ghsa-35jh-r3h4-6jhm?all=1"); a.Header.Get("Location") != "/orgs/acme/advisories/CVE-2021-23337" {
		t.Errorf("an alias: %d to %q", a.StatusCode, a.Header.Get("Location"))
	}
	hides(t, page, "[data-say=none-affected]")
	other := s.page("/advisories/GHSA-0000-0000-0000")
	shows(t, other, "[data-say=none-affected]")
	containsAll(t, other, "left-pad")
	if a := s.get("/advisories/CVE-1999-0001"); a.StatusCode != http.StatusNotFound {
		t.Errorf("unknown: %d", a.StatusCode)
	}
	// The finding links to its advisory, and the advisory to its findings.
	finding := s.page("/findings/" + rowID(s, "/supply-chain/vulnerabilities?q=lodash"))
	shows(t, finding, `a[href="/orgs/acme/advisories/CVE-2021-23337"]`, "[data-say=exploited]")
	if got := total(t, s.page("/supply-chain/vulnerabilities?advisory=ghsa-35jh-r3h4-6jhm")); got != "1" {
		t.Errorf("%s findings of the advisory", got)
	}
}

func TestHostileAdvisoryIsEscaped(t *testing.T) {
	s := newSite(t)
	bad := osv(`X-"><script>alert(1)</script>`, `<img src=x onerror=alert(1)>`, "2", "HIGH")
	bad["summary"], bad["details"] = "<script>alert(2)</script>", "[click](javascript:alert(3)) <iframe>"
	bad["references"] = []object{{"type": "WEB", "url": "javascript:alert(4)"}, {"type": "WEB", "url": "https://example.org/\"><script>"}}
	s.advise(bad)
	list := s.page("/advisories")
	names := rowsOf(list)
	if len(names) != 1 {
		t.Fatalf("listed: %q", names)
	}
	page := s.page("/advisories/" + names[0])
	for _, text := range []string{list, page} {
		if strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") || strings.Contains(text, "<iframe") || strings.Contains(text, `href="javascript`) {
			t.Errorf("hostile text is not escaped:\n%s", text)
		}
	}
}

func TestStaleAdvisoriesShowWarning(t *testing.T) {
	s := advisedSite(t)
	put := func(at time.Time, problem string) {
		source := model.AdvisorySource{Location: "https://osv.example/npm/all.zip", Kind: "osv", LoadedAt: at, CheckedAt: at, Records: 3, Error: problem}
		if err := s.store.PutAdvisorySource(t.Context(), source); err != nil {
			t.Fatal(err)
		}
	}
	const warning = "[data-say=stale]"
	put(s.clock.Now().Add(-time.Hour), "")
	for _, path := range []string{"/advisories", "/advisories/CVE-2021-23337", "/overview"} {
		hides(t, s.page(path), warning)
	}
	shows(t, s.page("/advisories"), `#sources td[title="https://osv.example/npm/all.zip"]`)
	if name := textAt(t, s.page("/advisories"), `td[title="https://osv.example/npm/all.zip"]`); name != "npm" {
		t.Errorf("current data is labeled %q", name)
	}
	for _, old := range []func(){func() { put(s.clock.Now().Add(-49*time.Hour), "") }, func() { put(s.clock.Now(), "no route to host") }} {
		old()
		for _, path := range []string{"/advisories", "/advisories/CVE-2021-23337", "/overview"} {
			page := s.page(path)
			shows(t, page, warning)
			containsAll(t, page, "redoubt advisories update")
		}
	}
	containsAll(t, s.page("/advisories"), "no route to host")
	shows(t, s.page("/advisories"), "#sources [data-say=stale-source]")
}

// TestSourcesAreListedWithoutCredentials checks that the pages that list sources show neither the
// password nor the signature in a source's address.
func TestSourcesAreListedWithoutCredentials(t *testing.T) {
	s := advisedSite(t)
	source := model.AdvisorySource{Location: "https://reader:opensesame@osv.example/npm/all.zip?sig=s1gned#frag", Kind: "osv", LoadedAt: s.clock.Now(), Error: "gone"}
	if err := s.store.PutAdvisorySource(t.Context(), source); err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"/advisories", "/advisories/CVE-2021-23337", "/overview"} {
		page := s.page(path)
		for _, secret := range []string{"reader", "opensesame", "s1gned"} {
			if strings.Contains(page, secret) {
				t.Errorf("%s shows %q", path, secret)
			}
		}
	}
	containsAll(t, s.page("/advisories"), `title="https://osv.example/npm/all.zip"`)
}

// TestOpenFindingsOfOtherBranchesAreCounted checks that findings that are only open on other branches
// are counted and found.
func TestOpenFindingsOfOtherBranchesAreCounted(t *testing.T) {
	s := advisedSite(t)
	s.clock.Advance(time.Hour)
	s.lockfile("acme/shop", "main", "package-lock.json", strings.ReplaceAll(shopLock, "4.17.20", "4.17.21"))
	s.rematch()
	everywhere := model.FindingFilter{IssueType: model.SCA, Statuses: []model.Status{model.StatusOpen}, Packages: []string{"lodash"}}
	each := everywhere
	each.Dedup = true
	if s.View().Count(everywhere) != 1 || s.View().Count(each) != 0 {
		t.Fatalf("the API counts %d and %d", s.View().Count(everywhere), s.View().Count(each))
	}
	list := s.page("/advisories?here=1")
	if got := strings.Join(rowsOf(list), " "); got != "CVE-2021-23337 CVE-2022-24999" {
		t.Errorf("listed %s", got)
	}
	const address = "/supply-chain/vulnerabilities?advisory=CVE-2021-23337&amp;branch=every"
	shows(t, list, "[name=here][data-count='2']")
	want := countLink{"/orgs/acme" + strings.ReplaceAll(address, "&amp;", "&"), "elsewhere", 1}
	for _, page := range []string{list, s.page("/advisories/CVE-2021-23337")} {
		if links := countLinks(t, page); !slices.Contains(links, want) {
			t.Errorf("findings of other branches are not counted: %v", links)
		}
	}
	if got := total(t, s.page(strings.ReplaceAll(address, "&amp;", "&"))); got != "1" {
		t.Errorf("%s are listed there", got)
	}
	links := countLinks(t, s.page("/supply-chain/vulnerabilities?q=lodash"))
	if len(links) != 1 || links[0].of != "elsewhere" || links[0].n != 1 || !strings.HasSuffix(links[0].address, "branch=every&q=lodash") {
		t.Errorf("the empty list links to %v", links)
	}
	hides(t, s.page("/supply-chain/vulnerabilities?q=no-such"), "[data-count=elsewhere]")
}

// TestUnratedAdvisoryIsMarked checks that an unrated vulnerability is not shown as medium.
func TestUnratedAdvisoryIsMarked(t *testing.T) {
	s := advisedSite(t)
	s.advise(osv("GHSA-1111-1111-1111", "unknown-pad", "2.0.0", ""))
	for path, unrated := range map[string]bool{
		"/advisories?q=unknown-pad": true, "/advisories/GHSA-1111-1111-1111": true, "/advisories?q=qs": false, "/advisories/CVE-2022-24999": false,
	} {
		checkUnrated(t, s, unrated, path)
	}
	s.lockfile("acme/pad", "main", "package-lock.json", strings.ReplaceAll(strings.ReplaceAll(shopLock, "lodash", "unknown-pad"), "4.17.20", "1.0.0"))
	s.rematch()
	for name, unrated := range map[string]bool{"GHSA-1111-1111-1111": true, "CVE-2022-24999": false} {
		list := "/supply-chain/vulnerabilities?advisory=" + name
		checkUnrated(t, s, unrated, "/findings/"+rowID(s, list), list, "/policies/"+policyOf(s, "supply-chain")+"?q="+name)
	}
	options := regexp.MustCompile(`<option value="(low|medium|high|critical|not_rated)" data-count="(\d+)"`).FindAllStringSubmatch(s.page("/advisories"), -1)
	if len(options) != 5 {
		t.Fatalf("the severity options are %v", options)
	}
	for _, o := range options {
		page := s.page("/advisories?severity=" + o[1])
		listed := rowsOf(page)
		if strconv.Itoa(len(listed)) != o[2] || slices.Contains(listed, "GHSA-1111-1111-1111") != (o[1] == "not_rated") {
			t.Errorf("%s shows %s but lists %v", o[1], o[2], listed)
		}
		if tags := document(t, page).Find("span.tag." + o[1] + ", [data-say=not-rated]").Length(); tags != len(listed) {
			t.Errorf("%s lists %d, of which %d are marked", o[1], len(listed), tags)
		}
	}
}

// TestRuleSeverityComesFromAdvisories checks that a rule without a rating has the severity of its
// findings in the databases, under any name of the vulnerability.
func TestRuleSeverityComesFromAdvisories(t *testing.T) {
	s := advisedSite(t)
	s.advise(osv("GHSA-1111-1111-1111", "unknown-pad", "2.0.0", ""))
	for name, pkg := range map[string]string{"GHSA-1111-1111-1111": "unknown-pad@1.0.0", "GHSA-hrpp-h998-j3pp": "qs@6.5.0"} {
		s.lockfile("acme/"+strings.ToLower(name), "main", "bom.json", strings.NewReplacer("NAME", name, "PACKAGE", pkg).Replace(
			`{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","bom-ref":"a","name":"x","version":"1","purl":"pkg:npm/PACKAGE"}],
			"vulnerabilities":[{"id":"NAME","affects":[{"ref":"a"}]}]}`))
	}
	policy := "/policies/" + policyOf(s, "supply-chain")
	checkUnrated(t, s, true, policy+"?q=GHSA-1111-1111-1111")
	checkUnrated(t, s, false, policy+"?q=GHSA-hrpp-h998-j3pp")
}

// TestUnratedFindingsAreCounted checks that counts by severity include the number of unrated medium
// findings, with a link to them.
func TestUnratedFindingsAreCounted(t *testing.T) {
	s := advisedSite(t)
	const list = "/supply-chain/vulnerabilities"
	pages := []string{"/overview", "/projects/" + first(s, "/projects", "/projects/")}
	for _, page := range pages {
		lacks(t, s.page(page), "not_rated")
	}
	rated := total(t, s.page(list))
	s.advise(osv("GHSA-1111-1111-1111", "lodash", "5.0.0", ""))
	s.rematch()
	for _, page := range pages {
		links := countLinks(t, s.page(page))
		at := slices.IndexFunc(links, func(l countLink) bool { return l.of == "not_rated" })
		if at < 0 || links[at].n != 1 || s.total(t, links[at]) != 1 {
			t.Errorf("%s lists unrated findings: %v", page, links)
		}
	}
	for query, want := range map[string]string{"?severity_unrated=true": "1", "?severity_unrated=true&severities=medium": "1", "?severity_unrated=true&severities=high": "0", "?severity_unrated=false": rated} {
		if got := total(t, s.page(list+query)); got != want {
			t.Errorf("%s: %s findings, want %s", query, got, want)
		}
	}
	shows(t, s.page(list), "[data-say=not-rated]", "[data-value=true] .take[href*='severity_unrated=true']", "[data-value=false] .take[href*='severity_unrated=false']")
	if a := s.get(list + "?severity_unrated=perhaps"); a.StatusCode != http.StatusBadRequest {
		t.Errorf("an invalid value returns %d", a.StatusCode)
	}
}

// checkUnrated checks whether pages with one severity show it as unrated.
func checkUnrated(t *testing.T, s *site, unrated bool, paths ...string) {
	t.Helper()
	for _, path := range paths {
		page := s.page(path)
		d := document(t, page)
		if (d.Find("[data-say=not-rated]").Length() > 0) != unrated || (d.Find("span.tag.medium").Length() > 0) == unrated {
			t.Errorf("%s does not mark %v as not rated", path, unrated)
		}
	}
}

// TestUnratedFindingsAreMarked checks lists and the pages of findings, scans and policies.
// They mark findings without a rating by the scanner, but not those that only the scanner rates.
func TestUnratedFindingsAreMarked(t *testing.T) {
	for _, unrated := range []bool{true, false} {
		s := newSite(t)
		s.advise(osv("GHSA-1111-1111-1111", "left", "2.0.0", ""))
		report := func(ref string, full bool, name string) ingest.Upload {
			u := supplyReport(s, "acme/shop", nil, ref, full, name)
			r := &u.Report.Results[0]
			r.Severity, r.Dependency.Unrated, r.Dependency.Vulnerability = model.SeverityMedium, unrated, "GHSA-1111-1111-1111"
			u.Report.Rules[0].Severity, u.Report.Rules[0].Unrated = model.SeverityMedium, unrated
			return u
		}
		s.build(report("main", true, "old"))
		s.setConditions(model.PolicyCondition{Mode: model.ModeBlock, Severity: model.SeverityMedium})
		scan := "/scans/" + ui.Decimal(s.build(report("topic", false, "left")).ScanID)
		list := "/supply-chain/vulnerabilities?q=left"
		id := rowID(s, list)
		if _, err := strconv.ParseInt(id, 10, 64); err != nil {
			t.Fatal(err)
		}
		checkUnrated(t, s, unrated, list, "/findings/"+id, scan, scan+"?show=reported", scan+"/blocking", "/policies/"+policyOf(s, "supply-chain")+"?q=left")
	}
}

// TestDependenciesCountTheirOwnVersion checks that each dependency counts the open findings of its
// version in its project, as the API returns them.
func TestDependenciesCountTheirOwnVersion(t *testing.T) {
	s := advisedSite(t)
	s.lockfile("acme/fixed", "main", "package-lock.json", strings.ReplaceAll(shopLock, "4.17.20", "4.17.21"))
	s.rematch()
	rows := regexp.MustCompile(`(?s)<td class="mono">([0-9.]+)</td><td><a href="[^"]*">([^<]+)</a>.*?<td class="num">(.*?)</td></tr>`).FindAllStringSubmatch(s.page("/supply-chain/dependencies?name=lodash&exact=1"), -1)
	got := map[string]string{}
	for _, m := range rows {
		got[m[2]+" "+m[1]] = regexp.MustCompile(`<[^>]*>`).ReplaceAllString(m[3], "")
	}
	if len(got) != 2 || got["acme/shop 4.17.20"] != "1" || got["acme/fixed 4.17.21"] != "0" {
		t.Errorf("the page counts %v", got)
	}
	page, err := s.View().Page(t.Context(), model.FindingFilter{IssueType: model.SCA, Primary: true, Statuses: []model.Status{model.StatusOpen}, Packages: []string{"lodash"}}, 0, 10)
	if err != nil {
		t.Fatal(err)
	}
	all, err := component.ShownFindings(page)
	if err != nil || len(all) != 1 || all[0].FoundDependency.Version != "4.17.20" || all[0].Repository.Name != "acme/shop" {
		t.Errorf("the API has %+v, %v", all, err)
	}
}

// TestCountLinksToVersion checks that the count of a version links to its findings.
func TestCountLinksToVersion(t *testing.T) {
	s := advisedSite(t)
	at := regexp.MustCompile(`<a class="tag high" href="([^"]+)">1</a>`).FindStringSubmatch(s.page("/supply-chain/dependencies?name=lodash&exact=1"))
	if at == nil {
		t.Fatal("no count has a link")
	}
	here := strings.TrimPrefix(html.UnescapeString(at[1]), "/orgs/acme")
	if got := total(t, s.page(here)); got != "1" {
		t.Errorf("%s lists %s findings", here, got)
	}
	if other := strings.Replace(here, "4.17.20", "4.17.19", 1); other == here || total(t, s.page(other)) != "0" {
		t.Errorf("of another version %s lists findings too", other)
	}
}

// TestMergedFindingRedirects checks that the page of a merged finding links to the remaining one.
func TestMergedFindingRedirects(t *testing.T) {
	s := advisedSite(t)
	s.advise(osv("GHSA-9999-9999-9999", "lodash", "4.17.21", "HIGH"))
	var ids []string
	for _, name := range []string{"CVE-2021-23337", "GHSA-9999-9999-9999"} {
		ids = append(ids, rowID(s, "/supply-chain/vulnerabilities?advisory="+name))
	}
	s.advise(osv("GHSA-9999-9999-9999", "lodash", "4.17.21", "HIGH", "GHSA-35jh-r3h4-6jhm"))
	shows(t, s.page("/findings/"+ids[1]), `[data-say=merged] a[href="/orgs/acme/findings/`+ids[0]+`"]`)
	page := s.page("/findings/" + ids[0])
	hides(t, page, "[data-say=merged]") // the remaining finding
	shows(t, page, `.history .merged a[href="/orgs/acme/findings/`+ids[1]+`"]`)
}
