package index

import (
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
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
	Severity [model.SeverityCritical + 1]DueTarget
	Tag      map[string]DueTarget
}

// DueTargets measures the findings that a filter selects: what was fixed since a time, by
// the days that policies give now, and what is overdue as of the view. What was ignored
// when it was gone was not fixed by anyone, and is left out. The filter's statuses are for
// the caller to leave out.
func (v *View) DueTargets(f model.FindingFilter, since time.Time) (out DueTargets) {
	v.read(f.IssueType, func(s *state, p *partition) {
		d := s.duesOf(p)
		if len(d.classes) == 0 {
			return
		}
		rows := s.selected(p, &f)
		byProject := map[uint32]DueTarget{}
		p.addFixed(&out, byProject, d, rows, since.UnixMicro())
		s.addOverdue(p, &out, byProject, roaring.And(rows, d.between(p, firstDueDay, v.Today())))
		out.Tag = s.targetsByTag(byProject)
	})
	return out
}

// addFixed counts those of some rows that were fixed since a time.
func (p *partition) addFixed(out *DueTargets, sums map[uint32]DueTarget, d *dues, rows *roaring.Bitmap, from int64) {
	fixed := roaring.FastAnd(rows, p.closedSince(dayOf(from)), p.readBitmap(byStatus, uint32(model.StatusFixed)))
	for _, c := range d.classes {
		for ordinal := range roaring.Values(roaring.And(fixed, c.all)) {
			r := &p.rows[ordinal]
			if r.stateAt < from || model.TriageState(r.triage) == model.TriageIgnored {
				continue
			}
			one := DueTarget{Fixed: 1}
			if int(dayOf(r.stateAt)) <= int(r.clockDay())+c.days {
				one.InTime = 1
			}
			out.Severity[r.severity].add(one)
			sum := sums[r.project]
			sum.add(one)
			sums[r.project] = sum
		}
	}
}

// addOverdue counts rows that are overdue, none by itself: there may be very many. Of
// projects, those with tags are asked for.
func (s *state) addOverdue(p *partition, out *DueTargets, sums map[uint32]DueTarget, overdue *roaring.Bitmap) {
	if overdue.IsEmpty() {
		return
	}
	for severity := range out.Severity {
		out.Severity[severity].Overdue += int(overdue.AndCardinality(p.readBitmap(bySeverity, uint32(severity))))
	}
	for n, project := range s.projects.entries {
		if project == nil || len(project.tags) == 0 {
			continue
		}
		if count := overdue.AndCardinality(p.readBitmap(byProject, uint32(n))); count > 0 {
			sum := sums[uint32(n)]
			sum.Overdue += int(count)
			sums[uint32(n)] = sum
		}
	}
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
