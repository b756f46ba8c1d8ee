package findings

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// CanRequest reports whether an exception can be requested: the finding is neither ignored nor fixed.
func (d *findingDetail) CanRequest() bool {
	return !d.Removed && d.Status != model.StatusIgnored.String() && d.Status != model.StatusFixed.String()
}

// RequestForm returns the form that requests an exception for the finding.
func (d *findingDetail) RequestForm() component.ExceptionForm {
	return component.ExceptionForm{
		IDs:          []int64{d.ID},
		Back:         d.Own,
		Today:        d.Today,
		TriageReason: model.AcceptableRisk.String(),
		Key:          ui.Decimal(d.ID),
	}
}

// asGlob escapes a path as a glob.
var asGlob = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, "?")

// AcceptAddress returns the address of the exception form, filled in with the finding's project,
// path, and vulnerability or rule.
func (d *findingDetail) AcceptAddress() string {
	q := url.Values{
		"target":   {cmp.Or(d.Vulnerability(), d.RuleName)},
		"projects": {d.Project.Name},
		"paths":    {"/" + asGlob.Replace(d.Location.FilePath)},
	}
	return "/exceptions?" + q.Encode() + "#add"
}
