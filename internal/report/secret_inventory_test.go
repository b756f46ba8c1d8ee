package report_test

import (
	"encoding/json"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report"
)

// addresses maps addresses of packages to the secret in each.
var addresses = map[string]string{
	"git+https://" + github + "@github.com/acme/left.git#v1":                    github,
	"https://ci:" + password + "@pkg.example.com/left-1.0.0.tgz":                password,
	"https://0aZ9bY8cX7dW6eV5fU4g@pkg.example.com/left-1.0.0.tgz":               "0aZ9bY8cX7dW6eV5fU4g",
	"https://x-access-token:" + github + "@github.com/acme/left":                github,
	"https://pkg.example.com/left.tgz?access_token=0aZ9bY8cX7dW6eV5fU4g&x=y":    "0aZ9bY8cX7dW6eV5fU4g",
	"https://pkg.example.com/left.tgz?private_token=glpat-0aZ9bY8cX7dW6eV5fU4g": "glpat-0aZ9bY8cX7dW6eV5fU4g",
	"git+ssh://git:npm_0123456789abcdefghijABCDEFGHIJ012345@host.example/left":  "npm_0123456789abcdefghijABCDEFGHIJ012345",
}

// carriers are files with an address of a package: URL is replaced with it, ESCAPED with its
// escaped form.
var carriers = map[string]string{
	"package-lock.json":         `{"lockfileVersion":1,"dependencies":{"left":{"version":"URL","requires":{"b":"1"}},"b":{"version":"1.0.0"}}}`,
	"npm-shrinkwrap.json":       `{"lockfileVersion":3,"packages":{"":{"dependencies":{"left":"URL"}},"node_modules/left":{"version":"URL","resolved":"URL"}}}`,
	"yarn.lock":                 "# yarn lockfile v1\n\n\n\"left@URL\":\n  version \"URL\"\n  resolved \"URL\"\n",
	"pnpm-lock.yaml":            "lockfileVersion: '6.0'\ndependencies:\n  left:\n    specifier: 'URL'\n    version: 'URL'\npackages:\n  'URL':\n    resolution: {tarball: 'URL'}\n    name: left\n    version: 'URL'\n",
	"requirements.txt":          "left @ URL\nright==1.0\n",
	"Pipfile.lock":              `{"_meta":{"hash":{"sha256":"x"}},"default":{"left":{"git":"URL","ref":"URL","version":"==URL"},"b":{"version":"==1"}},"develop":{}}`,
	"poetry.lock":               "[[package]]\nname = \"left\"\nversion = \"URL\"\n[package.source]\ntype = \"git\"\nurl = \"URL\"\nreference = \"URL\"\n[metadata]\nlock-version = \"2.0\"\ncontent-hash = \"x\"\n",
	"uv.lock":                   "version = 1\nrequires-python = \">=3.9\"\n[[package]]\nname = \"left\"\nversion = \"URL\"\nsource = { git = \"URL\" }\n",
	"composer.lock":             `{"content-hash":"x","packages":[{"name":"acme/left","version":"URL","source":{"type":"git","url":"URL"},"license":["URL"]}]}`,
	"Cargo.lock":                "version = 3\n[[package]]\nname = \"left\"\nversion = \"URL\"\nsource = \"URL\"\n",
	"Gemfile.lock":              "GIT\n  remote: URL\n  revision: URL\n  specs:\n    left (URL)\n\nDEPENDENCIES\n  left!\n",
	"deno.lock":                 `{"version":"3","remote":{"URL":"abc"},"packages":{"npm":{"left@URL":{"integrity":"x"}}}}`,
	"bun.lock":                  `{"lockfileVersion":1,"workspaces":{"":{"dependencies":{"left":"URL"}}},"packages":{"left":["left@URL",{},"x"]}}`,
	"pubspec.lock":              "packages:\n  left:\n    dependency: \"direct main\"\n    source: git\n    version: 'URL'\n    description: {url: 'URL'}\nsdks:\n  dart: '>=3.0.0'\n",
	"packages.lock.json":        `{"version":1,"dependencies":{"net6.0":{"left":{"type":"Direct","resolved":"URL"}}}}`,
	"Podfile.lock":              "PODS:\n  - left (URL)\nDEPENDENCIES:\n  - left (from `URL`)\n\nCOCOAPODS: 1.15.2\n",
	"cyclonedx version.json":    cycloneDXOf(`"name":"left","version":"URL"`),
	"cyclonedx purl.json":       cycloneDXOf(`"name":"left","version":"1","purl":"pkg:npm/left@1?download_url=ESCAPED&vcs_url=ESCAPED"`),
	"cyclonedx whole purl.json": cycloneDXOf(`"name":"left","purl":"pkg:npm/left@ESCAPED#ESCAPED"`),
	"cyclonedx supplier.json":   cycloneDXOf(`"name":"left","version":"1","supplier":{"name":"URL"},"licenses":[{"license":{"name":"URL"}}]`),
	"spdx.json": `{"spdxVersion":"SPDX-2.3","SPDXID":"SPDXRef-DOCUMENT","packages":[{"SPDXID":"SPDXRef-a","name":"left","versionInfo":"URL",
		"supplier":"Organization: URL","licenseDeclared":"URL","externalRefs":[{"referenceType":"purl","referenceLocator":"pkg:npm/left@1?vcs_url=ESCAPED"}]},
		{"SPDXID":"SPDXRef-b","name":"b","versionInfo":"URL"}]}`,
}

func cycloneDXOf(component string) string {
	return `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[{"type":"library","bom-ref":"a",` + component + `}],
		"vulnerabilities":[{"id":"CVE-2026-1","affects":[{"ref":"a"}]}]}`
}

// TestCredentialsRemovedFromInventories inserts addresses with a secret into lockfiles and bills of
// materials.
func TestCredentialsRemovedFromInventories(t *testing.T) {
	for file, text := range carriers {
		t.Run(file, func(t *testing.T) {
			parsed := false
			for address, secret := range addresses {
				filled := strings.NewReplacer("URL", address, "ESCAPED", url.QueryEscape(address)).Replace(text)
				reports, err := report.Read(strings.NewReader(filled), report.Options{Name: file, Key: []byte("k")})
				if err != nil {
					if strings.Contains(err.Error(), secret) {
						t.Errorf("the error tells the secret: %v", err)
					}
					continue
				}
				data, err := json.Marshal(reports)
				if err != nil {
					t.Fatal(err)
				}
				for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret)} {
					if strings.Contains(string(data), form) {
						t.Errorf("%s is left of %s:\n%s", form, address, data)
						break
					}
				}
				parsed = parsed || slices.ContainsFunc([]string{"REDACTED", "left"}, func(s string) bool { return strings.Contains(string(data), s) })
			}
			if !parsed {
				t.Error("it was never read")
			}
		})
	}
}

// TestInventoriesWithoutSecretsAreUnchanged checks that versions and addresses without secrets are
// unchanged.
func TestInventoriesWithoutSecretsAreUnchanged(t *testing.T) {
	for _, version := range []string{
		"git+ssh://git@github.com/acme/left.git#0123456789abcdef0123456789abcdef01234567", "1.0.0-0.20230101000000-0123456789ab",
		"https://pkg.example.com/left.tgz?key=value", "git+https://${TOKEN}@github.com/acme/left", "file:../left", "0.0.0-sha.0123456789abcdef0123456789abcdef",
	} {
		text := strings.ReplaceAll(carriers["package-lock.json"], "URL", version)
		reports, err := report.Read(strings.NewReader(text), report.Options{Name: "package-lock.json"})
		if err != nil {
			t.Fatal(err)
		}
		if d := reports[0].Inventories[0].Dependencies[0]; d.Version != version && !strings.HasPrefix(version, "file:") {
			t.Errorf("%s became %s", version, d.Version)
		}
		purl := "pkg:npm/left@1?vcs_url=" + url.QueryEscape(version)
		reports, err = report.Read(strings.NewReader(cycloneDXOf(`"name":"left","version":"1","purl":"`+purl+`"`)), report.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d := reports[0].Inventories[0].Dependencies[0]; d.PURL != purl {
			t.Errorf("%s became %s", purl, d.PURL)
		}
	}
}

// TestSecretsRemovedFromInventories checks that a secret in another file is removed from suppliers and
// paths of lockfiles.
func TestSecretsRemovedFromInventories(t *testing.T) {
	const secret = "swordfish-nine"
	reading := &report.Reading{}
	for name, text := range map[string]string{
		"bom.json":   cycloneDXOf(`"name":"left","version":"1","supplier":{"name":"` + secret + `"},"properties":[{"name":"redoubt:lockfile","value":"` + secret + `/yarn.lock"}]`),
		"leaks.json": `[{"RuleID":"generic","Description":"d","StartLine":1,"EndLine":1,"Match":"x","Secret":"` + secret + `","File":"a.env","Commit":"","Fingerprint":"f"}]`,
	} {
		if err := reading.Add(strings.NewReader(text), report.Options{Name: name, Key: []byte("k")}); err != nil {
			t.Fatal(err)
		}
	}
	data, err := json.Marshal(reading.Reports(nil))
	if err != nil {
		t.Fatal(err)
	}
	if strings.Contains(string(data), secret) || !strings.Contains(string(data), "[REDACTED]/yarn.lock") {
		t.Errorf("%s", data)
	}
}
