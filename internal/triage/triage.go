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

// Request asks for one decision about the findings that it selects.
type Request struct {
	// Filter selects; its IssueType is required. Ids and other members together
	// select the intersection.
	Filter model.FindingFilter
	// HasFilter says that the caller gave a filter beside the issue type and
	// the ids. What bounds the caller, as Filter.Visible, is none.
	HasFilter bool
	Limit     int // newest matches, from 1 to model.MaxTriage; 0 is the most

	State  model.TriageState  // 0 leaves the state: a note alone
	Reason model.TriageReason // only with ignored
	Note   string             // model.MaxNote characters at most; empty leaves the comment
	Until  time.Time          // when the decision ends; zero: never. Only with a state, but for reopened
	Assign *string            // name of a user; empty is nobody; nil leaves the assignee

	// Automatic is a worker's decision: it passes over what a person decided.
	Automatic bool

	// DryRun writes nothing: the result says what would be decided about.
	DryRun bool
	// Selection is that of a dry run's result: where it is another one by now, the
	// answer is model.ErrConflict and nothing is written. Empty compares nothing.
	Selection string
}

// Result is what a triage decided about.
type Result struct {
	// IDs are the selected findings and all occurrences of theirs on other refs,
	// ascending, each once; never nil. Those that were as asked already are here
	// too, so that a request sent again has the same answer.
	IDs []int64
	// Selection names the findings and what was decided about them before, in hex.
	Selection string
}

// Apply makes the decision, whole or not at all: the store's transaction is one
// (docs/reference/triage.md). Triage hangs on the lineage, so it holds on every ref, also
// where a ref was filtered for. Each lineage that changes gets one line in the
// trail. A request that is not allowed is a *model.InvalidError, with all its
// faults, and nothing is written; other errors are those of store and selector.
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
			"what the request selects, or what was decided about it, has changed since the dry run: %w", model.ErrConflict,
		)
	}
	if events := r.decideAll(lineages, chosen, s); len(events) > 0 && !r.DryRun {
		err = s.UpdateTriage(ctx, events)
	}
	return out, err
}

// selected lists the findings of the chosen lineages, on every ref; never nil.
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

// selection is a hash of findings and of what was decided about them.
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

// decideAll lists what changes, in the order of ids.
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

// decide is the transition of one lineage. From any state to any of the four; a
// note or an assignee alone leaves the state and when it was set. A reason and
// an end last only as long as the decision that they were given with; a comment
// and an assignee last until others take their place.
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
