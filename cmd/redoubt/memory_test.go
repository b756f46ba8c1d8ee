package main

import (
	"errors"
	"math"
	"runtime/debug"
	"testing"
)

func TestProcessMemory(t *testing.T) {
	returns := func(bytes uint64) func() (uint64, error) {
		return func() (uint64, error) { return bytes, nil }
	}
	silent := func() (uint64, error) { return 0, errors.New("no limit") }
	for _, c := range []struct {
		name    string
		limit   int64
		sources []func() (uint64, error)
		want    int64
	}{
		{"the machine's", math.MaxInt64, []func() (uint64, error){returns(64 << 30), silent}, 64 << 30},
		{"a container's", math.MaxInt64, []func() (uint64, error){returns(64 << 30), returns(2 << 30)}, 2 << 30},
		{"a container's of more than there is", math.MaxInt64, []func() (uint64, error){returns(8 << 30), returns(1 << 62)}, 8 << 30},
		{"one without a bound", math.MaxInt64, []func() (uint64, error){returns(8 << 30), returns(math.MaxUint64)}, 8 << 30},
		{"Go's own limit", 300 << 20, []func() (uint64, error){returns(64 << 30), returns(2 << 30)}, 300 << 20},
		{"nothing told", math.MaxInt64, []func() (uint64, error){silent, returns(0)}, 4 << 30},
	} {
		if got := memoryOf(c.limit, c.sources...); got != c.want {
			t.Errorf("%s: %d, want %d", c.name, got, c.want)
		}
	}
}

// TestMemoryIsLimited checks that a starting server sets Go's memory limit, once.
func TestMemoryIsLimited(t *testing.T) {
	memory := ownMemory()
	limit := debug.SetMemoryLimit(-1)
	if limit != memory && limit != memory/10*9 { // GOMEMLIMIT, or the default
		t.Errorf("of %d bytes Go may take %d", memory, limit)
	}
	if second := ownMemory(); second != memory || debug.SetMemoryLimit(-1) != limit {
		t.Errorf("asked again it is %d with a limit of %d", second, debug.SetMemoryLimit(-1))
	}
}
