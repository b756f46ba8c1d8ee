package triage

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

// UndoResult says what an undo did.
type UndoResult struct {
	Restored []int64 // lineages that have again what they had
	Kept     []int64 // lineages that somebody decided about meanwhile, or that are gone
}

// Undo takes decisions back: each lineage whose triage is still what its event
// made it gets its own former triage, with a line in the trail. One that was
// decided about meanwhile stays as it is. Events are those of one decision, one
// for a lineage.
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
			out.Kept = append(out.Kept, e.LineageID)
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

// sameTriage compares decisions; one instant may be written in several ways.
func sameTriage(a, b model.Triage) bool {
	if !a.At.Equal(b.At) || !a.Until.Equal(b.Until) {
		return false
	}
	a.At, a.Until = b.At, b.Until
	return a == b
}
