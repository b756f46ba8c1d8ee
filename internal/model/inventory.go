package model

import (
	"cmp"
	"slices"
	"strings"
)

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
