package conformance

import (
	"fmt"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// testProjectPages checks that projects are paged by name, pages beyond the end are empty, and
// lists contain no managed scans.
func testProjectPages(t *testing.T, w *world) {
	names := func(projects []api.Project) []string {
		return mapped(projects, func(p api.Project) string { return p.Name })
	}
	want := slices.Clone(worldProjects)
	slices.Sort(want)
	if got := names(w.projects); !slices.Equal(got, want) {
		t.Errorf("projects are %v, want %v", got, want)
	}
	for _, size := range []int64{1, 5, 12, 3000} {
		got := names(all(t, w.api().Projects(t.Context(), w.deployment.Slug, api.ProjectsQuery{PageSize: size})))
		if !slices.Equal(got, want) {
			t.Errorf("by %d: %v, want %v", size, got, want)
		}
	}
	for _, p := range w.projects {
		if p.ManagedScanConfig != nil || p.LatestScanAt == nil || p.DefaultBranch != "refs/heads/main" || p.URL == "" {
			t.Errorf("listed is %+v", p)
		}
	}
	for _, query := range []string{"page=1", "page=4294967295&page_size=4294967295", "page=99&page_size=1"} {
		if body := strings.TrimSpace(string(w.send(t, request{method: "GET", path: "projects?" + query}).body)); body != `{"projects":[]}` {
			t.Errorf("%s answers %s", query, body)
		}
	}
	for query, bad := range map[string]string{"page=-1": "query.page", "page_size=-1": "query.page_size", "page=x": "query.page", "page_size=1.5": "query.page_size"} {
		invalid(t, w.send(t, request{method: "GET", path: "projects?" + query}), bad)
	}
}

// testProjectNames checks that a name may be sent raw or with %2F, with any characters.
func testProjectNames(t *testing.T, w *world) {
	for _, p := range w.projects {
		parts := mapped(strings.Split(p.Name, "/"), url.PathEscape)
		for _, spelling := range []string{strings.Join(parts, "/"), strings.Join(parts, "%2F"), strings.Join(parts, "%2f")} {
			got := get[api.ProjectResponse](t, w.site, "projects/"+spelling).Project
			if got.ManagedScanConfig == nil || got.ManagedScanStatus == nil {
				t.Errorf("%s shows no managed scans", spelling)
			}
			got.ManagedScanConfig, got.ManagedScanStatus = nil, nil
			if diff := cmp.Diff(p, got); diff != "" {
				t.Errorf("%s (-listed +got):\n%s", spelling, diff)
			}
		}
	}
	for _, name := range []string{"acme", "acme/none", "acme/payments/more", "ACME/payments", "acme/..", "acme%2F%2Fpayments", "acme%252Fpayments"} {
		refused(t, w.send(t, request{method: "GET", path: "projects/" + name}), 404, api.CodeNotFound)
	}
}

func TestProjects(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		t.Run("tags", func(t *testing.T) { testTags(t, s) })
		t.Run("primary branch", func(t *testing.T) { testPrimaryBranch(t, s) })
		t.Run("managed scans", func(t *testing.T) { testManagedScans(t, s) })
		t.Run("refusals", func(t *testing.T) { testProjectRefusals(t, s) })
		t.Run("create and delete", func(t *testing.T) { testProjectLifecycle(t, s) })
	})
}

const payments = "projects/acme/payments"

func testTags(t *testing.T, s *site) {
	ten := strings.Split("a,b,c,d,e,f,g,h,i,"+strings.Repeat("ü", 64), ",")
	for _, c := range []struct {
		sent any
		want []string
	}{
		{[]string{"b", "a"}, []string{"b", "a"}},
		{" x , y,,x ", []string{"x", "y"}},
		{[]string{" x ", "x", ""}, []string{"x"}},
		{"one", []string{"one"}},
		{ten, ten},
		{[]string{}, []string{}},
		{"", []string{}},
	} {
		got := patch[api.ProjectResponse](t, s, payments, object{"tags": c.sent}).Project.Tags
		if !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(c.want))) {
			t.Errorf("tags %q become %q, want %q", c.sent, got, c.want)
		}
		if stored := get[api.ProjectResponse](t, s, payments).Project.Tags; !slices.Equal(stored, got) {
			t.Errorf("tags read %q after %q was answered", stored, got)
		}
	}
	for _, sent := range []any{append(ten, "k"), strings.Repeat("x", 65), "a,b,c,d,e,f,g,h,i,j,k"} {
		invalid(t, s.send(t, request{method: "PATCH", path: payments, body: object{"tags": sent}}), "body.tags")
	}
	invalid(t, s.send(t, request{method: "PATCH", path: payments, body: object{"tags": 7}}), "body.tags")
}

func testPrimaryBranch(t *testing.T, s *site) {
	for _, c := range [][2]string{
		{"develop", "refs/heads/develop"}, {"refs/heads/release/1", "refs/heads/release/1"}, {"release/2", "refs/heads/release/2"}, {"None", "refs/heads/main"},
	} {
		p := patch[api.ProjectResponse](t, s, payments, object{"primary_branch": c[0]}).Project
		if p.PrimaryBranch != c[1] || p.DefaultBranch != "refs/heads/main" {
			t.Errorf("with %s the primary branch is %s, with default %s", c[0], p.PrimaryBranch, p.DefaultBranch)
		}
	}
	// The primary branch determines the occurrence that dedup selects, at once.
	shown := func() map[string]int {
		refs := map[string]int{}
		for _, f := range s.findings(t, url.Values{"dedup": {"true"}}).SASTFindings.Findings {
			refs[f.Ref]++
		}
		return refs
	}
	before := shown()
	patch[api.ProjectResponse](t, s, payments, object{"primary_branch": "feature/x"})
	if after := shown(); before["refs/heads/feature/x"] != 0 || after["refs/heads/feature/x"] != 2 {
		t.Errorf("dedup shows %v, and with another primary branch %v", before, after)
	}
	patch[api.ProjectResponse](t, s, payments, object{"primary_branch": "None"})
	invalid(t, s.send(t, request{method: "PATCH", path: payments, body: object{"primary_branch": "refs/pull/1/merge"}}), "body.primary_branch")
}

// testManagedScans changes the switches through both operations, and checks that a project may be
// named managed-scan (docs/reference/addressing.md).
func testManagedScans(t *testing.T, s *site) {
	on, off := object{"enabled": true}, object{"enabled": false}
	state := func(p api.Project) string {
		return fmt.Sprint(p.ManagedScanConfig.DiffScan.Enabled, p.ManagedScanConfig.FullScan.Enabled)
	}
	for _, step := range []struct {
		path string
		body object
		want string
	}{
		{payments + "/managed-scan", object{"diff_scan": on}, "true false"},
		{payments + "/managed-scan", object{"full_scan": on}, "true true"},
		{payments + "/managed-scan", object{}, "true true"},
		{payments + "/managed-scan", object{"diff_scan": object{}}, "true true"},
		{payments + "/managed-scan", object{"diff_scan": object{}, "full_scan": object{}}, "true true"},
		{payments, object{"managed_scan_config": object{"full_scan": object{}}}, "true true"},
		{payments, object{"managed_scan_config": object{"diff_scan": off}}, "false true"},
		{"projects/acme%2Fpayments/managed-scan", object{"diff_scan": on, "full_scan": off, "projectName": "acme/payments", "deploymentSlug": "acme"}, "true false"},
	} {
		if got := state(patch[api.ProjectResponse](t, s, step.path, step.body).Project); got != step.want {
			t.Errorf("after %v got %s, want %s", step.body, got, step.want)
		}
	}
	post[api.ProjectResponse](t, s, "projects", object{"name": "acme/managed-scan"})
	p := patch[api.ProjectResponse](t, s, "projects/acme/managed-scan", object{"tags": "named"}).Project
	if p.Name != "acme/managed-scan" || len(p.Tags) != 1 {
		t.Errorf("the project managed-scan is %+v", p)
	}
	p = patch[api.ProjectResponse](t, s, "projects/acme/managed-scan/managed-scan", object{"full_scan": on}).Project
	if p.Name != "acme/managed-scan" || state(p) != "false true" {
		t.Errorf("toggled is %s, %s", p.Name, state(p))
	}
}

func testProjectRefusals(t *testing.T, s *site) {
	for _, c := range []struct {
		path string
		body any
		bad  []string
	}{
		{payments, object{"projectName": "acme/other"}, []string{"body.projectName"}},
		{payments, object{"deploymentSlug": "noise", "projectName": "x/y"}, []string{"body.deploymentSlug", "body.projectName"}},
		{payments + "/managed-scan", object{"projectName": "acme/other"}, []string{"body.projectName"}},
		{payments + "/managed-scan", object{"full_scan": true}, []string{"body.full_scan"}},
		{payments, object{"visibility": "secret", "primary_branch": 7}, []string{"body.visibility", "body.primary_branch"}},
		{payments, object{"managed_scan_config": object{"diff_scan": object{"enabled": "yes"}}}, []string{"body.managed_scan_config.diff_scan.enabled"}},
	} {
		invalid(t, s.send(t, request{method: "PATCH", path: c.path, body: c.body}), c.bad...)
	}
	p := patch[api.ProjectResponse](t, s, payments, object{"projectName": "acme/payments", "deploymentSlug": fmt.Sprint(s.deployment.ID), "unknown": []int{1}}).Project
	if p.Name != "acme/payments" {
		t.Errorf("repeating the path returns %+v", p)
	}
}

func testProjectLifecycle(t *testing.T, s *site) {
	body := object{"name": "new/project", "url": "https://github.com/new/project", "tags": "a,b", "primary_branch": "trunk", "visibility": "private"}
	p := post[api.ProjectResponse](t, s, "projects", body).Project
	if p.Name != "new/project" || p.PrimaryBranch != "refs/heads/trunk" || p.DefaultBranch != "refs/heads/main" || p.LatestScanAt != nil || p.Visibility != "private" {
		t.Errorf("created is %+v", p)
	}
	refused(t, s.send(t, request{method: "POST", path: "projects", body: body}), 409, api.CodeConflict)
	for name, bad := range map[string]string{"single": "body.name", "a//b": "body.name", "": "body.name"} {
		invalid(t, s.send(t, request{method: "POST", path: "projects", body: object{"name": name}}), bad)
	}
	ref := read[api.DeleteRefResponse](t, s.send(t, request{method: "DELETE", path: "refs?project=acme/payments&ref=feature/x"}))
	onRef := func(f codeRow) bool { return f.Ref == "refs/heads/feature/x" }
	if rows := s.allCode(t); ref.Ref != "refs/heads/feature/x" || len(rows) == 0 || len(filterSlice(rows, onRef)) != 0 {
		t.Errorf("after the ref %s was deleted it has %d of %d findings", ref.Ref, len(filterSlice(rows, onRef)), len(rows))
	}
	out := read[api.DeleteProjectResponse](t, s.send(t, request{method: "DELETE", path: payments}))
	if out.ProjectName != "acme/payments" {
		t.Errorf("deleted is %+v", out)
	}
	refused(t, s.send(t, request{method: "GET", path: payments}), 404, api.CodeNotFound)
	if rows := s.allCode(t); len(rows) != 0 {
		t.Errorf("%d findings remain after their project was deleted", len(rows))
	}
}

// TestSingleProjectTags adds and removes single tags in all forms that clients use.
func TestSingleProjectTags(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		smallSite(t, s)
		send := func(method, path string, body any, want ...string) {
			t.Helper()
			got := read[api.ProjectResponse](t, s.send(t, request{method: method, path: path, body: body})).Project.Tags
			if !slices.Equal(got, want) {
				t.Errorf("%s %s %v: tags are %q, want %q", method, path, body, got, want)
			}
		}
		patch[api.ProjectResponse](t, s, payments, object{"tags": []string{}})
		send("PUT", payments+"/tags", object{"tags": []string{"pci", "money"}}, "pci", "money")
		send("PUT", "projects/acme%2Fpayments/tags", object{"tags": "money, core"}, "pci", "money", "core")
		send("DELETE", payments+"/tags?tags=pci&tags=unused", nil, "money", "core")
		send("DELETE", payments+"/tags", object{"tags": []string{"core"}}, "money")
		send("DELETE", payments+"/tags?tags=money,core", object{"tags": []string{"x"}})
		invalid(t, s.send(t, request{method: "DELETE", path: payments + "/tags"}), "query.tags")
		invalid(t, s.send(t, request{method: "PUT", path: payments + "/tags", body: object{}}), "body.tags")
		many := mapped([]int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}, itoa)
		send("PUT", payments+"/tags", object{"tags": many}, many...)
		invalid(t, s.send(t, request{method: "PUT", path: payments + "/tags", body: object{"tags": "eleventh"}}), "body.tags")
		tag := s.send(t, request{method: "GET", path: payments}).header.Get("ETag")
		send("DELETE", payments+"/tags?tags=10", nil, many[:9]...)
		stale := request{method: "PUT", path: payments + "/tags", body: object{"tags": "late"}, header: map[string]string{"If-Match": tag}}
		refused(t, s.send(t, stale), 409, api.CodeConflict)
	})
}
