//go:build faults && linux

package faults

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
)

// shape is a report filled with many small items.
type shape struct {
	name, file       string
	head, item, tail string // # in the item is replaced by its number
	most             int    // maximum number of items; 0: limited by shapeBytes
}

// shapeBytes is the size of the files.
const shapeBytes = 1 << 20

// text returns the file.
func (s shape) text() []byte {
	var b bytes.Buffer
	b.WriteString(s.head)
	for i := 0; (s.most == 0 || i < s.most) && b.Len() < shapeBytes; i++ {
		if i > 0 && strings.HasPrefix(s.file, "x.") {
			b.WriteByte(',')
		}
		b.WriteString(strings.ReplaceAll(s.item, "#", strconv.Itoa(i)))
	}
	b.WriteString(s.tail)
	return b.Bytes()
}

// shapes are uploads with the highest cost per byte. They contain the smallest items of each list
// of each format, items that multiply, and files that compress well.
var shapes = []shape{
	{"SARIF runs", "x.sarif", `{"version":"2.1.0","runs":[`, `{"tool":{"driver":{"name":"t#"}},"results":[]}`, `]}`, 0},
	{"SARIF runs, as many as are accepted", "x.sarif", `{"version":"2.1.0","runs":[`, `{"tool":{"driver":{"name":"t#"}},"results":[]}`, `]}`, 100},
	{"SARIF empty results", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[`, `{}`, `]}]}`, 0},
	{"SARIF results", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[`, `{"ruleId":"r","analysisTarget":{"uri":"a#"}}`, `]}]}`, 0},
	{"SARIF results, as many as are accepted", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[`, `{"ruleId":"r","analysisTarget":{"uri":"a#"}}`, `]}]}`, 14_000},
	{"SARIF results of a rule each", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[`, `{"ruleId":"r#","analysisTarget":{"uri":"a"}}`, `]}]}`, 6_000},
	{"SARIF rules", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t","rules":[`, `{"id":"r#"}`, `]}},"results":[]}]}`, 0},
	{"SARIF artifacts", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[],"artifacts":[`, `{"location":{"uri":"a#"}}`, `]}]}`, 0},
	{"SARIF invocations", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[],"invocations":[`, `{}`, `]}]}`, 0},
	{"SARIF locations of one result", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[{"ruleId":"r","locations":[`, `{"physicalLocation":{"artifactLocation":{"uri":"a#"}}}`, `]}]}]}`, 0},
	{"SARIF arrays", "x.sarif", `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"t"}},"results":[],"properties":{"a":[`, `[]`, `]}}]}`, 0},
	{"Semgrep results", "x.json", `{"version":"1","errors":[],"paths":{"scanned":[]},"results":[`, `{"check_id":"r","path":"a#","start":{"line":1,"col":1,"offset":0},"end":{"line":1,"col":2,"offset":1},"extra":{"message":"","severity":"INFO","metadata":{}}}`, `]}`, 0},
	{"Semgrep results of a rule each", "x.json", `{"version":"1","errors":[],"paths":{"scanned":[]},"results":[`, `{"check_id":"r#","path":"a","start":{"line":#,"col":1,"offset":0},"end":{"line":#,"col":2,"offset":1},"extra":{"message":"","severity":"INFO","metadata":{}}}`, `]}`, 0},
	{"Semgrep errors", "x.json", `{"version":"1","results":[],"paths":{"scanned":[]},"errors":[`, `{"path":"a#"}`, `]}`, 0},
	{"Semgrep paths", "x.json", `{"version":"1","results":[],"errors":[],"paths":{"scanned":[`, `"a#"`, `]}}`, 0},
	{"GitLab vulnerabilities", "x.json", `{"version":"15.0.0","scan":{"type":"sast","status":"success"},"vulnerabilities":[`, `{"id":"#","identifiers":[{"type":"t","name":"n","value":"v#"}],"location":{"file":"a"}}`, `]}`, 0},
	{"gitleaks findings", "x.json", `[`, `{"RuleID":"r","File":"a#","StartLine":1,"Secret":"s#"}`, `]`, 0},
	{"Trivy targets", "x.json", `{"SchemaVersion":2,"ArtifactName":"a","Results":[`, `{"Target":"t#"}`, `]}`, 0},
	{"Trivy vulnerabilities, as many as are accepted", "x.json", `{"SchemaVersion":2,"ArtifactName":"a","Results":[{"Target":"t","Class":"lang-pkgs","Type":"npm","Vulnerabilities":[`, `{"VulnerabilityID":"CVE-#","PkgName":"a","InstalledVersion":"1"}`, `]}]}`, 5_000},
	{"Trivy vulnerabilities", "x.json", `{"SchemaVersion":2,"ArtifactName":"a","Results":[{"Target":"t","Class":"lang-pkgs","Type":"npm","Vulnerabilities":[`, `{"VulnerabilityID":"CVE-#","PkgName":"a","InstalledVersion":"1"}`, `]}]}`, 0},
	{"Grype matches", "x.json", `{"descriptor":{"name":"grype"},"matches":[`, `{"vulnerability":{"id":"CVE-#"},"artifact":{"name":"a","version":"1","type":"npm"}}`, `]}`, 0},
	{"npm audit advisories", "x.json", `{"auditReportVersion":2,"metadata":{},"vulnerabilities":{"a":{"name":"a","severity":"low","via":[`, `{"source":#,"name":"a","url":"https://x/#"}`, `]}}}`, 0},
	{"CycloneDX components", "x.cdx.json", `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[`, `{"type":"library","name":"a#","version":"1","purl":"pkg:npm/a#@1"}`, `]}`, 0},
	{"CycloneDX components, nested", "x.cdx.json", `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","name":"a","version":"1","components":[`, `{"type":"library","name":"a#","version":"1"}`, `]}]}`, 0},
	{"CycloneDX licenses", "x.cdx.json", `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","name":"a","version":"1","licenses":[`, `{"license":{"id":"L#"}}`, `]}]}`, 0},
	{"CycloneDX dependencies", "x.cdx.json", `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","bom-ref":"a","name":"a","version":"1"}],"dependencies":[`, `{"ref":"r#","dependsOn":["a"]}`, `]}`, 0},
	{"CycloneDX affects", "x.cdx.json", `{"bomFormat":"CycloneDX","specVersion":"1.5","components":[{"type":"library","bom-ref":"a","name":"a","version":"1"}],"vulnerabilities":[`, `{"id":"CVE-#","affects":[{"ref":"a"}]}`, `]}`, 0},
	{"SPDX packages", "x.spdx.json", `{"spdxVersion":"SPDX-2.3","packages":[`, `{"SPDXID":"SPDXRef-#","name":"a#","versionInfo":"1","externalRefs":[{"referenceType":"purl","referenceLocator":"pkg:npm/a#@1"}]}`, `]}`, 0},
	{"SPDX relationships", "x.spdx.json", `{"spdxVersion":"SPDX-2.3","packages":[],"relationships":[`, `{"spdxElementId":"a#","relatedSpdxElement":"b"}`, `]}`, 0},
	{"OpenVEX statements", "x.openvex.json", `{"@context":"https://openvex.dev/ns/v0.2.0","@id":"x","author":"a","timestamp":"2026-01-01T00:00:00Z","version":1,"statements":[`, `{"vulnerability":{"name":"CVE-#"},"products":[{"@id":"pkg:npm/a"}],"status":"fixed"}`, `]}`, 0},
	{"requirements.txt", "requirements.txt", ``, "a#==1\n", ``, 0},
	{"requirements.txt, as many as are accepted", "requirements.txt", ``, "a#==1\n", ``, 14_000},
	{"requirements.txt of conditions", "requirements.txt", ``, "a#>1\n", ``, 0},
	{"requirements.txt of references", "requirements.txt", ``, "-r a#.txt\n", ``, 0},
	{"package-lock.json", "package-lock.json", `{"name":"x","lockfileVersion":3,"packages":{"":{"name":"x"}`, `,"node_modules/a#":{"version":"1"}`, `}}`, 0},
	{"package-lock.json, as many as are accepted", "package-lock.json", `{"name":"x","lockfileVersion":3,"packages":{"":{"name":"x"}`, `,"node_modules/a#":{"version":"1"}`, `}}`, 25_000},
	{"yarn.lock", "yarn.lock", "# yarn lockfile v1\n\n", "a#@1:\n  version \"1\"\n\n", ``, 0},
	{"yarn.lock, as many as are accepted", "yarn.lock", "# yarn lockfile v1\n\n", "a#@1:\n  version \"1\"\n\n", ``, 20_000},
	{"pnpm-lock.yaml", "pnpm-lock.yaml", "lockfileVersion: '6.0'\npackages:\n", "  /a#@1.0.0: {dev: false}\n", ``, 0},
	{"go.mod", "go.mod", "module x\ngo 1.21\nrequire (\n", "a.b/c# v1.0.0\n", ")\n", 0},
	{"go.mod, as many as are accepted", "go.mod", "module x\ngo 1.21\nrequire (\n", "a.b/c# v1.0.0\n", ")\n", 18_000},
	{"Cargo.lock", "Cargo.lock", "version = 3\n", "[[package]]\nname = \"a#\"\nversion = \"1.0.0\"\n", ``, 0},
	{"poetry.lock", "poetry.lock", ``, "[[package]]\nname = \"a#\"\nversion = \"1\"\n", "[metadata]\nlock-version = \"2.0\"\n", 0},
	{"Gemfile.lock", "Gemfile.lock", "GEM\n  remote: https://rubygems.org/\n  specs:\n", "    a# (1)\n", "\nPLATFORMS\n  ruby\n\nDEPENDENCIES\n", 0},
	{"gradle.lockfile", "gradle.lockfile", ``, "a:b#:1=c\n", "empty=\n", 0},
	{"pom.xml", "pom.xml", `<project><modelVersion>4.0.0</modelVersion><dependencies>`, `<dependency><groupId>g</groupId><artifactId>a#</artifactId><version>1</version></dependency>`, `</dependencies></project>`, 0},
	{"mix.lock", "mix.lock", "%{\n", "\"a#\": {:hex, :a#, \"1.0.0\", \"\", [:mix], [], \"hexpm\", \"\"},\n", "}\n", 0},
	{"zeros", "x.json", ``, strings.Repeat("\x00", 1<<12), ``, 0},
	{"brackets", "x.json", ``, strings.Repeat("[", 1<<12), ``, 0},
}

// memoryOfServer returns a field of the server's process status, in bytes.
func (f *faulty) memoryOfServer(member string) int64 {
	f.t.Helper()
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", f.server.Process.Pid))
	if err != nil {
		f.t.Fatal(err)
	}
	_, after, _ := strings.Cut(string(status), member+":")
	kilobytes, err := strconv.ParseInt(strings.Fields(after)[0], 10, 64)
	if err != nil {
		f.t.Fatal(err)
	}
	return kilobytes << 10
}

// importOf uploads a file and returns the status of the response.
func (f *faulty) importOf(project, file string, text []byte) int {
	q := api.ImportQuery{Project: project, Ref: "main"}
	_, err := f.client.ImportReports(f.t.Context(), f.ready.DeploymentSlug, q, []api.File{{Name: file, Data: text}})
	if err == nil {
		return http.StatusOK
	}
	if problem, ok := errors.AsType[*api.Problem](err); ok {
		return problem.Status
	}
	f.t.Errorf("%s: %v", file, err)
	return 0
}

// Limits of an upload: additional memory in bytes, memory per byte of the upload, and the delay of
// a concurrent small upload. The test allows twice the delay, for other load on the machine.
const (
	uploadMemory  = 64 << 20
	uploadPerByte = 40
	uploadWait    = 2 * time.Second
)

// TestFaultsUploads sends each shape to a newly started server, with concurrent small uploads.
// Memory and delays must stay within the limits.
func TestFaultsUploads(t *testing.T) {
	for _, s := range shapes {
		t.Run(s.name, func(t *testing.T) {
			f := newFaulty(t, storageOn(t, "sqlite"))
			f.start()
			f.base()
			f.importOf("small/before", "requirements.txt", []byte("a==1\n"))
			if err := os.WriteFile(fmt.Sprintf("/proc/%d/clear_refs", f.server.Process.Pid), []byte("5"), 0); err != nil {
				t.Fatal(err)
			}
			before, text := f.memoryOfServer("VmRSS"), s.text()
			ended, slowest := make(chan int), time.Duration(0)
			go func() { ended <- f.importOf("large/shape", s.file, text) }()
			status := 0
			for i := 0; status == 0; i++ {
				begun := time.Now()
				if got := f.importOf("small/beside", "requirements.txt", fmt.Appendf(nil, "a==%d\n", i)); got != http.StatusOK {
					t.Errorf("a small upload returns %d", got)
				}
				slowest = max(slowest, time.Since(begun))
				select {
				case status = <-ended:
				case <-time.After(20 * time.Millisecond):
				}
			}
			took := f.memoryOfServer("VmHWM") - before
			t.Logf("%d bytes: %d, %d MiB (%.0f times), a small upload took %v", len(text), status, took>>20, float64(took)/float64(len(text)), slowest.Round(time.Millisecond))
			if most := int64(uploadMemory + uploadPerByte*len(text)); took > most {
				t.Errorf("the server used %d MiB; %d are allowed", took>>20, most>>20)
			}
			if slowest > 2*uploadWait {
				t.Errorf("a small upload took %v", slowest)
			}
			if s.most > 0 && status != http.StatusOK || status == 0 || status >= http.StatusInternalServerError {
				t.Errorf("answered %d", status)
			}
			f.kill()
		})
	}
}
