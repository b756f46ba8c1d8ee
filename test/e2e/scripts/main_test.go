package scripts

import (
	"testing"

	"github.com/redoubt/redoubt/internal/testutil/programtest"
)

// TestSources has go test run the tests again after a change of the program.
func TestSources(t *testing.T) { programtest.Sources(t) }
