package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// maxRequirements is the maximum number of requirements between the packages of a lockfile. Further
// requirements are ignored.
const maxRequirements = 2_000_000

// graph contains the requirements between the packages of a lockfile, by the keys that the format
// uses. Keys without a package are ignored: they refer to packages of other platforms or to the
// project itself.
type graph struct {
	nodes        map[string]int // 1 + index in Packages.deps
	requirements [][2]string    // from, to
}

// Inventory returns the packages as the inventory of a lockfile, with Via and Requirers set.
func (p *Packages) Inventory(lockfile string) model.Inventory {
	edges := p.edges()
	p.trace(edges)
	return model.Inventory{Lockfile: lockfile, Dependencies: p.deps, Edges: edges}
}

// Node adds a dependency and registers keys for it. A key that is already registered is unchanged.
func (p *Packages) Node(d model.Dependency, keys ...string) {
	i := p.Add(d)
	if i < 0 {
		return
	}
	if p.graph.nodes == nil {
		p.graph.nodes = map[string]int{}
	}
	for _, key := range keys {
		if p.graph.nodes[key] == 0 {
			p.graph.nodes[key] = i + 1
		}
	}
}

// AddEdge records that one package requires another.
func (p *Packages) AddEdge(from, to string) {
	if len(p.graph.requirements) < maxRequirements {
		p.graph.requirements = append(p.graph.requirements, [2]string{from, to})
	}
}

// edges returns the distinct requirements between packages as sorted pairs of indexes, or nil.
func (p *Packages) edges() [][2]int {
	var edges [][2]int
	for _, a := range p.graph.requirements {
		from, to := p.graph.nodes[a[0]]-1, p.graph.nodes[a[1]]-1
		if from >= 0 && to >= 0 && from != to {
			edges = append(edges, [2]int{from, to})
		}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return slices.Compact(edges)
}

// trace sets Via and Requirers of each dependency. Via is the previous package on a shortest path
// from a direct dependency. If transitivity is unknown, paths start at packages that no other
// package requires.
func (p *Packages) trace(edges [][2]int) {
	first := make([]int, len(p.deps)+1) // index of the first edge of each package in asks
	for _, a := range edges {
		first[a[0]+1]++
		p.deps[a[1]].Requirers++
	}
	for i := range p.deps {
		first[i+1] += first[i]
	}
	seen := make([]bool, len(p.deps))
	var near []int
	for i, d := range p.deps {
		if seen[i] = d.Transitivity == model.Direct; seen[i] {
			near = append(near, i)
		}
	}
	for i, d := range p.deps {
		if d.Transitivity == model.TransitivityUnknown && d.Requirers == 0 {
			near, seen[i] = append(near, i), true
		}
	}
	for len(near) > 0 {
		var next []int
		for _, from := range near {
			for _, a := range edges[first[from]:first[from+1]] {
				if to := a[1]; !seen[to] {
					seen[to] = true
					d := &p.deps[from]
					p.deps[to].Via = model.LockedPackage{Ecosystem: d.Ecosystem, Name: d.Name, Version: d.Version}
					next = append(next, to)
				}
			}
		}
		near = next
	}
}

// addNearestEdge records that the package in a folder such as node_modules/a requires another by name. The
// package is the nearest one in the folder or a parent folder, as Node.js resolves modules.
func (p *Packages) addNearestEdge(folder, between, name string) {
	for at := folder; ; {
		key := name
		if at != "" {
			key = at + between + name
		} else if between != "/" {
			key = strings.TrimPrefix(between, "/") + name
		}
		if p.graph.nodes[key] != 0 {
			p.AddEdge(folder, key)
			return
		}
		if at == "" {
			return
		}
		at = at[:max(strings.LastIndex(at, between), 0)]
	}
}
