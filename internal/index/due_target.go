package index

import (
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// DueTarget says how well due dates are kept.
type DueTarget struct {
	Fixed   int // findings that policies give days and that were fixed in a period
	InTime  int // of these, those that were fixed by their due date
	Overdue int // findings that are overdue now
}

func (t *DueTarget) add(o DueTarget) {
	t.Fixed += o.Fixed
	t.InTime += o.InTime
	t.Overdue += o.Overdue
}

// DueTargets are targets by severity and by the tags of projects, in lower case.
type DueTargets struct {
	Severity [redoubt.SeverityCritical + 1]DueTarget
	Tag      map[string]DueTarget
}

// Add sums up targets of several issue types.
func (t *DueTargets) Add(o DueTargets) {
	for severity := range t.Severity {
		t.Severity[severity].add(o.Severity[severity])
	}
	if t.Tag == nil {
		t.Tag = map[string]DueTarget{}
	}
	for tag, target := range o.Tag {
		sum := t.Tag[tag]
		sum.add(target)
		t.Tag[tag] = sum
	}
}

// DueTargets measures the findings that a filter selects: what was fixed since a time, by
// the days that policies give now, and what is overdue as of the view. The filter's
// statuses are for the caller to leave out.
func (v *View) DueTargets(f redoubt.FindingFilter, since time.Time) (out DueTargets) {
	v.read(f.IssueType, func(s *state, p *partition) {
		d := s.duesOf(p)
		if len(d.classes) == 0 {
			return
		}
		rows := s.selected(p, &f)
		byProject := map[uint32]DueTarget{}
		count := func(r *row, one DueTarget) {
			out.Severity[r.severity].add(one)
			sum := byProject[r.project]
			sum.add(one)
			byProject[r.project] = sum
		}
		from := since.UnixMicro()
		fixed := roaring.FastAnd(rows, p.closedSince(dayOf(from)), p.readBitmap(byStatus, uint32(redoubt.StatusFixed)))
		for _, c := range d.classes {
			for ordinal := range roaring.Values(roaring.And(fixed, c.all)) {
				r := &p.rows[ordinal]
				if r.stateAt < from {
					continue
				}
				one := DueTarget{Fixed: 1}
				if int(dayOf(r.stateAt)) <= int(r.clockDay())+c.days {
					one.InTime = 1
				}
				count(r, one)
			}
		}
		for ordinal := range roaring.Values(roaring.And(rows, d.between(p, firstDueDay, v.Today()))) {
			count(&p.rows[ordinal], DueTarget{Overdue: 1})
		}
		out.Tag = s.targetsByTag(byProject)
	})
	return out
}

// targetsByTag sums up what projects of the same tag have.
func (s *state) targetsByTag(byProject map[uint32]DueTarget) map[string]DueTarget {
	byTag := map[string]DueTarget{}
	for n, target := range byProject {
		for _, tag := range s.projects.entries[n].tags {
			sum := byTag[tag]
			sum.add(target)
			byTag[tag] = sum
		}
	}
	return byTag
}
