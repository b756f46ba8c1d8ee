package imports

import (
	"path/filepath"
	"strings"
	"testing"
)

const (
	snykClean  = `{"ok":true,"vulnerabilities":[],"dependencyCount":3}`
	csaf       = `{"document":{"csaf_version":"2.0"},"product_tree":{},"vulnerabilities":[{"cve":"CVE-2026-1"}]}`
	spdx3      = `{"@context":"https://spdx.org/rdf/3.0.1/spdx-context.jsonld","@graph":[]}`
	allRefused = `{"version":"15.0.7","scan":{"type":"sast"},"vulnerabilities":[{"id":"1","identifiers":[],"location":{"file":"a.py"}}]}`
	bomRefused = `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","name":"a"}]}`
	otherToml  = "[[example]]\nname = \"clock\"\n"
	juliaEmpty = "# This file is machine-generated - editing it directly is not advised\n"
)

// TestImportUnusableReport checks that an import with an unusable report exits with 1 if the report was
// named. It exits with 3 if the report is in a directory, from which all other files are imported.
func TestImportUnusableReport(t *testing.T) {
	w := newImporter(t, "sqlite")
	for name, text := range map[string]string{"snyk.json": snykClean, "csaf.json": csaf, "refused.json": allRefused, "bom.json": bomRefused} {
		w.write(name, text)
		for _, full := range []bool{false, true} {
			if out, messages, exit := w.run(Command{Full: full}, name); exit != 1 || !strings.Contains(messages, name) {
				t.Errorf("%s: exit code %d, %q, %+v", name, exit, messages, out.Imports)
			}
		}
	}
	for name, text := range map[string]string{"spdx3": spdx3, "refused": bomRefused} {
		w.write(name+"/go.mod", "module a.example/b\n")
		w.write(name+"/sbom.json", text)
		out, messages, exit := w.run(Command{Full: true}, name)
		if exit != exitPartly || out.Files != 1 || len(out.Unread) != 1 || out.Unread[0].Name != name+"/sbom.json" {
			t.Errorf("%s: exit code %d, %q, unread %v", name, exit, messages, out.Unread)
		}
	}
}

// TestImportFilesNamedLikeLockfiles checks that files that are only named like lockfiles, and empty lockfiles, do
// not fail the import of a directory. A broken lockfile does.
func TestImportFilesNamedLikeLockfiles(t *testing.T) {
	w := newImporter(t, "sqlite")
	w.write("some/go.mod", "module a.example/b\n\nrequire golang.org/x/text v0.3.5\n")
	others := []string{"some/a/manifest.toml", "some/b/Manifest.toml", "some/c/environment.yml", "some/d/manifest.toml"}
	for i, text := range []string{otherToml, otherToml, "env: production\n", ""} {
		w.write(others[i], text)
	}
	for name, text := range map[string]string{"yarn.lock": "", "paket.lock": "\n", "Manifest.toml": juliaEmpty} {
		w.write("some/empty/"+name, text)
	}
	w.write("some/e/bom.json", "[]") // a gitleaks report instead of a bill of materials
	others = append(others, "some/e/bom.json")
	for _, strict := range []bool{false, true} {
		out, messages, exit := w.run(Command{Full: true, Strict: strict}, "some")
		if exit != 0 || out.Files != 4 || len(out.Unread) != 0 || len(out.Imports) != 1 || out.Imports[0].RefusedCount != 0 {
			t.Errorf("exit code %d, %d files, unread %v, %+v", exit, out.Files, out.Unread, out.Imports)
		}
		for _, name := range others {
			if !strings.Contains(messages, filepath.FromSlash(name)) {
				t.Errorf("nothing is said of %s: %q", name, messages)
			}
		}
	}
	w.write("some/d/manifest.toml", "packages = [")
	if out, _, exit := w.run(Command{}, "some"); exit != exitPartly || len(out.Unread) != 1 {
		t.Errorf("broken: exit code %d, unread %v", exit, out.Unread)
	}
	for _, name := range []string{others[0], others[1]} {
		if _, _, exit := w.run(Command{}, name); exit != 1 {
			t.Errorf("%s by its name: exit code %d", name, exit)
		}
	}
}
