package findings

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// moment is an entry in the history of a finding. Each status change names the scan or the actor
// that caused it.
type moment struct {
	At     time.Time
	Kind   string // determines the color
	Did    string // the decision as in forms, or another action; empty for scans
	What   string
	By     string // a user or a token; empty for scans
	ByKind string // the kind of actor of a decision
	ScanID int64
	Note   string
	Other  int64 // another finding that the note refers to; 0: none

	Exception int64 // id of the exception; 0: none

	Comment     int64      // id of the comment; 0: none
	Parts       []textPart // text of the comment
	MayWithdraw bool       // the viewer may withdraw the comment
}

// past reads the history of a finding, newest first.
func past(ctx context.Context, req *ui.Request, tx *store.Tx, d *findingDetail, o store.Occurrence) error {
	events, err := tx.History(ctx, o.ID)
	if err != nil {
		return err
	}
	if o.State == model.StateRemoved {
		d.Gone = store.LastRemoval(events)
	}
	trail, err := tx.TriageTrail(ctx, o.LineageID)
	if err != nil {
		return err
	}
	people, err := membersOf(ctx, tx, req.Viewer.User)
	if err != nil {
		return err
	}
	d.People = people
	d.History = append(d.History, moment{
		At:     o.CreatedAt,
		Kind:   "new",
		What:   "First seen on " + ui.Branch(o.Ref),
		ScanID: o.FirstScanID,
	})
	for _, e := range events {
		d.History = append(d.History, scanMoment(e))
	}
	for _, e := range trail {
		d.History = append(d.History, triageMoment(e, people))
	}
	requests, err := tx.ExceptionsOf(ctx, o.LineageID)
	if err != nil {
		return err
	}
	for _, r := range requests {
		d.History = append(d.History, exceptionMoments(r)...)
		if r.State == model.ExceptionRequested {
			d.PendingRequest = &r
		}
	}
	comments, err := tx.NewestFindingComments(ctx, o.LineageID)
	if err != nil {
		return err
	}
	for _, c := range comments {
		d.History = append(d.History, commentMoments(req, c)...)
	}
	slices.SortStableFunc(d.History, func(a, b moment) int { return b.At.Compare(a.At) })
	return nil
}

var scanWords = map[model.FindingEventKind]string{
	model.EventFixed:    "Fixed: no longer found by a scan",
	model.EventReturned: "Reopened: found again", model.EventRemoved: "Out of scope",
	model.EventMoved: "Moved", model.EventMuted: "Suppressed in the code",
	model.EventUnmuted:   "No longer suppressed in the code",
	model.EventPrecedent: "Replaces a finding that was triaged",
	model.EventCopied:    "Copied from another finding: triaged separately since then",
	model.EventMerged:    "Merged with another finding",
}

func scanMoment(e store.FindingHistory) moment {
	m := moment{At: e.At, Kind: string(e.Kind), What: scanWords[e.Kind], ScanID: e.ScanID}
	if m.What == "" {
		m.What = ui.Capital(string(e.Kind))
	}
	var detail struct {
		From, To, Reason string
		FromLine, ToLine int
		FindingID        int64 `json:"finding_id"`
		State            string
		At               time.Time
		Project          string
	}
	if e.Detail != "" && json.Unmarshal([]byte(e.Detail), &detail) == nil {
		switch {
		case detail.From != "" && detail.To != "":
			m.Note = detail.From + " → " + detail.To
		case detail.From != "":
			m.Note = "from " + detail.From
		}
		switch {
		case e.Kind == model.EventPrecedent:
			m.Other, m.Did, m.Note = detail.FindingID, detail.State, precedentNote(detail.State, detail.Reason, detail.At)
		case e.Kind == model.EventCopied, e.Kind == model.EventMerged:
			if m.Other = detail.FindingID; detail.Project != "" {
				m.Note = "from project " + detail.Project + ", which was merged into this project"
			}
		case detail.Reason != "":
			m.Note = detail.Reason
		}
	}
	return m
}

// precedentNote describes the decision about a finding that this one replaces.
func precedentNote(state, reason string, at time.Time) string {
	note := "the earlier finding was set to " + state
	if reason != "" {
		note += ", " + ui.ReasonWord(reason)
	}
	if !at.IsZero() {
		note += " on " + at.UTC().Format(time.DateOnly)
	}
	return note + "; that decision does not apply to this finding"
}

// exceptionMoments returns the entries of an exception request and its decision.
func exceptionMoments(e model.Exception) []moment {
	requested := moment{
		At:        e.CreatedAt,
		Kind:      "triage",
		Did:       "asked",
		What:      "Exception requested",
		By:        ui.ActorName(e.CreatedBy),
		Note:      e.Reason,
		Exception: e.ID,
	}
	until := ""
	if day := model.LastDay(e.Until); day != "" {
		until = ", until " + day + " (UTC)"
	}
	if e.State == model.ExceptionRequested {
		requested.What += until
		return []moment{requested}
	}
	state := e.State.String()
	if e.State == model.ExceptionActive {
		state = "approved" + until
	}
	return []moment{requested, {
		At:        e.DecidedAt,
		Kind:      "triage",
		Did:       "exception-" + e.State.String(),
		What:      "Exception " + state,
		By:        ui.ActorName(e.DecidedBy),
		Note:      e.Answer,
		Exception: e.ID,
	}}
}

// triageMoment returns the entry of a decision, an assignment, or both.
func triageMoment(e model.TriageEvent, p *people) moment {
	m := moment{At: e.At, Kind: "triage", By: ui.ActorName(e.By), ByKind: e.By.Kind, Note: e.Note}
	before, after := e.Before, e.After
	var changes []string
	switch {
	case before.State == after.State && before.Reason == after.Reason && before.Until.Equal(after.Until) &&
		before.By == after.By:
	case after.State == model.TriageUntriaged:
		changes, m.Did = append(changes, "Reverted to open"), "undone"
	default:
		what := "Set to " + after.State.String()
		m.Did = after.State.String()
		if after.Reason != 0 {
			m.Did += ":" + after.Reason.String()
			what += ", " + ui.ReasonWord(after.Reason.String())
		}
		if day := model.LastDay(after.Until); day != "" {
			what += ", until " + day + " (UTC)"
		}
		changes = append(changes, what)
	}
	switch {
	case before.Assignee == after.Assignee:
	case after.Assignee == "":
		changes, m.Did = append(changes, "Unassigned from "+p.Title(before.Assignee)), cmp.Or(m.Did, "unassigned")
	default:
		changes, m.Did = append(changes, "Assigned to "+p.Title(after.Assignee)), cmp.Or(m.Did, "assigned")
	}
	if len(changes) == 0 {
		changes = []string{"Comment"}
	}
	m.What = strings.Join(changes, "; ")
	return m
}
