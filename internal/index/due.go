package index

import (
	"cmp"
	"slices"
	"sort"
	"sync"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// Due dates are not stored. A due date is the start day of a finding's clock plus the days that
// policies specify (docs/reference/due-dates.md). Most clocks start at relevant_since, by which
// rows are sorted. So for rows with the same number of days, a range of due dates is a range of
// ordinals. Rows whose clock was paused or started later are called moved. They have a bitmap per
// start day.

// dueTable contains the due days that policies specify for a product. It is indexed by severity, by
// whether the finding is unrated, and by whether it is known to be exploited.
type dueTable [model.SeverityCritical + 1][2][2]uint16

// dueTableOf returns the minimum due days of several policies.
func (s *state) dueTableOf(policies []int64, product model.IssueType) (t dueTable) {
	for _, id := range policies {
		p := s.policies[id]
		if p.Product != product || p.Due == (model.DueDays{}) {
			continue
		}
		for severity := model.SeverityLow; severity <= model.SeverityCritical; severity++ {
			for unrated := range t[severity] {
				for exploited := range t[severity][unrated] {
					days := &t[severity][unrated][exploited]
					*days = uint16(model.MinDays(int(*days), p.Due.Of(severity, unrated == 1, exploited == 1)))
				}
			}
		}
	}
	return t
}

// days returns the due days of a row regardless of its status, or 0 for no due date.
func (t *dueTable) days(r *row) int {
	if int(r.severity) >= len(t) {
		return 0
	}
	return int(t[r.severity][truth(r.unrated)][truth(r.exploited)])
}

func truth(flag uint8) int {
	if flag == flagYes {
		return 1
	}
	return 0
}

// undecided contains the statuses in which the clock runs.
var undecided = []uint32{uint32(model.StatusOpen), uint32(model.StatusReviewing), uint32(model.StatusFixing)}

// dueDay returns the due day of a row in the numbering of dayOf, or 0 if there is none.
func (s *state) dueDay(t model.IssueType, r *row) int {
	if !slices.Contains(undecided, uint32(r.status)) {
		return 0
	}
	days := s.audiences[s.projects.entries[r.project].audience].due[t-1].days(r)
	if days == 0 {
		return 0
	}
	return int(r.clockDay()) + days
}

// clockDay returns the day on which the row's clock started.
func (r *row) clockDay() uint32 {
	if r.began != 0 {
		return r.began
	}
	return dayOf(r.relevant)
}

// startClock sets the start day of the clock if it differs from the day of relevant_since.
func (r *row) startClock(stops model.ClockPauses) {
	r.began = dayOf(model.DueClock(r.relevant, r.stateAt, model.State(r.state), stops))
	if r.began == dayOf(r.relevant) {
		r.began = 0
	}
}

// dayNumber is like dayOf, but without limits.
func dayNumber(t time.Time) int {
	const seconds = 24 * 3600
	at := t.Unix()
	if at < 0 {
		at -= seconds - 1
	}
	return int(at/seconds) + 1
}

// dues contains the due dates of a partition in a form for queries.
type dues struct {
	classes []dueClass      // fewest days first
	dated   *roaring.Bitmap // rows that have a due date
}

// dueClass contains the rows with the same number of due days.
type dueClass struct {
	days  int
	all   *roaring.Bitmap // regardless of status
	plain *roaring.Bitmap // rows with a due date whose clock started at relevant_since
	moved *roaring.Bitmap // other rows with a due date
}

// dueCache caches the due dates of partitions until the next change. It is safe for concurrent use.
type dueCache struct {
	mu    sync.Mutex
	known map[*partition]*dues
}

func (c *dueCache) forget() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.known = nil
}

// duesOf returns the due dates of a partition. The caller must not modify them.
func (s *state) duesOf(p *partition) *dues {
	s.dues.mu.Lock()
	defer s.dues.mu.Unlock()
	d := s.dues.known[p]
	if d == nil {
		d = s.newDues(p)
		if s.dues.known == nil {
			s.dues.known = map[*partition]*dues{}
		}
		s.dues.known[p] = d
	}
	return d
}

func (s *state) newDues(p *partition) *dues {
	d := &dues{dated: roaring.New()}
	byDays := s.rowsByDays(p)
	if len(byDays) == 0 {
		return d
	}
	running := p.union(clause{byStatus, undecided})
	began := slices.DeleteFunc(slices.Clone(p.values[byClockDay]), func(b *roaring.Bitmap) bool { return b == nil })
	moved := roaring.FastOr(append(began, emptyBitmap)...)
	for days, all := range byDays {
		rows := roaring.And(all, running)
		d.dated.Or(rows)
		d.classes = append(d.classes, dueClass{days, all, roaring.AndNot(rows, moved), roaring.And(rows, moved)})
	}
	slices.SortFunc(d.classes, func(a, b dueClass) int { return a.days - b.days })
	return d
}

// rowsByDays returns rows by their number of due days, without rows that have none.
func (s *state) rowsByDays(p *partition) map[int]*roaring.Bitmap {
	projects := map[dueTable][]uint32{}
	for n, project := range s.projects.entries {
		if project != nil {
			t := s.audiences[project.audience].due[p.issueType-1]
			projects[t] = append(projects[t], uint32(n))
		}
	}
	byDays := map[int]*roaring.Bitmap{}
	for t, of := range projects {
		if t == (dueTable{}) {
			continue
		}
		rows := p.listed
		if len(projects) > 1 {
			rows = p.union(clause{byProject, of})
		}
		p.addDays(byDays, rows, &t)
	}
	return byDays
}

// addDays adds rows to byDays according to a table.
func (p *partition) addDays(byDays map[int]*roaring.Bitmap, rows *roaring.Bitmap, t *dueTable) {
	flags := []uint32{uint32(flagNo), uint32(flagYes)}
	for severity := range t {
		rated := roaring.And(rows, p.readBitmap(bySeverity, uint32(severity)))
		for unrated, flag := range flags {
			for exploited, flag2 := range flags {
				days := int(t[severity][unrated][exploited])
				if days == 0 || rated.IsEmpty() {
					continue
				}
				b := roaring.FastAnd(rated, p.readBitmap(byUnrated, flag), p.readBitmap(byExploited, flag2))
				if byDays[days] == nil {
					byDays[days] = b
				} else if !b.IsEmpty() {
					byDays[days].Or(b)
				}
			}
		}
	}
}

// dayBound returns the first ordinal whose row is relevant since a day or later.
func (p *partition) dayBound(day int) int {
	return sort.Search(len(p.rows), func(i int) bool { return int(dayOf(p.rows[i].relevant)) >= day })
}

// between returns the rows whose due day is at least first and less than before.
func (d *dues) between(p *partition, first, before int) *roaring.Bitmap {
	out := roaring.New()
	days := p.values[byClockDay]
	for _, c := range d.classes {
		within := roaring.New()
		within.AddRange(uint64(p.dayBound(first-c.days)), uint64(p.dayBound(before-c.days)))
		out.Or(roaring.And(c.plain, within))
		if c.moved.IsEmpty() {
			continue
		}
		from, to := min(max(first-c.days, 0), len(days)), min(max(before-c.days, 0), len(days))
		began := slices.DeleteFunc(slices.Clone(days[from:max(from, to)]), func(b *roaring.Bitmap) bool { return b == nil })
		out.Or(roaring.And(c.moved, roaring.FastOr(append(began, emptyBitmap)...)))
	}
	return out
}

// Bounds beyond all due days.
const (
	firstDueDay = 0
	lastDueDay  = lastDay + model.MaxDueDays + 1
)

// inRange returns the rows that are due in a range.
func (d *dues) inRange(p *partition, r model.DueRange) *roaring.Bitmap {
	first, before := firstDueDay, lastDueDay
	if !r.From.IsZero() {
		first = dayNumber(r.From)
	}
	if !r.Before.IsZero() {
		before = dayNumber(r.Before)
	}
	return d.between(p, first, before)
}

// dueIn returns the rows that match a filter by due date.
func (s *state) dueIn(p *partition, f *model.DueFilter) *roaring.Bitmap {
	d := s.duesOf(p)
	out := roaring.New()
	for _, r := range f.Ranges {
		out.Or(d.inRange(p, r))
	}
	if f.Undated {
		out.Or(roaring.AndNot(p.listed, d.dated))
	}
	return out
}

// addDue adds the due date filters to a query.
func (s *state) addDue(p *partition, q *query, f *model.FindingFilter) {
	if f.Due != nil {
		q.with = append(q.with, s.dueIn(p, f.Due))
	}
	if !f.DueBefore.IsZero() {
		q.with = append(q.with, s.dueIn(p, &model.DueFilter{Ranges: []model.DueRange{{Before: f.DueBefore}}}))
	}
}

// countByDue counts rows by due date window.
func (s *state) countByDue(p *partition, rows *roaring.Bitmap, now time.Time) map[string]int {
	counts := map[string]int{}
	for _, w := range model.DueWindows() {
		if n := s.dueIn(p, model.DueWithin([]model.DueWindow{w}, now)).AndCardinality(rows); n > 0 {
			counts[string(w)] = int(n)
		}
	}
	return counts
}

// Overdue returns the lineages of an issue type that are overdue on any ref, with their earliest
// due day, sorted by ID.
func (v *View) Overdue(t model.IssueType) []model.OverdueLineage {
	first := map[uint32]int{}
	var out []model.OverdueLineage
	v.read(t, func(s *state, p *partition) {
		for ordinal := range roaring.Values(roaring.And(s.duesOf(p).between(p, firstDueDay, v.Today()), p.listed)) {
			r := &p.rows[ordinal]
			day := s.dueDay(t, r)
			if had, known := first[r.lineage]; !known || day < had {
				first[r.lineage] = day
			}
		}
		out = make([]model.OverdueLineage, 0, len(first))
		for number, day := range first {
			out = append(out, model.OverdueLineage{ID: s.lineages.ids[number], Day: day})
		}
	})
	slices.SortFunc(out, func(a, b model.OverdueLineage) int { return cmp.Compare(a.ID, b.ID) })
	return out
}

// DueTarget measures compliance with due dates.
type DueTarget struct {
	Fixed   int // findings with due days that were fixed in the period
	InTime  int // of these, findings fixed by their due date
	Overdue int // findings that are overdue
}

func (t *DueTarget) add(o DueTarget) {
	t.Fixed += o.Fixed
	t.InTime += o.InTime
	t.Overdue += o.Overdue
}

// DueTargets contains targets by severity and by project tag in lower case.
type DueTargets struct {
	Severity [model.SeverityCritical + 1]DueTarget
	Tag      map[string]DueTarget
}

// DueTargets measures matching findings: fixes since a time, by current policies, and overdue
// findings as of the view. Findings that disappeared while ignored do not count as fixed. The
// filter should not contain statuses.
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

// addFixed adds the rows that were fixed since a time in microseconds.
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

// addOverdue adds overdue rows. It counts with bitmaps, because there may be many rows, and omits
// projects without tags.
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

// targetsByTag sums the targets of projects by tag.
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
