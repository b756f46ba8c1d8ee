package findings

import (
	"bytes"
	"context"
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/weblink"
)

// flowStep is a step of the data flow.
type flowStep struct {
	model.FlowStep
	Address string // link to its line; empty if uncertain
}

// evidence sets the commit and the data flow that the scanner sent.
func (d *findingDetail) evidence(ctx context.Context, tx *store.Tx, o store.Occurrence) error {
	e, err := component.EvidenceOf(o)
	if err != nil {
		return err
	}
	d.Commit = e.Commit
	return d.flow(ctx, tx, o, e.DataFlow)
}

// flow reads the data flow. Its lines are linked if the link of the finding leads to a known
// commit.
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
