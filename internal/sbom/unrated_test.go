package sbom

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestUnratedHasNoSeverity checks that an unrated finding has no severity in the document.
func TestUnratedHasNoSeverity(t *testing.T) {
	for unrated, want := range map[bool]model.Severity{true: 0, false: model.SeverityMedium} {
		body, err := model.Body{SCABody: &model.SCABody{Unrated: unrated}}.Members()
		if err != nil {
			t.Fatal(err)
		}
		f := model.IndexedFinding{Finding: model.Finding{Severity: model.SeverityMedium}, Body: body}
		v, err := vulnerabilityOf(f, model.Rule{}, model.Lineage{})
		if err != nil || v.Severity != want {
			t.Errorf("unrated %v has severity %v, %v", unrated, v.Severity, err)
		}
	}
}
