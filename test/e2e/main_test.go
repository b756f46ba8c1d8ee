package e2e

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

func TestMain(m *testing.M) {
	programtest.Main(m, map[string]func(){"recorded-semgrep": recordedSemgrep})
}

// TestSources has go test run the tests again after a change of the program.
func TestSources(t *testing.T) { programtest.Sources(t) }
