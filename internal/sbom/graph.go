package sbom

import (
	"cmp"
	"slices"
)

// place is where a component is listed.
type place struct {
	lockfile string // as acme/payments:go.sum where there are several projects
	line     int    // 0 when unknown
}

// edge says that a component asks for another.
type edge struct{ from, to *component }

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
			b.edges = append(b.edges, edge{from, to})
		}
	}
}

// sortPlaces orders the places of a component, one for each lockfile: the first line counts.
func (c *component) sortPlaces() {
	slices.SortFunc(c.places, func(a, b place) int {
		return cmp.Or(cmp.Compare(a.lockfile, b.lockfile), cmp.Compare(a.line, b.line))
	})
	c.places = slices.CompactFunc(c.places, func(a, b place) bool { return a.lockfile == b.lockfile })
}

// connect gives components, in their order, what they ask for. What one asks for
// is known when one of its lockfiles tells of edges at all.
func (b *builder) connect(components []*component) {
	for i, c := range components {
		c.order = i
		c.known = slices.ContainsFunc(c.places, func(p place) bool { return b.told[p.lockfile] })
	}
	slices.SortFunc(b.edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.from.order, y.from.order), cmp.Compare(x.to.order, y.to.order))
	})
	for _, e := range slices.Compact(b.edges) {
		e.from.needs, e.from.known = append(e.from.needs, e.to.ref), true
	}
}
