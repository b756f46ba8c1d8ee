package advisory_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
)

func dep(ecosystem, name, version string) model.MatchDependency {
	return model.MatchDependency{Ecosystem: ecosystem, Name: name, Version: version, Transitivity: model.Direct, Line: 7}
}

func match(t *testing.T, l *advisory.Library, s *shelf, scope *advisory.Scope) model.Advised {
	t.Helper()
	advised, err := l.Match(t.Context(), s, 1, "refs/heads/main", scope)
	if err != nil {
		t.Fatal(err)
	}
	return advised
}

// namedWeaknesses are the weaknesses of Log4Shell with their titles. Records contain only the
// numbers.
var namedWeaknesses = []string{
	"CWE-502: Deserialization of Untrusted Data",
	"CWE-917: Improper Neutralization of Special Elements used in an Expression Language Statement ('Expression Language Injection')",
}

func TestMatchFillsFindingFields(t *testing.T) {
	s := known(t)
	s.scores = map[string]model.EPSS{"CVE-2021-44228": {Score: 0.94, Percentile: 0.99}}
	s.holdings = []model.Holding{{Lockfile: "pom.xml", ScanID: 3, Commit: "abc", Dependencies: []model.MatchDependency{
		dep("maven", "org.apache.logging.log4j:log4j-core", "2.14.1"), dep("maven", "org.apache.logging.log4j:log4j-core", "2.13.0"),
		dep("npm", "left-pad-evil", "1.0.0"), dep("npm", "left-pad", "1.0.0"),
	}}}
	advised := match(t, advisory.NewLibrary(orders), s, nil)
	if len(advised.Matches) != 2 {
		t.Fatalf("%d matches", len(advised.Matches))
	}
	m := advised.Matches[0]
	want := model.Vulnerable{
		Ecosystem: "maven", Package: "org.apache.logging.log4j:log4j-core", Version: "2.13.0", Transitivity: model.Direct, Lockfile: "pom.xml", Line: 7,
		Vulnerability: "CVE-2021-44228", Reachability: model.ReachabilityUnknown, Group: m.Group,
		Fixes: []model.Fix{{Package: "org.apache.logging.log4j:log4j-core", Version: "2.15.0"}}, EPSS: &model.EPSS{Score: 0.94, Percentile: 0.99},
	}
	if diff := cmp.Diff(want, m.Dependency); diff != "" {
		t.Errorf("-want +got\n%s", diff)
	}
	if m.Severity != model.SeverityCritical || m.ScanID != 3 || m.Commit != "abc" || m.Rule.Name != "CVE-2021-44228" || !cmp.Equal(m.Rule.CWE, namedWeaknesses) ||
		m.Rule.Message != "Lookups in log messages run code from elsewhere" || m.Rule.IssueType != model.SCA ||
		m.Message != "org.apache.logging.log4j:log4j-core 2.13.0 is affected by CVE-2021-44228: Lookups in log messages run code from elsewhere" {
		t.Errorf("%+v %+v", m, *m.Rule)
	}
	evil := advised.Matches[1]
	if !evil.Dependency.Malicious || evil.Dependency.Reachability != model.AlwaysReachable || evil.Severity != model.SeverityCritical || evil.Dependency.Vulnerability != "MAL-2022-7421" {
		t.Errorf("%+v", evil)
	}
}

func TestMatchFindsTwinsAndHeldFindings(t *testing.T) {
	s := known(t)
	s.holdings = []model.Holding{{Lockfile: "a.json", Dependencies: []model.MatchDependency{
		dep("npm", "lodash", "4.17.20"), dep("nuget", "newtonsoft.json", "12.0.0"), dep("npm", "no-longer-advised", "1.0.0"),
	}}}
	about := func(id int64, source, lockfile, pkg, version, vulnerability string) model.Subject {
		return model.Subject{FindingID: id, Source: source, Lockfile: lockfile, Ecosystem: "npm", Package: pkg, Version: version, Vulnerability: vulnerability}
	}
	s.subjects = []model.Subject{
		about(1, "semgrep", "a.json", "lodash", "4.17.20", "ghsa-35jh-r3h4-6jhm"), about(2, "semgrep", "a.json", "lodash", "4.17.20", "CVE-2000-1"),
		about(3, "semgrep", "b.json", "lodash", "4.17.20", "CVE-2021-23337"), about(4, "semgrep", "a.json", "axios", "4.17.20", "CVE-2021-23337"),
		about(5, model.SourceAdvisories, "a.json", "lodash", "4.17.20", "CVE-2021-1"), about(6, model.SourceAdvisories, "a.json", "lodash", "4.17.19", "CVE-2021-1"),
		about(7, model.SourceAdvisories, "a.json", "axios", "1.0.0", "CVE-2021-1"),
		about(8, model.SourceAdvisories, "a.json", "no-longer-advised", "1.0.0", "CVE-2021-1"),
	}
	advised := match(t, advisory.NewLibrary(orders), s, nil)
	if len(advised.Matches) != 2 || len(advised.Twins[0]) != 1 || advised.Twins[0][0].FindingID != 1 || len(advised.Twins[1]) != 0 {
		t.Errorf("%+v", advised)
	}
	if diff := cmp.Diff(map[int64]bool{5: true, 6: false, 7: false, 8: true}, advised.InLockfile); diff != "" {
		t.Error(diff)
	}
	narrow := match(t, advisory.NewLibrary(orders), s, &advisory.Scope{Keys: map[string]bool{"npm/axios": true}})
	if diff := cmp.Diff(map[int64]bool{7: false}, narrow.InLockfile); diff != "" {
		t.Error(diff)
	}
}

func TestLibraryReadsOncePerVersion(t *testing.T) {
	s := known(t)
	s.holdings = []model.Holding{{Lockfile: "a.json", Dependencies: []model.MatchDependency{dep("npm", "lodash", "4.17.20"), dep("npm", "left-pad", "1.0.0")}}}
	l := advisory.NewLibrary(orders)
	for range 3 {
		match(t, l, s, nil)
	}
	if s.reads != 1 {
		t.Errorf("read %d times", s.reads)
	}
	s.groups, s.version = nil, 2
	if advised := match(t, l, s, nil); len(advised.Matches) != 0 || s.reads != 2 {
		t.Errorf("another version: %d matches, read %d times", len(advised.Matches), s.reads)
	}
}

func TestWithdrawnRecordsMatchNothing(t *testing.T) {
	live := stored(t, 1, `{"id":"OSV-1","aliases":["CVE-2024-1"],"affected":[{"package":{"ecosystem":"npm","name":"a"},"versions":["1.0.0"]}]}`)
	gone := stored(t, 2, `{"id":"GHSA-1","aliases":["CVE-2024-1"],"withdrawn":"2024-01-01T00:00:00Z","affected":[{"package":{"ecosystem":"npm","name":"a"},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}]}]}`)
	s := &shelf{version: 1, groups: []model.AdvisoryGroup{{ID: 1, Records: []model.Advisory{live, gone}}}}
	s.holdings = []model.Holding{{Lockfile: "l", Dependencies: []model.MatchDependency{dep("npm", "a", "2.0.0")}}}
	if advised := match(t, advisory.NewLibrary(orders), s, nil); len(advised.Matches) != 0 {
		t.Errorf("%+v", advised.Matches)
	}
	s.subjects = []model.Subject{{FindingID: 5, Source: model.SourceAdvisories, Lockfile: "l", Ecosystem: "npm", Package: "a", Version: "2.0.0", Group: 1}}
	if advised := match(t, advisory.NewLibrary(orders), s, nil); advised.Withdrawn[5] || !advised.InLockfile[5] {
		t.Errorf("one record is live: %+v", advised)
	}
	s.groups = append(s.groups, model.AdvisoryGroup{ID: 2, Former: []int64{3}, Records: []model.Advisory{gone}})
	for group, withdrawn := range map[int64]bool{1: false, 2: true, 3: true} {
		s.subjects[0].Group = group
		if advised := match(t, advisory.NewLibrary(orders), s, nil); len(advised.Matches) != 0 || advised.Withdrawn[5] != withdrawn || !advised.InLockfile[5] {
			t.Errorf("group %d: %+v", group, advised)
		}
	}
	s.holdings[0].Dependencies[0].Version = "1.0.0"
	if advised := match(t, advisory.NewLibrary(orders), s, nil); len(advised.Matches) != 1 {
		t.Errorf("%+v", advised.Matches)
	}
}

func TestMatchWithoutAdvisories(t *testing.T) {
	s := &shelf{holdings: []model.Holding{{Lockfile: "l", Dependencies: []model.MatchDependency{dep("npm", "a", "1.0.0")}}}}
	if advised := match(t, advisory.NewLibrary(orders), s, nil); len(advised.Matches) != 0 || len(advised.Lockfiles) != 1 {
		t.Errorf("%+v", advised)
	}
}
