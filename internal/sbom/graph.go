package sbom

import (
	"cmp"
	"slices"
)

// occurrence is a line of a lockfile that contains a component.
type occurrence struct {
	lockfile string // such as acme/payments:go.sum in an export of several projects
	line     int    // 0 if unknown
}

// edge is a requirement of one component for another.
type edge struct{ from, to *component }

// relate adds the edges between the dependencies of a project. by maps ids of dependencies to
// components.
func (b *builder) relate(at *scope, p Project, by map[int64]*component) {
	lockfile := make(map[int64]string, len(p.Dependencies))
	for _, d := range p.Dependencies {
		lockfile[d.ID] = b.lockfilePath(at, d.Lockfile)
	}
	for _, e := range p.Edges {
		from, to := by[e.From], by[e.To]
		if from == nil || to == nil {
			continue
		}
		b.withEdges[lockfile[e.From]] = true
		if from != to {
			b.edges = append(b.edges, edge{from, to})
		}
	}
}

// sortOccurrences sorts the occurrences of a component and removes all but the first line of each
// lockfile.
func (c *component) sortOccurrences() {
	slices.SortFunc(c.occurrences, func(a, b occurrence) int {
		return cmp.Or(cmp.Compare(a.lockfile, b.lockfile), cmp.Compare(a.line, b.line))
	})
	c.occurrences = slices.CompactFunc(c.occurrences, func(a, b occurrence) bool { return a.lockfile == b.lockfile })
}

// connect sets the requirements of components, which must be sorted. Requirements are known if one
// of the component's lockfiles contains any edges.
func (b *builder) connect(components []*component) {
	for i, c := range components {
		c.order = i
		c.known = slices.ContainsFunc(c.occurrences, func(p occurrence) bool { return b.withEdges[p.lockfile] })
	}
	slices.SortFunc(b.edges, func(x, y edge) int {
		return cmp.Or(cmp.Compare(x.from.order, y.from.order), cmp.Compare(x.to.order, y.to.order))
	})
	for _, e := range slices.Compact(b.edges) {
		e.from.needs, e.from.known = append(e.from.needs, e.to.ref), true
	}
}
