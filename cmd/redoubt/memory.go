package main

import (
	"math"
	"runtime/debug"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ownMemory is how many bytes of memory the process may take: see memoryOf. Where nobody
// limited Go's own, it is limited to nine tenths of that, so that what is not collected
// yet never costs the process its life; the rest is for what is mapped and for others.
var ownMemory = sync.OnceValue(func() int64 {
	limit := debug.SetMemoryLimit(-1)
	memory := memoryOf(limit, memlimit.FromSystem, memlimit.FromCgroup)
	if limit == math.MaxInt64 {
		debug.SetMemoryLimit(memory / 10 * 9)
	}
	if set := debug.SetGCPercent(gcPercent); set != 100 {
		debug.SetGCPercent(set) // by GOGC
	}
	return memory
})

// gcPercent lets the heap grow by half of what is in use before it is collected, Go's own
// default is by all of it: an upload takes a quarter less memory so.
const gcPercent = 50

// memoryOf is Go's limit (GOMEMLIMIT) where there is one, else the least that is told, as
// what the machine has and what its control group gives a container, else 4 GiB.
func memoryOf(limit int64, told ...func() (uint64, error)) int64 {
	if limit != math.MaxInt64 {
		return limit
	}
	least := uint64(math.MaxInt64)
	for _, ask := range told {
		if bytes, err := ask(); err == nil && bytes > 0 {
			least = min(least, bytes)
		}
	}
	if least == math.MaxInt64 {
		return 4 << 30
	}
	return int64(least)
}
