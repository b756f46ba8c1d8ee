package findings

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// exceptionForms returns the pending requests for findings of a project, and request forms for the
// other open findings. A form has at most model.MaxRequestFindings findings.
func exceptionForms(
	req *ui.Request, ids []int64, back string,
) (forms []component.ExceptionForm, pending []model.Exception, err error) {
	var open []int64
	err = req.View(func(ctx context.Context, tx *store.Tx) error {
		findings, err := tx.FindingsByID(ctx, ids)
		if err != nil {
			return err
		}
		lineages := make([]int64, len(findings))
		for i, f := range findings {
			lineages[i] = f.LineageID
		}
		live, err := tx.LineagesStillOpen(ctx, lineages)
		if err != nil {
			return err
		}
		requested, err := tx.RequestedExceptions(ctx, lineages)
		if err != nil {
			return err
		}
		for _, f := range findings {
			if requested[f.LineageID] == 0 && slices.Contains(live, f.LineageID) {
				open = append(open, f.ID)
			}
		}
		pending, err = openRequests(ctx, tx, requested)
		return err
	})
	for part := range slices.Chunk(open, model.MaxRequestFindings) {
		forms = append(forms, component.ExceptionForm{
			IDs:          part,
			Back:         back,
			Today:        req.Today(),
			TriageReason: model.AcceptableRisk.String(),
			Key:          "all-" + ui.Decimal(part[0]),
		})
	}
	return forms, pending, err
}

// openRequests reads the pending requests by lineage, each once, in the order of their ids.
func openRequests(ctx context.Context, tx *store.Tx, byLineage map[int64]int64) (list []model.Exception, err error) {
	ids := slices.Sorted(maps.Values(byLineage))
	for _, id := range slices.Compact(ids) {
		r, err := tx.Exception(ctx, id)
		if err != nil {
			return nil, err
		}
		list = append(list, r)
	}
	return list, nil
}
