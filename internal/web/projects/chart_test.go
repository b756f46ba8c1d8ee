package projects

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/index"
)

func TestChartFitsItsArea(t *testing.T) {
	for _, n := range []int{0, 1, 7, 1234567} {
		c := newChart([]index.TrendPoint{{At: time.Unix(0, 0), Open: n}, {At: time.Unix(1e6, 0), New: n, Fixed: n / 2}})
		for _, b := range c.Bars {
			if b.NewY < 0 || b.NewY > c.Floor || b.NewH < 0 || b.X > chartWidth {
				t.Errorf("with %d a bar is at %+v", n, b)
			}
		}
	}
	for n, want := range map[int]int{1: 2, 2: 2, 3: 4, 9: 10, 11: 20, 101: 200, 750: 800} {
		if got := niceCeiling(n); got != want {
			t.Errorf("niceCeiling(%d) = %d, want %d", n, got, want)
		}
	}
}
