package apihttp

import (
	"net/http"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// notRead are reports without usable contents: of unknown formats, or with invalid items only.
var notRead = map[string]string{
	"Snyk, clean":        `{"ok":true,"vulnerabilities":[],"dependencyCount":3}`,
	"Snyk":               `{"vulnerabilities":[{"id":"SNYK-1","identifiers":{"CVE":[]},"semver":{},"upgradePath":[]}],"ok":false}`,
	"null":               `{"vulnerabilities":null}`,
	"CSAF":               `{"document":{"csaf_version":"2.0"},"product_tree":{},"vulnerabilities":[{"cve":"CVE-2026-1"}]}`,
	"xeol":               `{"matches":[],"source":{},"descriptor":{"name":"xeol"}}`,
	"composer audit":     `{"advisories":[],"abandoned":[]}`,
	"GitLab, all broken": `{"version":"15.0.7","scan":{"type":"sast"},"vulnerabilities":[{"id":"1","identifiers":[],"location":{"file":"a.py"}}]}`,
	"OpenVEX, all broken": `{"@context":"https://openvex.dev/ns/v0.2.0","@id":"https://example.com/a","author":"a","version":1,` +
		`"timestamp":"2026-01-01T00:00:00Z","statements":[{"vulnerability":{"name":"CVE-2026-1"},"status":"nonsense","products":[{"@id":"pkg:npm/a@1"}]}]}`,
	"SARIF of packages": `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"semgrep","rules":[{"id":"ssc-1","properties":{"tags":["supply-chain"]}}]}},` +
		`"results":[{"ruleId":"ssc-1","locations":[{"physicalLocation":{"artifactLocation":{"uri":"/abs/a.py"}}}]}]}]}`,
}

// TestEmptyReports checks that an unusable report closes no finding and creates no scan:
// alone, in a form, with full and with strict.
func TestEmptyReports(t *testing.T) {
	h := newHarness(t)
	const found = `{"version":"15.0.7","scan":{"type":"sast"},"vulnerabilities":[{"id":"2","identifiers":[{"type":"a","name":"a","value":"a"}],"location":{"file":"a.py"}}]}`
	if a := h.send(http.MethodPost, imports+"?project=acme/payments&ref=main", found, "Content-Type", "application/json"); a.status != http.StatusOK || !contains(a.body, `"new":1`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	for what, report := range notRead {
		for _, rest := range []string{"", "&full=true", "&strict=true"} {
			a := h.send(http.MethodPost, imports+"?project=acme/payments&ref=main"+rest, report, "Content-Type", "application/json")
			if a.status != http.StatusBadRequest {
				t.Errorf("%s%s: %d %s", what, rest, a.status, a.body)
			}
		}
		body, media := reporttest.Form(t, "project", "acme/payments", "ref", "main", "full", "true", "@go.mod", "module a.example/b\n", "@report.json", report)
		if a := h.send(http.MethodPost, imports, body, "Content-Type", media); a.status != http.StatusBadRequest {
			t.Errorf("%s in a form: %d %s", what, a.status, a.body)
		}
	}
	scans, err := h.client.SearchScans(t.Context(), "acme", api.SearchScansRequest{})
	if err != nil || len(scans.Scans) != 1 {
		t.Errorf("scans: %+v, %v", scans, err)
	}
}

// TestImportsWithoutFiles checks that a clean gitleaks report closes findings of gitleaks. An empty
// list or object that any tool could have written needs an explicit format.
func TestImportsWithoutFiles(t *testing.T) {
	h := newHarness(t)
	const at = imports + "?project=acme/payments&ref=main&full=true"
	const leak = `[{"RuleID":"aws-access-token","File":"a.py","StartLine":1,"Secret":"AKIAIOSFODNN7EXAMPL1","Match":"AKIAIOSFODNN7EXAMPL1"}]`
	for _, step := range []struct{ body, want string }{{leak, `"new":1`}, {"[]\n", `"closed":1`}, {"[]", `"source":"gitleaks"`}} {
		if a := h.send(http.MethodPost, at, step.body, "Content-Type", "application/json"); a.status != http.StatusOK || !contains(a.body, step.want) {
			t.Errorf("%s: %d %s", step.body, a.status, a.body)
		}
	}
	for _, body := range []string{"{}", "null", `{"results":[]}`, `{"vulnerabilities":[]}`} {
		a := h.send(http.MethodPost, at, body, "Content-Type", "application/json")
		if a.status != http.StatusBadRequest || !contains(a.body, "--format") || !contains(a.body, "parameter format") {
			t.Errorf("%s: %d %s", body, a.status, a.body)
		}
	}
}
