package ingest

import (
	"cmp"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// closedDecision is a finding that closes, and what was decided on it.
type closedDecision struct {
	row    *model.Finding
	triage model.Triage
}

// precedents holds, for each rule and file, the closed findings of the latest decision, by
// line: a bulk decision has many of one time.
type precedents map[place][]closedDecision

// newPrecedents gathers those of the findings that close and that a person handled. What an
// exception or a VEX statement decided, it decides on the new finding by itself.
func newPrecedents(closing []*model.Finding, triage func(lineage int64) model.Triage) precedents {
	out := precedents{}
	for _, row := range closing {
		d := closedDecision{row, triage(row.LineageID)}
		if !d.triage.HandledByPerson() {
			continue
		}
		key := place{row.RuleName, row.Path}
		switch held := out[key]; {
		case len(held) == 0 || held[0].triage.At.Before(d.triage.At):
			out[key] = []closedDecision{d}
		case held[0].triage.At.Equal(d.triage.At):
			out[key] = append(held, d)
		}
	}
	for _, held := range out {
		slices.SortFunc(held, func(a, b closedDecision) int {
			return cmp.Or(cmp.Compare(a.row.Line, b.row.Line), cmp.Compare(a.row.ID, b.row.ID))
		})
	}
	return out
}

// nearest finds the one nearest to a line, of those in the order of lines; the
// upper of two.
func nearest(held []closedDecision, line int) (closedDecision, bool) {
	if len(held) == 0 {
		return closedDecision{}, false
	}
	at, _ := slices.BinarySearchFunc(held, line, func(d closedDecision, line int) int {
		return cmp.Compare(d.row.Line, line)
	})
	if at == len(held) || at > 0 && line-held[at-1].row.Line <= held[at].row.Line-line {
		at--
	}
	return held[at], true
}

// addPrecedent notes the precedent of the finding that was added last, which has
// no id yet.
func (p *planner) addPrecedent(ps precedents) {
	last := len(p.changes.Added) - 1
	f := &p.changes.Added[last].Finding
	closed, ok := nearest(ps[place{f.RuleName, f.Path}], f.Line)
	if !ok || p.err != nil {
		return
	}
	e := model.FindingEvent{ScanID: p.ScanID, Kind: model.EventPrecedent}
	e.Detail, p.err = toJSON(model.PrecedentOf(closed.row.ID, closed.triage))
	p.changes.Precedents = append(p.changes.Precedents, newPrecedent{last, e})
}

// newPrecedent is the event of one of Added, by its place there.
type newPrecedent struct {
	added int
	event model.FindingEvent
}
