package sbom

import (
	"testing"

	"github.com/redoubt/redoubt"
)

// A document rates no vulnerability that nobody rates.
func TestUnratedHasNoSeverity(t *testing.T) {
	for unrated, want := range map[bool]redoubt.Severity{true: 0, false: redoubt.SeverityMedium} {
		body, err := redoubt.Body{SCABody: &redoubt.SCABody{Unrated: unrated}}.Members()
		if err != nil {
			t.Fatal(err)
		}
		f := redoubt.IndexedFinding{Finding: redoubt.Finding{Severity: redoubt.SeverityMedium}, Body: body}
		v, err := vulnerabilityOf(f, redoubt.Rule{}, redoubt.Lineage{})
		if err != nil || v.Severity != want {
			t.Errorf("unrated %v has severity %v, %v", unrated, v.Severity, err)
		}
	}
}
