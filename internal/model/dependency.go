package model

import (
	"cmp"
	"slices"
	"strings"
)

// Dependency is a package version in a lockfile on a project's primary branch
// (docs/reference/dependencies.md).
type Dependency struct {
	ID           int64
	ProjectID    int64
	Lockfile     string // path in the repository
	Ecosystem    string // such as npm, pypi, gomod or maven
	Name         string
	Version      string
	Transitivity Transitivity
	Line         int      // in the lockfile, 1-based; 0 if unknown
	Licenses     []string // SPDX expressions; never nil
	PURL         string
	Hashes       []Hash
	Supplier     string // publisher according to a bill of materials; otherwise empty

	// Via is the package of the lockfile that requires it, on a shortest path from a direct
	// dependency. It is zero for direct dependencies and if the lockfile does not contain this
	// information.
	Via       LockedPackage
	Requirers int // number of packages in the lockfile that require it

	// Location of the lockfile. The fields are empty if unknown.
	RepositoryURL, Ref, Commit string
}

// LockedPackage identifies a package version.
type LockedPackage struct {
	Ecosystem, Name, Version string
}

// DependencyEdge states that one dependency requires another one of the same lockfile.
type DependencyEdge struct {
	From, To int64 // values of Dependency.ID
}

// DependencyPath is the path by which a dependency is included in a lockfile.
type DependencyPath struct {
	Steps  []LockedPackage // from the project to the package itself
	Direct bool            // whether the first step is known to be a direct dependency
	Others int             // number of further packages that require the last step
}

// Hash is a checksum of a package's archive.
type Hash struct {
	Algorithm string // such as SHA-256
	Hex       string
}

// Inventory is the complete content of a lockfile (docs/reference/lockfiles.md).
type Inventory struct {
	Lockfile     string
	Dependencies []Dependency // without IDs and projects

	// Edges contains pairs of indexes in Dependencies, where the first requires the second. It is
	// empty if the lockfile does not contain this information.
	Edges [][2]int

	// UnknownPackages names packages that the source cannot report, such as Go's standard library.
	// Data from other sources about them is retained.
	UnknownPackages []string
}

// LockfileSummary is a lockfile with its number of dependencies.
type LockfileSummary struct {
	ID           int64
	Path         string
	Dependencies int
}

// DependencyProject is a project with the number of dependencies on its primary branch.
type DependencyProject struct {
	ID           int64
	Name         string
	Dependencies int
}

// DependencyFilter selects dependencies. Zero fields do not filter. Fields are combined with AND,
// the entries of Packages with OR (docs/reference/dependencies.md).
type DependencyFilter struct {
	Name       string // case-insensitive substring
	Version    string // exact
	Lockfile   string // exact
	Licenses   []string
	ProjectIDs []int64
	Packages   []PackageFilter
	Ecosystems []string // one of them

	Transitivities []Transitivity // one of them; TransitivityUnknown if no scan reported it
	Projects       ProjectGlobs   // visible projects of the caller
}

// PackageFilter selects package versions.
type PackageFilter struct {
	Name      string
	ExactName bool   // exact match instead of a case-insensitive substring
	Version   string // exact; takes precedence over the bounds
	Lower     string // inclusive, in the ecosystem's order; may start with an operator
	Upper     string // like Lower
	Ecosystem string // exact; empty for all
}

// Add merges another inventory of the same lockfile. It rejects packages whose names cannot be
// stored.
func (to *Inventory) Add(from Inventory) (refused Refusals) {
	position := make([]int, len(from.Dependencies)) // index in to.Dependencies; -1 if rejected
	for i, dependency := range from.Dependencies {
		position[i] = len(to.Dependencies)
		if dependency.Name == "" || !IsStorable(dependency.Ecosystem+dependency.Name+dependency.Version) {
			refused.Refuse(Refusal{Item: from.Lockfile, Reason: "one of its packages has no name that can be stored"})
			position[i] = -1
			continue
		}
		to.Dependencies = append(to.Dependencies, dependency)
	}
	for _, e := range from.Edges {
		if position[e[0]] >= 0 && position[e[1]] >= 0 {
			to.Edges = append(to.Edges, [2]int{position[e[0]], position[e[1]]})
		}
	}
	to.UnknownPackages = append(to.UnknownPackages, from.UnknownPackages...)
	return refused
}

// MakeDistinct sorts the dependencies and retains one per package version. It prefers a direct
// dependency, then the first in the lockfile. Edges of duplicates are moved to the retained entry.
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
	distinct := make([]Dependency, 0, len(list))
	position := make([]int, len(list)) // index in distinct
	for _, i := range order {
		if n := len(distinct); n == 0 || key(distinct[n-1], list[i]) != 0 {
			distinct = append(distinct, list[i])
		}
		position[i] = len(distinct) - 1
	}
	var edges [][2]int
	for _, e := range to.Edges {
		if from, to := position[e[0]], position[e[1]]; from != to {
			edges = append(edges, [2]int{from, to})
		}
	}
	slices.SortFunc(edges, func(a, b [2]int) int { return cmp.Or(cmp.Compare(a[0], b[0]), cmp.Compare(a[1], b[1])) })
	to.Dependencies, to.Edges = distinct, slices.Compact(edges)
}

// MatchDependencies returns the fields of the dependencies that matching needs.
func (to *Inventory) MatchDependencies() []MatchDependency {
	list := make([]MatchDependency, len(to.Dependencies))
	for i := range list {
		d := &to.Dependencies[i]
		list[i] = MatchDependency{
			Ecosystem: d.Ecosystem, Name: d.Name, Version: d.Version, Transitivity: d.Transitivity, Line: d.Line,
		}
	}
	return list
}
