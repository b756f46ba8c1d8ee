package e2e

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(m, map[string]func(){"recorded-semgrep": recordedSemgrep})
}

// TestSources makes go test repeat the tests after a change of the program.
func TestSources(t *testing.T) { programtest.Sources(t) }
