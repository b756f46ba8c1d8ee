package ingest

import (
	"cmp"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// closedDecision is a closing finding and its triage.
type closedDecision struct {
	row    *model.Finding
	triage model.Triage
}

// precedents contains, for each rule and file, the closed findings of the latest decision, by line.
// A bulk decision has many findings with the same time.
type precedents map[scannedFile][]closedDecision

// newPrecedents collects the closing findings that a person triaged. Exceptions and VEX statements
// apply to the new finding by themselves.
func newPrecedents(closing []*model.Finding, triage func(lineage int64) model.Triage) precedents {
	out := precedents{}
	for _, row := range closing {
		d := closedDecision{row, triage(row.LineageID)}
		if !d.triage.HandledByPerson() {
			continue
		}
		key := scannedFile{row.RuleName, row.Path}
		switch decisions := out[key]; {
		case len(decisions) == 0 || decisions[0].triage.At.Before(d.triage.At):
			out[key] = []closedDecision{d}
		case decisions[0].triage.At.Equal(d.triage.At):
			out[key] = append(decisions, d)
		}
	}
	for _, decisions := range out {
		slices.SortFunc(decisions, func(a, b closedDecision) int {
			return cmp.Or(cmp.Compare(a.row.Line, b.row.Line), cmp.Compare(a.row.ID, b.row.ID))
		})
	}
	return out
}

// nearest returns the decision nearest to a line, or the upper of two equally near ones. Its input
// must be ordered by line.
func nearest(decisions []closedDecision, line int) (closedDecision, bool) {
	if len(decisions) == 0 {
		return closedDecision{}, false
	}
	at, _ := slices.BinarySearchFunc(decisions, line, func(d closedDecision, line int) int {
		return cmp.Compare(d.row.Line, line)
	})
	if at == len(decisions) || at > 0 && line-decisions[at-1].row.Line <= decisions[at].row.Line-line {
		at--
	}
	return decisions[at], true
}

// addPrecedent records the precedent of the last added finding, which has no id yet.
func (p *planner) addPrecedent(ps precedents) {
	last := len(p.changes.Added) - 1
	f := &p.changes.Added[last].Finding
	closed, ok := nearest(ps[scannedFile{f.RuleName, f.Path}], f.Line)
	if !ok || p.err != nil {
		return
	}
	e := model.FindingEvent{ScanID: p.ScanID, Kind: model.EventPrecedent}
	e.Detail, p.err = toJSON(model.PrecedentOf(closed.row.ID, closed.triage))
	p.changes.Precedents = append(p.changes.Precedents, newPrecedent{last, e})
}

// newPrecedent is an event of a finding in Added, by its index.
type newPrecedent struct {
	added int
	event model.FindingEvent
}
