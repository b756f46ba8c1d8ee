package component

import (
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Unrated tells which of some findings are of vulnerabilities that nobody rates, so
// that medium stands in for their severity.
func Unrated(req *ui.Request, view *index.View, ids []int64) (map[int64]bool, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	page, err := view.Page(req.HTTP.Context(), model.FindingFilter{
		IssueType:  model.SCA,
		HasIDs:     true,
		IDs:        ids,
		Severities: []model.Severity{model.SeverityMedium},
	}, 0, len(ids))
	if err != nil {
		return nil, err
	}
	shown, err := ShownFindings(page)
	out := map[int64]bool{}
	for _, f := range shown {
		out[f.ID] = f.Unrated
	}
	return out, err
}
