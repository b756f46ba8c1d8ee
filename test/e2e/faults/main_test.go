//go:build faults && linux

package faults

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestMain runs the programs with the garbage collection of users, since tests measure their memory.
func TestMain(m *testing.M) {
	programtest.Percent = "100"
	programtest.Main(m, nil)
}

// TestSources makes go test repeat the tests after a change of the program.
func TestSources(t *testing.T) { programtest.Sources(t) }
