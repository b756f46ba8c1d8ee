package ingest

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
)

// told is an upload of a tool about npm packages, as "a.lock lodash@1 CVE-1", as a full scan.
func told(tool string, started time.Time, said ...string) Upload {
	rep := &redoubt.Report{Tool: tool, Products: redoubt.Products(0).With(redoubt.SCA), StartedAt: started}
	for _, s := range said {
		var lock, pkg, vulnerability string
		fmt.Sscan(s, &lock, &pkg, &vulnerability)
		name, version, _ := strings.Cut(pkg, "@")
		rule := &redoubt.Rule{Name: vulnerability, IssueType: redoubt.SCA, Severity: redoubt.SeverityHigh, Confidence: redoubt.ConfidenceMedium}
		rep.Results = append(rep.Results, redoubt.Result{Rule: rule, Path: lock, Message: "m", Dependency: &redoubt.Vulnerable{
			Ecosystem: "npm", Package: name, Version: version, Lockfile: lock, Vulnerability: vulnerability,
		}})
	}
	return Upload{Project: redoubt.Project{Name: "acme/payments"}, Ref: "main", Full: true, DeclaredFull: true, Report: rep}
}

// subjectsOf lists the findings that are not removed: source, package, name, state.
func subjectsOf(m *memory) string {
	var list []string
	for _, f := range m.rows {
		if f.State != redoubt.StateRemoved {
			list = append(list, fmt.Sprintf("%s %s@%s %s %v", f.Source, f.Package, f.Subject.Version, f.Subject.Vulnerability, f.State))
		}
	}
	slices.Sort(list)
	return strings.Join(list, "; ")
}

// TestOurOwnBillsMakeNoSecondFinding follows what a bill of materials of ours
// says again of what another source says.
func TestOurOwnBillsMakeNoSecondFinding(t *testing.T) {
	type step struct {
		tool, at string // document's time in minutes; the present without
		said     []string
	}
	const lodash = "a.lock lodash@1 CVE-1"
	for _, test := range []struct {
		what  string
		steps []step
		want  string
	}{
		{"told by a live finding", []step{{"trivy", "", []string{lodash}}, {"redoubt", "", []string{lodash}}}, "trivy lodash@1 CVE-1 unresolved"},
		{"told under an alias", []step{{"trivy", "", []string{lodash}}, {"redoubt", "", []string{"a.lock lodash@1 GHSA-1"}}}, "trivy lodash@1 CVE-1 unresolved"},
		{"a scanner is no echo", []step{{"trivy", "", []string{lodash}}, {"grype", "", []string{lodash}}}, "grype lodash@1 CVE-1 unresolved; trivy lodash@1 CVE-1 unresolved"},
		{"another lockfile", []step{{"trivy", "", []string{lodash}}, {"redoubt", "", []string{"b.lock lodash@1 CVE-1"}}}, "redoubt lodash@1 CVE-1 unresolved; trivy lodash@1 CVE-1 unresolved"},
		{"another version", []step{{"trivy", "", []string{lodash}}, {"redoubt", "", []string{"a.lock lodash@2 CVE-1"}}}, "redoubt lodash@2 CVE-1 unresolved; trivy lodash@1 CVE-1 unresolved"},
		{"another vulnerability", []step{{"trivy", "", []string{lodash}}, {"redoubt", "", []string{"a.lock lodash@1 CVE-2"}}}, "redoubt lodash@1 CVE-2 unresolved; trivy lodash@1 CVE-1 unresolved"},
		{"the scanner fixes what it told", []step{{"trivy", "", []string{lodash}}, {"redoubt", "", []string{lodash}}, {"trivy", "", nil}}, "trivy lodash@1 CVE-1 fixed"},
		{"an older document revives nothing", []step{{"trivy", "", []string{lodash}}, {"trivy", "", nil}, {"redoubt", "1", []string{lodash}}}, "trivy lodash@1 CVE-1 fixed"},
		{"a newer document does", []step{{"trivy", "", []string{lodash}}, {"trivy", "", nil}, {"redoubt", "", []string{lodash}}}, "redoubt lodash@1 CVE-1 unresolved; trivy lodash@1 CVE-1 fixed"},
		{
			"known before a scanner told it",
			[]step{{"redoubt", "", []string{lodash}}, {"trivy", "", []string{lodash}}, {"redoubt", "", []string{lodash, "a.lock b@1 CVE-3"}}},
			"redoubt b@1 CVE-3 unresolved; trivy lodash@1 CVE-1 unresolved",
		},
		{
			"its own stays, though a scanner fixed it since",
			[]step{{"redoubt", "", []string{lodash}}, {"trivy", "", []string{lodash}}, {"trivy", "", nil}, {"redoubt", "2", []string{lodash, "a.lock b@1 CVE-3"}}},
			"redoubt b@1 CVE-3 unresolved; redoubt lodash@1 CVE-1 unresolved; trivy lodash@1 CVE-1 fixed",
		},
	} {
		t.Run(test.what, func(t *testing.T) {
			m := newMemory()
			m.groups = map[string]int64{"CVE-1": 1, "GHSA-1": 1, "CVE-2": 2}
			start := m.clock
			for _, s := range test.steps {
				var at time.Time
				if s.at != "" {
					var minutes int
					fmt.Sscan(s.at, &minutes)
					at = start.Add(time.Duration(minutes) * time.Minute)
				}
				apply(t, m, told(s.tool, at, s.said...))
			}
			if got := subjectsOf(m); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

// TestAnEchoIsOneLineage has what people decided about a finding of ours go on
// when it is removed as an echo, and the removal say of what.
func TestAnEchoIsOneLineage(t *testing.T) {
	m := newMemory()
	m.groups = map[string]int64{"CVE-1": 1, "GHSA-1": 1}
	apply(t, m, told("redoubt", time.Time{}, "a.lock lodash@1 GHSA-1"))
	for _, l := range m.lineages {
		l.Triage = redoubt.Triage{State: redoubt.TriageIgnored, Comment: "no"}
	}
	apply(t, m, told("trivy", time.Time{}, "a.lock lodash@1 CVE-1"))
	sum := apply(t, m, told("redoubt", time.Time{}, "a.lock lodash@1 GHSA-1", "a.lock b@1 CVE-3"))
	if sum.Removed != 1 || sum.New != 1 || sum.Unchanged != 1 {
		t.Errorf("%+v", sum)
	}
	for _, f := range m.rows {
		if l := m.lineages[f.LineageID]; f.Package == "lodash" && l.Triage.State != redoubt.TriageIgnored {
			t.Errorf("%s %v: %+v", f.Source, f.State, l.Triage)
		}
	}
	if e := m.events[len(m.events)-2]; e.Kind != redoubt.EventRemoved || !strings.Contains(e.Detail, "which trivy reports") {
		t.Errorf("%+v", e)
	}
	if e := m.events[len(m.events)-1]; e.Kind != redoubt.EventMerged || m.rows[e.FindingID].Source != "trivy" {
		t.Errorf("what stays does not tell that it took one in: %+v", e)
	}
	if sum := apply(t, m, told("redoubt", time.Time{}, "a.lock lodash@1 GHSA-1")); sum.Unchanged != 1 || sum.Removed+sum.New != 0 || sum.Closed != 1 {
		t.Errorf("%+v", sum)
	}
}
