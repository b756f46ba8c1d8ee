package advisory_test

import (
	"fmt"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/model"
)

// advised returns a shelf with records about the packages a and b, of two CVEs each.
func advised(t *testing.T) *shelf {
	t.Helper()
	record := func(id int64, name, pkg string, cves string) model.AdvisoryGroup {
		return model.AdvisoryGroup{ID: id, Records: []model.Advisory{stored(t, id, fmt.Sprintf(
			`{"id":%q,"aliases":[%s],"affected":[{"package":{"ecosystem":"npm","name":%q},"ranges":[{"type":"SEMVER","events":[{"introduced":"0"}]}]}]}`, name, cves, pkg))}}
	}
	return &shelf{version: 1, groups: []model.AdvisoryGroup{
		record(1, "GHSA-a", "a", `"CVE-2024-0009","CVE-2024-0002"`), record(2, "GHSA-b", "b", `"CVE-2024-0001"`),
	}, holdings: []model.Holding{{Lockfile: "l", Dependencies: []model.MatchDependency{dep("npm", "b", "1.0.0"), dep("npm", "a", "1.0.0"), dep("npm", "b", "1.1.0")}}, {Lockfile: "m", Dependencies: []model.MatchDependency{dep("npm", "a", "2.0.0")}}}}
}

// TestMatchReadsOnlyRequiredPackages checks that each value is read once, and only for the required
// packages.
func TestMatchReadsOnlyRequiredPackages(t *testing.T) {
	s := advised(t)
	s.scores = map[string]model.EPSS{"CVE-2024-0002": {Score: 0.5}, "CVE-2024-0009": {Score: 0.25}}
	out := match(t, advisory.NewLibrary(orders), s, nil)
	var got []string
	for _, m := range out.Matches {
		score := "none"
		if m.Dependency.EPSS != nil {
			score = fmt.Sprint(m.Dependency.EPSS.Score)
		}
		got = append(got, fmt.Sprint(m.Dependency.Lockfile, " ", m.Dependency.Package, " ", m.Dependency.Version, " ", score))
	}
	if want := []string{"l a 1.0.0 0.5", "l b 1.0.0 none", "m a 2.0.0 0.5"}; !slices.Equal(got, want) {
		t.Errorf("%v, want %v", got, want)
	}
	if want := []string{"CVE-2024-0001", "CVE-2024-0002", "CVE-2024-0009"}; !slices.Equal(s.scored, want) {
		t.Errorf("asked for the scores of %v", s.scored)
	}
	if want := []string{"npm/b", "npm/a"}; !slices.Equal(s.wanted, want) {
		t.Errorf("asked for the records of %v", s.wanted)
	}
	if s.packages != nil {
		t.Errorf("without a scope it asks for the packages %v", s.packages)
	}
	match(t, advisory.NewLibrary(orders), s, &advisory.Scope{IDs: []int64{4, 7}})
	if !slices.Equal(s.packages, []int64{4, 7}) {
		t.Errorf("with a scope it asks for the packages %v", s.packages)
	}
	if match(t, advisory.NewLibrary(orders), s, &advisory.Scope{}); s.packages == nil {
		t.Error("with a scope of nothing it asks for all packages")
	}
}

// TestHighestScoreIsUsed checks that the highest score is used, regardless of the order of CVEs.
func TestHighestScoreIsUsed(t *testing.T) {
	for _, scores := range []map[string]model.EPSS{
		{"CVE-2024-0002": {Score: 0.5}, "CVE-2024-0009": {Score: 0.25}},
		{"CVE-2024-0002": {Score: 0.25}, "CVE-2024-0009": {Score: 0.5}},
		{"CVE-2024-0002": {Score: 0.5}},
		{"CVE-2024-0009": {Score: 0.5}},
		{"CVE-2024-0002": {Score: 0.5, Percentile: 0.1}, "CVE-2024-0009": {Score: 0.5, Percentile: 0.1}},
	} {
		s := advised(t)
		s.scores = scores
		out := match(t, advisory.NewLibrary(orders), s, nil)
		if score := out.Matches[0].Dependency.EPSS; score == nil || score.Score != 0.5 {
			t.Errorf("of %v it is %+v", scores, score)
		}
	}
}

// TestTwinsAreScannerFindings checks that twins are findings of scanners that report the same
// vulnerability.
func TestTwinsAreScannerFindings(t *testing.T) {
	s := advised(t)
	about := func(id int64, source, vulnerability string) model.Subject {
		return model.Subject{FindingID: id, Source: source, Lockfile: "l", Ecosystem: "npm", Package: "a", Version: "1.0.0", Vulnerability: vulnerability}
	}
	s.subjects = []model.Subject{about(1, "semgrep", "CVE-2024-0009"), about(2, model.SourceAdvisories, "CVE-2024-0009"), about(3, "semgrep", ""), about(4, "trivy", "cve-2024-0002")}
	out := match(t, advisory.NewLibrary(orders), s, nil)
	var ids []int64
	for _, twin := range out.Twins[0] {
		ids = append(ids, twin.FindingID)
	}
	if !slices.Equal(ids, []int64{1, 4}) || len(out.Twins[1]) != 0 {
		t.Errorf("twins are %v and %v", ids, out.Twins[1])
	}
}
