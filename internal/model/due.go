package model

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// DueDays says how many days people have to fix the findings that a policy is
// for, by what these are; 0 is no due date (docs/reference/due-dates.md). Which projects and which
// product that is about, the policy says.
type DueDays struct {
	Critical int `json:"critical,omitempty"`
	High     int `json:"high,omitempty"`
	Medium   int `json:"medium,omitempty"`
	Low      int `json:"low,omitempty"`
	// NotRated is of vulnerabilities that nobody rates; 0: as Medium.
	NotRated int `json:"not_rated,omitempty"`
	// Exploited is of vulnerabilities that are known to be exploited (KEV), where
	// it is fewer days than their severity has.
	Exploited int `json:"known_exploited,omitempty"`
}

// MaxDueDays is some ten years.
const MaxDueDays = 3650

// DueClasses are the names of what DueDays tells apart, the most urgent first.
func DueClasses() []string {
	return []string{"known_exploited", "critical", "high", "medium", "low", "not_rated"}
}

// Class is where the days of a class are, by its name; nil for another name.
func (d *DueDays) Class(name string) *int {
	switch name {
	case "critical":
		return &d.Critical
	case "high":
		return &d.High
	case "medium":
		return &d.Medium
	case "low":
		return &d.Low
	case "not_rated":
		return &d.NotRated
	case "known_exploited":
		return &d.Exploited
	}
	return nil
}

// Check says what is wrong with the days of a policy for a product, or returns nil.
func (d DueDays) Check(product IssueType) error {
	for _, name := range DueClasses() {
		switch days := *d.Class(name); {
		case days < 0 || days > MaxDueDays:
			return fmt.Errorf("the days of %s are from 1 to %d, or 0 for no due date", name, MaxDueDays)
		case days > 0 && product != SCA && (name == "not_rated" || name == "known_exploited"):
			return fmt.Errorf("only a policy for the supply chain has days for %s", name)
		}
	}
	return nil
}

// String says the days, as "critical 7 days, high 30 days"; empty where there are none.
func (d DueDays) String() string {
	var parts []string
	for _, name := range DueClasses() {
		switch days := *d.Class(name); {
		case days == 1:
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" 1 day")
		case days > 1:
			parts = append(parts, strings.ReplaceAll(name, "_", " ")+" "+strconv.Itoa(days)+" days")
		}
	}
	return strings.Join(parts, ", ")
}

// Of is how many days a finding has; 0: it has no due date.
func (d DueDays) Of(severity Severity, notRated, exploited bool) int {
	days := 0
	switch {
	case notRated && d.NotRated > 0:
		days = d.NotRated
	case severity >= SeverityLow && severity <= SeverityCritical:
		days = *d.Class(severity.String())
	}
	if exploited {
		return MinDays(days, d.Exploited)
	}
	return days
}

// MinDays returns the fewer of two numbers of days, where 0 is no due date. Of several
// policies for a project and product, the one that gives a finding the fewest days
// counts.
func MinDays(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ClockPauses are when decisions held that stop the clock of due dates: from when to when
// a lineage was ignored, in microseconds since 1970, oldest first, as "5-7 9-". The
// last one may have no end. They are a text so that a store can add to them in SQL.
type ClockPauses string

// MaxStops is how long the text of stops grows, in bytes, before none is added: some
// hundred stops.
const MaxStops = 4000

// stopBegins is what is added when a stop begins.
func stopBegins(at time.Time) ClockPauses { return ClockPauses(strconv.FormatInt(at.UnixMicro(), 10) + "-") }

// StopsOf are those of a lineage that begins with a decision.
func StopsOf(t Triage) ClockPauses {
	if t.State != TriageIgnored {
		return ""
	}
	return stopBegins(t.At)
}

// StopChange is what a decision adds to the stops of a lineage: nothing, the beginning
// of a stop or its end. Both are when it was made: what it says may be older, such as
// where an earlier decision is restored.
func StopChange(before, after Triage, at time.Time) (add ClockPauses, begins bool) {
	was, is := before.State == TriageIgnored, after.State == TriageIgnored
	switch {
	case is && !was:
		return stopBegins(at), true
	case was && !is:
		return ClockPauses(strconv.FormatInt(at.UnixMicro(), 10) + " "), false
	}
	return "", false
}

// each yields the stops that have ended, in microseconds. What is no stop is left out.
func (s ClockPauses) each() iter.Seq2[int64, int64] {
	return func(yield func(from, to int64) bool) {
		for one := range strings.FieldsSeq(string(s)) {
			begin, end, _ := strings.Cut(one, "-")
			from, err := strconv.ParseInt(begin, 10, 64)
			to, err2 := strconv.ParseInt(end, 10, 64)
			if err == nil && err2 == nil && from < to && !yield(from, to) {
				return
			}
		}
	}
}

// DueClock is when the days of a finding began to count, in microseconds since 1970:
// when it came to its ref, came back, or was silenced in the code no more; and later
// by as long as it was ignored since, until it was fixed (docs/reference/due-dates.md). Time that
// several stops cover counts once.
func DueClock(relevantSince, stateUpdatedAt int64, state State, stops ClockPauses) int64 {
	start, end := relevantSince, int64(math.MaxInt64)
	switch state {
	case Unresolved:
		start = max(start, stateUpdatedAt)
	case Fixed:
		end = stateUpdatedAt
	}
	clock, covered := start, start
	for from, to := range stops.each() {
		from, to = max(from, covered), min(to, end)
		clock += max(to-from, 0)
		covered = max(covered, to)
	}
	return clock
}

// DueRange selects findings by their due date: from a day on, and before another one,
// in UTC. A zero time is no bound.
type DueRange struct{ From, Before time.Time }

// DueWindow names a range of due dates as seen from a day.
type DueWindow string

// Windows of due dates. Those of 7 and 30 days begin today, so the first is part of the
// second. DueNone is what has no due date.
const (
	DueOverdue DueWindow = "overdue"
	Due7Days   DueWindow = "7d"
	Due30Days  DueWindow = "30d"
	DueLater   DueWindow = "later"
	DueNone    DueWindow = "none"
)

// DueWindows are all of them, the most urgent first.
func DueWindows() []DueWindow { return []DueWindow{DueOverdue, Due7Days, Due30Days, DueLater, DueNone} }

// Range is the window as seen from a moment. It is false for DueNone and for what is no
// window.
func (w DueWindow) Range(now time.Time) (DueRange, bool) {
	today := now.UTC().Truncate(24 * time.Hour)
	switch w {
	case DueOverdue:
		return DueRange{Before: today}, true
	case Due7Days:
		return DueRange{From: today, Before: today.AddDate(0, 0, 8)}, true
	case Due30Days:
		return DueRange{From: today, Before: today.AddDate(0, 0, 31)}, true
	case DueLater:
		return DueRange{From: today.AddDate(0, 0, 31)}, true
	}
	return DueRange{}, false
}

// DueFilter selects findings by their due date: one of the ranges is enough, or no due
// date at all. Nil selects everything.
type DueFilter struct {
	Ranges  []DueRange
	Undated bool
}

// DueWithin is the filter of some windows as seen from a moment; nil for none.
func DueWithin(windows []DueWindow, now time.Time) *DueFilter {
	if len(windows) == 0 {
		return nil
	}
	f := &DueFilter{}
	for _, w := range windows {
		if r, dated := w.Range(now); dated {
			f.Ranges = append(f.Ranges, r)
		} else {
			f.Undated = true
		}
	}
	return f
}

// OverdueLineage is a finding, on whichever refs, whose due date is over.
type OverdueLineage struct {
	ID  int64 // of the lineage
	Day int   // of the due date, in days from 1970 on
}
