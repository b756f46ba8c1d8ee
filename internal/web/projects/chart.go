package projects

import (
	"fmt"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Dimensions in units of the drawing, which is scaled to its container.
const (
	chartWidth  = 720.0
	chartHeight = 190.0
	chartLeft   = 56.0
	chartTop    = 8.0
	chartBottom = 22.0
)

// chart is a trend, rendered as SVG: an area of open findings over bars of new and fixed ones.
type chart struct {
	Points []index.TrendPoint
	Line   string // path of the open findings
	Area   string
	Bars   []chartBar
	Rows   []chartTick // levels
	Labels []chartTick // dates
	Width  float64
	Height float64
	Floor  float64
	Left   float64
}

type chartBar struct {
	X, Width       float64
	NewY, NewH     float64
	FixedY, FixedH float64
	Title          string
}

type chartTick struct {
	X, Y float64
	Text string
}

// newChart computes the layout of a trend.
func newChart(points []index.TrendPoint) chart {
	c := chart{Points: points, Width: chartWidth, Height: chartHeight, Floor: chartHeight - chartBottom, Left: chartLeft}
	most := 1
	for _, p := range points {
		most = max(most, p.Open, p.New, p.Fixed)
	}
	top := niceCeiling(most)
	y := func(n int) float64 { return chartTop + (c.Floor-chartTop)*(1-float64(n)/float64(top)) }
	step := (chartWidth - chartLeft) / float64(max(len(points), 1))
	var line strings.Builder
	for i, p := range points {
		x := chartLeft + step*(float64(i)+0.5)
		verb := "L"
		if i == 0 {
			verb = "M"
		}
		fmt.Fprintf(&line, "%s%.1f %.1f", verb, x, y(p.Open))
		width := min(step*0.28, 9)
		c.Bars = append(c.Bars, chartBar{
			X: x, Width: width, NewY: y(p.New), NewH: c.Floor - y(p.New), FixedY: y(p.Fixed), FixedH: c.Floor - y(p.Fixed),
			Title: fmt.Sprintf("%s: %d open, %d new, %d fixed, %d decided",
				p.At.Format("2 January"), p.Open, p.New, p.Fixed, p.Decided),
		})
		if every := max(len(points)/6, 1); i%every == every/2 {
			c.Labels = append(c.Labels, chartTick{X: x, Y: chartHeight - 5, Text: p.At.Format("2 Jan")})
		}
	}
	c.Line = line.String()
	if len(points) > 0 {
		c.Area = fmt.Sprintf("%sL%.1f %.1fL%.1f %.1fZ",
			c.Line, chartLeft+step*(float64(len(points))-0.5), c.Floor, chartLeft+step*0.5, c.Floor)
	}
	for _, n := range []int{0, top / 2, top} {
		c.Rows = append(c.Rows, chartTick{X: chartLeft - 6, Y: y(n), Text: ui.Count(n)})
	}
	return c
}

// niceCeiling returns the smallest round even number that is at least n.
func niceCeiling(n int) int {
	for size := 1; ; size *= 10 {
		for _, step := range []int{2, 4, 6, 8, 10} {
			if step*size >= n {
				return step * size
			}
		}
	}
}

// weeks returns the start of the first of n weeks up to now, and the end of each.
func weeks(now time.Time, n int) []time.Time {
	out := make([]time.Time, n+1)
	for i := range out {
		out[i] = now.AddDate(0, 0, -7*(n-i))
	}
	return out
}
