package lifetest

import (
	"maps"
	"slices"

	"github.com/redoubt/redoubt"
)

// memory is what stood before a scan: the lineages of findings and identities, and
// on which streams full scans saw a live one of each.
type memory struct {
	of       map[*Finding]*Lineage
	lineages map[string]*Lineage
	whole    map[*Lineage][]*Stream // those whose full scans saw it live
}

func (m *Model) remember() memory {
	was := memory{map[*Finding]*Lineage{}, maps.Clone(m.Lineages), map[*Lineage][]*Stream{}}
	for _, s := range m.Streams {
		for _, f := range s.Findings {
			was.of[f] = f.Lineage
			if alive(f) && f.SeenByFull {
				was.whole[f.Lineage] = append(was.whole[f.Lineage], s)
			}
		}
	}
	return was
}

// apart: full scans of one ref saw both live, or what became part of them since, by one source.
func (was memory) apart(a, b *Lineage) bool {
	return slices.ContainsFunc(was.streams(a), func(s *Stream) bool { return slices.Contains(was.streams(b), s) })
}

func (was memory) streams(of *Lineage) (list []*Stream) {
	for l, streams := range was.whole {
		if l.now() == of.now() {
			list = append(list, streams...)
		}
	}
	return list
}

// now is what a lineage is part of by now.
func (l *Lineage) now() *Lineage {
	for l.into != nil {
		l = l.into
	}
	return l
}

func (m *Model) primary() string {
	if m.Primary == "" {
		return "refs/heads/main"
	}
	return m.Primary
}

// split: a lineage has one live finding on a stream, or as many as the primary
// branch has by that source. What the primary branch has stays, then the oldest;
// the others go where their identity was before, if nothing here is of that, or
// begin a lineage.
func (m *Model) split(s *Stream, u Upload, was memory, a *Answer) {
	var begin []*Finding
	for _, f := range s.Findings {
		if _, old := was.of[f]; !old && !u.Full && m.isCopy(s, f) && !m.part(s, f, was) {
			begin = append(begin, f)
		}
	}
	var lineages []*Lineage
	crowd := map[*Lineage][]*Finding{}
	for _, f := range s.Findings {
		if alive(f) && f.Lineage != nil {
			if crowd[f.Lineage] == nil {
				lineages = append(lineages, f.Lineage)
			}
			crowd[f.Lineage] = append(crowd[f.Lineage], f)
		}
	}
	slices.SortFunc(lineages, func(a, b *Lineage) int { return a.Born - b.Born })
	for _, l := range lineages {
		var first, then []*Finding
		allowed, out := 0, 0
		for _, p := range m.Streams {
			for _, f := range p.Findings {
				if p != s && p.Ref == m.primary() && p.Source == s.Source && alive(f) && f.Lineage == l {
					allowed++
				}
			}
		}
		for _, f := range crowd[l] {
			if m.onPrimary(s, f.Identity, l) {
				first = append(first, f)
			} else {
				then = append(then, f)
			}
		}
		ranked := slices.Concat(first, then)
		kept := map[string]bool{}
		for i, f := range ranked {
			if f.Package != "" && kept[f.Path] { // another name of the vulnerability
				continue
			}
			if i-out < max(allowed, 1) {
				kept[f.Path] = true
				continue
			}
			out++
			begin = m.copied(s, f, was, a, begin)
		}
	}
	slices.SortFunc(begin, func(a, b *Finding) int { return a.Serial - b.Serial })
	for _, f := range begin {
		born := f.Serial // it began with its finding
		if _, old := was.of[f]; old {
			m.born++
			born = m.born
		}
		f.Lineage = &Lineage{Born: born, from: born, assigned: born, Triage: redoubt.TriageUntriaged}
		m.Lineages[f.Identity] = f.Lineage
	}
}

// isCopy: a diff scan sees for the first time what the primary branch has in
// another place, and not here; the diff scan does not tell that it is gone there.
func (m *Model) isCopy(s *Stream, f *Finding) bool {
	elsewhere := false
	for _, p := range m.Streams {
		for _, g := range p.Findings {
			if s.Ref == m.primary() || p.Ref != m.primary() || p.Source != s.Source || !alive(g) || g.Lineage != f.Lineage {
				continue
			}
			if g.Identity == f.Identity || g.Path == f.Path {
				return false
			}
			elsewhere = true
		}
	}
	return elsewhere
}

// onPrimary: the primary branch has the identity live, in the lineage, by the
// stream's source; never of a stream of the primary branch itself.
func (m *Model) onPrimary(s *Stream, id string, l *Lineage) bool {
	for _, p := range m.Streams {
		for _, f := range p.Findings {
			if p != s && p.Ref == m.primary() && p.Source == s.Source && alive(f) && f.Identity == id && f.Lineage == l {
				return true
			}
		}
	}
	return false
}

// part takes a finding out of its lineage, into the one that held its identity. It
// reports whether there is one.
func (m *Model) part(s *Stream, f *Finding, was memory) bool {
	out := f.Lineage
	f.Lineage = nil
	held := was.lineages[f.Identity]
	if held == nil || held.now() == out || slices.ContainsFunc(s.Findings, func(g *Finding) bool { return alive(g) && g.Lineage == held.now() }) {
		return false
	}
	f.Lineage = held.now()
	return true
}

// copied parts a finding as a copy, which one that was there before is told to be,
// and adds it to those that begin a lineage, where it does.
func (m *Model) copied(s *Stream, f *Finding, was memory, a *Answer, begin []*Finding) []*Finding {
	if _, old := was.of[f]; old {
		a.event(f, redoubt.EventCopied)
	}
	if m.part(s, f, was) {
		return begin
	}
	return append(begin, f)
}
