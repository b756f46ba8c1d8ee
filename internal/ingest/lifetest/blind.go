package lifetest

import (
	"cmp"
	"fmt"
	"slices"
)

// continueBlind names what a report tells without its code: as many as are live on the
// ref and alike are these, in the order of the file. A full scan of a ref that never had
// anything of the rule in the file asks the primary branch so. Whatever is left has a
// name that nothing had before.
func (m *Model) continueBlind(s *Stream, u Upload, seen map[string]Sighting, order []string) (map[string]Sighting, []string) {
	groups, names := map[string][]string{}, map[string]string{}
	for _, id := range order {
		if key := seen[id].Alike; key != "" {
			groups[key] = append(groups[key], id)
		}
	}
	m.born++
	for key, ids := range groups {
		list := standing(s, seen, seen[ids[0]], key)
		anything := slices.ContainsFunc(s.Findings, func(f *Finding) bool { return place(f.Sighting, seen[ids[0]]) })
		if primary := m.Streams[m.primary()+" "+s.Source]; u.Full && s.Ref != m.primary() && !anything && primary != nil {
			list = standing(primary, seen, seen[ids[0]], key)
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

// standing is what a stream has of what is alike, unless it has something of the rule in
// the file that is known by its code and that the report does not tell so.
func standing(s *Stream, seen map[string]Sighting, like Sighting, key string) (list []*Finding) {
	for _, f := range s.Findings {
		if !alive(f) || f.Package != "" || !place(f.Sighting, like) {
			continue
		}
		if _, reported := seen[f.Identity]; f.Code != "" && !reported {
			return nil
		}
		if f.Alike == key {
			list = append(list, f)
		}
	}
	slices.SortFunc(list, func(a, b *Finding) int { return cmp.Or(a.Line-b.Line, a.Serial-b.Serial) })
	return list
}
