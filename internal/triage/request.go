package triage

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/redact"
)

// Check validates a request and returns all errors in a *model.InvalidError, with the field names
// of the contract. It removes control characters and credentials from the note.
func (r *Request) Check() error {
	raw := r.Note
	r.Note = redact.Text(model.Note(raw))
	var bad model.InvalidError
	fault := func(member string, value any, format string, args ...any) {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: "body." + member,
			Message:  fmt.Sprintf(format, args...),
			Value:    value,
		})
	}
	if r.Filter.IssueType.String() == "" {
		fault("issue_type", nil, "is required: sast, sca or secrets")
	}
	if len(r.Filter.IDs) == 0 && !r.HasFilter {
		fault("issue_ids", nil, "is required, or a filter: a request with neither selects no findings")
	}
	if r.Limit < 0 || r.Limit > model.MaxTriage {
		fault("limit", r.Limit, "must be from 1 to %d", model.MaxTriage)
	}
	switch r.State {
	case 0:
		if r.Note == "" && r.Assign == nil {
			fault("new_triage_state", nil, "is required, or new_note or new_assignee: the request changes nothing")
		}
	case model.TriageIgnored, model.TriageReviewing, model.TriageFixing, model.TriageReopened:
	default:
		fault("new_triage_state", r.State.String(), "must be ignored, reviewing, fixing or reopened")
	}
	if r.Reason != 0 && r.State != model.TriageIgnored {
		fault("new_triage_reason", r.Reason.String(), "requires the state ignored")
	}
	if !r.Until.IsZero() && (r.State == 0 || r.State == model.TriageReopened) {
		fault(
			"new_triage_until", model.LastDay(r.Until), "requires the state ignored, reviewing or fixing",
		)
	}
	if n := utf8.RuneCountInString(r.Note); n > model.MaxNote {
		fault("new_note", nil, "has %d characters; the limit is %d", n, model.MaxNote)
	}
	if !utf8.ValidString(raw) || strings.ContainsRune(raw, 0) {
		fault("new_note", nil, "must be UTF-8 without NUL characters")
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// validateStored performs the checks that need the transaction. The end must be in the future, and
// the assignee must be an enabled member of the deployment. It returns a *model.InvalidError for an
// invalid request.
func (r *Request) validateStored(ctx context.Context, s Store) error {
	if !r.Until.IsZero() && !r.Until.After(s.Now()) {
		return model.Invalid("body.new_triage_until", "%s is in the past (UTC): use today or a later day",
			model.LastDay(r.Until))
	}
	if r.Assign == nil || *r.Assign == "" {
		return nil
	}
	m, err := s.Member(ctx, *r.Assign)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return model.Invalid("body.new_assignee", "%.100q is not a user of this deployment: see Settings → Users",
			*r.Assign)
	case err != nil:
		return err
	case !m.Enabled():
		return model.Invalid("body.new_assignee", "%s is disabled and cannot sign in: assign another user", m.Name)
	}
	r.Assign = &m.Name
	return nil
}
