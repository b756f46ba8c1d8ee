package triage

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/redact"
)

// RequestStore is what asking for exceptions needs of one transaction, beside Store.
type RequestStore interface {
	Store
	// LineagesStillOpen are those of the lineages that are open on some ref.
	LineagesStillOpen(ctx context.Context, ids []int64) ([]int64, error)
	// OpenExceptionRequests finds the open request about each of some lineages, by lineage.
	OpenExceptionRequests(ctx context.Context, lineages []int64) (map[int64]int64, error)
	// OpenRequestCounts counts the requests of a user that wait or were withdrawn lately, 0
	// being the actor, and all that wait.
	OpenRequestCounts(ctx context.Context, askerID int64) (own, all int, err error)
	// ExceptionRequest finds one by its id; an unknown one is redoubt.ErrNotFound.
	ExceptionRequest(ctx context.Context, id int64) (redoubt.ExceptionRequest, error)
	AddExceptionRequest(ctx context.Context, r redoubt.ExceptionRequest) (redoubt.ExceptionRequest, error)
	DecideExceptionRequest(ctx context.Context, r redoubt.ExceptionRequest) (redoubt.ExceptionRequest, error)
	// ReopenExceptionRequests has requests wait again that the actor approved at a time and
	// of whose findings some are open.
	ReopenExceptionRequests(ctx context.Context, approvedAt time.Time) error
}

// UndoApproved is Undo of what may have been an approval: its request waits again.
func UndoApproved(ctx context.Context, s RequestStore, events []redoubt.TriageEvent) (UndoResult, error) {
	out, err := Undo(ctx, s, events)
	if err == nil && len(out.Restored) > 0 {
		err = s.ReopenExceptionRequests(ctx, events[0].At)
	}
	return out, err
}

// Ask has an exception for findings of one project wait to be decided. What will not do is a
// *redoubt.InvalidError; a finding that an open request is about already, or one request too
// many, is redoubt.ErrConflict.
func Ask(ctx context.Context, s RequestStore, r redoubt.ExceptionRequest, findings []redoubt.Finding) (redoubt.ExceptionRequest, error) {
	r.Reason = redact.Text(r.Reason)
	if err := r.Check(s.Now()); err != nil {
		return r, err
	}
	if len(findings) == 0 || len(findings) > redoubt.MaxRequestFindings {
		return r, redoubt.Invalid("issue_ids", "name 1 to %d findings", redoubt.MaxRequestFindings)
	}
	r.ProjectID, r.Lineages = findings[0].ProjectID, nil
	for _, f := range findings {
		if f.ProjectID != r.ProjectID {
			return r, redoubt.Invalid("issue_ids", "are of several projects: ask for each of them")
		}
		r.Lineages = append(r.Lineages, f.LineageID)
	}
	slices.Sort(r.Lineages)
	r.Lineages = slices.Compact(r.Lineages)
	open, err := s.LineagesStillOpen(ctx, r.Lineages)
	if err != nil {
		return r, err
	}
	for _, f := range findings {
		if !slices.Contains(open, f.LineageID) {
			return r, redoubt.Invalid("issue_ids", "finding %d is not open: there is nothing to ask for", f.ID)
		}
	}
	if err := mayAsk(ctx, s, r, findings); err != nil {
		return r, err
	}
	return s.AddExceptionRequest(ctx, r)
}

// mayAsk refuses what was asked already, and one request too many.
func mayAsk(ctx context.Context, s RequestStore, r redoubt.ExceptionRequest, findings []redoubt.Finding) error {
	asked, err := s.OpenExceptionRequests(ctx, r.Lineages)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if id := asked[f.LineageID]; id != 0 {
			return fmt.Errorf("request %d asks for an exception for finding %d already, and is not decided yet: %w", id, f.ID, redoubt.ErrConflict)
		}
	}
	switch own, all, err := s.OpenRequestCounts(ctx, r.AskerID); {
	case err != nil:
		return err
	case own >= redoubt.MaxOpenRequestsOfOne:
		return fmt.Errorf("%d requests of yours wait, or were withdrawn in the last day: wait until one is decided: %w", own, redoubt.ErrConflict)
	case all >= redoubt.MaxOpenRequests:
		return fmt.Errorf("%d requests wait already, as many as may: some have to be decided first: %w", all, redoubt.ErrConflict)
	}
	return nil
}

// openRequest finds a request that is not decided yet; another is redoubt.ErrConflict.
func openRequest(ctx context.Context, s RequestStore, id int64) (redoubt.ExceptionRequest, error) {
	r, err := s.ExceptionRequest(ctx, id)
	if err == nil && r.State != redoubt.RequestOpen {
		err = fmt.Errorf("request %d is %s already: %w", id, r.State, redoubt.ErrConflict)
	}
	return r, err
}

// Approve ignores what of a request is open, until a time, as a decision of who approves;
// the zero time is for ever. It returns how many findings that changed.
func Approve(ctx context.Context, s RequestStore, id int64, until time.Time, answer string) (r redoubt.ExceptionRequest, changed int, err error) {
	if err = redoubt.CheckRequestEnd(until, s.Now()); err != nil {
		return r, 0, err
	}
	if answer, err = redoubt.RequestAnswer(redact.Text(answer), false); err != nil {
		return r, 0, err
	}
	if r, err = openRequest(ctx, s, id); err != nil {
		return r, 0, err
	}
	open, err := s.LineagesStillOpen(ctx, r.Lineages)
	if err != nil {
		return r, 0, err
	}
	lineages, err := s.Lineages(ctx, open)
	if err != nil {
		return r, 0, err
	}
	decision := Request{State: redoubt.TriageIgnored, Reason: r.TriageReason, Note: cmp.Or(answer, r.Reason), Until: until}
	events := decision.decideAll(lineages, open, s)
	if err := s.UpdateTriage(ctx, events); err != nil {
		return r, 0, err
	}
	r.State, r.Answer, r.Granted = redoubt.RequestApproved, answer, until
	r, err = s.DecideExceptionRequest(ctx, r)
	return r, len(events), err
}

// Refuse ends a request with why.
func Refuse(ctx context.Context, s RequestStore, id int64, answer string) (r redoubt.ExceptionRequest, err error) {
	if answer, err = redoubt.RequestAnswer(redact.Text(answer), true); err != nil {
		return r, err
	}
	if r, err = openRequest(ctx, s, id); err != nil {
		return r, err
	}
	r.State, r.Answer = redoubt.RequestRefused, answer
	return s.DecideExceptionRequest(ctx, r)
}

// Withdraw ends a request of the user, or of the token that no user made. That of somebody
// else is a *redoubt.InvalidError.
func Withdraw(ctx context.Context, s RequestStore, id, askerID int64) (redoubt.ExceptionRequest, error) {
	r, err := openRequest(ctx, s, id)
	if err != nil {
		return r, err
	}
	by, actor := r.AskedBy, s.Actor()
	if r.AskerID != askerID || askerID == 0 && (by.Kind != actor.Kind || by.ID != actor.ID || by.Name != actor.Name) {
		return r, redoubt.Invalid("request", "only who asked withdraws a request: %s did", cmp.Or(by.Label(), by.ID))
	}
	r.State = redoubt.RequestWithdrawn
	return s.DecideExceptionRequest(ctx, r)
}
