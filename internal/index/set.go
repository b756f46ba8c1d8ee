package index

import (
	"runtime"
	"slices"
	"sync"
)

// numberSet is a set of numbers of a dictionary. The nil one is empty.
type numberSet []uint64

// empty reports whether nothing is in the set.
func (n numberSet) empty() bool {
	return !slices.ContainsFunc(n, func(word uint64) bool { return word != 0 })
}

func (n numberSet) has(v uint32) bool { return int(v/64) < len(n) && n[v/64]>>(v%64)&1 == 1 }

func (n *numberSet) add(v uint32) {
	for int(v/64) >= len(*n) {
		*n = append(*n, 0)
	}
	(*n)[v/64] |= 1 << (v % 64)
}

// fewParts is a number below which it is not worth while to share work.
const fewParts = 1 << 15

// inParts runs fn over the numbers from 0 to n, side by side on all processors where
// they are many. Parts begin at multiples of 64, so that each has words of a bit set
// of its own.
func inParts(n int, fn func(from, to int)) {
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
