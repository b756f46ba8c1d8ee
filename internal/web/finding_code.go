package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/weblink"
)

// codeLine is a line of code.
type codeLine struct {
	Number int
	Text   string
	Spans  []span // the same by looks; nil where the language is not known
	Hit    bool   // it is one of the finding's
}

// flowStep is a step of the data flow.
type flowStep struct {
	model.FlowStep
	Address string // of its line; empty where none is sure
}

// evidenceOf reads the evidence of a finding; empty where the scanner sent none.
func evidenceOf(o store.Occurrence) (e model.Evidence, err error) {
	if len(o.Evidence) > 0 {
		err = json.Unmarshal(o.Evidence, &e)
	}
	return e, err
}

// evidence adds the commit and the data flow that the scanner sent.
func (d *findingDetail) evidence(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	e, err := evidenceOf(o)
	if err != nil {
		return err
	}
	d.Commit = e.Commit
	return d.flow(ctx, tx, o, e.DataFlow)
}

// code adds the code of the finding: the lines that a build sent, or else those of the report.
func (d *findingDetail) code(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	e, err := evidenceOf(o)
	if err != nil {
		return err
	}
	if e.Code != "" {
		d.reported(o, e.Code)
	}
	return d.around(ctx, tx, o)
}

// reported adds the lines of code that the report has.
func (d *findingDetail) reported(o store.Occurrence, code string) {
	for i, text := range strings.Split(strings.TrimRight(code, "\n"), "\n") {
		line := codeLine{Text: text}
		if o.Line > 0 {
			line.Number = o.Line + i
		}
		d.Code = append(d.Code, line)
	}
}

// flow reads the data flow, with links to its lines where the finding's own leads to the
// commit that is known.
func (d *findingDetail) flow(ctx context.Context, tx *store.Tx, o store.Occurrence, steps []model.FlowStep) error {
	if len(steps) == 0 {
		return nil
	}
	scan, err := tx.Scan(ctx, o.FirstScanID)
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return err
	}
	links := weblink.New(d.Project.URL, scan.Commit, o.Ref)
	linked := err == nil && scan.Commit != "" && bytes.Contains(o.Body, []byte(`"`+links.Line(o.Path, o.Line)+`"`))
	for _, step := range steps {
		s := flowStep{FlowStep: step}
		if linked {
			s.Address = links.Line(step.Path, step.Line)
		}
		d.Steps = append(d.Steps, s)
	}
	return nil
}

// around reads the lines around the finding that a build sent, which show more
// than a report does, or says why there are none.
func (d *findingDetail) around(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	s, err := tx.Snippet(ctx, o.ID)
	switch {
	case err == nil && (o.State == model.Unresolved || o.State == model.Muted):
		d.Code = nil
		for i, text := range s.Lines {
			number := s.First + i
			d.Code = append(d.Code, codeLine{Number: number, Text: text, Hit: number >= s.Line && number <= s.EndLine})
		}
		if s.Path != o.Path || s.Line != o.Line {
			d.CodeOf = "As it was at " + s.Path + ":" + decimal(int64(s.Line))
			if s.Commit != "" {
				d.CodeOf += " in commit " + s.Commit[:min(len(s.Commit), 12)]
			}
			d.CodeOf += ": the finding has moved since, and no build has sent the code again."
		}
		return nil
	case err != nil && !errors.Is(err, model.ErrNotFound):
		return err
	}
	if len(d.Code) == 0 {
		d.NoCode = whyNoCode(tx.Deployment(), o).Text
	}
	return nil
}

// whyNoCode says why no code is shown, and how it could be.
func whyNoCode(d model.Deployment, o store.Occurrence) message {
	switch {
	case o.State == model.Fixed:
		return message{"fixed", "The code around a finding goes when it is fixed."}
	case o.State == model.StateRemoved:
		return message{"removed", "The code around a finding goes when it leaves the scope."}
	case o.Historical:
		return message{"history", "The checkout no longer has the code: the secret is in the history."}
	case o.Line == 0:
		return message{"no-line", "No line is known, so there is no code to show."}
	case !d.KeepsCode:
		return message{"not-kept", "This deployment keeps no code (redoubt deployment set " + d.Slug + " --code=on)."}
	case o.IssueType == model.SCA:
		return message{"no-build", "No build has sent the lines around it; redoubt ci does."}
	}
	return message{
		"not-sent",
		"No code was sent with it: semgrep ci uploads none, and many reports hold none. redoubt ci sends the lines around " +
			"each finding.",
	}
}
