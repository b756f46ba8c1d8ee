package conformance

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// dependencies returns all dependencies that match a filter, read in pages.
func (w *world) dependencies(t testing.TB, f api.DependencyFilter, size ...int64) []api.Dependency {
	t.Helper()
	r := api.ListDependenciesRequest{DependencyFilter: &f, PageSize: append(size, 30)[0]}
	return all(t, w.api().Dependencies(t.Context(), w.deployment.Slug, r))
}

// dependencyCase is a filter with the condition that it must implement.
type dependencyCase struct {
	filter  api.DependencyFilter
	matches func(d api.Dependency) bool
}

func (w *world) dependencyCases() map[string]dependencyCase {
	tools := w.projectID("group/tools")
	packages := func(f ...api.PackageFilter) api.DependencyFilter { return api.DependencyFilter{PackageFilters: f} }
	lodash := func(d api.Dependency) bool { return strings.Contains(d.Name, "lodash") }
	ranged := func(versions ...string) func(api.Dependency) bool {
		return func(d api.Dependency) bool { return d.Name == "ranged" && slices.Contains(versions, d.Version) }
	}
	return map[string]dependencyCase{
		"a part of the name":     {api.DependencyFilter{Name: "LODA"}, lodash},
		"a name in another case": {api.DependencyFilter{Name: "left-pad"}, func(d api.Dependency) bool { return d.Name == "Left-Pad" }},
		"a wildcard is none":     {api.DependencyFilter{Name: "l%d"}, func(api.Dependency) bool { return false }},
		"version":                {api.DependencyFilter{Version: "1.9.0"}, func(d api.Dependency) bool { return d.Version == "1.9.0" }},
		"half a version":         {api.DependencyFilter{Version: "1.9"}, func(api.Dependency) bool { return false }},
		"lockfile":               {api.DependencyFilter{LockfilePath: "web03/package-lock.json"}, func(d api.Dependency) bool { return d.LockfilePath == "web03/package-lock.json" }},
		"licence": {api.DependencyFilter{License: []string{"ISC", "WTFPL"}}, func(d api.Dependency) bool {
			return slices.Contains(d.Licenses, "ISC") || slices.Contains(d.Licenses, "WTFPL")
		}},
		"project": {api.DependencyFilter{RepositoryID: []api.Int{api.Int(tools)}}, func(d api.Dependency) bool { return d.RepositoryID == fmt.Sprint(tools) }},
		"all together": {api.DependencyFilter{Name: "ranged", Version: "1.9.0", LockfilePath: "package-lock.json", License: []string{"ISC"}, RepositoryID: []api.Int{api.Int(tools)}}, func(d api.Dependency) bool {
			return d.RepositoryID == fmt.Sprint(tools) && d.Version == "1.9.0" && d.Name == "ranged"
		}},
		"an exact name":        {packages(api.PackageFilter{Name: "lodash", ExactNameMatch: true}), func(d api.Dependency) bool { return d.Name == "lodash" }},
		"an exact name's case": {packages(api.PackageFilter{Name: "left-pad", ExactNameMatch: true}), func(api.Dependency) bool { return false }},
		"a part of a package":  {packages(api.PackageFilter{Name: "Lodash"}), lodash},
		"two packages":         {packages(api.PackageFilter{Name: "requests"}, api.PackageFilter{Name: "lodash", ExactNameMatch: true}), func(d api.Dependency) bool { return d.Name == "requests" || d.Name == "lodash" }},
		"an exact version":     {packages(api.PackageFilter{Name: "ranged", ExactVersion: "1.10.0"}), ranged("1.10.0")},
		"from":                 {packages(api.PackageFilter{Name: "ranged", VersionLowerBound: "1.9.0"}), ranged("1.9.0", "1.10.0", "2.0.0-rc.1", "2.0.0")},
		"up to":                {packages(api.PackageFilter{Name: "ranged", VersionUpperBound: "1.10.0"}), ranged("1.2.0", "1.9.0", "1.10.0")},
		"between":              {packages(api.PackageFilter{Name: "ranged", VersionLowerBound: "1.3", VersionUpperBound: "1.10.0"}), ranged("1.9.0", "1.10.0")},
		"with operators":       {packages(api.PackageFilter{Name: "ranged", VersionLowerBound: ">1.9.0", VersionUpperBound: "<2.0.0"}), ranged("1.10.0", "2.0.0-rc.1")},
		"with equal operators": {packages(api.PackageFilter{Name: "ranged", VersionLowerBound: ">=1.9.0", VersionUpperBound: "<=1.9.0"}), ranged("1.9.0")},
		"ecosystem":            {api.DependencyFilter{Ecosystem: []string{"PyPI"}}, func(d api.Dependency) bool { return d.Ecosystem == "pypi" }},
		"ecosystems":           {api.DependencyFilter{Ecosystem: []string{"pypi", "cargo", "golang"}}, func(d api.Dependency) bool { return slices.Contains([]string{"pypi", "cargo", "gomod"}, d.Ecosystem) }},
		"ecosystem and name":   {api.DependencyFilter{Ecosystem: []string{"npm"}, Name: "LODA"}, lodash},
		"an unknown ecosystem": {api.DependencyFilter{Ecosystem: []string{"cocoapods"}}, func(api.Dependency) bool { return false }},
		"transitivity":         {api.DependencyFilter{Transitivity: []string{"direct"}}, func(d api.Dependency) bool { return d.Transitivity == "direct" }},
		"transitivities":       {api.DependencyFilter{Transitivity: []string{"TRANSITIVE", "UNKNOWN_TRANSITIVITY"}}, func(d api.Dependency) bool { return d.Transitivity != "direct" }},
		"other ecosystems":     {packages(api.PackageFilter{Name: "django", VersionLowerBound: "4.2", VersionUpperBound: "4.10"}), func(d api.Dependency) bool { return d.Name == "django" }},
	}
}

// testDependencies checks the result of each filter.
func testDependencies(t *testing.T, w *world) {
	rows := w.dependencies(t, api.DependencyFilter{}, 10000)
	if len(rows) < 50 || slices.ContainsFunc(rows, func(d api.Dependency) bool { return d.Name == "only-on-branch" }) {
		t.Fatalf("%d dependencies, or one that is on no primary branch", len(rows))
	}
	for name, c := range w.dependencyCases() {
		want := filterSlice(rows, c.matches)
		if diff := cmp.Diff(want, append([]api.Dependency{}, w.dependencies(t, c.filter)...)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if nothing := strings.Contains(name, "wildcard") || strings.Contains(name, "half") || strings.Contains(name, "unknown") || strings.Contains(name, "case"); len(want) == len(rows) || len(want) == 0 && !nothing {
			t.Errorf("%s selects %d of %d, which proves nothing", name, len(want), len(rows))
		}
	}
}

// testDependencyShape checks the JSON of a dependency.
func testDependencyShape(t *testing.T, w *world) {
	body := object{"dependencyFilter": object{"name": "scope"}, "pageSize": 1}
	a := w.send(t, request{method: "POST", path: "dependencies", body: body})
	id := regexp.MustCompile(`"id":"\d+"`)
	want := fmt.Sprintf(`{"dependencies":[{"id":"0","name":"@scope/lodash-es","version":"4.17.21","ecosystem":"npm","repositoryId":"%d","lockfilePath":"package-lock.json",`+
		`"transitivity":"transitive","licenses":["MIT"],"purl":"pkg:npm/%%40scope/lodash-es@4.17.21"}],"cursor":"","hasMore":false}`, w.projectID("acme/payments"))
	if got := strings.TrimSpace(id.ReplaceAllString(string(a.body), `"id":"0"`)); got != want {
		t.Errorf("returns %s, want %s", got, want)
	}
}

// beginnings are the cursors that mean the start of a list (docs/reference/requests.md).
var beginnings = []any{0, "0", ""}

// testDependencyPagination reads pages of several sizes; cursors are decimal numbers.
func testDependencyPagination(t *testing.T, w *world) {
	want := w.dependencies(t, api.DependencyFilter{}, 10000)
	for _, size := range []int64{1, 9, int64(len(want)), 1000} {
		if diff := cmp.Diff(want, w.dependencies(t, api.DependencyFilter{}, size)); diff != "" {
			t.Errorf("by %d (-want +got):\n%s", size, diff)
		}
	}
	page := post[api.ListDependenciesResponse](t, w.site, "dependencies", object{"pageSize": 5})
	if len(page.Dependencies) != 5 || !page.HasMore || !regexp.MustCompile(`^\d{1,19}$`).MatchString(page.Cursor) {
		t.Errorf("a page of 5 is %+v", page)
	}
	for _, cursor := range beginnings {
		if diff := cmp.Diff(page, post[api.ListDependenciesResponse](t, w.site, "dependencies", object{"cursor": cursor, "pageSize": 5})); diff != "" {
			t.Errorf("from cursor %#v (-want +got):\n%s", cursor, diff)
		}
	}
	for _, cursor := range []any{page.Cursor, json.Number(page.Cursor)} {
		next := post[api.ListDependenciesResponse](t, w.site, "dependencies", object{"cursor": cursor, "pageSize": 5, "deploymentId": w.deployment.ID})
		if diff := cmp.Diff(want[5:10], next.Dependencies); diff != "" {
			t.Errorf("after %v (-want +got):\n%s", cursor, diff)
		}
	}
}

func testDependencyRefusals(t *testing.T, w *world) {
	cursor := post[api.ListDependenciesResponse](t, w.site, "dependencies", object{"pageSize": 1}).Cursor
	altered := []byte(cursor)
	altered[len(altered)-1] ^= 1
	for _, c := range []struct {
		body object
		bad  string
	}{
		{object{"pageSize": 0}, "body.pageSize"},
		{object{"pageSize": 10001}, "body.pageSize"},
		{object{"pageSize": -1}, "body.pageSize"},
		{object{"pageSize": "x"}, "body.pageSize"},
		{object{"cursor": string(altered)}, "body.cursor"},
		{object{"cursor": "00"}, "body.cursor"},
		{object{"cursor": 0.5}, "body.cursor"},
		{object{"cursor": "-1"}, "body.cursor"},
		{object{"cursor": "18446744073709551615"}, "body.cursor"},
		{object{"cursor": "abc"}, "body.cursor"},
		{object{"cursor": "0" + cursor}, "body.cursor"},
		{object{"cursor": cursor, "dependencyFilter": object{"name": "lodash"}}, "body.cursor"},
		{object{"cursor": cursor, "dependencyFilter": object{"license": []string{"MIT"}}}, "body.cursor"},
		{object{"dependencyFilter": object{"license": "MIT"}}, "body.dependencyFilter.license"},
		{object{"dependencyFilter": object{"packageFilters": []object{{}}}}, "body.dependencyFilter.packageFilters[0]"},
		{object{"dependencyFilter": object{"packageFilters": []object{{"exactNameMatch": "yes", "name": "x"}}}}, "body.dependencyFilter.packageFilters[0].exactNameMatch"},
		{object{"deploymentId": "1"}, "body.deploymentId"},
		{object{"unknown": true}, "body.unknown"},
		{object{"ecosystem": []string{"npm"}}, "body.ecosystem"},
		{object{"dependencyFilter": object{"other": 1}}, "body.dependencyFilter.other"},
		{object{"dependencyFilter": object{"includeArchived": true}}, "body.dependencyFilter.includeArchived"},
		{object{"dependencyFilter": object{"packageFilters": []object{{"name": "x", "versions": "1"}}}}, "body.dependencyFilter.packageFilters[0].versions"},
		{object{"dependencyFilter": object{"ecosystem": "npm"}}, "body.dependencyFilter.ecosystem"},
		{object{"dependencyFilter": object{"ecosystem": []string{"npm", "nmp"}}}, "body.dependencyFilter.ecosystem[1]"},
		{object{"dependencyFilter": object{"ecosystem": []string{""}}}, "body.dependencyFilter.ecosystem[0]"},
		{object{"dependencyFilter": object{"transitivity": []string{"direct", "indirect"}}}, "body.dependencyFilter.transitivity[1]"},
		{object{"cursor": cursor, "dependencyFilter": object{"ecosystem": []string{"npm"}}}, "body.cursor"},
	} {
		invalid(t, w.send(t, request{method: "POST", path: "dependencies", body: c.body}), c.bad)
	}
	for _, body := range []any{nil, object{}, object{"dependencyFilter": object{}}, object{"dependencyFilter": object{"ecosystem": []string{"OPAM", "no_package_manager", "mix", "hex"}}}, object{"pageSize": 10000}, object{"pageSize": 1}} {
		if a := w.send(t, request{method: "POST", path: "dependencies", body: body}); a.status != 200 {
			t.Errorf("%v answers %s", body, a.body)
		}
	}
}
