package index

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// naiveTrend computes the trend from the state of every finding at every time.
func (w *world) naiveTrend(f model.FindingFilter, ends []time.Time) []TrendPoint {
	var out []TrendPoint
	list := w.list(f)
	for i := 1; i < len(ends); i++ {
		p := TrendPoint{At: ends[i]}
		within := func(t time.Time) bool { return t.After(ends[i-1]) && !t.After(ends[i]) }
		for _, finding := range list {
			triage := w.lineages[finding.LineageID].Triage
			status := model.StatusOf(finding.State, triage.State)
			closed, done := triage.At, status != model.StatusOpen
			switch {
			case status == model.StatusFixed:
				closed, done = finding.StateUpdatedAt, true
			case finding.State == model.Muted:
				closed = finding.StateUpdatedAt
			}
			if closed.Before(finding.RelevantSince) {
				closed = finding.RelevantSince
			}
			if within(finding.RelevantSince) {
				p.New++
			}
			if done && within(closed) && status == model.StatusFixed {
				p.Fixed++
			} else if done && within(closed) {
				p.Decided++
			}
			if !finding.RelevantSince.After(ends[i]) && (!done || closed.After(ends[i])) {
				p.Open++
			}
		}
		out = append(out, p)
	}
	return out
}

func TestTrendMatchesNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: 1 << 20})
		for range rapid.IntRange(1, 10).Draw(t, "commits") {
			w.step(t)
		}
		ends := []time.Time{time.UnixMicro(1_700_000_000_000_000 + int64(rapid.IntRange(-2, 3).Draw(t, "start"))*1_000_003).UTC()}
		for range rapid.IntRange(0, 5).Draw(t, "points") {
			ends = append(ends, ends[len(ends)-1].Add(time.Duration(rapid.IntRange(1, 3_000_000).Draw(t, "step"))*time.Microsecond))
		}
		f := w.someFilter(t)
		if diff := cmp.Diff(w.naiveTrend(f, ends), view(t, x).Trend(f, ends)); diff != "" {
			t.Errorf("trend of %+v at %v (-naive +got):\n%s", f, ends, diff)
		}
	})
}

// naiveFixTimes computes fix times by sorting.
func (w *world) naiveFixTimes(f model.FindingFilter, since time.Time) (out []FixTime) {
	took := map[model.Severity][]time.Duration{}
	f.Statuses = []model.Status{model.StatusFixed}
	for _, finding := range w.list(f) {
		if !finding.StateUpdatedAt.Before(since) {
			d := max(finding.StateUpdatedAt.Sub(finding.CreatedAt).Truncate(time.Hour), 0)
			took[finding.Severity] = append(took[finding.Severity], min(d, fixHours*time.Hour))
		}
	}
	for severity := model.SeverityCritical; severity > 0; severity-- {
		if all := took[severity]; len(all) > 0 {
			slices.Sort(all)
			out = append(out, FixTime{severity, len(all), all[(len(all)+1)/2-1], all[(9*len(all)+9)/10-1]})
		}
	}
	return out
}

func TestFixTimesMatchNaiveModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: 1 << 20})
		for range rapid.IntRange(1, 10).Draw(t, "commits") {
			w.step(t)
			if chance(t, "look", 50) {
				view(t, x)
			}
		}
		f, since := w.someFilter(t), w.now().Add(-time.Duration(rapid.IntRange(-1, 8_000_000).Draw(t, "ago"))*time.Microsecond)
		if diff := cmp.Diff(w.naiveFixTimes(f, since), view(t, x).FixTimes(since, f)); diff != "" {
			t.Errorf("fix times of %+v since %v (-naive +got):\n%s", f, since, diff)
		}
	})
}

func TestFixTimes(t *testing.T) {
	hours := make([]int, fixHours+1)
	hours[2], hours[10], hours[100] = 5, 4, 1
	got := fixTime(model.SeverityHigh, hours)
	want := FixTime{Severity: model.SeverityHigh, Fixed: 10, Median: 2 * time.Hour, Slowest: 10 * time.Hour}
	if got != want {
		t.Errorf("got %+v, want %+v", got, want)
	}
}
