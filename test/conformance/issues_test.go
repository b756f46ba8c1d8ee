package conformance

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// testIssues compares the search of assistants with the list: the same findings in the same order,
// in another format.
func testIssues(t *testing.T, w *world) {
	const path = "/api/agent/deployments/acme/issues/v2"
	code := mapped(w.code, func(f codeRow) api.FindingCore { return f.FindingCore })
	supply := mapped(w.supply, func(f supplyRow) api.FindingCore { return f.FindingCore })
	newestFirst := func(a, b api.FindingCore) int {
		if n := b.RelevantSince.Compare(a.RelevantSince.Time); n != 0 {
			return n
		}
		return int(b.ID - a.ID)
	}
	for _, c := range []struct {
		issueType string
		filter    object
		rows      []api.FindingCore
		matches   func(api.FindingCore) bool
	}{
		{"ISSUE_TYPE_SAST", object{}, code, func(api.FindingCore) bool { return true }},
		{"ISSUE_TYPE_SCA", object{}, supply, func(api.FindingCore) bool { return true }},
		{"ISSUE_TYPE_SAST", object{"status": []string{"ISSUE_TAB_OPEN"}, "repositoryNames": []string{"ACME/payments"}, "on_primary_branch": true}, code, func(f api.FindingCore) bool {
			return f.Status == "open" && f.Repository.Name == "acme/payments" && w.isPrimary(f.Repository.Name, f.Ref)
		}},
		{"ISSUE_TYPE_SAST", object{"severities": []string{"SEVERITY_HIGH", "SEVERITY_CRITICAL"}, "confidences": []string{"CONFIDENCE_HIGH"}}, code, func(f api.FindingCore) bool {
			return (f.Severity == "high" || f.Severity == "critical") && f.Confidence == "high"
		}},
		{"ISSUE_TYPE_SCA", object{"confidences": []string{"CONFIDENCE_HIGH"}, "status": []string{"ISSUE_TAB_CLOSED", "ISSUE_TAB_IGNORED"}}, supply, func(f api.FindingCore) bool {
			return f.Status == "fixed" || f.Status == "ignored"
		}},
		{"ISSUE_TYPE_SAST", object{"refs": []string{"main", "feature/x", "refs/heads/main"}}, code, func(f api.FindingCore) bool {
			return f.Ref == "refs/heads/main" || f.Ref == "refs/heads/feature/x"
		}},
	} {
		want := filterSlice(c.rows, c.matches)
		slices.SortFunc(want, newestFirst)
		all := post[api.SearchIssuesResponse](t, w.site, path, object{"deploymentId": itoa(w.deployment.ID), "issueType": c.issueType, "filter": c.filter, "limit": 1000})
		if all.HasMore || all.Total != int64(len(want)) {
			t.Errorf("%v: %d in all, more %t; want %d", c.filter, all.Total, all.HasMore, len(want))
		}
		got := all.Issues
		if len(got) != len(want) || len(want) == 0 {
			t.Errorf("%v: %d findings, want %d", c.filter, len(got), len(want))
			continue
		}
		for i, entry := range got {
			f, issue := want[i], entry.Issue
			project := issue.Repository
			if issue.ID != f.ID || issue.Severity != "SEVERITY_"+strings.ToUpper(f.Severity) || issue.FilePath != f.Location.FilePath || issue.Line != f.Location.Line ||
				issue.RulePath != f.RuleName || issue.MatchBasedID != f.MatchBasedID || issue.IssueType != c.issueType || issue.Status == "" || issue.LineOfCodeURL == "" ||
				project.Name != f.Repository.Name || !w.isPrimary(project.Name, project.PrimaryRef.Ref) || w.projectID(project.Name) != project.ID {
				t.Errorf("%v: %+v, want %+v", c.filter, issue, f)
			}
		}
		few := post[api.SearchIssuesResponse](t, w.site, path, object{"issueType": c.issueType, "filter": c.filter, "limit": 1})
		if len(few.Issues) != 1 || few.Issues[0].Issue.ID != want[0].ID || few.HasMore != (len(want) > 1) || few.Total != int64(len(want)) {
			t.Errorf("%v: the first is %+v, want %d of %d", c.filter, few, want[0].ID, len(want))
		}
	}
	for _, entry := range read[api.SearchIssuesResponse](t, w.send(t, request{method: "POST", path: path, token: w.globbed, body: object{"limit": 1000}})).Issues {
		if !strings.HasPrefix(entry.Issue.Repository.Name, "group/") {
			t.Errorf("a bound token sees %+v", entry.Issue)
		}
	}
	for bad, body := range map[string]object{
		"body.limit": {"limit": 1001}, "body.issueType": {"issueType": "sast"}, "body.filter.severities[0]": {"filter": object{"severities": []string{"high"}}}, "body.filter.repos": {"filter": object{"repos": []string{"x"}}},
	} {
		invalid(t, w.send(t, request{method: "POST", path: path, body: body}), bad)
	}
}

// testVulns reads the older list of supply-chain findings, by cursors and by pages, and compares it
// with the list.
func testVulns(t *testing.T, w *world) {
	byID := map[string]supplyRow{}
	for _, f := range w.supply {
		byID[itoa(f.ID)] = f
	}
	for _, c := range []struct {
		body    object
		matches func(supplyRow) bool
	}{
		{object{}, func(supplyRow) bool { return true }},
		{object{"exposure": []string{"REACHABLE", "UNKNOWN_EXPOSURE"}}, func(f supplyRow) bool { return f.Reachability == "reachable" || f.Reachability == "unknown" }},
		{object{"severities": []string{"HIGH"}, "statuses": []string{"NEW"}}, func(f supplyRow) bool { return f.Severity == "high" && f.Status == "open" }},
		{object{"refs": []string{"_default"}, "statuses": []string{"IGNORED", "FIXED", "TRIAGED", "IN_PROGRESS"}}, func(f supplyRow) bool { return f.Status != "open" && w.isPrimary(f.Repository.Name, f.Ref) }},
	} {
		want := len(filterSlice(w.supply, c.matches))
		seen := map[string]bool{}
		for cursor, pages := any(nil), 0; ; pages++ {
			body := object{"pageSize": 7, "cursor": cursor}
			if cursor == nil {
				delete(body, "cursor")
			}
			maps.Copy(body, c.body)
			got := post[api.ListVulnsResponse](t, w.site, "ssc-vulns", body)
			for _, v := range got.Vulns {
				f, known := byID[v.GroupKey]
				if seen[v.GroupKey] || !known || !c.matches(f) {
					t.Errorf("%v: %+v, a second time: %t", c.body, v, seen[v.GroupKey])
				}
				seen[v.GroupKey] = true
				checkVuln(t, f, v)
			}
			delete(body, "cursor")
			body["page"] = pages
			if diff := cmp.Diff(got, post[api.ListVulnsResponse](t, w.site, "ssc-vulns", body)); diff != "" {
				t.Errorf("page %d (-by cursor +by page):\n%s", pages, diff)
			}
			if got.HasMore != (got.Cursor != nil) || pages > want {
				t.Fatalf("%v: %t, %v", c.body, got.HasMore, got.Cursor)
			}
			if !got.HasMore {
				break
			}
			cursor = got.Cursor
		}
		if len(seen) != want || want == 0 {
			t.Errorf("%v: %d findings, want %d", c.body, len(seen), want)
		}
	}
	invalid(t, w.send(t, request{method: "POST", path: "ssc-vulns", body: object{"pageSize": 7, "cursor": object{"vulnOffset": 3}}}), "body.cursor.vulnOffset")
	large := object{"vulnOffset": "0", "issueOffset": int64(1<<53 + 1)}
	invalid(t, w.send(t, request{method: "POST", path: "ssc-vulns", body: object{"cursor": large}}), "body.cursor.issueOffset")
}

func checkVuln(t *testing.T, f supplyRow, v api.Vuln) {
	t.Helper()
	d := f.FoundDependency
	if v.RepositoryName != f.Repository.Name || v.Ref != f.Ref || v.Advisory.RuleID != f.RuleName || v.Advisory.Severity != strings.ToUpper(f.Severity) ||
		v.MatchedDependency != (api.VulnPackage{Name: d.Package, VersionSpecifier: d.Version}) || v.DependencyFileLocation.Path != f.Location.FilePath ||
		v.DependencyFileLocation.URL == "" || v.Triage.Status == "" || len(v.Usages) > 0 != (f.Usage != nil) || (v.ClosestSafeDependency == nil) != (len(f.FixRecommendations) == 0) ||
		!strings.HasPrefix(v.ExposureType, strings.ToUpper(f.Reachability)) || !strings.HasPrefix(v.Transitivity, strings.ToUpper(d.Transitivity)) {
		t.Errorf("%+v, of %+v", v, f)
	}
	if id := f.VulnerabilityIdentifier; (id != nil) != (len(v.Advisory.References.CVEIDs) == 1) || id != nil && *id != v.Advisory.References.CVEIDs[0] {
		t.Errorf("%v, of %v", v.Advisory.References, id)
	}
}

// isPrimary reports whether a ref is the primary branch of a project.
func (w *world) isPrimary(project, ref string) bool {
	return slices.ContainsFunc(w.projects, func(p api.Project) bool { return p.Name == project && p.PrimaryBranch == ref })
}
