package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"mime/multipart"
	"net/textproto"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// file is one file of a form.
type file struct {
	name string
	text []byte
}

// form returns a multipart body: the fields, then the files.
func form(t testing.TB, fields map[string]string, files ...file) (body []byte, contentType string) {
	t.Helper()
	var buf bytes.Buffer
	w := multipart.NewWriter(&buf)
	for name, value := range fields {
		if err := w.WriteField(name, value); err != nil {
			t.Fatal(err)
		}
	}
	for _, f := range files {
		part, err := w.CreatePart(textproto.MIMEHeader{"Content-Disposition": {fmt.Sprintf(`form-data; name="file"; filename=%q`, f.name)}})
		if err == nil {
			_, err = part.Write(f.text)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes(), w.FormDataContentType()
}

// uploadFiles uploads several files of a project's ref in one request.
func (s *site) uploadFiles(t testing.TB, project, ref string, files ...file) api.ImportResponse {
	t.Helper()
	s.clock.Advance(time.Second)
	body, contentType := form(t, map[string]string{"project": project, "ref": ref, "full": "true"}, files...)
	return read[api.ImportResponse](t, s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": contentType}}))
}

// pkg is one package in a lockfile.
type pkg struct{ name, version, license string }

// packageLock returns a package-lock.json. The first package is a direct dependency; packages with
// the same name are nested.
func packageLock(packages ...pkg) []byte {
	entries := object{"": object{"name": "app", "version": "1.0.0", "dependencies": object{packages[0].name: "*"}}}
	for i, p := range packages {
		at := "node_modules/" + p.name
		if _, exists := entries[at]; exists {
			at = fmt.Sprintf("node_modules/holder%d/node_modules/%s", i, p.name)
		}
		entries[at] = object{"version": p.version, "license": p.license, "resolved": "https://registry.npmjs.org/" + p.name + ".tgz"}
	}
	text, err := json.Marshal(object{"name": "app", "version": "1.0.0", "lockfileVersion": 3, "packages": entries})
	if err != nil {
		panic(err) // strings and numbers only
	}
	return text
}

// requirements returns a requirements.txt.
func requirements(packages ...pkg) []byte {
	var b strings.Builder
	for _, p := range packages {
		fmt.Fprintf(&b, "%s==%s\n", p.name, p.version)
	}
	return []byte(b.String())
}

var npmPackages = []pkg{
	{"lodash", "4.17.20", "MIT"},
	{"ranged", "1.2.0", "MIT"},
	{"ranged", "1.9.0", "ISC"},
	{"ranged", "1.10.0", "MIT"},
	{"ranged", "2.0.0-rc.1", "Apache-2.0"},
	{"ranged", "2.0.0", "Apache-2.0"},
	{"Left-Pad", "1.3.0", "WTFPL"},
	{"@scope/lodash-es", "4.17.21", "MIT"},
}

// addLockfiles adds inventories to main of some projects, and one to a branch, which must not be
// listed.
func (w *world) addLockfiles(t *testing.T) {
	t.Helper()
	many := []file{{"package-lock.json", packageLock(npmPackages...)}, {"api/requirements.txt", requirements(pkg{name: "requests", version: "2.31.0"}, pkg{name: "django", version: "4.2.1"})}}
	for i := range 12 {
		many = append(many, file{fmt.Sprintf("web%02d/package-lock.json", i), packageLock(npmPackages[i%3 : 3+i%5]...)})
	}
	w.uploadFiles(t, "acme/payments", "main", many...)
	w.uploadFiles(t, "acme/payments", "feature/x", file{"branch/package-lock.json", packageLock(pkg{"only-on-branch", "1.0.0", "MIT"})})
	w.uploadFiles(t, "group/tools", "main", file{"package-lock.json", packageLock(npmPackages[:4]...)})
}

// lockfilesOf returns the address of a project's lockfiles.
func (w *world) lockfilesOf(name string) string {
	return fmt.Sprintf("dependencies/repositories/%d/lockfiles", w.projectID(name))
}

// testLockfiles compares the list of lockfiles with the dependencies.
func testLockfiles(t *testing.T, w *world) {
	for _, name := range []string{"acme/payments", "group/tools", "zeta/last"} {
		want := map[string]int64{}
		for _, d := range w.dependencies(t, api.DependencyFilter{RepositoryID: []api.Int{api.Int(w.projectID(name))}}) {
			want[d.LockfilePath]++
		}
		for _, size := range []int64{0, 1, 4, 100} {
			got := map[string]int64{}
			id := fmt.Sprint(w.projectID(name))
			rows := all(t, w.api().Lockfiles(t.Context(), w.deployment.Slug, id, api.ListLockfilesRequest{PageSize: size}))
			for _, l := range rows {
				got[l.LockfilePath] += l.NumDependencies
			}
			if len(rows) != len(got) || fmt.Sprint(got) != fmt.Sprint(want) {
				t.Errorf("%s by %d: %v, want %v", name, size, got, want)
			}
		}
	}
	first := post[api.ListLockfilesResponse](t, w.site, w.lockfilesOf("acme/payments"), object{})
	if len(first.LockfileSummaries) != 5 || !first.HasMore || first.Cursor == "" {
		t.Errorf("a page by default is %+v", first)
	}
	for _, cursor := range beginnings {
		if diff := cmp.Diff(first, post[api.ListLockfilesResponse](t, w.site, w.lockfilesOf("acme/payments"), object{"cursor": cursor})); diff != "" {
			t.Errorf("from cursor %#v (-want +got):\n%s", cursor, diff)
		}
	}
	some := object{"dependencyFilter": object{"name": "REQUEST"}, "pageSize": 100}
	if got := post[api.ListLockfilesResponse](t, w.site, w.lockfilesOf("acme/payments"), some).LockfileSummaries; len(got) != 1 || got[0] != (api.LockfileSummary{LockfilePath: "api/requirements.txt", NumDependencies: 1}) {
		t.Errorf("with a filter: %+v", got)
	}
}

// testDependencyRepositories compares the list of projects with the dependencies.
func testDependencyRepositories(t *testing.T, w *world) {
	const path = "dependencies/repositories"
	for _, filter := range []api.DependencyFilter{{}, {Name: "lodash"}, {Ecosystem: []string{"pypi"}}, {RepositoryID: []api.Int{api.Int(w.projectID("group/tools"))}}, {Name: "unknown"}} {
		want := map[string]int64{}
		for _, d := range w.dependencies(t, filter) {
			want[d.RepositoryID]++
		}
		for _, size := range []int64{0, 1, 100} {
			rows := all(t, w.api().DependencyRepositories(t.Context(), w.deployment.Slug, api.ListDependencyRepositoriesRequest{DependencyFilter: &filter, PageSize: size}))
			got := map[string]int64{}
			for _, r := range rows {
				got[itoa(r.ID)] = r.NumDependencies
				if w.projectID(r.Name) != r.ID || r.HasDependencyPathScan {
					t.Errorf("%+v", r)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(want) || !slices.IsSortedFunc(rows, func(a, b api.RepositorySummary) int { return int(a.ID - b.ID) }) {
				t.Errorf("%+v by %d: %v, want %v", filter, size, got, want)
			}
		}
	}
	for _, r := range all(t, w.api(w.globbed).DependencyRepositories(t.Context(), w.deployment.Slug, api.ListDependencyRepositoriesRequest{})) {
		if !strings.HasPrefix(r.Name, "group/") {
			t.Errorf("a bound token sees %+v", r)
		}
	}
	one := object{"pageSize": 1}
	first := post[api.ListDependencyRepositoriesResponse](t, w.site, path, one)
	if !first.HasMore || first.Cursor == "" || len(first.RepositorySummaries) != 1 {
		t.Fatalf("first of several: %+v", first)
	}
	second := fmt.Appendf(nil, `{"pageSize":1,"cursor":%s}`, first.Cursor)
	if a := w.send(t, request{method: "POST", path: path, body: second, header: map[string]string{"Content-Type": "application/json"}}); a.status != 200 {
		t.Errorf("with the cursor as a number: %s", a.body)
	}
	invalid(t, w.send(t, request{method: "POST", path: path, body: object{"cursor": first.Cursor, "dependencyFilter": object{"name": "lodash"}}}), "body.cursor")
	invalid(t, w.send(t, request{method: "POST", path: path, body: object{"pageSize": 101}}), "body.pageSize")
}

func testLockfileRefusals(t *testing.T, w *world) {
	path := w.lockfilesOf("acme/payments")
	for _, size := range []any{0, 101, -1, "many"} {
		invalid(t, w.send(t, request{method: "POST", path: path, body: object{"pageSize": size}}), "body.pageSize")
	}
	cursor := post[api.ListLockfilesResponse](t, w.site, path, object{"pageSize": 1}).Cursor
	for _, body := range []object{
		{"cursor": cursor, "dependencyFilter": object{"name": "lodash"}}, {"cursor": cursor + "x"}, {"cursor": cursor[1:]}, {"cursor": "1"},
	} {
		invalid(t, w.send(t, request{method: "POST", path: path, body: body}), "body.cursor")
	}
	invalid(t, w.send(t, request{method: "POST", path: w.lockfilesOf("group/tools"), body: object{"cursor": cursor}}), "body.cursor")
	invalid(t, w.send(t, request{method: "POST", path: path, body: object{"repositoryId": w.projectID("group/tools"), "deploymentId": "1"}}), "body.repositoryId", "body.deploymentId")
	if a := w.send(t, request{method: "POST", path: path, body: object{"repositoryId": w.projectID("acme/payments"), "deploymentId": w.deployment.ID}}); a.status != 200 {
		t.Errorf("copies of the path as numbers: %s", a.body)
	}
}
