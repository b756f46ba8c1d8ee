package sbom

import (
	"cmp"
	"slices"

	"github.com/redoubt/redoubt"
)

// place is where a component stands: a lockfile, and what that tells of it.
type place struct {
	lockfile     string // as acme/payments:go.sum where there are several projects
	transitivity redoubt.Transitivity
	line         int // 0 when unknown
}

// need is a component that another one asks for.
type need struct {
	ref    string
	absent []string // lockfiles that hold both, where the one does not ask for the other
}

// edge says that a component asks for another in a lockfile.
type edge struct {
	from, to *component
	lockfile string
}

// relate notes which dependencies of a project ask for which. by are its
// components by the dependencies' ids.
func (b *builder) relate(at *scope, p Project, by map[int64]*component) {
	lockfile := make(map[int64]string, len(p.Dependencies))
	for _, d := range p.Dependencies {
		lockfile[d.ID] = b.place(at, d.Lockfile)
	}
	for _, e := range p.Edges {
		from, to := by[e.From], by[e.To]
		if from == nil || to == nil {
			continue
		}
		b.told[lockfile[e.From]] = true
		if from != to {
			b.edges = append(b.edges, edge{from, to, lockfile[e.From]})
		}
	}
}

// settlePlaces puts the places of a component in order, one for each lockfile: the
// closest transitivity and the first line of it count.
func (c *component) settlePlaces() {
	for _, list := range []*[]place{&c.places, &c.seen, &c.findings} {
		slices.SortFunc(*list, func(a, b place) int {
			return cmp.Or(cmp.Compare(a.lockfile, b.lockfile), cmp.Compare(a.transitivity, b.transitivity), cmp.Compare(a.line, b.line))
		})
		*list = slices.CompactFunc(*list, func(a, b place) bool { return a.lockfile == b.lockfile })
	}
	c.findings = slices.DeleteFunc(c.findings, func(f place) bool {
		return f.transitivity == redoubt.TransitivityUnknown || slices.ContainsFunc(c.places, func(p place) bool {
			return p.lockfile == f.lockfile && p.transitivity == f.transitivity
		})
	})
}

// connect gives components, in their order, what they ask for. What one asks for
// is known when one of its lockfiles tells of edges at all.
func (b *builder) connect(components []*component) {
	for i, c := range components {
		c.order = i
		c.known = slices.ContainsFunc(c.places, func(p place) bool { return b.told[p.lockfile] })
	}
	slices.SortFunc(b.edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.from.order, y.from.order), cmp.Compare(x.to.order, y.to.order), cmp.Compare(x.lockfile, y.lockfile))
	})
	edges := slices.Compact(b.edges)
	for len(edges) > 0 {
		from, to := edges[0].from, edges[0].to
		n := 1
		for n < len(edges) && edges[n].from == from && edges[n].to == to {
			n++
		}
		from.needs, from.known = append(from.needs, need{to.ref, absences(from, to, edges[:n])}), true
		edges = edges[n:]
	}
}

// absences lists the lockfiles that hold two components without an edge between them,
// of those in which there is one. All are in order.
func absences(from, to *component, edges []edge) (list []string) {
	held := to.places
	for _, p := range from.places {
		for len(held) > 0 && held[0].lockfile < p.lockfile {
			held = held[1:]
		}
		for len(edges) > 0 && edges[0].lockfile < p.lockfile {
			edges = edges[1:]
		}
		if len(held) > 0 && held[0].lockfile == p.lockfile && (len(edges) == 0 || edges[0].lockfile != p.lockfile) {
			list = append(list, p.lockfile)
		}
	}
	return list
}
