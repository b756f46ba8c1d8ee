package lifetest

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
)

// continueBlind names what a report tells without its code: as many as the last scan that
// looked saw on the ref and are alike are these, in the order of the file. A full scan of
// a ref that never had anything of the rule in the file asks the primary branch so.
// Whatever is left has a name that nothing had before.
func (m *Model) continueBlind(s *Stream, u Upload, seen map[string]Sighting, order []string) (map[string]Sighting, []string) {
	type like struct {
		key   string
		muted bool
	}
	groups, names := map[like][]string{}, map[string]string{}
	for _, id := range order {
		if one := seen[id]; one.Alike != "" {
			key := like{one.Alike, one.State == redoubt.Muted}
			groups[key] = append(groups[key], id)
		}
	}
	m.born++
	for key, ids := range groups {
		list := standing(s, seen, seen[ids[0]], u)
		anything := slices.ContainsFunc(s.Findings, func(f *Finding) bool { return place(f.Sighting, seen[ids[0]]) })
		if primary := m.Streams[m.primary()+" "+s.Source]; u.Full && s.Ref != m.primary() && !anything && primary != nil {
			list = standing(primary, seen, seen[ids[0]], u)
		}
		for i, id := range ids {
			names[id] = fmt.Sprint(key, " born ", m.born, "#", i)
			if len(list) == len(ids) {
				names[id] = list[i].Identity
			}
		}
	}
	out := map[string]Sighting{}
	for i, id := range order {
		order[i] = cmp.Or(names[id], id)
		out[order[i]] = seen[id]
	}
	return out, order
}

// number: alike but for what is told of their code.
func (s Sighting) number(other Sighting) bool {
	return place(s, other) && s.Package+other.Package == "" && s.Length == other.Length && s.Message == other.Message && s.State == other.State
}

// counted: the last scan that looked there saw it, and what is like it, in as much of the
// file.
func (f *Finding) counted(u Upload) bool {
	return alive(f) && f.Coverage == covered(u, f.Sighting) && f.SeenByFull == u.Full
}

// standing is what a stream has of what is alike and was seen in as much of the file,
// unless one like it was seen there that is known by its code and that the report does not
// tell so. What is muted is counted apart.
func standing(s *Stream, seen map[string]Sighting, like Sighting, u Upload) (list []*Finding) {
	for id, one := range seen { // told by its code, and not counted there
		was := slices.IndexFunc(s.Findings, func(f *Finding) bool { return f.Identity == id })
		if one.Alike == "" && like.number(one) && (was < 0 || !s.Findings[was].counted(u)) {
			return nil
		}
	}
	for _, f := range s.Findings {
		if !alive(f) || f.Package != "" || !place(f.Sighting, like) || f.Coverage == "missed" || f.State != like.State {
			continue
		}
		if _, reported := seen[f.Identity]; f.Code != "" && !reported && f.number(like) {
			return nil
		}
		if f.Alike == like.Alike {
			list = append(list, f)
		}
	}
	if slices.ContainsFunc(list, func(f *Finding) bool { return f.Coverage != like.Coverage }) {
		return nil
	}
	slices.SortFunc(list, func(a, b *Finding) int { return cmp.Or(a.Line-b.Line, a.Serial-b.Serial) })
	return list
}
