package index

import (
	"cmp"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// Grouping says what findings are grouped by.
type Grouping uint8

// Groupings.
const (
	NoGroups Grouping = iota
	ByRule
	ByProject
)

// Group is findings that share a rule or a project.
type Group struct {
	Name     string
	ID       int64 // of the project; 0 for rules
	Total    int
	Severity [redoubt.SeverityCritical + 1]int // how many of each
}

// groups counts the rows of a set by what they share, the worst first.
func (s *state) groups(p *partition, b *roaring.Bitmap, by Grouping) []Group {
	kind := facetKinds[FacetRule]
	switch by {
	case NoGroups:
		return nil
	case ByProject:
		kind = facetKinds[FacetProject]
	}
	byName := map[string]*Group{}
	for severity := redoubt.SeverityLow; severity <= redoubt.SeverityCritical; severity++ {
		for number, n := range p.tally(roaring.And(b, p.having(bySeverity, uint32(severity))), kind.field) {
			if n == 0 {
				continue
			}
			name := kind.values(s, uint32(number))[0]
			if byName[name] == nil {
				byName[name] = &Group{Name: name}
				if by == ByProject {
					byName[name].ID = s.projects.ids[number]
				}
			}
			byName[name].Severity[severity] += n
			byName[name].Total += n
		}
	}
	out := make([]Group, 0, len(byName))
	for _, g := range byName {
		out = append(out, *g)
	}
	slices.SortFunc(out, worst)
	return out
}

// worst orders groups by how many of the worst severity they have, then of the
// next, then by name.
func worst(a, b Group) int {
	for severity := redoubt.SeverityCritical; severity >= redoubt.SeverityLow; severity-- {
		if a.Severity[severity] != b.Severity[severity] {
			return cmp.Compare(b.Severity[severity], a.Severity[severity])
		}
	}
	return cmp.Compare(a.Name, b.Name)
}
