package lifetest

import (
	"cmp"
	"slices"
	"strings"
)

// recognise finds sightings under another identity of a finding's lineage, and
// returns the others. Of several findings the live one is meant, then the one
// on the path, then the oldest.
func (m *Model) recognise(s *Stream, u Upload, seen map[string]Sighting, fresh []string, is map[*Finding]string) (others []string) {
	for _, id := range fresh {
		var best *Finding
		rank := func(f *Finding) int {
			n := 0
			if alive(f) {
				n += 2
			}
			if f.Path == seen[id].Path {
				n++
			}
			return n
		}
		for _, f := range s.Findings {
			here := f.Path == seen[id].Path && (u.Full || f.Rule == seen[id].Rule)
			if f.Lineage == m.Lineages[id] && is[f] == "" && (!alive(f) || closes(u, f) || here) && (best == nil || rank(f) > rank(best)) {
				best = f
			}
		}
		if best == nil {
			others = append(others, id)
		} else {
			is[best] = id
		}
	}
	return others
}

type paired struct {
	identity string
	moved    bool
}

// way is one in which findings are alike.
type way struct {
	moved bool
	guess bool // by their number alone: none where one more is there that is somebody's, or was not counted
	alike func(old, now Sighting) bool
}

// pairs: what agrees in a way, and counts the same on both sides. The ways come
// one after the other; each sees what those before it left.
func (m *Model) pairs(closing []*Finding, fresh []string, seen map[string]Sighting, ways []way, came []Sighting, u Upload) map[*Finding]paired {
	out, used := map[*Finding]paired{}, map[string]bool{}
	// more: there is one that the number does not count.
	more := func(like Sighting) bool {
		for _, id := range fresh {
			if m.Lineages[id] != nil && !used[id] && like.number(seen[id]) {
				return true
			}
		}
		for f, pair := range out {
			if (!place(f.Sighting, seen[pair.identity]) || !f.counted(u)) && like.number(seen[pair.identity]) {
				return true
			}
		}
		for _, tells := range []func(Sighting) bool{func(s Sighting) bool { return s.Tells > 0 }, func(s Sighting) bool { return s.Tells == 0 }} {
			olds := slices.ContainsFunc(closing, func(f *Finding) bool {
				return out[f].identity == "" && like.number(f.Sighting) && tells(f.Sighting)
			})
			news := slices.ContainsFunc(fresh, func(id string) bool { return !used[id] && like.number(seen[id]) && tells(seen[id]) })
			if olds && news { // one way told on both sides: the other is a part
				return true
			}
		}
		return slices.ContainsFunc(came, like.number)
	}
	pass := func(w way) {
		alike, found := w.alike, map[*Finding]string{}
		for _, f := range closing {
			var olds []*Finding
			var news []string
			// All that are alike what one of the new ones is alike.
			for _, id := range fresh {
				if !used[id] && alike(f.Sighting, seen[id]) {
					news = append(news, id)
				}
			}
			if len(news) == 0 || out[f].identity != "" {
				continue
			}
			for _, g := range closing {
				if out[g].identity == "" && alike(g.Sighting, seen[news[0]]) {
					olds = append(olds, g)
				}
			}
			if len(olds) != len(news) || w.guess && more(seen[news[0]]) {
				continue
			}
			slices.SortFunc(olds, func(a, b *Finding) int {
				return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, a.Serial-b.Serial)
			})
			slices.SortStableFunc(news, func(a, b string) int {
				return cmp.Or(strings.Compare(seen[a].Path, seen[b].Path), seen[a].Line-seen[b].Line)
			})
			found[f] = news[slices.Index(olds, f)]
		}
		for f, id := range found {
			out[f], used[id] = paired{id, w.moved}, true
		}
	}
	for _, w := range ways {
		pass(w)
	}
	return out
}

func code(a, b Sighting) bool  { return a.Code != "" && a.Code == b.Code }
func place(a, b Sighting) bool { return a.Rule == b.Rule && a.Path == b.Path }

func sameRuleOfAFolder(a, b Sighting) bool {
	return base(a.Rule) == base(b.Rule) && a.Path == b.Path && code(a, b)
}

func ways(u Upload) (out []way) {
	pass := func(moved bool, alike func(old, now Sighting) bool) { out = append(out, way{moved, false, alike}) }
	pass(true, func(a, b Sighting) bool { return place(a, b) && code(a, b) })
	pass(false, func(a, b Sighting) bool { return place(a, b) && a.Edges != "" && a.Edges == b.Edges })
	if u.Full {
		file := func(a, b Sighting) bool { return a.Rule == b.Rule && code(a, b) && gone(u, a.Path) }
		pass(true, func(a, b Sighting) bool { return file(a, b) && a.Pattern == b.Pattern })
		pass(true, func(a, b Sighting) bool { return file(a, b) && a.Pattern == "" && b.Pattern != "" })
		pass(true, func(a, b Sighting) bool { return file(a, b) && a.Pattern != "" && b.Pattern == "" })
	}
	pass(true, sameRuleOfAFolder)
	pass(false, func(a, b Sighting) bool { return place(a, b) && a.Package != "" && a.Package == b.Package })
	guess := func(told, silent func(old, now Sighting) Sighting) {
		out = append(out, way{false, true, func(a, b Sighting) bool {
			return a.number(b) && told(a, b).Tells > 0 && silent(a, b).Tells == 0 && a.Coverage == "" && a.ByFull == u.Full
		}})
	}
	old, now := func(a, _ Sighting) Sighting { return a }, func(_, b Sighting) Sighting { return b }
	guess(old, now)
	guess(now, old)
	return out
}

// base is a rule's name without folders.
func base(rule string) string {
	parts := strings.Split(rule, ".")
	return parts[len(parts)-1]
}
