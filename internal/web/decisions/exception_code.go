package decisions

import (
	"context"
	"errors"
	"slices"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// requestCodes is the maximum number of findings whose code the page of a request shows.
const requestCodes = 5

// findingCodes reads the code of findings by id. Findings that are not stored are omitted.
func findingCodes(req *ui.Request, ids []int64) (map[int64]component.FindingCode, error) {
	codes := map[int64]component.FindingCode{}
	err := req.View(func(ctx context.Context, tx *store.Tx) error {
		for _, id := range ids {
			o, err := tx.Finding(ctx, id)
			if errors.Is(err, model.ErrNotFound) {
				continue
			}
			if err != nil {
				return err
			}
			code, err := component.CodeOf(ctx, tx, o)
			if err != nil {
				return err
			}
			component.Highlight(ctx, o.Path, code.Lines)
			codes[id] = code
		}
		return nil
	})
	return codes, err
}

// addCode adds the code of the first finding of each pending request.
func addCode(req *ui.Request, rows []component.ExceptionRow) error {
	var ids []int64
	for _, r := range rows {
		if r.Now == model.ExceptionRequested && r.Finding != 0 {
			ids = append(ids, r.Finding)
		}
	}
	codes, err := findingCodes(req, ids)
	for i := range rows {
		if rows[i].Now == model.ExceptionRequested {
			rows[i].Code = codes[rows[i].Finding]
		}
	}
	return err
}

// requestedFinding is a finding of a request. Only the first ones have their code.
type requestedFinding struct {
	component.ShownFinding
	Code component.FindingCode
}

// requestedFindings reads the findings of a request in the order of ids, and the code of the first.
func requestedFindings(req *ui.Request, view *index.View, ids []int64) ([]requestedFinding, error) {
	found, err := component.FindingsByID(req, view, ids)
	if err != nil {
		return nil, err
	}
	slices.SortStableFunc(found, func(a, b component.ShownFinding) int {
		return slices.Index(ids, a.ID) - slices.Index(ids, b.ID)
	})
	var first []int64
	for _, f := range found[:min(len(found), requestCodes)] {
		first = append(first, f.ID)
	}
	codes, err := findingCodes(req, first)
	out := make([]requestedFinding, len(found))
	for i, f := range found {
		out[i] = requestedFinding{f, codes[f.ID]}
	}
	return out, err
}
