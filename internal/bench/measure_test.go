package bench

import (
	"slices"
	"testing"
	"time"
)

// Figures that benchreport knows by their names.
const (
	perLimit  = "x-limit"    // times as long as the limit takes
	perMemory = "x-memory"   // times as long as the same bytes from memory
	perDecode = "x-decode"   // times as long as encoding/json takes for the upload
	perFirst  = "x-first"    // times as many findings a second as a first import
	perSecond = "findings/s" // findings taken in or loaded
)

// pairs measures something and its limit in turns, so that what else the
// machine does meanwhile weighs on both.
type pairs struct {
	subject, limit []time.Duration
}

// run takes both until the benchmark has enough, and reports the median of the
// subject and the median of the ratios. The one that goes first changes.
func (p *pairs) run(b *testing.B, subject, limit func() time.Duration) {
	b.Helper()
	for b.Loop() {
		if len(p.subject)%2 == 0 {
			p.subject, p.limit = append(p.subject, subject()), append(p.limit, limit())
			continue
		}
		l := limit()
		p.subject, p.limit = append(p.subject, subject()), append(p.limit, l)
	}
	b.ReportMetric(float64(median(p.subject)), "ns/op")
	b.ReportMetric(p.ratio(), perLimit)
}

// ratio is the median over the turns, each of which had one machine.
func (p *pairs) ratio() float64 {
	ratios := make([]float64, len(p.subject))
	for i := range ratios {
		ratios[i] = float64(p.subject[i]) / float64(p.limit[i])
	}
	return median(ratios)
}

// compare measures a subject and its limit.
func compare(b *testing.B, subject, limit func()) {
	b.Helper()
	subject() // what fills on first use is not measured
	limit()
	(&pairs{}).run(b, timed(subject), timed(limit))
}

// timed says how long something takes.
func timed(do func()) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		do()
		return time.Since(began)
	}
}

// rate is how many there are in a second, each n of which take d.
func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func median[T time.Duration | float64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
