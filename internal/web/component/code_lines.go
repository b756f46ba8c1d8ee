package component

import (
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// FindingCode is the code of a finding, as shown on its page.
type FindingCode struct {
	Lines  []CodeLine
	Of     string // where and when the code was read, if it is not the current code
	Absent string // the reason for missing code
}

// CodeLine is a line of code.
type CodeLine struct {
	Number int
	Text   string
	Spans  []span // Text, split for highlighting; nil if the language is unknown
	Hit    bool   // the line belongs to the finding
}

// EvidenceOf decodes the evidence of a finding. It is empty if the scanner sent none.
func EvidenceOf(o store.Occurrence) (e model.Evidence, err error) {
	if len(o.Evidence) > 0 {
		err = json.Unmarshal(o.Evidence, &e)
	}
	return e, err
}

// whyNoCode returns the reason why a finding has no code, and how to provide it.
func whyNoCode(d model.Deployment, o store.Occurrence) ui.Message {
	switch {
	case o.State == model.Fixed:
		return ui.Message{Code: "fixed", Text: "Source context is deleted once a finding is fixed."}
	case o.State == model.StateRemoved:
		return ui.Message{Code: "removed", Text: "Source context is deleted once a finding is out of scope."}
	case o.Historical:
		return ui.Message{Code: "history", Text: "No source context: the secret exists only in the Git history."}
	case o.Line == 0:
		return ui.Message{Code: "no-line", Text: "No source context: the finding has no line number."}
	case !d.StoresCode:
		return ui.Message{
			Code: "not-kept",
			Text: "This deployment stores no code. To change this: redoubt deployment set " + d.Slug + " --code=on.",
		}
	case o.IssueType == model.SCA:
		return ui.Message{Code: "no-build", Text: "No source context uploaded. redoubt ci includes it."}
	}
	return ui.Message{
		Code: "not-sent",
		Text: "No source context uploaded: semgrep ci and many reports do not include it. redoubt ci does.",
	}
}

// CodeOf returns the code of a finding: the lines that a build sent, or else the lines of the
// report.
func CodeOf(ctx context.Context, tx *store.Tx, o store.Occurrence) (c FindingCode, err error) {
	e, err := EvidenceOf(o)
	if err != nil {
		return c, err
	}
	if e.Code != "" {
		c.reported(o, e.Code)
	}
	return c, c.around(ctx, tx, o)
}

// reported adds the lines of code from the report.
func (c *FindingCode) reported(o store.Occurrence, code string) {
	for i, text := range strings.Split(strings.TrimRight(code, "\n"), "\n") {
		line := CodeLine{Text: text}
		if o.Line > 0 {
			line.Number = o.Line + i
		}
		c.Lines = append(c.Lines, line)
	}
}

// around sets the lines around the finding that a build sent. They are more than a report contains.
// If there are none, it sets the reason.
func (c *FindingCode) around(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	s, err := tx.Snippet(ctx, o.ID)
	switch {
	case err == nil && (o.State == model.Unresolved || o.State == model.Muted):
		c.Lines = nil
		for i, text := range s.Lines {
			number := s.First + i
			c.Lines = append(c.Lines, CodeLine{Number: number, Text: text, Hit: number >= s.Line && number <= s.EndLine})
		}
		if s.Path != o.Path || s.Line != o.Line {
			c.Of = "Code at " + s.Path + ":" + ui.Decimal(int64(s.Line))
			if s.Commit != "" {
				c.Of += " in commit " + s.Commit[:min(len(s.Commit), 12)]
			}
			c.Of += ": the finding has moved since then; newer code was not uploaded."
		}
		return nil
	case err != nil && !errors.Is(err, model.ErrNotFound):
		return err
	}
	if len(c.Lines) == 0 {
		c.Absent = whyNoCode(tx.Deployment(), o).Text
	}
	return nil
}
