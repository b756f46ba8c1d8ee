package model

import (
	"testing"
	"time"
)

// TestDueDaysOf checks the number of days for findings under a single policy.
func TestDueDaysOf(t *testing.T) {
	all := DueDays{Critical: 7, High: 30, Medium: 90, Low: 180, NotRated: 60, Exploited: 14}
	for _, c := range []struct {
		name                string
		days                DueDays
		severity            Severity
		notRated, exploited bool
		want                int
	}{
		{"critical", all, SeverityCritical, false, false, 7},
		{"high", all, SeverityHigh, false, false, 30},
		{"medium", all, SeverityMedium, false, false, 90},
		{"low", all, SeverityLow, false, false, 180},
		{"no severity", all, 0, false, false, 0},
		{"not rated", all, SeverityMedium, true, false, 60},
		{"not rated, without days of its own", DueDays{Medium: 90}, SeverityMedium, true, false, 90},
		{"exploited has fewer", all, SeverityHigh, false, true, 14},
		{"exploited has more", all, SeverityCritical, false, true, 7},
		{"exploited, and nothing by severity", DueDays{Exploited: 14}, SeverityLow, false, true, 14},
		{"exploited, without days of its own", DueDays{Low: 5}, SeverityLow, false, true, 5},
		{"exploited and not rated", all, SeverityMedium, true, true, 14},
		{"none", DueDays{}, SeverityCritical, true, true, 0},
		{"none for it", DueDays{High: 30}, SeverityLow, false, false, 0},
	} {
		if got := c.days.Of(c.severity, c.notRated, c.exploited); got != c.want {
			t.Errorf("%s: %d days, want %d", c.name, got, c.want)
		}
	}
}

func TestMinDays(t *testing.T) {
	for _, c := range [][3]int{{0, 0, 0}, {0, 5, 5}, {5, 0, 5}, {5, 7, 5}, {7, 5, 5}, {5, 5, 5}} {
		if got := MinDays(c[0], c[1]); got != c[2] {
			t.Errorf("Sooner(%d, %d) = %d, want %d", c[0], c[1], got, c[2])
		}
	}
}

// TestDueClock checks when days start to count. Times are in days.
func TestDueClock(t *testing.T) {
	for _, c := range []struct {
		name              string
		relevant, stateAt int64
		state             State
		stops             ClockPauses
		want              int64
	}{
		{"it came", 10, 0, Unresolved, "", 10},
		{"it came back after it was fixed", 20, 20, Unresolved, "", 20},
		{"silenced in the code no more", 10, 15, Unresolved, "", 15},
		{"fixed", 10, 15, Fixed, "", 10},
		{"ignored for three days", 10, 0, Unresolved, "12-15 ", 13},
		{"ignored twice", 10, 0, Unresolved, "12-15 20-21 ", 14},
		{"ignored before it came to this branch", 10, 0, Unresolved, "2-8 ", 10},
		{"ignored when it came to this branch", 10, 0, Unresolved, "8-12 ", 12},
		{"ignored, fixed and back", 30, 30, Unresolved, "12-15 ", 30},
		{"ignored now", 10, 0, Unresolved, "12-15 20-", 13},
		{"ignored twice at once", 10, 0, Unresolved, "12-15 12-18 13-14 ", 16},
		{"ignored before it was fixed", 10, 20, Fixed, "12-15 ", 13},
		{"ignored until after it was fixed", 10, 14, Fixed, "12-15 16-19 ", 12},
		{"not a boundary", 10, 0, Unresolved, "x-15 12 9-3 - 12-14 ", 12},
	} {
		if got := DueClock(c.relevant, c.stateAt, c.state, c.stops); got != c.want {
			t.Errorf("%s: the clock began on %d, want %d", c.name, got, c.want)
		}
	}
}

// TestStopChange checks which decisions pause the clock.
func TestStopChange(t *testing.T) {
	at, later := time.UnixMicro(5), time.UnixMicro(9)
	triage := func(s TriageState) Triage { return Triage{State: s, At: at} }
	for _, c := range []struct {
		before, after TriageState
		want          ClockPauses
	}{
		{TriageUntriaged, TriageIgnored, "9-"},
		{TriageFixing, TriageIgnored, "9-"},
		{TriageReopened, TriageIgnored, "9-"},
		{TriageIgnored, TriageReopened, "9 "},
		{TriageIgnored, TriageFixing, "9 "},
		{TriageIgnored, TriageUntriaged, "9 "},
		{TriageIgnored, TriageIgnored, ""},
		{TriageUntriaged, TriageFixing, ""},
		{TriageReviewing, TriageReopened, ""},
	} {
		if got, _ := StopChange(triage(c.before), triage(c.after), later); got != c.want {
			t.Errorf("from %s to %s: %q, want %q", c.before, c.after, got, c.want)
		}
	}
}

// TestUndoneReopeningPausesClockOnce ignores, reopens, undoes the reopening and reopens again.
// The decision restored by an undo has its original time.
func TestUndoneReopeningPausesClockOnce(t *testing.T) {
	at := func(n int64) time.Time { return time.UnixMicro(n) }
	ignored, untriaged := Triage{State: TriageIgnored, At: at(20)}, Triage{State: TriageUntriaged}
	reopened := func(n int64) Triage { return Triage{State: TriageReopened, At: at(n)} }
	var stops ClockPauses
	for _, d := range []struct {
		before, after Triage
		at            int64
	}{{untriaged, ignored, 20}, {ignored, reopened(30), 30}, {reopened(30), ignored, 34}, {ignored, reopened(40), 40}} {
		add, _ := StopChange(d.before, d.after, at(d.at))
		stops += add
	}
	if got := DueClock(10, 0, Unresolved, stops); got != 10+10+6 {
		t.Errorf("%q: the clock began on %d, want %d", stops, got, 26)
	}
}

// TestDueWindows checks windows of due dates relative to the middle of a day.
func TestDueWindows(t *testing.T) {
	now := time.Date(2027, 3, 10, 15, 4, 5, 0, time.FixedZone("", 3600))
	day := func(n int) time.Time { return time.Date(2027, 3, 10, 0, 0, 0, 0, time.UTC).AddDate(0, 0, n) }
	in := map[DueWindow][]int{DueOverdue: {-400, -1}, Due7Days: {0, 1, 7}, Due30Days: {0, 1, 7, 8, 30}, DueLater: {31, 4000}}
	for _, w := range DueWindows() {
		r, dated := w.Range(now)
		if dated == (w == DueNone) {
			t.Errorf("%s is of due dates: %v", w, dated)
		}
		for _, n := range []int{-400, -1, 0, 1, 7, 8, 30, 31, 4000} {
			want := false
			for _, m := range in[w] {
				want = want || m == n
			}
			got := dated && !day(n).Before(r.From) && (r.Before.IsZero() || day(n).Before(r.Before))
			if got != want {
				t.Errorf("due in %d days is %s: %v, want %v", n, w, got, want)
			}
		}
	}
}

func TestDueDaysAreChecked(t *testing.T) {
	for _, c := range []struct {
		days    DueDays
		product IssueType
		ok      bool
	}{
		{DueDays{Critical: 1, Low: MaxDueDays}, SAST, true},
		{DueDays{Critical: -1}, SAST, false},
		{DueDays{High: MaxDueDays + 1}, SCA, false},
		{DueDays{NotRated: 5, Exploited: 5}, SCA, true},
		{DueDays{NotRated: 5}, SAST, false},
		{DueDays{Exploited: 5}, Secrets, false},
	} {
		if err := c.days.Check(c.product); (err == nil) != c.ok {
			t.Errorf("%+v of %s: %v", c.days, c.product, err)
		}
	}
	if got, want := (DueDays{Exploited: 3, Critical: 1, NotRated: 60}).String(), "known exploited 3 days, critical 1 day, not rated 60 days"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
