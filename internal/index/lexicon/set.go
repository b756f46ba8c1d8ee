package lexicon

import (
	"runtime"
	"slices"
	"sync"
)

// Set is a set of dictionary numbers. The nil Set is empty.
type Set []uint64

// Empty reports whether the set is empty.
func (n Set) Empty() bool {
	return !slices.ContainsFunc(n, func(word uint64) bool { return word != 0 })
}

// Has reports whether a number is in the set.
func (n Set) Has(v uint32) bool { return int(v/64) < len(n) && n[v/64]>>(v%64)&1 == 1 }

// Add adds a number to the set.
func (n *Set) Add(v uint32) {
	for int(v/64) >= len(*n) {
		*n = append(*n, 0)
	}
	(*n)[v/64] |= 1 << (v % 64)
}

// fewParts is the size below which concurrency is not worthwhile.
const fewParts = 1 << 15

// InParts calls fn for consecutive ranges of the numbers from 0 to n, concurrently if n is large.
// Ranges start at multiples of 64, so that each has its own words of a Set.
func InParts(n int, fn func(from, to int)) {
	workers := runtime.GOMAXPROCS(0)
	if n < fewParts || workers == 1 {
		fn(0, n)
		return
	}
	step := (n/workers/64 + 1) * 64
	var all sync.WaitGroup
	for from := 0; from < n; from += step {
		all.Go(func() { fn(from, min(from+step, n)) })
	}
	all.Wait()
}
