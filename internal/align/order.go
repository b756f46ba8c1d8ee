package align

import (
	"slices"
)

// maxDepth limits the recursion of pairByOrder between anchors. It bounds the time for files that
// are crafted to need more.
const maxDepth = 16

// pairByOrder pairs the remaining rows of a file by their order. An anchor is a row of a kind that
// both sides have once, in the same order; the search is repeated between anchors. Then rows of
// equal kind pair in order, if both sides have the same number. This applies to groups with unknown
// code and to those that bind metavariables.
func (a *aligner) pairByOrder(f *file) {
	by, withCode := map[Digest]bool{}, [2]map[Digest]bool{{}, {}}
	mark := func(side int, r *Row) {
		if r.Binds || r.Code == (Digest{}) {
			by[r.Group] = true
		}
		if r.Code != (Digest{}) {
			withCode[side][r.Group] = true
		}
	}
	for _, i := range f.old {
		mark(0, &a.old[i])
	}
	for _, i := range f.next {
		mark(1, &a.next[i])
	}
	unclear := a.unclear(f)
	out := func(r *Row, other int) bool {
		severalLines := r.Code != (Digest{}) && r.length() == 0 && withCode[other][r.Group]
		return r.ByCode || !by[r.Group] || severalLines || unclear[r.weak()]
	}
	old := slices.DeleteFunc(slices.Clone(f.old), func(i int) bool { return a.paired[0][i] || out(&a.old[i], 1) })
	next := slices.DeleteFunc(slices.Clone(f.next), func(i int) bool { return a.paired[1][i] || out(&a.next[i], 0) })
	if len(old) == 0 || len(next) == 0 {
		return
	}
	a.between(old, next, 0)
	a.equalCounts(old, next)
}

// unclear returns the kinds whose numbers of rows are not comparable, so that they must not pair by
// order. A new row of such a kind is known elsewhere or pairs with one that the last scan did not
// report. Or one side has the code of only some of the remaining rows.
func (a *aligner) unclear(f *file) map[weak]bool {
	unclear := map[weak]bool{}
	for side, list := range [][]int{f.old, f.next} {
		rows, withCode := [][]Row{a.old, a.next}[side], map[weak]bool{}
		for _, i := range list {
			r := &rows[i]
			k, coded := r.weak(), r.Code != Digest{}
			before, known := withCode[k]
			switch {
			case a.paired[side][i]:
				unclear[k] = unclear[k] || side == 0 && r.ByCode
			case r.ByCode:
				unclear[k] = unclear[k] || side == 1
			case known && before != coded:
				unclear[k] = true
			default:
				withCode[k] = coded
			}
		}
	}
	return unclear
}

// between pairs the anchors of two runs of rows, and the rows between them.
func (a *aligner) between(old, next []int, depth int) {
	run := anchors(a, old, next, (*Row).strong)
	if len(run) == 0 {
		run = anchors(a, old, next, (*Row).weak)
	}
	if len(run) == 0 || depth == maxDepth {
		a.equalCounts(old, next)
		return
	}
	i, j := 0, 0
	for _, p := range append(run, Pair{len(old), len(next)}) {
		if i < p.Old && j < p.New {
			a.between(old[i:p.Old], next[j:p.New], depth+1)
		}
		i, j = p.Old+1, p.New+1
	}
	for _, p := range run {
		a.pair(old[p.Old], next[p.New])
	}
}

// anchors returns the positions of kinds that occur once in both runs, in the longest common order.
func anchors[K comparable](a *aligner, old, next []int, kind func(*Row) K) []Pair {
	type seen struct{ old, next, at int }
	kinds := make(map[K]seen, len(old))
	for _, i := range old {
		k := kinds[kind(&a.old[i])]
		k.old++
		kinds[kind(&a.old[i])] = k
	}
	for at, i := range next {
		if k, is := kinds[kind(&a.next[i])]; is {
			k.next, k.at = k.next+1, at
			kinds[kind(&a.next[i])] = k
		}
	}
	var found []Pair
	for at, i := range old {
		if k := kinds[kind(&a.old[i])]; k.old == 1 && k.next == 1 {
			found = append(found, Pair{at, k.at})
		}
	}
	return longestRun(found)
}

// longestRun returns the longest subsequence of pairs in which the new side ascends too. The pairs
// must be ordered by the old side.
func longestRun(pairs []Pair) []Pair {
	var ends []int // by length of a run: the pair with the least New that ends one
	before := make([]int, len(pairs))
	for n, p := range pairs {
		k, _ := slices.BinarySearchFunc(ends, p.New, func(e, next int) int { return pairs[e].New - next })
		before[n] = -1
		if k > 0 {
			before[n] = ends[k-1]
		}
		if k == len(ends) {
			ends = append(ends, n)
		} else {
			ends[k] = n
		}
	}
	if len(ends) == 0 {
		return nil
	}
	var run []Pair
	for n := ends[len(ends)-1]; n >= 0; n = before[n] {
		run = append(run, pairs[n])
	}
	slices.Reverse(run)
	return run
}

// equalCounts pairs the remaining rows of a kind in order if both sides have the same number.
func (a *aligner) equalCounts(old, next []int) {
	type both struct{ old, next []int }
	kinds := map[weak]*both{}
	of := func(r *Row) *both {
		b := kinds[r.weak()]
		if b == nil {
			b = &both{}
			kinds[r.weak()] = b
		}
		return b
	}
	for _, i := range old {
		if !a.paired[0][i] {
			b := of(&a.old[i])
			b.old = append(b.old, i)
		}
	}
	for _, i := range next {
		if !a.paired[1][i] {
			b := of(&a.next[i])
			b.next = append(b.next, i)
		}
	}
	for _, b := range kinds {
		if len(b.old) != len(b.next) {
			continue
		}
		for n, i := range b.old {
			a.pair(i, b.next[n])
		}
	}
}
