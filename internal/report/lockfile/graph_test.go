package lockfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/lockfile"
)

// inventoriesOf returns the inventories of a file.
func inventoriesOf(t testing.TB, name string, data []byte) []model.Inventory {
	t.Helper()
	reports, err := report.Read(strings.NewReader(string(data)), report.Options{Name: name, Key: []byte("a key of the tests")})
	if err != nil {
		t.Fatal(err)
	}
	var out []model.Inventory
	for _, r := range reports {
		out = append(out, r.Inventories...)
	}
	return out
}

// pathTo returns the names on the path from a direct dependency to d, and the first dependency of the
// path.
func pathTo(inventory model.Inventory, d model.Dependency) (names []string, top model.Dependency) {
	byName := map[model.LockedPackage]model.Dependency{}
	for _, other := range inventory.Dependencies {
		byName[model.LockedPackage{Ecosystem: other.Ecosystem, Name: other.Name, Version: other.Version}] = other
	}
	for range inventory.Dependencies {
		names = append([]string{d.Name}, names...)
		if d.Via == (model.LockedPackage{}) {
			return names, d
		}
		d = byName[d.Via]
	}
	return append([]string{"a circle"}, names...), d
}

// TestEveryTransitivePackageHasPath checks that transitive packages have an acyclic path from a
// direct package, for all formats with a graph.
func TestEveryTransitivePackageHasPath(t *testing.T) {
	for name, share := range map[string]float64{ // share of transitive packages that have a path
		"npm-v1/package-lock.json": 1, "npm-v2/package-lock.json": 1, "npm-v3/package-lock.json": 1, "yarn-berry/yarn.lock": 1, "yarn-classic/yarn.lock": 1,
		"pnpm/pnpm-lock.yaml": 1, "uv/uv.lock": 1, "poetry/poetry.lock": 1, "cargo/Cargo.lock": 1, "bundler/Gemfile.lock": 1, "composer/composer.lock": 1,
		"maven-tree/maven_dep_tree.txt": 1, "pip/requirements.txt": 1,
	} {
		data, err := os.ReadFile(filepath.Join("testdata", "real", name))
		if err != nil {
			t.Fatal(err)
		}
		transitive, traced := 0, 0
		for _, inventory := range inventoriesOf(t, filepath.Base(name), data) {
			for _, d := range inventory.Dependencies {
				names, top := pathTo(inventory, d)
				if names[0] == "a circle" {
					t.Errorf("%s: the way to %s runs in a circle: %v", name, d.Name, names)
				}
				if d.Transitivity == model.Direct && d.Via.Name != "" {
					t.Errorf("%s: %s is asked for itself, and comes via %s", name, d.Name, d.Via.Name)
				}
				if d.Transitivity == model.Transitive || d.Requirers > 0 && d.Transitivity != model.Direct {
					transitive++
					if len(names) > 1 && top.Transitivity != model.Transitive {
						traced++
					} else {
						t.Logf("%s: no way to %s %s", name, d.Name, d.Version)
					}
				}
			}
		}
		if transitive == 0 || float64(traced) < share*float64(transitive) {
			t.Errorf("%s: %d of %d transitive packages have a way", name, traced, transitive)
		}
	}
}

// dependencyPaths returns "top > … > package +others" for all packages with a path.
func dependencyPaths(inventories []model.Inventory) (out []string) {
	for _, inventory := range inventories {
		for _, d := range inventory.Dependencies {
			if names, _ := pathTo(inventory, d); len(names) > 1 {
				out = append(out, fmt.Sprintf("%s@%s +%d", strings.Join(names, " > "), d.Version, d.Requirers-1))
			}
		}
	}
	slices.Sort(out)
	return out
}

func TestDependencyPathsOfEachFormat(t *testing.T) {
	const bom = `{"bomFormat":"CycloneDX","specVersion":"1.5","metadata":{"component":{"bom-ref":"root","type":"application","name":"shop"}},
		"components":[{"bom-ref":"a","type":"library","name":"a","version":"1","purl":"pkg:npm/a@1"},{"bom-ref":"b","type":"library","name":"b","version":"1","purl":"pkg:npm/b@1"},
		{"bom-ref":"c","type":"library","name":"c","version":"1","purl":"pkg:npm/c@1"}],
		"dependencies":[{"ref":"root","dependsOn":["a"]},{"ref":"a","dependsOn":["b","c"]},{"ref":"b","dependsOn":["c"]}]}`
	for name, c := range map[string]struct {
		text string
		want []string
	}{
		"package-lock.json": { // the nearest of two versions is used
			`{"lockfileVersion":3,"packages":{"":{"dependencies":{"a":"1","b":"1"}},"node_modules/a":{"version":"1.0.0","dependencies":{"c":"2"}},
			"node_modules/a/node_modules/c":{"version":"2.0.0","dependencies":{"d":"1"}},"node_modules/b":{"version":"1.0.0","dependencies":{"c":"1"}},
			"node_modules/c":{"version":"1.0.0","dependencies":{"d":"1"}},"node_modules/d":{"version":"1.0.0","peerDependencies":{"a":"1"}}}}`,
			[]string{"a > c > d@1.0.0 +1", "a > c@2.0.0 +0", "b > c@1.0.0 +0"},
		},
		"yarn.lock": {
			"# yarn lockfile v1\n\n\"@s/a@^1\":\n  version \"1.0.0\"\n  dependencies:\n    b \"^2\"\n    \"@s/c\" \"1 || 2\"\n\nb@^2, b@2:\n  version \"2.0.0\"\n  optionalDependencies:\n    \"@s/c\" \"1 || 2\"\n\n\"@s/c@1 || 2\":\n  version \"2.0.0\"\n",
			[]string{"@s/a > @s/c@2.0.0 +1", "@s/a > b@2.0.0 +0"},
		},
		"pnpm-lock.yaml": {
			"lockfileVersion: '9.0'\nimporters:\n  .:\n    dependencies:\n      a:\n        specifier: 1\n        version: 1.0.0(p@1.0.0)\npackages:\n  a@1.0.0:\n    resolution: {integrity: sha512-AAAA}\n  b@1.0.0:\n    resolution: {integrity: sha512-AAAA}\nsnapshots:\n  a@1.0.0(p@1.0.0):\n    dependencies:\n      z: b@1.0.0\n  b@1.0.0: {}\n",
			[]string{"a > b@1.0.0 +0"},
		},
		"uv.lock": {
			"version = 1\nrequires-python = \">=3.8\"\n[[package]]\nname = \"shop\"\nversion = \"0\"\nsource = { virtual = \".\" }\ndependencies = [{ name = \"a\" }]\n[[package]]\nname = \"a\"\nversion = \"1\"\nsource = { registry = \"x\" }\ndependencies = [{ name = \"B.b\", version = \"2\" }]\n[[package]]\nname = \"B.b\"\nversion = \"1\"\nsource = { registry = \"x\" }\n[[package]]\nname = \"B.b\"\nversion = \"2\"\nsource = { registry = \"x\" }\n",
			[]string{"a > b-b@2 +0"},
		},
		"poetry.lock": {
			"[[package]]\nname = \"a\"\nversion = \"1\"\n[package.dependencies]\nB_b = {version = \">1\"}\n[[package]]\nname = \"b-b\"\nversion = \"2\"\n[metadata]\ncontent-hash = \"x\"\n",
			[]string{"a > b-b@2 +0"},
		},
		"pdm.lock": {
			"[[package]]\nname = \"a\"\nversion = \"1\"\ndependencies = [\"B_b[x]>=1; python_version < '3'\"]\n[[package]]\nname = \"b-b\"\nversion = \"2\"\n[metadata]\ncontent_hash = \"x\"\n",
			[]string{"a > b-b@2 +0"},
		},
		"requirements.txt": {
			"a==1  # via -r requirements.in\nb==2\n    # via\n    #   a\n    #   c\nc==3  # via b\n",
			[]string{"a > b > c@3 +0", "a > b@2 +1"},
		},
		"Cargo.lock": {
			"version = 3\n[[package]]\nname = \"shop\"\nversion = \"0.1.0\"\ndependencies = [\"a\"]\n[[package]]\nname = \"a\"\nversion = \"1.0.0\"\nsource = \"registry\"\ndependencies = [\"b 2.0.0\"]\n[[package]]\nname = \"b\"\nversion = \"1.0.0\"\nsource = \"registry\"\n[[package]]\nname = \"b\"\nversion = \"2.0.0\"\nsource = \"registry\"\n",
			[]string{"a > b@2.0.0 +0"},
		},
		"Gemfile.lock": {
			"GEM\n  specs:\n    a (1.0)\n      b (>= 1)\n    b (1.2)\n\nDEPENDENCIES\n  a\n",
			[]string{"a > b@1.2 +0"},
		},
		"composer.lock": {
			`{"content-hash":"x","packages":[{"name":"v/A","version":"1","require":{"php":"8","v/b":"*"}},{"name":"v/b","version":"2"}]}`,
			[]string{"v/A > v/b@2 +0"},
		},
		"bun.lock": {
			`{"lockfileVersion":1,"workspaces":{"":{"name":"s","dependencies":{"@s/a":"1"}}},"packages":{"@s/a":["@s/a@1.0.0","",{"dependencies":{"b":"2"}},"sha512-AAAA"],"@s/a/b":["b@2.0.0","",{},"sha512-AAAA"],"b":["b@1.0.0","",{},"sha512-AAAA"]}}`,
			[]string{"@s/a > b@2.0.0 +0"},
		},
		"Podfile.lock": {
			"PODS:\n  - A (1.0):\n    - B/Core (~> 2)\n  - B/Core (2.0)\nDEPENDENCIES:\n  - A\nCOCOAPODS: 1.0\n",
			[]string{"A > B@2.0 +0"},
		},
		"maven_dep_tree.txt": {
			"g:shop:jar:1\n+- g:a:jar:1:compile\n|  +- g:b:jar:2:compile\n|  |  \\- g:c:jar:3:compile\n\\- g:d:jar:4:compile\n   \\- g:b:jar:2:compile\n",
			[]string{"g:a > g:b > g:c@3 +0", "g:a > g:b@2 +1"},
		},
		"bom.cdx.json": {bom, []string{"a > b@1 +0", "a > c@1 +1"}},
	} {
		if got := dependencyPaths(inventoriesOf(t, name, []byte(c.text))); !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestDependencyPathsAreShortest checks that paths are shortest paths.
func TestDependencyPathsAreShortest(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 12).Draw(t, "packages")
		l := lockfile.NewPackages(100)
		name := func(i int) string { return fmt.Sprint("p", i) }
		direct := map[int]bool{}
		for i := range n {
			direct[i] = rapid.Bool().Draw(t, "direct")
			l.Node(model.Dependency{Ecosystem: "npm", Name: name(i), Version: "1", Transitivity: lockfile.TransitivityOf(true, direct[i])}, name(i))
		}
		edges := map[[2]int]bool{}
		for range rapid.IntRange(0, 25).Draw(t, "asks") {
			from, to := rapid.IntRange(0, n-1).Draw(t, "from"), rapid.IntRange(0, n).Draw(t, "to")
			l.AddEdge(name(from), name(to))
			edges[[2]int{from, to}] = from != to && to < n
		}
		deps := l.Inventory("package-lock.json").Dependencies
		depth := make([]int, n) // by relaxing until nothing changes
		for i := range depth {
			if depth[i] = n + 1; direct[i] {
				depth[i] = 1
			}
		}
		for range n {
			for a, counts := range edges {
				if counts {
					depth[a[1]] = min(depth[a[1]], depth[a[0]]+1)
				}
			}
		}
		for i, d := range deps {
			requirers := 0
			for a, counts := range edges {
				if counts && a[1] == i {
					requirers++
				}
			}
			names, _ := pathTo(model.Inventory{Dependencies: deps}, d)
			if reached := depth[i] <= n; d.Requirers != requirers || reached && len(names) != depth[i] || !reached && len(names) != 1 {
				t.Errorf("%s: %v, %d ask for it; want %d steps and %d", d.Name, names, d.Requirers, depth[i], requirers)
			}
		}
	})
}
