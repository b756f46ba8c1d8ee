package main

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// imagined is a server that answers late, and shows what it was told as late again.
type imagined struct {
	called  string
	late    time.Duration
	taken   []string // commits
	now     counts
	next    counts
	showsAt time.Time
	settled int
	loses   int // findings of every report
}

func (s *imagined) name() string                            { return s.called }
func (s *imagined) version(context.Context) (string, error) { return "1.0", nil }

func (s *imagined) becomes(next counts) {
	s.next, s.showsAt = next, time.Now().Add(s.late)
}

func (s *imagined) take(_ context.Context, _, commit string, report []byte) error {
	s.taken = append(s.taken, strings.TrimLeft(commit, "0"))
	n := strings.Count(string(report), `"check_id"`) - s.loses
	gone := 0
	if len(s.taken) == 3 {
		gone = n / replacedShare
	}
	time.Sleep(s.late)
	s.becomes(counts{open: n, fixed: gone})
	return nil
}

func (s *imagined) counts(context.Context, string) (counts, error) {
	if !time.Now().Before(s.showsAt) {
		s.now = s.next
	}
	return s.now, nil
}

func (s *imagined) page(context.Context) (int, error) {
	time.Sleep(s.late)
	return 100, nil
}

func (s *imagined) open(_ context.Context, _ string, n int) ([]int64, error) {
	return make([]int64, n), nil
}

func (s *imagined) decide(_ context.Context, ids []int64) error {
	s.becomes(counts{open: s.now.open - len(ids), fixed: s.now.fixed, decided: len(ids)})
	return nil
}

func (s *imagined) settle(context.Context) error {
	s.settled++
	return nil
}

func TestARoundLastsUntilTheAPIShowsIt(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		slow, quick := &imagined{called: "slow", late: 2 * time.Second}, &imagined{called: "quick", late: 100 * time.Millisecond}
		m := newMeter([]server{slow, quick}, options{findings: 2000, rounds: 1, wait: time.Minute})
		if err := m.round(t.Context(), 0); err != nil {
			t.Fatal(err)
		}
		want := `|  | slow | quick | times as fast |
| --- | --- | --- | --- |
| 2000 findings, first | 4 s | 200 ms | 20 |
| the same results, another commit | 2 s | 100 ms | 20 |
| 100 new and 100 gone | 4 s | 200 ms | 20 |
| page of 100, open and high | 2 s | 100 ms | 20 |
| 1000 decided in bulk | 2 s | 100 ms | 20 |
`
		if diff := cmp.Diff(want, m.table()); diff != "" {
			t.Errorf("the table (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"1", "2", "3"}, slow.taken); diff != "" {
			t.Errorf("commits (-want +got):\n%s", diff)
		}
		if slow.settled != int(steps) {
			t.Errorf("settled %d times", slow.settled)
		}
	})
}

func TestWhatNeverShowsFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		m := newMeter([]server{&imagined{called: "lossy", loses: 1}}, options{findings: 2000, rounds: 1, wait: time.Minute})
		err := m.round(t.Context(), 0)
		if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), "lossy, 2000 findings, first: the API shows {open:1999") {
			t.Errorf("error %v", err)
		}
	})
}

func TestMedianIsTheMiddleOne(t *testing.T) {
	for _, c := range []struct {
		of   measurements
		want time.Duration
	}{
		{nil, 0},
		{measurements{3}, 3},
		{measurements{9, 1, 5}, 5},
		{measurements{4, 2}, 4},
	} {
		if got := c.of.median(); got != c.want {
			t.Errorf("median of %v is %d, not %d", c.of, got, c.want)
		}
	}
}

func TestFigureKeepsThreeDigits(t *testing.T) {
	for d, want := range map[time.Duration]string{
		205 * time.Second: "205 s", 1234 * time.Millisecond: "1.23 s", 272_400 * time.Microsecond: "272 ms", 11_440 * time.Microsecond: "11.4 ms",
	} {
		if got := figure(d); got != want {
			t.Errorf("%v is %q, not %q", d, got, want)
		}
	}
}
