package exceptions

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Request stores a request for an exception for findings of one project. It returns a
// *model.InvalidError for an invalid request. It returns model.ErrConflict if a finding already has
// a request, or if the limit is reached.
func Request(ctx context.Context, s Store, e model.Exception, findings []model.Finding) (model.Exception, error) {
	if len(findings) == 0 || len(findings) > model.MaxRequestFindings {
		return e, model.Invalid("issue_ids", "name 1 to %d findings", model.MaxRequestFindings)
	}
	e.State, e.Reason, e.Wish = model.ExceptionRequested, redact.Text(e.Reason), e.Until
	e.ProjectID, e.Lineages = findings[0].ProjectID, nil
	if err := e.Check(s.Now()); err != nil {
		return e, err
	}
	for _, f := range findings {
		if f.ProjectID != e.ProjectID {
			return e, model.Invalid("issue_ids", "belong to several projects: send one request for each project")
		}
		e.Lineages = append(e.Lineages, f.LineageID)
	}
	slices.Sort(e.Lineages)
	e.Lineages = slices.Compact(e.Lineages)
	open, err := s.LineagesStillOpen(ctx, e.Lineages)
	if err != nil {
		return e, err
	}
	for _, f := range findings {
		if !slices.Contains(open, f.LineageID) {
			return e, model.Invalid("issue_ids", "finding %d is not open: only open findings can have a request", f.ID)
		}
	}
	if err := mayRequest(ctx, s, e, findings); err != nil {
		return e, err
	}
	return s.AddException(ctx, e)
}

// mayRequest rejects findings with an open request, and requests above the limits.
func mayRequest(ctx context.Context, s Store, e model.Exception, findings []model.Finding) error {
	pending, err := s.RequestedExceptions(ctx, e.Lineages)
	if err != nil {
		return err
	}
	for _, f := range findings {
		if id := pending[f.LineageID]; id != 0 {
			return fmt.Errorf("exception %d is already requested for finding %d: %w", id, f.ID, model.ErrConflict)
		}
	}
	switch own, all, err := s.RequestCounts(ctx, e.CreatorID); {
	case err != nil:
		return err
	case own >= model.MaxOpenRequestsOfOne:
		return fmt.Errorf("%d of your requests are pending or were withdrawn in the last day: wait for a decision: %w",
			own, model.ErrConflict)
	case all >= model.MaxOpenRequests:
		return fmt.Errorf("%d requests are pending, which is the limit: wait for decisions: %w",
			all, model.ErrConflict)
	}
	return nil
}

// requested returns an exception that awaits a decision, or model.ErrConflict if it does not.
func requested(ctx context.Context, s Store, id int64) (model.Exception, error) {
	e, err := s.Exception(ctx, id)
	switch {
	case err != nil:
	case e.Document != nil:
		err = model.Invalid("exception", "%d is a VEX document", id)
	case e.State != model.ExceptionRequested:
		err = fmt.Errorf("exception %d is already %s: %w", id, e.State, model.ErrConflict)
	}
	return e, err
}

// Approve activates a requested exception until a time; the zero time means no end. The answer, or
// otherwise the request's reason, becomes the comment on the findings. It returns the changes.
func Approve(
	ctx context.Context, s Store, id int64, until time.Time, answer string,
) (e model.Exception, changed Effect, err error) {
	if err = model.CheckExceptionEnd(until, s.Now()); err != nil {
		return e, nil, err
	}
	if answer, err = model.ExceptionAnswer(redact.Text(answer), false); err != nil {
		return e, nil, err
	}
	before, err := requested(ctx, s, id)
	if err != nil {
		return e, nil, err
	}
	if _, err := checkLimits(ctx, s, before); err != nil {
		return e, nil, err
	}
	e = before
	e.State, e.Answer, e.Until = model.ExceptionActive, answer, until
	if e, err = s.DecideException(ctx, "approve", before, e); err != nil {
		return e, nil, err
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return e, nil, err
	}
	changed, err = applyException(ctx, s, list, scopeOfNamed(e))
	return e, changed, err
}

// Refuse ends a request. The answer with the reason is required.
func Refuse(ctx context.Context, s Store, id int64, answer string) (e model.Exception, err error) {
	if answer, err = model.ExceptionAnswer(redact.Text(answer), true); err != nil {
		return e, err
	}
	before, err := requested(ctx, s, id)
	if err != nil {
		return e, err
	}
	e = before
	e.State, e.Answer = model.ExceptionRefused, answer
	return s.DecideException(ctx, "refuse", before, e)
}

// Withdraw ends a request of the same user, or of the same actor for tokens without a user. It
// returns a *model.InvalidError for a request of another user.
func Withdraw(ctx context.Context, s Store, id, userID int64) (model.Exception, error) {
	before, err := requested(ctx, s, id)
	if err != nil {
		return before, err
	}
	by, actor := before.CreatedBy, s.Actor()
	if before.CreatorID != userID || userID == 0 && (by.Kind != actor.Kind || by.ID != actor.ID || by.Name != actor.Name) {
		return before, model.Invalid("request", "only the requester, %s, can withdraw it", cmp.Or(by.Label(), by.ID))
	}
	e := before
	e.State = model.ExceptionWithdrawn
	return s.DecideException(ctx, "withdraw", before, e)
}

// Undo reverts an approval: the exception is requested again, or ends if another request includes
// one of its findings. Each finding that it still ignores gets its former triage. It returns a
// *model.InvalidError unless the actor is the approver.
func Undo(ctx context.Context, s Store, id int64) (e model.Exception, changed Effect, err error) {
	before, err := s.Exception(ctx, id)
	if err != nil {
		return before, nil, err
	}
	if !before.OfFindings() || !before.Active(s.Now()) {
		return before, nil, fmt.Errorf("exception %d is not an approved request: %w", id, model.ErrConflict)
	}
	if by, actor := before.DecidedBy, s.Actor(); by.Kind != actor.Kind || by.ID != actor.ID {
		return before, nil, model.Invalid("exception", "only the approver, %s, can undo it", cmp.Or(by.Label(), by.ID))
	}
	others, err := s.RequestedExceptions(ctx, before.Lineages)
	if err != nil {
		return before, nil, err
	}
	e = before
	if e.State, e.Answer, e.Until = model.ExceptionRequested, "", e.Wish; len(others) > 0 {
		e.State, e.Answer = model.ExceptionEnded, "The approval was undone. Another request includes its findings."
	}
	if e, err = s.DecideException(ctx, "reopen", before, e); err != nil {
		return e, nil, err
	}
	changed, err = restore(ctx, s, before)
	return e, changed, err
}

// restore restores the former triage of lineages that an exception ignores, and then applies other
// exceptions.
func restore(ctx context.Context, s Store, e model.Exception) (changed Effect, err error) {
	events, err := s.TriageEventsBy(ctx, e.Actor(), e.Lineages)
	if err != nil {
		return nil, err
	}
	lineages, err := s.Lineages(ctx, e.Lineages)
	if err != nil {
		return nil, err
	}
	for _, event := range events {
		if now := lineages[event.LineageID].Triage; now.State == model.TriageIgnored && now.By == e.Actor() {
			changed = append(changed, model.TriageEvent{
				LineageID: event.LineageID, At: s.Now(), By: s.Actor(),
				Before: now, After: event.Before, Note: "The approval was undone.",
			})
		}
	}
	if err := write(ctx, s, changed); err != nil {
		return nil, err
	}
	return changed, Reevaluate(ctx, s, e.Lineages)
}
