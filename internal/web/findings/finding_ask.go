package findings

import (
	"cmp"
	"net/url"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// MayAsk reports whether there is an exception to ask for: the finding is neither ignored
// nor fixed.
func (d *findingDetail) MayAsk() bool {
	return !d.Removed && d.Status != model.StatusIgnored.String() && d.Status != model.StatusFixed.String()
}

// AskForm asks for an exception for the finding.
func (d *findingDetail) AskForm() component.ExceptionForm {
	return component.ExceptionForm{
		IDs:          []int64{d.ID},
		Back:         d.Own,
		Today:        d.Today,
		TriageReason: model.AcceptableRisk.String(),
		Key:          ui.Decimal(d.ID),
	}
}

// asGlob writes a path as a glob that fits it alone.
var asGlob = strings.NewReplacer("*", "[*]", "?", "[?]", "[", "[[]", `\`, "?")

// AcceptAddress is where what the finding is about is accepted, filled in: its
// vulnerability, or its rule, in its project.
func (d *findingDetail) AcceptAddress() string {
	q := url.Values{
		"target":   {cmp.Or(d.Vulnerability(), d.RuleName)},
		"projects": {d.Project.Name},
		"paths":    {"/" + asGlob.Replace(d.Location.FilePath)},
	}
	return "/exceptions?" + q.Encode() + "#add"
}
