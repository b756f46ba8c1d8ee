package triage

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// Request is a request for a triage decision on the selected findings.
type Request struct {
	// Filter selects findings; IssueType is required. IDs and other fields are combined with AND.
	Filter model.FindingFilter
	// HasFilter means that the caller provided a filter in addition to the issue type and IDs.
	// Restrictions of the caller, such as Filter.Visible, do not count.
	HasFilter bool
	Limit     int // number of newest matches, from 1 to model.MaxTriage; 0 for the maximum

	State  model.TriageState  // 0 leaves the state unchanged, for example if only a note is set
	Reason model.TriageReason // only with state ignored
	Note   string             // at most model.MaxNote characters; empty leaves the comment unchanged
	Until  time.Time          // end of the decision; zero for none; requires a state except reopened
	Assign *string            // user name; empty to unassign; nil leaves the assignee unchanged

	// Automatic is set for decisions of workers, which do not replace decisions of users.
	Automatic bool

	// DryRun returns the result without storing changes.
	DryRun bool
	// Selection is the Selection of a dry run's result. If the current one differs, Apply returns
	// model.ErrConflict and stores nothing. Empty disables the check.
	Selection string
}

// Result is the result of a triage request.
type Result struct {
	// IDs contains the selected findings and all their occurrences on other refs, distinct and in
	// ascending order. It is not nil. It includes findings without a change, so that a repeated
	// request has the same result.
	IDs []int64
	// Selection is a hexadecimal hash of the findings and their previous triage.
	Selection string
}

// Apply applies the decision to all selected findings within the transaction
// (docs/reference/triage.md). Triage belongs to lineages, so it affects all refs, regardless of a
// filter by ref. Each changed lineage receives an entry in the history. Apply returns a
// *model.InvalidError with all errors of an invalid request and stores nothing. Other errors are
// from the store and the selector.
func Apply(ctx context.Context, s Store, sel Selector, r Request) (Result, error) {
	if err := r.Check(); err != nil {
		return Result{}, err
	}
	if err := r.validateStored(ctx, s); err != nil {
		return Result{}, err
	}
	limit := r.Limit
	if limit == 0 {
		limit = model.MaxTriage
	}
	targets, err := sel.Newest(ctx, r.Filter, limit)
	if err != nil {
		return Result{}, err
	}
	var lineages map[int64]model.Lineage
	if len(targets) > 0 {
		if lineages, err = s.Lineages(ctx, lineagesOf(targets)); err != nil {
			return Result{}, err
		}
	}
	maps.DeleteFunc(lineages, func(_ int64, l model.Lineage) bool { return r.Automatic && l.Triage.DecidedByPerson() })
	chosen := slices.Sorted(maps.Keys(lineages))
	ids, err := r.selected(ctx, sel, targets, lineages, chosen)
	if err != nil {
		return Result{}, err
	}
	out := Result{IDs: ids, Selection: selection(ids, lineages, chosen)}
	if r.Selection != "" && r.Selection != out.Selection {
		return Result{}, fmt.Errorf(
			"the selected findings or their triage changed since the dry run: %w", model.ErrConflict,
		)
	}
	if events := r.decideAll(lineages, chosen, s); len(events) > 0 && !r.DryRun {
		err = s.UpdateTriage(ctx, events)
	}
	return out, err
}

// selected returns the IDs of the findings of the chosen lineages on all refs. The result is not
// nil.
func (r *Request) selected(
	ctx context.Context, sel Selector, targets []model.Target, lineages map[int64]model.Lineage, chosen []int64,
) ([]int64, error) {
	if len(chosen) == 0 {
		return []int64{}, nil
	}
	ids, err := sel.Occurrences(ctx, r.Filter.IssueType, chosen)
	if err != nil {
		return nil, err
	}
	for _, t := range targets {
		if _, ok := lineages[t.LineageID]; ok {
			ids = append(ids, t.FindingID)
		}
	}
	slices.Sort(ids)
	return slices.Compact(ids), nil
}

// selection returns a hash of findings and of the triage of their lineages.
func selection(ids []int64, lineages map[int64]model.Lineage, chosen []int64) string {
	sum := sha256.New()
	for _, id := range ids {
		fmt.Fprintf(sum, "%d,", id)
	}
	for _, id := range chosen {
		fmt.Fprintf(sum, "\n%d %s", id, lineages[id].Triage.Line())
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// decideAll returns the changes in the order of ids.
func (r *Request) decideAll(lineages map[int64]model.Lineage, ids []int64, s Store) (events []model.TriageEvent) {
	for _, id := range ids {
		if e, changed := r.decide(lineages[id], s); changed {
			events = append(events, e)
		}
	}
	return events
}

func lineagesOf(targets []model.Target) []int64 {
	out := model.Map(targets, func(t model.Target) int64 { return t.LineageID })
	slices.Sort(out)
	return slices.Compact(out)
}

// decide returns the change of one lineage. All transitions between states are permitted. A note or
// an assignee alone does not change the state or its time. A new state replaces the reason and the
// end. The comment and the assignee remain until they are replaced.
func (r *Request) decide(l model.Lineage, s Store) (model.TriageEvent, bool) {
	after := l.Triage
	if r.State != 0 {
		after.State, after.Reason, after.Until, after.Automatic = r.State, r.Reason, r.Until, r.Automatic
	}
	if r.Note != "" {
		after.Comment = r.Note
	}
	if r.Assign != nil {
		after.Assignee = *r.Assign
	}
	if after == l.Triage {
		return model.TriageEvent{}, false
	}
	if r.State != 0 {
		after.At, after.By = s.Now(), s.Actor()
	}
	return model.TriageEvent{
		LineageID: l.ID, At: s.Now(), By: s.Actor(), Before: l.Triage, After: after, Note: r.Note,
	}, true
}
