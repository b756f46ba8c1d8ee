package findings

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// getFindingHistory returns the events of a finding.
func getFindingHistory(ctx context.Context, c *core.Call, _ *core.None) (*api.FindingHistoryResponse, error) {
	found, stored, into, err := findingOfHistory(ctx, c)
	if err != nil {
		return nil, err
	}
	decided, err := c.Tx.TriageTrail(ctx, found.LineageID)
	if err != nil {
		return nil, err
	}
	view, err := c.Findings(ctx)
	if err != nil {
		return nil, err
	}
	out := &api.FindingHistoryResponse{
		MergedInto: into,
		Events:     []api.FindingEvent{{At: api.Time{Time: found.CreatedAt}, Kind: "found", ScanID: found.FirstScanID}},
	}
	for _, e := range stored {
		event, err := scanEvent(e)
		if err != nil {
			return nil, err
		}
		out.Events = append(out.Events, event)
	}
	for _, e := range decided {
		out.Events = append(out.Events, decidedEvent(e))
	}
	requests, err := c.Tx.ExceptionsOf(ctx, found.LineageID)
	if err != nil {
		return nil, err
	}
	for _, r := range requests {
		out.Events = append(out.Events, exceptionEvents(r)...)
	}
	comments, err := c.Tx.NewestFindingComments(ctx, found.LineageID)
	if err != nil {
		return nil, err
	}
	for _, n := range comments {
		out.Events = append(out.Events, commentEvents(n)...)
	}
	slices.SortStableFunc(out.Events, func(a, b api.FindingEvent) int { return a.At.Compare(b.At.Time) })
	out.Others, err = others(ctx, c, view, found)
	return out, err
}

// findingOfHistory returns the finding of the path with its events. Unlike lists, it includes
// removed findings, whose history explains the removal. into is the finding that it was merged
// into, or 0.
func findingOfHistory(ctx context.Context, c *core.Call) (
	found store.Occurrence, stored []store.FindingHistory, into int64, err error,
) {
	id := c.PathID("findingId")
	if found, err = c.Tx.Finding(ctx, id); err != nil {
		return found, nil, 0, err
	}
	if _, err := c.VisibleProject(c.Tx.Project(ctx, found.ProjectID)); err != nil {
		return found, nil, 0, err
	}
	if stored, err = c.Tx.History(ctx, id); err != nil {
		return found, nil, 0, err
	}
	if model.StatusOf(found.State, found.Lineage.Triage.State) == 0 {
		into = store.LastRemoval(stored).MergedInto
	}
	return found, stored, into, nil
}

// scanEvent converts an event of a scan or of a policy change.
func scanEvent(e store.FindingHistory) (api.FindingEvent, error) {
	out := api.FindingEvent{At: api.Time{Time: e.At}, Kind: string(e.Kind), ScanID: e.ScanID}
	if e.Kind == model.EventRemoved {
		out.Note = store.LastRemoval([]store.FindingHistory{e}).Reason
		return out, nil
	}
	if e.Detail == "" {
		return out, nil
	}
	var detail struct {
		From, To  string
		FromLine  int   `json:"from_line"`
		ToLine    int   `json:"to_line"`
		FindingID int64 `json:"finding_id"`
		Reason    string
		Project   string
	}
	if err := json.Unmarshal([]byte(e.Detail), &detail); err != nil {
		return out, err
	}
	switch e.Kind {
	case model.EventMoved:
		out.From, out.To = &api.EventPlace{
			Path: detail.From,
			Line: detail.FromLine,
		}, &api.EventPlace{Path: detail.To, Line: detail.ToLine}
	case model.EventPrecedent, model.EventCopied, model.EventMerged:
		out.FindingID = detail.FindingID
		if detail.Project != "" {
			out.Note = "the same finding of the project " + detail.Project + ", which was merged into this one"
		}
	default:
		out.Note = detail.Reason
	}
	return out, nil
}

// decidedEvent converts a triage event.
func decidedEvent(e model.TriageEvent) api.FindingEvent {
	return api.FindingEvent{
		At: api.Time{Time: e.At}, Kind: "triaged", By: &api.Person{Kind: e.By.Kind, Name: e.By.Label()},
		Before: stateThen(e.Before), After: stateThen(e.After), Note: e.Note,
	}
}

// exceptionEvents returns the events of an exception request and of the decision.
func exceptionEvents(e model.Exception) []api.FindingEvent {
	events := []api.FindingEvent{{
		At: api.Time{Time: e.CreatedAt}, Kind: "exception_asked",
		By: &api.Person{Kind: e.CreatedBy.Kind, Name: e.CreatedBy.Label()}, Note: e.Reason,
	}}
	if e.State == model.ExceptionRequested {
		return events
	}
	kind := "exception_" + e.State.String()
	if e.State == model.ExceptionActive {
		kind = "exception_approved"
	}
	return append(events, api.FindingEvent{
		At: api.Time{Time: e.DecidedAt}, Kind: kind,
		By: &api.Person{Kind: e.DecidedBy.Kind, Name: e.DecidedBy.Label()}, Note: e.Answer,
	})
}

// commentEvents returns the events of a comment and of its withdrawal.
func commentEvents(n model.FindingComment) []api.FindingEvent {
	event := func(at time.Time, kind string, by model.Actor) api.FindingEvent {
		return api.FindingEvent{
			At:        api.Time{Time: at},
			Kind:      kind,
			By:        &api.Person{Kind: by.Kind, Name: by.Label()},
			CommentID: n.ID,
		}
	}
	written := event(n.WrittenAt, "commented", n.WrittenBy)
	if !n.Withdrawn() {
		written.Note = n.Text
		return []api.FindingEvent{written}
	}
	return []api.FindingEvent{written, event(n.WithdrawnAt, "comment_withdrawn", n.WithdrawnBy)}
}

func stateThen(t model.Triage) *api.TriageDecision {
	out := &api.TriageDecision{TriageState: t.State.String(), TriageUntil: model.LastDay(t.Until), Assignee: t.Assignee}
	if t.Reason != 0 {
		out.TriageReason = t.Reason.String()
	}
	return out
}
