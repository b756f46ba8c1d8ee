package report

import (
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
)

// TestUnratedVulnerabilities checks that unrated vulnerabilities have medium severity and are
// marked as unrated.
func TestUnratedVulnerabilities(t *testing.T) {
	cyclonedx := func(ratings string) string {
		return `{"bomFormat":"CycloneDX","specVersion":"1.5","version":1,"components":[{"type":"library","bom-ref":"a","name":"left-pad","version":"1.0.0","purl":"pkg:npm/left-pad@1.0.0"}],
			"vulnerabilities":[{"id":"GHSA-1111-1111-1111"` + ratings + `,"affects":[{"ref":"a"}]}]}`
	}
	grype := func(word string) string {
		return `{"matches":[{"vulnerability":{"id":"GHSA-1111-1111-1111","severity":"` + word + `","fix":{"versions":[],"state":""}},"matchDetails":[],
			"artifact":{"name":"left-pad","version":"1.0.0","type":"npm","purl":"pkg:npm/left-pad@1.0.0","locations":[{"path":"/package-lock.json"}]}}],
			"descriptor":{"name":"grype","version":"0.100.0"}}`
	}
	for name, c := range map[string]struct {
		text    string
		want    model.Severity
		unrated bool
	}{
		"cyclonedx, none":    {cyclonedx(""), model.SeverityMedium, true},
		"cyclonedx, unknown": {cyclonedx(`,"ratings":[{"severity":"unknown"}]`), model.SeverityMedium, true},
		"cyclonedx, medium":  {cyclonedx(`,"ratings":[{"severity":"medium"}]`), model.SeverityMedium, false},
		"cyclonedx, score":   {cyclonedx(`,"ratings":[{"score":5.0,"method":"CVSSv3"}]`), model.SeverityMedium, false},
		"grype, unknown":     {grype("Unknown"), model.SeverityMedium, true},
		"grype, high":        {grype("High"), model.SeverityHigh, false},
		"grype, medium":      {grype("Medium"), model.SeverityMedium, false},
	} {
		reports, err := Read(strings.NewReader(c.text), format.Options{Name: "report.json"})
		if err != nil || len(reports) != 1 || len(reports[0].Results) != 1 {
			t.Errorf("%s: %v %+v", name, err, reports)
			continue
		}
		r := reports[0].Results[0]
		if r.Severity != c.want || r.Dependency.Unrated != c.unrated || r.Rule.Unrated != c.unrated {
			t.Errorf("%s: %v, unrated %v by the result and %v by its rule", name, r.Severity, r.Dependency.Unrated, r.Rule.Unrated)
		}
	}
}
