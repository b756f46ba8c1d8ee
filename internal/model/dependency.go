package model

import (
	"cmp"
	"slices"
	"strings"
)

// Dependency is one package version that a lockfile of a project's primary
// branch holds (docs/reference/dependencies.md).
type Dependency struct {
	ID           int64
	ProjectID    int64
	Lockfile     string // path in the repository
	Ecosystem    string // as npm, pypi, gomod, maven
	Name         string
	Version      string
	Transitivity Transitivity
	Line         int      // of the lockfile, 1-based; 0 when unknown
	Licenses     []string // SPDX expressions; never nil
	PURL         string
	Hashes       []Hash
	Supplier     string // who gives the package out, where a bill of materials told; else empty

	// Via is the package of the same lockfile that brings it in, on a shortest
	// way from what the project asks for itself; zero for what it asks for, and
	// where the lockfile does not tell.
	Via       LockedPackage
	Requirers int // how many packages of the lockfile ask for it

	// Where the lockfile is: the address of the project's repository, the ref and
	// the commit. Empty where not known.
	RepositoryURL, Ref, Commit string
}

// LockedPackage names a version of a package.
type LockedPackage struct {
	Ecosystem, Name, Version string
}

// DependencyEdge says that one dependency asks for another of the same lockfile.
type DependencyEdge struct {
	From, To int64 // Dependency.ID
}

// DependencyPath is how a dependency gets into a lockfile.
type DependencyPath struct {
	Steps  []LockedPackage // from what is nearest to the project to the package itself
	Direct bool            // the project asks for the first step itself; else nobody is known to
	Others int             // further packages that ask for the last step
}

// Hash is a checksum of a package's archive.
type Hash struct {
	Algorithm string // as SHA-256
	Hex       string
}

// Inventory is a statement about one lockfile: everything it holds (docs/reference/lockfiles.md).
type Inventory struct {
	Lockfile     string
	Dependencies []Dependency // ids and projects unset

	// Edges are pairs of places in Dependencies: the first asks for the second. There are
	// none where the lockfile does not tell.
	Edges [][2]int

	// UnknownPackages names packages that whoever states this cannot tell of, as Go's
	// standard library: what another statement said of them stays.
	UnknownPackages []string
}

// LockfileSummary counts what a lockfile holds.
type LockfileSummary struct {
	ID           int64
	Path         string
	Dependencies int
}

// DependencyProject counts what the primary branch of a project depends on.
type DependencyProject struct {
	ID           int64
	Name         string
	Dependencies int
}

// DependencyFilter selects dependencies; zero members do not filter. All are
// and-ed, the entries of Packages or-ed among themselves (docs/reference/dependencies.md).
type DependencyFilter struct {
	Name       string // case-insensitive substring
	Version    string // equal
	Lockfile   string // equal
	Licenses   []string
	ProjectIDs []int64
	Packages   []PackageFilter
	Ecosystems []string // equal to one of them

	Transitivities []Transitivity // one of them; what no scan told is TransitivityUnknown
	Projects       ProjectGlobs   // what the caller may see
}

// PackageFilter selects versions of packages.
type PackageFilter struct {
	Name      string
	ExactName bool   // equal instead of a case-insensitive substring
	Version   string // equal; beats the bounds
	Lower     string // inclusive, in the ecosystem's order; an operator in front is honoured
	Upper     string // inclusive, likewise
	Ecosystem string // equal; empty for all
}

// Add takes over what another inventory says of the same lockfile, and refuses packages whose
// names cannot be stored.
func (to *Inventory) Add(from Inventory) (refused Refusals) {
	place := make([]int, len(from.Dependencies)) // in to.Dependencies; -1 for none
	for i, dependency := range from.Dependencies {
		place[i] = len(to.Dependencies)
		if dependency.Name == "" || !IsStorable(dependency.Ecosystem+dependency.Name+dependency.Version) {
			refused.Refuse(Refusal{Item: from.Lockfile, Reason: "one of its packages has no name that can be stored"})
			place[i] = -1
			continue
		}
		to.Dependencies = append(to.Dependencies, dependency)
	}
	for _, e := range from.Edges {
		if place[e[0]] >= 0 && place[e[1]] >= 0 {
			to.Edges = append(to.Edges, [2]int{place[e[0]], place[e[1]]})
		}
	}
	to.UnknownPackages = append(to.UnknownPackages, from.UnknownPackages...)
	return refused
}

// MakeDistinct orders dependencies and keeps one for each package version: the one
// that the project asked for itself, then the first in the lockfile. What asked
// for any of them asks for the one that is kept.
func (to *Inventory) MakeDistinct() {
	list := to.Dependencies
	order := make([]int, len(list))
	for i := range list {
		order[i] = i
		list[i].Transitivity = cmp.Or(list[i].Transitivity, TransitivityUnknown)
	}
	key := func(a, b Dependency) int {
		return cmp.Or(strings.Compare(a.Ecosystem, b.Ecosystem), strings.Compare(a.Name, b.Name),
			strings.Compare(a.Version, b.Version))
	}
	slices.SortStableFunc(order, func(i, j int) int {
		a, b := list[i], list[j]
		return cmp.Or(key(a, b), cmp.Compare(a.Transitivity, b.Transitivity), cmp.Compare(a.Line, b.Line))
	})
	kept := make([]Dependency, 0, len(list))
	place := make([]int, len(list)) // in kept
	for _, i := range order {
		if n := len(kept); n == 0 || key(kept[n-1], list[i]) != 0 {
			kept = append(kept, list[i])
		}
		place[i] = len(kept) - 1
	}
	var edges [][2]int
	for _, e := range to.Edges {
		if from, to := place[e[0]], place[e[1]]; from != to {
			edges = append(edges, [2]int{from, to})
		}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	to.Dependencies, to.Edges = kept, slices.Compact(edges)
}

// Held lists what matching compares of the dependencies.
func (to *Inventory) Held() []HeldDependency {
	list := make([]HeldDependency, len(to.Dependencies))
	for i := range list {
		d := &to.Dependencies[i]
		list[i] = HeldDependency{
			Ecosystem: d.Ecosystem, Name: d.Name, Version: d.Version, Transitivity: d.Transitivity, Line: d.Line,
		}
	}
	return list
}
