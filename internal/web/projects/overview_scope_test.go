package projects

import (
	"testing"

	"github.com/redoubt/redoubt/internal/index"
)

// TestPeriodsAreAdjacent checks the sums of both halves of a trend.
func TestPeriodsAreAdjacent(t *testing.T) {
	got := periodOf([]index.TrendPoint{{New: 1, Fixed: 2}, {New: 3, Decided: 1}, {New: 10, Fixed: 4, Decided: 1}, {Fixed: 20}})
	if want := (period{New: 10, Fixed: 24, Net: -15, NewBefore: 4, FixedBefore: 2, NetBefore: 1}); got != want {
		t.Errorf("%+v, want %+v", got, want)
	}
}
