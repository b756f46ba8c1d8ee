package report

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report/bom"
	"github.com/redoubt/redoubt/internal/report/format"
)

// inventoriesOf reads a document and returns lockfile, package and transitivity of each dependency.
func inventoriesOf(t *testing.T, name, text string) (list []string) {
	t.Helper()
	reports, err := Read(strings.NewReader(text), format.Options{Name: name})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports {
		for _, i := range r.Inventories {
			for _, d := range i.Dependencies {
				list = append(list, fmt.Sprintf("%s:%d %s %s %s %v", i.Lockfile, d.Line, d.Ecosystem, d.Name, d.Version, d.Transitivity))
			}
		}
	}
	return list
}

func componentWith(properties ...string) string {
	return `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[{"type":"library","bom-ref":"p","name":"p","version":"1","purl":"pkg:npm/p@1",
		"properties":[` + strings.Join(properties, ",") + `]}]}`
}

func property(name, value string) string {
	text, err := json.Marshal(map[string]string{"name": "redoubt:" + name, "value": value})
	if err != nil {
		panic(err) // unreachable: strings are always valid
	}
	return string(text)
}

// TestForeignSBOMNotes checks that notes in a foreign document have no more effect than a lockfile of
// that name.
func TestForeignSBOMNotes(t *testing.T) {
	for name, c := range map[string]struct {
		text string
		want string
	}{
		"a path that leads out":     {componentWith(property("lockfile", "../../etc/yarn.lock")), "x.cdx.json:0 npm p 1 unknown"},
		"an absolute path":          {componentWith(property("lockfile", "/etc/yarn.lock")), "x.cdx.json:0 npm p 1 unknown"},
		"a path that is too long":   {componentWith(property("lockfile", strings.Repeat("a/", 4000)+"yarn.lock")), "x.cdx.json:0 npm p 1 unknown"},
		"control characters":        {componentWith(property("lockfile", "a\x01/yarn\n.lock")), "a/yarn.lock:0 npm p 1 unknown"},
		"the same lockfile again":   {componentWith(property("lockfile", "yarn.lock#L3"), property("lockfile", "./yarn.lock")), "yarn.lock:3 npm p 1 unknown"},
		"a line that is none":       {componentWith(property("lockfile", "yarn.lock#L99999999999999999999")), "yarn.lock#L99999999999999999999:0 npm p 1 unknown"},
		"a word for a transitivity": {componentWith(property("transitivity", "root"), property("lockfile", "yarn.lock")), "yarn.lock:0 npm p 1 unknown"},
		"another ecosystem":         {componentWith(property("ecosystem", "pypi"), property("transitivity", "direct")), "x.cdx.json:0 npm p 1 direct"},
	} {
		if got := strings.Join(inventoriesOf(t, "x.cdx.json", c.text), "\n"); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// TestOwnSBOMInventory checks that only the inventory of an SBOM written by Redoubt is imported.
// Vulnerabilities and analyses are skipped, and a package without a lockfile is known only from a
// finding.
func TestOwnSBOMInventory(t *testing.T) {
	const vulnerabilities = `"vulnerabilities":[{"id":"CVE-1","analysis":{"state":"not_affected"},"affects":[{"ref":"p"}]},{"id":"CVE-2","affects":[{"ref":"p"}]}]`
	for name, c := range map[string]struct{ text, want string }{
		"held by a lockfile": {componentWith(property("lockfile", "yarn.lock"), property("transitivity", "direct")), "yarn.lock:0 npm p 1 direct"},
		"known by a finding": {componentWith(property("transitivity", "direct")), ""},
	} {
		for tool, skipped := range map[string]int{"redoubt": 2, "trivy": 0} {
			text := strings.Replace(c.text, `"components"`, `"metadata":{"tools":{"components":[{"type":"application","name":"`+tool+`"}]}},`+vulnerabilities+`,"components"`, 1)
			reports, err := Read(strings.NewReader(text), format.Options{Name: "x.cdx.json"})
			if err != nil {
				t.Fatal(err)
			}
			r := reports[0]
			if r.SkippedVulnerabilities != skipped || (len(r.Results) == 0) != (skipped > 0) || (len(r.VEX) == 0) != (skipped > 0) || len(r.Refused) != 0 {
				t.Errorf("%s, by %s: %d skipped, %d findings, %d documents, refused %v", name, tool, r.SkippedVulnerabilities, len(r.Results), len(r.VEX), r.Refused)
			}
			if got := strings.Join(inventoriesOf(t, "x.cdx.json", text), "\n"); got != c.want && skipped > 0 {
				t.Errorf("%s: %q, want %q", name, got, c.want)
			}
		}
	}
}

// TestSourceInfo checks that only syft's sourceInfo and our notes are parsed.
func TestSourceInfo(t *testing.T) {
	for info, want := range map[string]string{
		"acquired package info from rust cargo manifest: /rust/Cargo.lock, /x":               "rust/Cargo.lock:0 cargo p 1 unknown",
		"ecosystem: cargo; transitivity: direct; lockfile: rust/Cargo.lock#L7":               "rust/Cargo.lock:7 cargo p 1 direct",
		"ecosystem: cargo; transitivity: direct; lockfiles: rust/Cargo.lock":                 "x.spdx.json:0 cargo p 1 direct", // older form
		"made by hand; transitivity: direct; see: rust/Cargo.lock":                           "x.spdx.json:0 cargo p 1 unknown",
		"transitivity: transitive; lockfile: a%2C b%3B c%25/Cargo.lock, ../Cargo.lock, ; ; ": "a, b; c%/Cargo.lock:0 cargo p 1 transitive",
	} {
		text := fmt.Sprintf(`{"spdxVersion":"SPDX-2.3","SPDXID":"SPDXRef-DOCUMENT","name":"x","packages":[{"SPDXID":"SPDXRef-p","name":"p","versionInfo":"1",
			"sourceInfo":%q,"externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"pkg:cargo/p@1"}]}]}`, info)
		if got := strings.Join(inventoriesOf(t, "x.spdx.json", text), "\n"); got != want {
			t.Errorf("%s: %q, want %q", info, got, want)
		}
	}
}

// TestSBOMNoteExpansionIsBounded checks that a short document with millions of places and edges is read
// within limits.
func TestSBOMNoteExpansionIsBounded(t *testing.T) {
	const packages, lockfiles, limit = 60, 60, 7_000
	var properties, components, needs, edges, affects []string
	for i := range lockfiles {
		properties = append(properties, property("lockfile", fmt.Sprintf("%d/yarn.lock", i)))
	}
	for i := range packages {
		components = append(components, fmt.Sprintf(`{"type":"library","bom-ref":"p%d","name":"p%d","version":"1","properties":[%s]}`, i, i, strings.Join(properties, ",")))
		needs = append(needs, fmt.Sprintf(`"p%d"`, i))
		affects = append(affects, fmt.Sprintf(`{"ref":"p%d"}`, i))
	}
	for i := range packages {
		edges = append(edges, fmt.Sprintf(`{"ref":"p%d","dependsOn":[%s]}`, i, strings.Join(needs, ",")))
	}
	vulnerability := `{"id":"CVE-1","affects":[` + strings.Join(affects, ",") + `]}`
	text := `{"bomFormat":"CycloneDX","specVersion":"1.6","components":[` + strings.Join(components, ",") + `],"dependencies":[` + strings.Join(edges, ",") +
		`],"vulnerabilities":[` + strings.Repeat(vulnerability+",", 5) + vulnerability + `]}`
	reports, err := Read(strings.NewReader(text), format.Options{Name: "x.cdx.json", Limits: format.Limits{Items: limit}})
	if err != nil {
		t.Fatal(err)
	}
	r, edgeCount := reports[0], 0
	for _, i := range r.Inventories {
		edgeCount += len(i.Edges)
	}
	if len(r.Inventories) != lockfiles || edgeCount == 0 || edgeCount > bom.LookupsPerItem*limit || len(r.Results) == 0 || len(r.Results) > limit || len(r.Refused) == 0 {
		t.Errorf("%d inventories, %d edges, %d findings, %d refused", len(r.Inventories), edgeCount, len(r.Results), len(r.Refused))
	}
}
