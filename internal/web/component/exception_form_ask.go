package component

import (
	"context"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// ExceptionForm is an exception that somebody asks for, on its way.
type ExceptionForm struct {
	IDs                         []int64
	Reason, Until, TriageReason string
	Back                        string
	Fault                       string
	Findings                    []ShownFinding
	Today                       string // in UTC
	Key                         string // tells its fields from others of the page
}

// ExceptionForms returns the open requests about some findings of a project, and forms for the other
// findings that are open, each with at most model.MaxRequestFindings.
func ExceptionForms(req *ui.Request, ids []int64, back string) (forms []ExceptionForm, pending []model.Exception, err error) {
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
		asked, err := tx.RequestedExceptions(ctx, lineages)
		if err != nil {
			return err
		}
		for _, f := range findings {
			if asked[f.LineageID] == 0 && slices.Contains(live, f.LineageID) {
				open = append(open, f.ID)
			}
		}
		pending, err = openRequests(ctx, tx, asked)
		return err
	})
	for part := range slices.Chunk(open, model.MaxRequestFindings) {
		forms = append(forms, ExceptionForm{
			IDs:          part,
			Back:         back,
			Today:        req.Today(),
			TriageReason: model.AcceptableRisk.String(),
			Key:          "all-" + ui.Decimal(part[0]),
		})
	}
	return forms, pending, err
}

// openRequests reads the requests that are pending by lineage, each once, in the order of their ids.
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
