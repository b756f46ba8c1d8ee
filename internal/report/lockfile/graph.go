package lockfile

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// maxAsks bounds which packages of a lockfile are said to ask for which; what
// is beyond is not followed, so some ways stay unknown.
const maxAsks = 2_000_000

// graph says which packages of a lockfile ask for which, by the keys under which
// the kind of lockfile knows them. Keys that nothing stands under are passed
// over: a package of another platform, or the project itself.
type graph struct {
	nodes map[string]int // 1 + index in packages.deps
	asks  [][2]string    // from, to
}

// Inventory is what was taken, as the statement about a lockfile: each package with
// the way by which it gets in.
func (p *Packages) Inventory(lockfile string) model.Inventory {
	edges := p.edges()
	p.trace(edges)
	return model.Inventory{Lockfile: lockfile, Dependencies: p.deps, Edges: edges}
}

// Node takes a dependency, as add does, and knows it by keys from then on. A key
// that stands for one already keeps it.
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

// AddEdge notes that one package asks for another.
func (p *Packages) AddEdge(from, to string) {
	if len(p.graph.asks) < maxAsks {
		p.graph.asks = append(p.graph.asks, [2]string{from, to})
	}
}

// edges are which of the packages ask for which, each once, in order; nil for none.
func (p *Packages) edges() [][2]int {
	var edges [][2]int
	for _, a := range p.graph.asks {
		from, to := p.graph.nodes[a[0]]-1, p.graph.nodes[a[1]]-1
		if from >= 0 && to >= 0 && from != to {
			edges = append(edges, [2]int{from, to})
		}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	return slices.Compact(edges)
}

// trace tells each dependency through which other one it gets in, on a shortest
// way from what the project asks for itself, and how many ask for it. Where a
// lockfile does not tell what the project asks for, ways begin at what nothing
// else asks for.
func (p *Packages) trace(asks [][2]int) {
	first := make([]int, len(p.deps)+1) // of each package's in asks
	for _, a := range asks {
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
			for _, a := range asks[first[from]:first[from+1]] {
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

// askNear notes that the package in a folder, as node_modules/a, asks for
// another by name, which lies in a folder of its own, or in one of a folder
// above, the nearest that there is (the way in which Node.js looks).
func (p *Packages) askNear(folder, between, name string) {
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
