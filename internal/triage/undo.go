package triage

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

// UndoResult is the result of an undo.
type UndoResult struct {
	Restored []int64 // lineages restored to their former triage
	Skipped  []int64 // lineages that were changed since or no longer exist
}

// Undo reverts a decision. It restores the former triage of each lineage whose triage is unchanged
// since its event, and adds an entry to the history. events must belong to one decision, with at
// most one event per lineage.
func Undo(ctx context.Context, s Store, events []model.TriageEvent) (UndoResult, error) {
	var out UndoResult
	ids := model.Map(events, func(e model.TriageEvent) int64 { return e.LineageID })
	lineages, err := s.Lineages(ctx, ids)
	if err != nil || len(events) == 0 {
		return out, err
	}
	var back []model.TriageEvent
	for _, e := range events {
		now, ok := lineages[e.LineageID]
		if !ok || !sameTriage(now.Triage, e.After) {
			out.Skipped = append(out.Skipped, e.LineageID)
			continue
		}
		out.Restored = append(out.Restored, e.LineageID)
		back = append(back, model.TriageEvent{
			LineageID: e.LineageID, At: s.Now(), By: s.Actor(), Before: now.Triage, After: e.Before,
		})
	}
	if len(back) == 0 {
		return out, nil
	}
	return out, s.UpdateTriage(ctx, back)
}

// sameTriage compares triage decisions. Times are compared as instants, regardless of their time
// zone.
func sameTriage(a, b model.Triage) bool {
	if !a.At.Equal(b.At) || !a.Until.Equal(b.Until) {
		return false
	}
	a.At, a.Until = b.At, b.Until
	return a == b
}
