package report

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/report/format"
)

// TestToolNameExcludesVersion checks that the source of a bill of materials is its tool,
// independent of the tool's version.
func TestToolNameExcludesVersion(t *testing.T) {
	for creator, want := range map[string][2]string{
		"redoubt":                        {"redoubt", ""},
		"redoubt-1.2.0":                  {"redoubt", "1.2.0"},
		"redoubt-v1.2-5-gabc":            {"redoubt", "v1.2-5-gabc"},
		"redoubt-v1.2.0-5-gabcdef-dirty": {"redoubt", "v1.2.0-5-gabcdef-dirty"},
		"redoubt-abcdefa":                {"redoubt", "abcdefa"},
		"redoubt-(devel)":                {"redoubt", "(devel)"},
		"redoubt-v0.0.0-20260102030405-abcdef123456+dirty": {"redoubt", "v0.0.0-20260102030405-abcdef123456+dirty"},
		"syft-1.2.0":                      {"syft", "1.2.0"},
		"syft-[not provided]":             {"syft", "[not provided]"},
		"trivy-0.50.1-rc1":                {"trivy", "0.50.1-rc1"},
		"trivy-dev":                       {"trivy-dev", ""},
		"bom-v0.4.1-12-g1234abc":          {"bom", "v0.4.1-12-g1234abc"},
		"protobom-v0.0.0-20240101-abcdef": {"protobom", "v0.0.0-20240101-abcdef"},
		"spdx-sbom-generator-v0.0.15":     {"spdx-sbom-generator", "v0.0.15"},
		"cyclonedx-maven-plugin-2.7.11":   {"cyclonedx-maven-plugin", "2.7.11"},
		"Microsoft.SBOMTool-1.5.0":        {"microsoft.sbomtool", "1.5.0"},
		"k8s-bom-7":                       {"k8s-bom", "7"},
		"tern-25c65ab58c":                 {"tern", "25c65ab58c"},
		"GitHub.com-Dependency-Graph":     {"github.com-dependency-graph", ""},
		"-1.2":                            {"-1.2", ""},
	} {
		doc := `{"spdxVersion":"SPDX-2.3","SPDXID":"SPDXRef-DOCUMENT","name":"x","creationInfo":{"creators":["Organization: Acme","Tool: ` + creator + `"]},
			"packages":[{"SPDXID":"SPDXRef-a","name":"left-pad","versionInfo":"1.0.0","externalRefs":[{"referenceCategory":"PACKAGE-MANAGER","referenceType":"purl","referenceLocator":"pkg:npm/left-pad@1.0.0"}]}]}`
		reports, err := Read(strings.NewReader(doc), format.Options{Name: "a.spdx.json"})
		if err != nil || len(reports) != 1 {
			t.Errorf("%s: %v", creator, err)
			continue
		}
		if got := [2]string{reports[0].Tool, reports[0].ToolVersion}; got != want {
			t.Errorf("%s is %q, want %q", creator, got, want)
		}
	}
}
