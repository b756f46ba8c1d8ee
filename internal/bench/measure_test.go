package bench

import (
	"slices"
	"testing"
	"time"
)

// Figures beside the time of an operation.
const (
	perLimit   = "x-limit"    // times as long as the limit takes
	perMemory  = "x-memory"   // times as long as the same bytes from memory
	perWritten = "x-written"  // times as long as the bare writing of all rows that must be
	perValid   = "x-valid"    // times as long as encoding/json takes to find the upload valid
	ofFirst    = "x-first"    // times as many findings a second as a first import
	perSecond  = "findings/s" // taken in or loaded
	ofBuild    = "x-build"    // times as long as building the index from the store
	ofImport   = "x-import"   // times as long as an import whose index follows when it is asked
	perFinding = "B/finding"
)

// limit is what a subject is compared with, under the unit of their ratio: how
// many times as long as it the subject takes, or as its inverse how many times
// as fast the subject is.
type limit struct {
	unit    string
	run     func() time.Duration
	inverse bool
	most    float64 // the benchmark fails where the ratio is higher; 0: never
}

func (l limit) ratio(subject, limit time.Duration) float64 {
	if l.inverse {
		return float64(limit) / float64(subject)
	}
	return float64(subject) / float64(limit)
}

// compare runs a subject and its limits in turns, so that what else the machine
// does meanwhile weighs on all of them, each time another one first. It reports
// the medians: of what the subject takes, which it returns, and of the ratios.
func compare(b *testing.B, subject func() time.Duration, limits ...limit) time.Duration {
	b.Helper()
	runs := []func() time.Duration{subject}
	for _, l := range limits {
		runs = append(runs, l.run)
	}
	for _, run := range runs {
		run() // what fills on first use is not measured
	}
	took := make([]time.Duration, len(runs))
	var times []time.Duration
	ratios := make([][]float64, len(limits))
	for turn := 0; b.Loop(); turn++ {
		for i := range runs {
			at := (turn + i) % len(runs)
			took[at] = runs[at]()
		}
		times = append(times, took[0])
		for i, l := range limits {
			ratios[i] = append(ratios[i], l.ratio(took[0], took[i+1]))
		}
	}
	typical := median(times)
	b.ReportMetric(float64(typical), "ns/op")
	for i, l := range limits {
		ratio := median(ratios[i])
		b.ReportMetric(ratio, l.unit)
		if l.most > 0 && ratio > l.most {
			b.Errorf("%.2f %s, want at most %g", ratio, l.unit, l.most)
		}
	}
	return typical
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
