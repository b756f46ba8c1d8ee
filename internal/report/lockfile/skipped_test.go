package lockfile_test

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/purl"
)

// TestEveryPackageIsAddedOrRefused checks that each listed package is added or refused with a reason,
// except those of the repository itself.
func TestEveryPackageIsAddedOrRefused(t *testing.T) {
	for name, test := range map[string]struct {
		file, text    string
		deps, refused []string
	}{
		"packages that pixi builds": {
			"pixi.lock", `version: 7
platforms:
- name: linux-64
environments:
  default:
    channels:
    - url: https://conda.anaconda.org/conda-forge/
    packages:
      linux-64:
      - conda: https://conda.anaconda.org/conda-forge/linux-64/sdl2-2.32.0-h1_0.conda
      - conda_source: own[0a1b2c3d] @ .
packages:
- conda: https://conda.anaconda.org/conda-forge/linux-64/sdl2-2.32.0-h1_0.conda
  license: Zlib
- conda_source: own[0a1b2c3d] @ .
  version: 0.1.0
  build: h1_0
  subdir: linux-64
- conda_source: "other[0a1b2c3e] @ git+https://example.org/other.git?branch=main#0123456789abcdef"
  version: 0.2.0
- pypi: ./wheels/Flask_Odd-3.0.0-py3-none-any.whl
  name: flask-odd
  version: 3.0.0
- pypi: ./backend
  name: backend
  version: 0.1.0
`,
			[]string{"pkg:conda/sdl2@2.32.0", "pkg:pypi/flask-odd@3.0.0"},
			[]string{"other: it is built from git+https://example.org/other.git?branch=main#0123456789abcdef and not from a channel"},
		},
		"packages of Bioconductor": {
			"renv.lock", `{"R":{"Version":"4.3.2"},"Bioconductor":{"Version":"3.18"},"Packages":{
 "S4Vectors":{"Package":"S4Vectors","Version":"0.40.2","Source":"Bioconductor"},
 "limma":{"Package":"limma","Version":"3.58.1","Source":"Repository","Repository":"Bioconductor 3.18"},
 "bitops":{"Package":"bitops","Version":"1.0-7","Source":"Repository","Repository":"CRAN"}}}`,
			[]string{"pkg:bioconductor/S4Vectors@0.40.2", "pkg:bioconductor/limma@3.58.1", "pkg:cran/bitops@1.0-7"},
			nil,
		},
		"packages that pnpm has from addresses": {
			"pnpm-lock.yaml", `lockfileVersion: '9.0'
importers:
  .:
    dependencies:
      is-positive:
        specifier: github:kevva/is-positive
        version: https://codeload.github.com/kevva/is-positive/tar.gz/97edff6f
      own:
        specifier: file:own
        version: file:own
packages:
  is-positive@https://codeload.github.com/kevva/is-positive/tar.gz/97edff6f:
    resolution: {tarball: https://codeload.github.com/kevva/is-positive/tar.gz/97edff6f}
    version: 3.1.0
  left-pad@1.3.0:
    resolution: {integrity: sha512-AAAA}
  nameless@https://example.org/a.tgz:
    resolution: {tarball: https://example.org/a.tgz}
  own@file:own:
    resolution: {directory: own, type: directory}
snapshots:
  is-positive@https://codeload.github.com/kevva/is-positive/tar.gz/97edff6f:
    dependencies:
      left-pad: 1.3.0
  left-pad@1.3.0: {}
  nameless@https://example.org/a.tgz: {}
  own@file:own: {}
`,
			[]string{"pkg:npm/is-positive@3.1.0 direct", "pkg:npm/left-pad@1.3.0 transitive by is-positive"},
			[]string{"nameless: line 17: it has no version"},
		},
		"packages of Gleam": {
			"manifest.toml", "packages = [\n  { name = \"a\", version = \"1.0.0\", source = \"git\", repo = \"https://example.org/a\" },\n  { name = \"b\", version = \"1.0.0\", source = \"local\", path = \"../b\" },\n]\n[requirements]\n",
			nil,
			[]string{"a: its version is unknown: its source is git, not Hex"},
		},
		"packages of Stack": {
			"stack.yaml.lock", "packages:\n- completed:\n    commit: 0123\n    git: https://example.org/a.git\n    name: a\n    version: 1.0\n  original:\n    git: https://example.org/a.git\nsnapshots: []\n",
			nil,
			[]string{"a: line 2: its source is https://example.org/a.git, not Hackage"},
		},
		"modules of Deno": {
			"deno.lock", `{"version":"4","specifiers":{"npm:left-pad@1":"1.3.0"},"npm":{"left-pad@1.3.0":{"integrity":"x"}},"remote":{"https://deno.land/std@0.1.0/a.ts":"ab","https://deno.land/std@0.1.0/b.ts":"cd"}}`,
			[]string{"pkg:npm/left-pad@1.3.0"},
			[]string{"deno.lock: skipped 2 modules with URLs, which have neither a registry nor a version"},
		},
		"files of Paket": {
			"paket.lock", "NUGET\n  remote: https://api.nuget.org/v3/index.json\n    A (1.0)\n      B (>= 1.0)\n    B (1.0)\nGITHUB\n  remote: acme/tools\n    src/File.fs (0123abcd)\n      Octokit (>= 0.4)\nHTTP\n  remote: http://example.org\n    test.fs (/test.fs)\nGIT\n  remote: https://example.org/a.git\n     (0123)\n",
			[]string{"pkg:nuget/A@1.0", "pkg:nuget/B@1.0"},
			[]string{"src/File.fs: line 8: its source is GITHUB, not NuGet", "test.fs: line 12: its source is HTTP, not NuGet"},
		},
		"plugins of Bundler": {
			"Gemfile.lock", "PLUGIN SOURCE\n  remote: https://example.org/plugins\n  type: acme\n  specs:\n    plugged (2.1.0)\n\nGEM\n  remote: https://rubygems.org/\n  specs:\n    rake (13.0.0)\n\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n  plugged!\n  rake\n",
			[]string{"pkg:gem/plugged@2.1.0 direct", "pkg:gem/rake@13.0.0 direct"},
			nil,
		},
		"packages without a version": {
			"packages.config", "<packages><package id=\"A\" version=\"1.0\"/>\n<package id=\"B\"/></packages>",
			[]string{"pkg:nuget/A@1.0"},
			[]string{"B: line 2: it has no version"},
		},
		"packages of PEP 751": {
			"pylock.toml", "lock-version = \"1.0\"\ncreated-by = \"pip\"\n[[packages]]\nname = \"a\"\n[packages.vcs]\ntype = \"git\"\n[[packages]]\nname = \"b\"\n[packages.directory]\npath = \".\"\n",
			nil,
			[]string{"a: it has no version: its source is a repository or a URL"},
		},
		"libraries of a platform": {
			"libs.versions.toml", "[libraries]\na = { module = \"g:a\" }\nb = \"g:b:1\"\n",
			[]string{"pkg:maven/g/b@1 direct"},
			[]string{"g:a: its version is in a platform, which is not read"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			rep := readOne(t, test.file, test.text)
			var deps, refused []string
			for _, d := range rep.Inventories[0].Dependencies {
				text := d.PURL
				if d.Transitivity.String() != "unknown" {
					text += " " + d.Transitivity.String()
				}
				if d.Via.Name != "" {
					text += " by " + d.Via.Name
				}
				deps = append(deps, text)
			}
			for _, r := range rep.Refused {
				refused = append(refused, fmt.Sprintf("%s: %s", r.Item, r.Reason))
			}
			for _, d := range rep.Inventories[0].Dependencies {
				if !purl.IsEcosystem(d.Ecosystem) {
					t.Errorf("no filter takes the ecosystem %s", d.Ecosystem)
				}
			}
			if diff := cmp.Diff(test.deps, deps); diff != "" {
				t.Errorf("dependencies (-want +got):\n%s", diff)
			}
			if diff := cmp.Diff(test.refused, refused); diff != "" {
				t.Errorf("refused (-want +got):\n%s", diff)
			}
		})
	}
}
