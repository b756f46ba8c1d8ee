package scripts

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestSources makes go test repeat the tests after a change of the program.
func TestSources(t *testing.T) { programtest.Sources(t) }
