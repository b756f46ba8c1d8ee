package bench

import (
	"slices"
	"testing"
	"time"
)

// Units besides the time of an operation.
const (
	perLimit   = "x-limit"    // time relative to the baseline
	perMemory  = "x-memory"   // time relative to the same bytes from memory
	perWritten = "x-written"  // time relative to writing all required rows
	perValid   = "x-valid"    // time relative to validating the upload with encoding/json
	ofFirst    = "x-first"    // findings per second relative to a first import
	perSecond  = "findings/s" // imported or loaded
	ofBuild    = "x-build"    // time relative to building the index from the store
	ofImport   = "x-import"   // time relative to an import without an index that follows it
	perFinding = "B/finding"
)

// limit is the baseline of a subject, with the unit of the ratio of their times. If inverse is set,
// the ratio is that of their speeds.
type limit struct {
	unit    string
	run     func() time.Duration
	inverse bool
	most    float64 // maximum ratio; 0: none
}

func (l limit) ratio(subject, limit time.Duration) float64 {
	if l.inverse {
		return float64(limit) / float64(subject)
	}
	return float64(subject) / float64(limit)
}

// compare runs a subject and its limits in rotating order, so that other load on the machine
// affects all of them. It reports the medians of the ratios and of the subject's time, which it
// returns.
func compare(b *testing.B, subject func() time.Duration, limits ...limit) time.Duration {
	b.Helper()
	runs := []func() time.Duration{subject}
	for _, l := range limits {
		runs = append(runs, l.run)
	}
	for _, run := range runs {
		run() // warm up caches
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

// timed returns a function that measures do.
func timed(do func()) func() time.Duration {
	return func() time.Duration {
		began := time.Now()
		do()
		return time.Since(began)
	}
}

// rate returns n per d in seconds.
func rate(n int, d time.Duration) float64 { return float64(n) / d.Seconds() }

func median[T time.Duration | float64](list []T) T {
	sorted := slices.Sorted(slices.Values(list))
	return sorted[len(sorted)/2]
}
