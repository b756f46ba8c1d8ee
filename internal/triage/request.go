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
	said := r.Note
	r.Note = redact.Text(model.Note(said))
	var bad model.InvalidError
	fault := func(member string, value any, format string, args ...any) {
		bad.Fields = append(bad.Fields, model.FieldError{
			Location: "body." + member,
			Message:  fmt.Sprintf(format, args...),
			Value:    value,
		})
	}
	if r.Filter.IssueType.String() == "" {
		fault("issue_type", nil, "is needed: sast, sca or secrets")
	}
	if len(r.Filter.IDs) == 0 && !r.HasFilter {
		fault("issue_ids", nil, "is needed, or a filter: a request without either selects nothing, never everything")
	}
	if r.Limit < 0 || r.Limit > model.MaxTriage {
		fault("limit", r.Limit, "must be from 1 to %d", model.MaxTriage)
	}
	switch r.State {
	case 0:
		if r.Note == "" && r.Assign == nil {
			fault("new_triage_state", nil, "is needed, or new_note or new_assignee: there is nothing to change")
		}
	case model.TriageIgnored, model.TriageReviewing, model.TriageFixing, model.TriageReopened:
	default:
		fault("new_triage_state", r.State.String(), "must be ignored, reviewing, fixing or reopened")
	}
	if r.Reason != 0 && r.State != model.TriageIgnored {
		fault("new_triage_reason", r.Reason.String(), "goes only with the state ignored")
	}
	if !r.Until.IsZero() && (r.State == 0 || r.State == model.TriageReopened) {
		fault(
			"new_triage_until", model.LastDay(r.Until), "goes only with the states ignored, reviewing and fixing: those end",
		)
	}
	if n := utf8.RuneCountInString(r.Note); n > model.MaxNote {
		fault("new_note", nil, "has %d characters, at most %d", n, model.MaxNote)
	}
	if !utf8.ValidString(said) || strings.ContainsRune(said, 0) {
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
		return model.Invalid("body.new_triage_until", "%s is over already (in UTC): name today or a day to come",
			model.LastDay(r.Until))
	}
	if r.Assign == nil || *r.Assign == "" {
		return nil
	}
	m, err := s.Member(ctx, *r.Assign)
	switch {
	case errors.Is(err, model.ErrNotFound):
		return model.Invalid("body.new_assignee", "%.100q is no user of this deployment: Settings → Users lists them",
			*r.Assign)
	case err != nil:
		return err
	case !m.Enabled():
		return model.Invalid("body.new_assignee", "%s is disabled and cannot sign in: assign it to somebody else", m.Name)
	}
	r.Assign = &m.Name
	return nil
}
