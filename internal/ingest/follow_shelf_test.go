package ingest

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
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

// matches lists what is affected on a ref by lockfile, package and group.
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

// follow brings the advisories' findings of a ref in line with what is known.
func (s *shelf) follow(ref string) {
	matches := s.matches(ref)
	wanted := map[*shelfRow]shelfMatch{}
	hidden, handed := map[*shelfRow]bool{}, map[*shelfRow]bool{}
	var fresh []shelfMatch
	var back []*shelfRow
	for _, m := range matches {
		row := s.oldest(ref, m)
		said, alive, justGone := s.twins(ref, m)
		s.unite(m, row, said)
		switch {
		case alive && row != nil:
			hidden[row] = true
		case alive:
		case row == nil:
			fresh = append(fresh, m)
		default:
			wanted[row], handed[row] = m, justGone
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
				r.state, r.since, r.changed = redoubt.Unresolved, s.step, s.step
			}
			r.version = m.version
		case !r.live():
		case hidden[r], slices.Contains(s.locks[ref][r.lock][r.pkg], r.version):
			r.leave(redoubt.StateRemoved, s.step)
		default:
			closing = append(closing, r)
		}
	}
	fresh = s.moves(ref, closing, fresh)
	for _, m := range fresh {
		_, shown := s.names(m.group)
		s.add(&shelfRow{ref: ref, lock: m.lock, pkg: m.pkg, vuln: shown, group: m.group, version: m.version}, m.identity(m.group))
	}
	for _, r := range back {
		s.back(r, handed[r])
	}
}

// oldest finds the row of a match under its group or one that became part of
// it. Of several the oldest stays; the others are removed and change places.
func (s *shelf) oldest(ref string, m shelfMatch) *shelfRow {
	var found []*shelfRow
	for _, r := range s.rows {
		if !r.scanner && r.ref == ref && r.lock == m.lock && r.pkg == m.pkg && (r.group == m.group || slices.Contains(s.former[m.group], r.group)) {
			found = append(found, r)
		}
	}
	if len(found) == 0 {
		return nil
	}
	stays := found[0]
	for _, other := range found[1:] {
		if other.live() {
			other.leave(redoubt.StateRemoved, s.step)
		}
		if other.group == m.group {
			other.group = stays.group
		}
		s.join(stays.lineage, other.lineage)
	}
	stays.group = m.group
	return stays
}

// twins lists the scanner's rows of the same vulnerability, and tells whether
// one lives and whether one went in this very step.
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

// unite makes one finding of a match, of the groups that became part of it, and
// of the oldest of the scanner's rows, unless another of them is part of it.
func (s *shelf) unite(m shelfMatch, row *shelfRow, twins []*shelfRow) {
	var l *modelLineage
	if row != nil {
		l = row.lineage
	}
	for _, group := range append([]int{m.group}, s.former[m.group]...) {
		if other := s.lineages[m.identity(group)]; other != nil {
			if l != nil {
				s.join(l, other)
			}
			l = s.lineages[m.identity(group)]
		}
	}
	if len(twins) > 0 && (l == nil || !slices.ContainsFunc(twins, func(t *shelfRow) bool { return t.lineage == l })) {
		if l != nil {
			s.join(l, twins[0].lineage)
		}
		l = twins[0].lineage
	}
	if l != nil && s.lineages[m.identity(m.group)] == nil {
		s.lineages[m.identity(m.group)] = l
	}
}

// join makes one of two lineages; see model.join.
func (s *shelf) join(a, b *modelLineage) {
	if a == b {
		return
	}
	stays, goes := a, b
	if goes.born < stays.born {
		stays, goes = goes, stays
	}
	better := modelWeight(goes) - modelWeight(stays)
	if better > 0 || better == 0 && goes.from < stays.from {
		stays.triage, stays.human, stays.from = goes.triage, goes.human, goes.from
	}
	for id, l := range s.lineages {
		if l == goes {
			s.lineages[id] = stays
		}
	}
	for _, r := range s.rows {
		if r.lineage == goes {
			r.lineage = stays
		}
	}
}

// moves pairs what is gone with its lockfile and what is new elsewhere, where
// both sides count the same; the rest of what is gone is fixed.
func (s *shelf) moves(ref string, closing []*shelfRow, fresh []shelfMatch) []shelfMatch {
	type what struct{ pkg, vuln, group string }
	olds, news := map[what][]*shelfRow{}, map[what][]shelfMatch{}
	for _, r := range closing {
		if s.locks[ref][r.lock] == nil {
			k := what{r.pkg, r.vuln, fmt.Sprint(r.group)}
			olds[k] = append(olds[k], r)
		}
	}
	for _, m := range fresh {
		_, shown := s.names(m.group)
		k := what{m.pkg, shown, fmt.Sprint(m.group)}
		news[k] = append(news[k], m)
	}
	moved := map[*shelfRow]bool{}
	for k, rows := range olds {
		if len(rows) != len(news[k]) {
			continue
		}
		slices.SortFunc(rows, func(a, b *shelfRow) int { return strings.Compare(a.lock, b.lock) })
		for i, m := range news[k] {
			moved[rows[i]] = true
			fresh = slices.DeleteFunc(fresh, func(o shelfMatch) bool { return o == m })
			rows[i].lock, rows[i].version = m.lock, m.version
			if l := s.lineages[m.identity(m.group)]; l != nil {
				s.join(rows[i].lineage, l)
			}
			s.lineages[m.identity(m.group)] = rows[i].lineage
		}
	}
	for _, r := range closing {
		if !moved[r] {
			r.leave(redoubt.Fixed, s.step)
		}
	}
	return fresh
}

// String lists the rows: serial, source, ref, lockfile, package, vulnerability
// and version, status, lineage.
func (s *shelf) String() string {
	var b strings.Builder
	for _, r := range s.rows {
		source, version := "scanner", ""
		if !r.scanner {
			source, version = "advisory", fmt.Sprint("@", r.version)
		}
		status := redoubt.StatusOf(r.state, r.lineage.triage).String()
		if status == "" {
			status = "removed"
		}
		fmt.Fprintf(&b, "%d %s %s %s %s %s%s %s L%d\n", r.serial, source, r.ref, r.lock, r.pkg, r.vuln, version, status, r.lineage.born)
	}
	return b.String()
}
