package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// shelfMatch is a vulnerability of a package in a lockfile.
type shelfMatch struct {
	lock, pkg string
	group     int
	version   int // the lowest affected
}

func (m shelfMatch) identity(group int) string {
	return fmt.Sprint("advisory ", group, " ", m.lock, "/", m.pkg)
}

// isOf reports whether a row of the advisories belongs to the match or to a merged group.
func (m shelfMatch) isOf(r *shelfRow, former []int) bool {
	return r.lock == m.lock && r.pkg == m.pkg && (r.group == m.group || slices.Contains(former, r.group))
}

// matches lists the matches of a ref by lockfile, package and group.
func (s *shelf) matches(ref string) (out []shelfMatch) {
	for _, lock := range slices.Sorted(maps.Keys(s.locks[ref])) {
		for _, pkg := range slices.Sorted(maps.Keys(s.locks[ref][lock])) {
			for group := 1; group <= s.groups; group++ {
				for _, v := range s.locks[ref][lock][pkg] {
					if s.affects(group, pkg, v) {
						out = append(out, shelfMatch{lock, pkg, group, v})
						break
					}
				}
			}
		}
	}
	return out
}

func (s *shelf) affects(group int, pkg string, version int) bool {
	return slices.ContainsFunc(s.records, func(r *shelfRecord) bool {
		return r.group == group && !r.withdrawn && r.pkg == pkg && r.low <= version && version <= r.high
	})
}

// follow updates the advisories' findings of a ref.
func (s *shelf) follow(ref string) {
	matches, now := s.matches(ref), s.liveRows()
	then := s.expected(ref, matches)
	over := map[string]*modelLineage{} // matches without a row that change to another lineage
	wanted := map[*shelfRow]shelfMatch{}
	hidden, transferred := map[*shelfRow]bool{}, map[*shelfRow]bool{}
	var fresh []shelfMatch
	var back []*shelfRow
	for _, m := range matches {
		row, renamed := s.oldest(ref, m, then)
		twins, alive, justGone := s.twins(ref, m)
		s.unite(m, row, renamed, twins, then, over)
		switch {
		case alive && row != nil:
			hidden[row] = true
		case alive:
		case row == nil:
			fresh = append(fresh, m)
		default:
			wanted[row], transferred[row] = m, justGone
		}
	}
	var closing []*shelfRow
	for _, r := range s.rows {
		m, is := wanted[r]
		switch {
		case r.scanner || r.ref != ref:
		case is:
			if _, r.vuln = s.names(m.group); !r.live() {
				back = append(back, r)
				r.state, r.since, r.changed = model.Unresolved, s.step, s.step
			}
			r.version = m.version
		case !r.live():
		case hidden[r], slices.Contains(s.locks[ref][r.lock][r.pkg], r.version):
			r.leave(model.StateRemoved, s.step)
		default:
			closing = append(closing, r)
		}
	}
	for _, r := range closing {
		r.leave(model.Fixed, s.step)
	}
	var added []*shelfRow
	for _, m := range fresh {
		_, shown := s.names(m.group)
		r := &shelfRow{
			serial: len(s.rows) + 1, ref: ref, lock: m.lock, pkg: m.pkg, vuln: shown, group: m.group, version: m.version, byFull: true,
			state: model.Unresolved, since: s.step, lineage: cmp.Or(over[m.identity(m.group)], s.lineages[m.identity(m.group)]),
		}
		s.rows, added = append(s.rows, r), append(added, r)
	}
	s.split(ref, false, true, now, added)
	for _, r := range back {
		s.back(r, transferred[r])
	}
}

// oldest finds the row of a match under its group or a merged one. If there are several, the oldest
// remains; the others are removed and swap identities with it.
func (s *shelf) oldest(ref string, m shelfMatch, then []liveRow) (_ *shelfRow, renamed bool) {
	var found []*shelfRow
	for _, r := range s.rows {
		if !r.scanner && r.ref == ref && m.isOf(r, s.former[m.group]) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil, false
	}
	stays := found[0]
	for _, other := range found[1:] {
		if other.live() {
			other.leave(model.StateRemoved, s.step)
		}
		if other.group == m.group {
			other.group = stays.group
		}
		if !apart(then, stays.lineage, other.lineage, true) {
			s.join(stays.lineage, other.lineage)
		}
	}
	renamed, stays.group = stays.group != m.group, m.group
	return stays, renamed
}

// twins lists the scanner's rows of the same vulnerability. It reports whether one is live and
// whether one closed in this step.
func (s *shelf) twins(ref string, m shelfMatch) (twins []*shelfRow, alive, justGone bool) {
	names, _ := s.names(m.group)
	for _, r := range s.rows {
		if r.scanner && r.ref == ref && r.lock == m.lock && r.pkg == m.pkg && slices.Contains(names, r.vuln) {
			twins = append(twins, r)
			alive = alive || r.live()
			justGone = justGone || !r.live() && r.changed == s.step
		}
	}
	return twins, alive, justGone
}

// unite joins the lineages of a match, of merged groups, and of the oldest of the scanner's rows.
// The scanner's row is not joined if another of its rows already is.
func (s *shelf) unite(m shelfMatch, row *shelfRow, renamed bool, twins []*shelfRow, then []liveRow, over map[string]*modelLineage) {
	var l *modelLineage
	if row != nil {
		l = row.lineage
	}
	for _, group := range append([]int{m.group}, s.former[m.group]...) {
		other := s.lineages[m.identity(group)]
		switch {
		case other == nil, row != nil && !renamed && group == m.group: // one of two is a copy
		case l == nil:
			l = other
		case !apart(then, l, other, true):
			s.join(l, other)
			l = s.lineages[m.identity(group)]
		}
	}
	if len(twins) > 0 && (l == nil || !slices.ContainsFunc(twins, func(t *shelfRow) bool { return t.lineage == l })) {
		switch {
		case l == nil:
			l = twins[0].lineage
		case !apart(then, l, twins[0].lineage, true):
			s.join(l, twins[0].lineage)
			l = twins[0].lineage
		case slices.ContainsFunc(then, func(x liveRow) bool {
			return !x.scanner && x.ref == twins[0].ref && x.lineage == twins[0].lineage && x.lock != m.lock
		}):
		case row != nil && !twins[0].live() && twins[0].changed != s.step: // it moved here since
		case row != nil:
			row.lineage = twins[0].lineage
		default:
			over[m.identity(m.group)] = twins[0].lineage
		}
	}
	if l != nil && s.lineages[m.identity(m.group)] == nil {
		s.lineages[m.identity(m.group)] = l
	}
}

// liveRow is a row that is live before the advisories are evaluated.
type liveRow struct {
	*shelfRow
	lock string // at that time
}

func (s *shelf) liveRows() (out []liveRow) {
	for _, r := range s.rows {
		if r.live() {
			out = append(out, liveRow{r, r.lock})
		}
	}
	return out
}

// expected returns the live rows of all refs once a ref has the matches.
func (s *shelf) expected(ref string, matches []shelfMatch) (out []liveRow) {
	own := func(x liveRow) bool { return !x.scanner && x.ref == ref }
	out = slices.DeleteFunc(s.liveRows(), own)
	for _, m := range matches {
		if _, alive, _ := s.twins(ref, m); alive {
			continue
		}
		for _, r := range s.rows {
			if !r.scanner && r.ref == ref && m.isOf(r, s.former[m.group]) {
				out = append(out, liveRow{r, r.lock})
			}
		}
	}
	return out
}

// apart reports whether two lineages have separate rows on some ref that full scans saw. With
// inFiles, the rows must be in two lockfiles.
func apart(now []liveRow, a, b *modelLineage, inFiles bool) bool {
	for _, x := range now {
		for _, y := range now {
			if x.lineage == a && y.lineage == b && a != b && x.ref == y.ref && x.byFull && y.byFull && (inFiles && x.lock != y.lock || !inFiles && x.scanner == y.scanner) {
				return true
			}
		}
	}
	return false
}

// split reduces a lineage to one finding of a source on a ref, or to the primary branch's number.
// Several names of a package in one lockfile are exempt. Findings of the primary branch remain,
// then the oldest. The others start lineages, as do findings added by a diff report if the primary
// branch has the lineage only elsewhere.
func (s *shelf) split(ref string, scanner, full bool, now []liveRow, added []*shelfRow) {
	primary := s.onPrimary(ref, scanner, now)
	count := map[*modelLineage]int{}
	for _, r := range s.rows {
		if r.scanner == scanner && r.ref == ref && r.live() && r.lineage != nil {
			count[r.lineage]++
		}
	}
	part := func(r *shelfRow) {
		l := r.lineage
		count[l]--
		r.lineage = nil
		if to := s.lineages[r.identity()]; to != nil && to != l && count[to] == 0 {
			r.lineage = to
			count[to]++
		}
	}
	for _, r := range added {
		elsewhere := func(x liveRow) bool { return x.lock != r.lock }
		if all := primary[r.lineage]; !full && len(all) > 0 && !slices.ContainsFunc(all, func(x liveRow) bool { return !elsewhere(x) }) {
			part(r)
		}
	}
	crowds := map[*modelLineage][]*shelfRow{}
	for _, r := range s.rows {
		if r.scanner == scanner && r.ref == ref && r.live() && r.lineage != nil && count[r.lineage] > 1 {
			crowds[r.lineage] = append(crowds[r.lineage], r)
		}
	}
	for _, l := range slices.SortedFunc(maps.Keys(crowds), func(a, b *modelLineage) int { return a.born - b.born }) {
		has := func(r *shelfRow) bool {
			return slices.ContainsFunc(primary[l], func(x liveRow) bool { return x.identity() == r.identity() })
		}
		slices.SortStableFunc(crowds[l], func(a, b *shelfRow) int { return compareFlags(has(b), has(a)) })
		retained, out := map[string]bool{}, 0
		for i, r := range crowds[l] {
			switch {
			case retained[r.lock]:
			case i-out < max(1, len(primary[l])):
				retained[r.lock] = true
			default:
				out++
				part(r)
			}
		}
	}
	s.begin(added)
}

// onPrimary returns the primary branch's rows of a source by lineage. It is empty for the primary
// branch itself.
func (s *shelf) onPrimary(ref string, scanner bool, now []liveRow) map[*modelLineage][]liveRow {
	out := map[*modelLineage][]liveRow{}
	for _, x := range now {
		if x.scanner == scanner && ref != s.main() && x.ref == s.main() {
			out[x.lineage] = append(out[x.lineage], x)
		}
	}
	return out
}

// begin starts a lineage for each row without one, new rows first.
func (s *shelf) begin(added []*shelfRow) {
	for _, r := range slices.Concat(added, s.rows) {
		if r.lineage == nil {
			s.born++
			r.lineage = &modelLineage{born: s.born, from: s.born, triage: model.TriageUntriaged}
			s.lineages[r.identity()] = r.lineage
		}
	}
}

// main returns the primary branch.
func (s *shelf) main() string { return cmp.Or(s.primary, "main") }

// join merges two lineages; see model.join.
func (s *shelf) join(a, b *modelLineage) {
	if a == b {
		return
	}
	stays, merged := a, b
	if merged.born < stays.born {
		stays, merged = merged, stays
	}
	better := modelWeight(merged) - modelWeight(stays)
	if better > 0 || better == 0 && merged.from < stays.from {
		stays.triage, stays.human, stays.from = merged.triage, merged.human, merged.from
	}
	for id, l := range s.lineages {
		if l == merged {
			s.lineages[id] = stays
		}
	}
	for _, r := range s.rows {
		if r.lineage == merged {
			r.lineage = stays
		}
	}
}

// String lists the rows: serial, source, ref, lockfile, package, vulnerability and version, status,
// lineage.
func (s *shelf) String() string {
	var b strings.Builder
	for _, r := range s.rows {
		source, version := "scanner", ""
		if !r.scanner {
			source, version = "advisory", fmt.Sprint("@", r.version)
		}
		status := model.StatusOf(r.state, r.lineage.triage).String()
		if status == "" {
			status = "removed"
		}
		fmt.Fprintf(&b, "%d %s %s %s %s %s%s %s L%d\n", r.serial, source, r.ref, r.lock, r.pkg, r.vuln, version, status, r.lineage.born)
	}
	return b.String()
}
