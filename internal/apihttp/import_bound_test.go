package apihttp

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// manyLines repeats a line, in which # is replaced by the number.
func manyLines(line string, n int) string {
	var b strings.Builder
	for i := range n {
		b.WriteString(strings.ReplaceAll(line, "#", fmt.Sprint(i)))
	}
	return b.String()
}

// sarifOfRuns returns a SARIF file with n runs, each of a different tool.
func sarifOfRuns(n int) string {
	return `{"version":"2.1.0","runs":[` + strings.TrimSuffix(manyLines(`{"tool":{"driver":{"name":"t#"}},"results":[]},`, n), ",") + `]}`
}

// TestLockfilesAreBounded checks that a lockfile with too many short entries is rejected and
// nothing of it is stored. A lockfile as large as those of the largest npm projects is accepted.
func TestLockfilesAreBounded(t *testing.T) {
	h := newHarness(t)
	npm := func(entry string, n int) string {
		return `{"name":"x","lockfileVersion":3,"packages":{"":{"name":"x"}` + manyLines(entry, n) + `}}`
	}
	const short = `,"node_modules/a#":{"version":"1"}`
	for name, c := range map[string]struct {
		file, text string
		status     int
	}{
		"requirements": {"requirements.txt", manyLines("a#==1\n", 40_000), http.StatusRequestEntityTooLarge},
		"npm":          {"package-lock.json", npm(short, 40_000), http.StatusRequestEntityTooLarge},
		"yarn":         {"yarn.lock", "# yarn lockfile v1\n\n" + manyLines("a#@1:\n  version \"1\"\n\n", 40_000), http.StatusRequestEntityTooLarge},
		"pnpm":         {"pnpm-lock.yaml", "lockfileVersion: '6.0'\npackages:\n" + manyLines("  /a#@1.0.0: {dev: false}\n", 40_000), http.StatusRequestEntityTooLarge},
		"Go":           {"go.mod", "module x\ngo 1.21\nrequire (\n" + manyLines("a.b/c# v1.0.0\n", 40_000) + ")\n", http.StatusRequestEntityTooLarge},
		"npm as it is": {"package-lock.json", npm(`,"node_modules/a#":{"version":"1.0.#","license":"MIT"}`, 30_000), http.StatusOK},
	} {
		project := "acme/" + strings.ReplaceAll(name, " ", "-")
		a := h.send(http.MethodPost, imports+"?project="+project+"&ref=main&filename="+c.file, c.text, "Content-Type", "application/octet-stream")
		if a.status != c.status {
			t.Errorf("%s: %d %.200s", name, a.status, a.body)
		}
	}
	projects, err := h.client.ListProjects(t.Context(), "acme", api.ProjectsQuery{})
	if err != nil || len(projects.Projects) != 1 {
		t.Errorf("projects: %+v, %v", projects, err)
	}
}

// TestScansOfAnUploadAreBounded checks that an upload may contain one hundred runs, which become
// one hundred scans. One more, in one or several files, is rejected.
func TestScansOfAnUploadAreBounded(t *testing.T) {
	h := newHarness(t)
	const at = imports + "?project=acme/payments&ref=main"
	if a := h.send(http.MethodPost, at, sarifOfRuns(101), "Content-Type", "application/json"); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("101 runs: %d %.200s", a.status, a.body)
	}
	one := strings.ReplaceAll(sarifOfRuns(1), "t0", "other")
	body, media := reporttest.Form(t, "project", "acme/payments", "ref", "main", "@a.sarif", sarifOfRuns(100), "@b.sarif", one)
	if a := h.send(http.MethodPost, imports, body, "Content-Type", media); a.status != http.StatusRequestEntityTooLarge {
		t.Errorf("101 runs in two files: %d %.200s", a.status, a.body)
	}
	if a := h.send(http.MethodPost, at, sarifOfRuns(100), "Content-Type", "application/json"); a.status != http.StatusOK {
		t.Errorf("100 runs: %d %.200s", a.status, a.body)
	}
	scans, err := h.client.SearchScans(t.Context(), "acme", api.SearchScansRequest{Limit: 500})
	if err != nil || len(scans.Scans) != 100 {
		t.Errorf("%d scans, %v", len(scans.Scans), err)
	}
	long := imports + "?project=acme/other&ref=main&repo_url=https://h.example/" + strings.Repeat("x", 2048)
	if a := h.send(http.MethodPost, long, sarifOfRuns(1), "Content-Type", "application/json"); a.status != http.StatusBadRequest {
		t.Errorf("a long address: %d %.200s", a.status, a.body)
	}
}
