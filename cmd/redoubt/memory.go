package main

import (
	"math"
	"runtime/debug"
	"sync"

	"github.com/KimMachineGun/automemlimit/memlimit"
)

// ownMemory returns the memory limit of the process in bytes (see memoryOf). Unless a Go memory
// limit is set, it sets one of nine tenths of that, so that uncollected garbage cannot exceed the
// limit. The rest is for mapped files and other processes.
var ownMemory = sync.OnceValue(func() int64 {
	limit := debug.SetMemoryLimit(-1)
	memory := memoryOf(limit, memlimit.FromSystem, memlimit.FromCgroup)
	if limit == math.MaxInt64 {
		debug.SetMemoryLimit(memory / 10 * 9)
	}
	if set := debug.SetGCPercent(gcPercent); set != 100 {
		debug.SetGCPercent(set) // restore the value of GOGC
	}
	return memory
})

// gcPercent is half of Go's default. It lets the heap grow by half before a collection, which
// reduces the memory of an upload by a quarter.
const gcPercent = 50

// memoryOf returns Go's memory limit (GOMEMLIMIT) if set. Otherwise it returns the minimum of the
// given limits, such as those of the machine and of the control group, or else 4 GiB.
func memoryOf(limit int64, sources ...func() (uint64, error)) int64 {
	if limit != math.MaxInt64 {
		return limit
	}
	least := uint64(math.MaxInt64)
	for _, read := range sources {
		if bytes, err := read(); err == nil && bytes > 0 {
			least = min(least, bytes)
		}
	}
	if least == math.MaxInt64 {
		return 4 << 30
	}
	return int64(least)
}
