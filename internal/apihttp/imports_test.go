package apihttp

import (
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/gate"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

const imports = "/api/v1/deployments/acme/imports"

func TestFormImport(t *testing.T) {
	h := newHarness(t)
	report := semgrepReport(map[string][]int{"a.py": {1}})
	body, media := reporttest.Form(t, "project", "acme/payments", "ref", "main", "at", "2024-05-01T00:00:00Z", "@semgrep.json", report, "@go.sum.txt", semgrepReport(map[string][]int{"b.py": {2}}))
	a := h.send(http.MethodPost, imports, body, "Content-Type", media)
	if a.status != http.StatusOK || !contains(a.body, `"new":2`) || !contains(a.body, `"ref":"refs/heads/main"`) {
		t.Fatalf("%d %s", a.status, a.body)
	}
	scans, err := h.client.SearchScans(t.Context(), "acme", api.SearchScansRequest{})
	if err != nil || len(scans.Scans) != 1 || scans.Scans[0].StartedAt.UTC().Format("2006-01-02") != "2024-05-01" {
		t.Errorf("scans: %+v, %v", scans, err)
	}
}

func TestImportsZipped(t *testing.T) {
	h := newHarness(t)
	report := semgrepReport(map[string][]int{"a.py": {1}})
	a := h.send(http.MethodPost, imports+"?project=acme/payments", string(reporttest.Gzip(t, []byte(report))), "Content-Encoding", "gzip")
	if a.status != http.StatusOK || !contains(a.body, `"new":1`) || !contains(a.body, `"ref":"HEAD"`) {
		t.Errorf("as an encoding: %d %s", a.status, a.body)
	}
	a = h.send(http.MethodPost, imports+"?project=acme/payments", string(reporttest.Gzip(t, []byte(report))), "Content-Type", "application/gzip")
	if a.status != http.StatusOK || !contains(a.body, `"outcome":"applied"`) || !contains(a.body, `"unchanged":1`) {
		t.Errorf("as a file: %d %s", a.status, a.body)
	}
}

// TestImportsAreBounded checks that neither compressed files nor concurrent uploads exceed the
// limits of memory.
func TestImportsAreBounded(t *testing.T) {
	h := newHarness(t, func(c *core.Config) { c.Limits.Upload = 1 << 20 })
	padded := string(reporttest.Gzip(t, []byte(semgrepReport(map[string][]int{"a.py": {1}})+strings.Repeat(" ", 700<<10))))
	body, media := reporttest.Form(t, "project", "acme/payments", "@a.json", padded, "@b.json", padded)
	h.wantProblem(h.send(http.MethodPost, imports, body, "Content-Type", media), api.CodeTooLarge)

	others := h.server.Intake.Reserve()
	if err := others.Add(4 << 20); err == nil {
		t.Error("one request can reserve all memory")
	}
	a := h.send(http.MethodPost, imports+"?project=acme/payments", padded)
	h.wantProblem(a, api.CodeUnavailable)
	if a.header.Get("Retry-After") == "" {
		t.Error("Retry-After is missing")
	}
	others.Release()
	if a := h.send(http.MethodPost, imports+"?project=acme/payments", padded); a.status != http.StatusOK {
		t.Errorf("after the release: %d %s", a.status, a.body)
	}
	if used := h.server.Intake.InUse(); used != 0 {
		t.Errorf("%d bytes were not released", used)
	}
}

func TestRejectedImports(t *testing.T) {
	h := newHarness(t, func(c *core.Config) { c.Limits.Upload = 1 << 20 })
	report := semgrepReport(map[string][]int{"a.py": {1}})
	late, media := reporttest.Form(t, "@semgrep.json", report, "project", "acme/payments")
	empty, emptyMedia := reporttest.Form(t, "project", "acme/payments")
	flag, flagMedia := reporttest.Form(t, "project", "acme/payments", "full", "perhaps", "@a.json", report)
	bound := h.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{"other/*"}})
	readOnly := h.newToken(model.Token{Name: "ro", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}})
	for _, test := range []struct {
		name, target, body, code string
		headers                  []string
	}{
		{"no project", imports, report, api.CodeInvalidArgument, nil},
		{"odd project", imports + "?project=one", report, api.CodeInvalidArgument, nil},
		{"two kinds", imports + "?project=a/b&full=true&diff=true", report, api.CodeInvalidArgument, nil},
		{"no time", imports + "?project=a/b&at=yesterday", report, api.CodeInvalidArgument, nil},
		{"before the first year", imports + "?project=a/b&at=0001-01-01T00:00:00%2B14:00", report, api.CodeInvalidArgument, nil},
		{"future", imports + "?project=a/b&at=2999-01-01T00:00:00Z", report, api.CodeInvalidArgument, nil},
		{"no report", imports + "?project=a/b", `{"hello":"world"}`, api.CodeInvalidArgument, nil},
		{"half a report", imports + "?project=a/b", report[:len(report)-5], api.CodeInvalidArgument, nil},
		{"unknown format", imports + "?project=a/b&format=word", report, api.CodeInvalidArgument, nil},
		{"fields behind files", imports, late, api.CodeInvalidArgument, []string{"Content-Type", media}},
		{"no file", imports, empty, api.CodeInvalidArgument, []string{"Content-Type", emptyMedia}},
		{"no flag", imports, flag, api.CodeInvalidArgument, []string{"Content-Type", flagMedia}},
		{"a bomb", imports + "?project=a/b", string(reporttest.Gzip(t, []byte(report+strings.Repeat(" ", 2<<20)))), api.CodeTooLarge, []string{"Content-Encoding", "gzip"}},
		{"out of bounds", imports + "?project=acme/payments", report, api.CodeNotFound, []string{"Authorization", "Bearer " + bound}},
		{"read-only", imports + "?project=acme/payments", report, api.CodePermissionDenied, []string{"Authorization", "Bearer " + readOnly}},
	} {
		t.Run(test.name, func(t *testing.T) {
			h.t = t
			h.wantProblem(h.send(http.MethodPost, test.target, test.body, test.headers...), test.code)
		})
	}
	h.t = t
	if page, err := h.client.ListProjects(t.Context(), "acme", api.ProjectsQuery{}); err != nil || len(page.Projects) != 0 {
		t.Errorf("rejected imports left %+v, %v", page, err)
	}
}

func TestOnlyBrokenItemIsRejected(t *testing.T) {
	h := newHarness(t)
	report := `{"version":"1.180.0","results":[7,` + semgrepReport(map[string][]int{"a.py": {1}})[len(`{"errors":[],"paths":{"scanned":["a.py"]},"results":[`):]
	strict := h.send(http.MethodPost, imports+"?project=a/b&strict=true", report)
	h.wantProblem(strict, api.CodeInvalidArgument)
	a := h.send(http.MethodPost, imports+"?project=a/b", report)
	if a.status != http.StatusOK || !contains(a.body, `"new":1`) || !contains(a.body, `"item":"results[0]"`) {
		t.Errorf("%d %s", a.status, a.body)
	}
}

func TestUnreadableFileIsListedOnce(t *testing.T) {
	h := newHarness(t)
	body, media := reporttest.Form(t, "project", "a/b", "@cut.json", `{"version":"1","results":[{`)
	a := h.send(http.MethodPost, imports, body, "Content-Type", media)
	if a.status != http.StatusBadRequest || strings.Count(a.body, "cut.json") != 3 { // in detail, error and location
		t.Errorf("%d %s", a.status, a.body)
	}
}

// TestFormFilesShareRedactedSecrets checks that a secret that one file reports is redacted in
// another, in any order of the files.
func TestFormFilesShareRedactedSecrets(t *testing.T) {
	const secret = "correct-horse-battery"
	leak := `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"gitleaks"}},"results":[{"ruleId":"generic-api-key","locations":[{"physicalLocation":
		{"artifactLocation":{"uri":"b.py"},"region":{"startLine":1,"snippet":{"text":"` + secret + `"}}}}]}]}]}`
	code := strings.ReplaceAll(semgrepReport(map[string][]int{"a.py": {1}}), `"message":"`, `"message":"uses `+secret+` in `)
	for _, files := range [][]string{{"@a.json", code, "@b.sarif", leak}, {"@b.sarif", leak, "@a.json", code}} {
		h := newHarness(t)
		body, media := reporttest.Form(t, append([]string{"project", "acme/payments"}, files...)...)
		if a := h.send(http.MethodPost, imports, body, "Content-Type", media); a.status != http.StatusOK {
			t.Fatalf("%d %s", a.status, a.body)
		}
		a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings", "")
		if !contains(a.body, "uses [REDACTED] in ") || contains(a.body, secret) {
			t.Errorf("with %s first, the finding is %s", files[0], a.body)
		}
	}
}

// TestSecretsRuleTypeIsPreserved imports a rule as JSON, which declares that it detects secrets, and then
// as SARIF, which does not.
func TestSecretsRuleTypeIsPreserved(t *testing.T) {
	h := newHarness(t)
	const secret = "hunter2-hunter2"
	withProduct := strings.ReplaceAll(`{"version":"1.180.0","errors":[],"paths":{"scanned":["a.py"]},"results":[{"check_id":"acme.tokens","path":"a.py",
		"start":{"line":1,"col":1},"end":{"line":1,"col":16},
		"extra":{"severity":"ERROR","message":"x","metadata":{"product":"secrets"},"lines":"@"}}]}`, "@", secret)
	silent := strings.ReplaceAll(`{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Semgrep OSS"}},"results":[{"ruleId":"acme.tokens",
		"message":{"text":"found @"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"b.py"},
		"region":{"startLine":1,"startColumn":1,"endLine":1,"endColumn":16,"snippet":{"text":"@"}}}}]}]}]}`, "@", secret)
	for _, body := range []string{withProduct, silent} {
		if a := h.send(http.MethodPost, imports+"?project=a/b&diff=true", body); a.status != http.StatusOK || !contains(a.body, `"new":1`) {
			t.Fatalf("%d %s", a.status, a.body)
		}
	}
	page, err := h.client.ListSecrets(t.Context(), "acme", api.SecretsQuery{})
	if err != nil || len(page.Findings) != 2 {
		t.Errorf("secrets: %+v, %v; want both", page, err)
	}
}

// TestImportedRuleBlocksImmediately checks that a new blocking rule applies to the import that
// contains it, in any of its reports. It also applies to a repetition.
func TestImportedRuleBlocksImmediately(t *testing.T) {
	h := newHarness(t)
	result := func(rule, path string) string {
		return strings.NewReplacer("RULE", rule, "PATH", path).Replace(`{"version":"1.180.0","errors":[],"paths":{"scanned":["PATH"]},"results":[{"check_id":"RULE","path":"PATH",
			"start":{"line":1,"col":1},"end":{"line":1,"col":9},"extra":{"severity":"ERROR","message":"x","metadata":{"dev.semgrep.actions":["block"]},"lines":"eval(x)","fingerprint":"f"}}]}`)
	}
	for _, ref := range []string{"main", "dev"} {
		files := []string{"@a.json", semgrepReport(map[string][]int{"a.py": {1}})}
		if ref == "dev" {
			files = append(files, "@b.json", result("acme.first", "b.py"), "@c.json", result("acme.second", "c.py"))
		}
		body, media := reporttest.Form(t, append([]string{"project", "acme/payments", "ref", ref}, files...)...)
		for i := range 2 {
			a := h.send(http.MethodPost, imports, body, "Content-Type", media)
			blocked := contains(a.body, `"blocked":true`) && contains(a.body, "2 new findings of")
			if a.status != http.StatusOK || blocked != (ref == "dev") {
				t.Errorf("%s, time %d: %d %s", ref, i+1, a.status, a.body)
			}
		}
	}
}

// TestDroppedProposalsNote checks that the note is a complete sentence if the upload proposes
// nothing.
func TestDroppedProposalsNote(t *testing.T) {
	dropped := ingest.Summary{VEX: []model.VEXReceipt{{Outcome: model.VEXDropped}}}
	note := gate.ImportAnswer([]ingest.Summary{dropped}).Imports[0].Note
	if note == "" || note != strings.TrimSpace(note) || strings.ToUpper(note[:1]) != note[:1] {
		t.Errorf("the note is %q", note)
	}
}
