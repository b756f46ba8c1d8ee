package conformance

import (
	"slices"
	"testing"

	"github.com/redoubt/redoubt/api"
)

const pnpmProject = `lockfileVersion: '9.0'

importers:

  .:
    dependencies:
      lodash:
        specifier: 4.17.20
        version: 4.17.20

packages:

  lodash@4.17.20:
    resolution: {integrity: sha512-PlhdFcillOINfeV7Ni6oF1TAEayyZBoZ8bcshTHqOYJYlrqzRK5hagpagky5o4HfCzzd1TRkXPMFq6cKk9rGmA==}

snapshots:

  lodash@4.17.20: {}
`

// pnpmTools is the document that pnpm writes before that of a project, for packages that it
// installs first.
const pnpmTools = `---
lockfileVersion: '9.0'

importers:

  .:
    configDependencies:
      is-number:
        specifier: 7.0.0
        version: 7.0.0

packages:

  is-number@7.0.0:
    resolution: {integrity: sha512-41Cifkg6e8TylSpdtTpeLVMqvSBEVzTttHvERD741+pnZ8ANv0004MRL43QKPDlK9cGvNp6NZWZUBlbGXYxxng==}

snapshots:

  is-number@7.0.0: {}

---
`

// packagesOf lists the dependencies of the deployment, as "name transitivity lockfile".
func (s *site) packagesOf(t testing.TB) (list []string) {
	t.Helper()
	for _, d := range post[api.ListDependenciesResponse](t, s, "dependencies", object{"pageSize": 100}).Dependencies {
		list = append(list, d.Name+" "+d.Transitivity+" "+d.LockfilePath)
	}
	slices.Sort(list)
	return list
}

// TestPnpmLockfileOfTwoDocuments adds pnpm's own document to a lockfile with a finding. The finding
// must remain, and the packages of both documents must be listed.
func TestPnpmLockfileOfTwoDocuments(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		s.publish(t, record{id: "GHSA-1", aliases: []string{"CVE-2021-23337"}, name: "lodash", fixed: "4.17.21", severity: "HIGH"})
		s.uploadFiles(t, "acme/shop", "main", file{"pnpm-lock.yaml", []byte(pnpmProject)})
		before := s.supply(t, "")
		if len(before) != 1 {
			t.Fatalf("findings: %q", before)
		}
		s.uploadFiles(t, "acme/shop", "main", file{"pnpm-lock.yaml", []byte(pnpmTools + pnpmProject)})
		wants(t, "findings", s.supply(t, ""), before...)
		wants(t, "packages", s.packagesOf(t), "is-number direct pnpm-lock.yaml", "lodash direct pnpm-lock.yaml")

		// pnpm wrote no packages of the project.
		s.uploadFiles(t, "acme/shop", "new", file{"pnpm-lock.yaml", []byte(pnpmTools)})
		for what, text := range map[string]string{
			"without the project's document": pnpmTools[:len(pnpmTools)-len("---\n")],
			"with a broken second document":  pnpmTools + "lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n",
			"with a list":                    pnpmTools + "- a\n",
		} {
			body, media := form(t, map[string]string{"project": "acme/shop", "ref": "main", "full": "true"}, file{"pnpm-lock.yaml", []byte(text)})
			if a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}); a.status != 400 {
				t.Errorf("%s: %d %s", what, a.status, a.body)
			}
		}
		wants(t, "findings after bad files", s.supply(t, ""), before...)
	})
}

// TestLockfilesWithTooManyDocuments uploads a second YAML document in formats with a single
// one.
func TestLockfilesWithTooManyDocuments(t *testing.T) {
	s := newSite(t, "sqlite")
	for name, text := range map[string]string{
		"yarn.lock":       "__metadata:\n  version: 8\n\n\"a@npm:1\":\n  version: 1.0.0\n  resolution: \"a@npm:1.0.0\"\n  linkType: hard\n",
		"pubspec.lock":    "packages: {}\nsdks:\n  dart: \">=3.0.0\"\n",
		"Podfile.lock":    "PODS:\n  - A (1.0)\n\nDEPENDENCIES:\n  - A\n\nCOCOAPODS: 1.15.2\n",
		"stack.yaml.lock": "packages: []\nsnapshots: []\n",
		"environment.yml": "name: a\ndependencies:\n  - python=3.11.0\n",
		"conda-lock.yml":  "version: 1\nmetadata:\n  sources: []\npackage: []\n",
		"pixi.lock":       "version: 6\nenvironments: {}\npackages: []\n",
	} {
		for documents, want := range map[string]int{text: 200, text + "---\n" + text: 400, "---\n" + text + "---\n": 200} {
			body, media := form(t, map[string]string{"project": "acme/shop", "ref": "main"}, file{name, []byte(documents)})
			if a := s.send(t, request{method: "POST", path: "imports", body: body, header: map[string]string{"Content-Type": media}}); a.status != want {
				t.Errorf("%s: %d, want %d: %s\n%s", name, a.status, want, a.body, documents)
			}
		}
	}
}
