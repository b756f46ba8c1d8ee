package model

import (
	"fmt"
	"iter"
	"math"
	"strconv"
	"strings"
	"time"
)

// DueDays contains the number of days to fix the findings of a policy, by class. 0 means no due
// date (docs/reference/due-dates.md). The policy defines the projects and the product.
type DueDays struct {
	Critical int `json:"critical,omitempty"`
	High     int `json:"high,omitempty"`
	Medium   int `json:"medium,omitempty"`
	Low      int `json:"low,omitempty"`
	// NotRated applies to unrated vulnerabilities; 0 means that Medium applies.
	NotRated int `json:"not_rated,omitempty"`
	// Exploited applies to vulnerabilities known to be exploited (KEV), if it is less than the days
	// of their severity.
	Exploited int `json:"known_exploited,omitempty"`
}

// MaxDueDays is the maximum number of days, about ten years.
const MaxDueDays = 3650

// DueClasses returns the names of the classes of DueDays, most urgent first.
func DueClasses() []string {
	return []string{"known_exploited", "critical", "high", "medium", "low", "not_rated"}
}

// Class returns a pointer to the days of a class, or nil for an unknown name.
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

// Check validates the days for a product.
func (d DueDays) Check(product IssueType) error {
	for _, name := range DueClasses() {
		switch days := *d.Class(name); {
		case days < 0 || days > MaxDueDays:
			return fmt.Errorf("the due days of %s must be from 1 to %d, or 0 for no due date", name, MaxDueDays)
		case days > 0 && product != SCA && (name == "not_rated" || name == "known_exploited"):
			return fmt.Errorf("due days for %s require a supply-chain policy", name)
		}
	}
	return nil
}

// String returns the days in the form "critical 7 days, high 30 days", or "" if there are none.
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

// Of returns the number of days for a finding, or 0 for no due date.
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

// MinDays returns the smaller number of days, where 0 means no due date. If several policies apply
// to a finding, the smallest number of days counts.
func MinDays(a, b int) int {
	if a == 0 || b > 0 && b < a {
		return b
	}
	return a
}

// ClockPauses contains the periods in which a lineage was ignored, which pause the clock of due
// dates. The format is "5-7 9-": times in microseconds since 1970, oldest first. The last period
// may have no end. It is a text so that a store can append to it in SQL.
type ClockPauses string

// MaxStops is the length of ClockPauses in bytes beyond which nothing is appended. It suffices for
// some hundred pauses.
const MaxStops = 4000

// stopBegins returns the text that starts a pause.
func stopBegins(at time.Time) ClockPauses {
	return ClockPauses(strconv.FormatInt(at.UnixMicro(), 10) + "-")
}

// StopsOf returns the pauses of a new lineage with a triage decision.
func StopsOf(t Triage) ClockPauses {
	if t.State != TriageIgnored {
		return ""
	}
	return stopBegins(t.At)
}

// StopChange returns the text that a decision appends to the pauses of a lineage. It is empty, or
// starts or ends a pause. It uses the time of the change, because a restored decision may have an
// older time.
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

// each yields the completed pauses in microseconds. It skips invalid ones.
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

// DueClock returns when the days of a finding started to count, in microseconds since 1970. This is
// when it appeared on its ref, reappeared or was unmuted. The time for which it was ignored since,
// until it was fixed, is added (docs/reference/due-dates.md). Overlapping pauses count once.
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

// DueRange selects findings with a due date from From and before Before, as days in UTC. A zero
// time is no bound.
type DueRange struct{ From, Before time.Time }

// DueWindow is a named range of due dates relative to the current day.
type DueWindow string

// Windows of due dates. Due7Days and Due30Days start today, so Due30Days includes Due7Days. DueNone
// contains findings without a due date.
const (
	DueOverdue DueWindow = "overdue"
	Due7Days   DueWindow = "7d"
	Due30Days  DueWindow = "30d"
	DueLater   DueWindow = "later"
	DueNone    DueWindow = "none"
)

// DueWindows returns all windows, most urgent first.
func DueWindows() []DueWindow { return []DueWindow{DueOverdue, Due7Days, Due30Days, DueLater, DueNone} }

// Range returns the range of the window relative to now. It returns false for DueNone and invalid
// windows.
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

// DueFilter selects findings that are in one of the ranges, or have no due date if Undated is set.
// A nil filter selects everything.
type DueFilter struct {
	Ranges  []DueRange
	Undated bool
}

// DueWithin returns a filter for the windows relative to now, or nil if there are none.
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

// OverdueLineage is a lineage that is overdue on some ref.
type OverdueLineage struct {
	ID  int64 // due day, in days since 1970
	Day int   // of the due date, in days from 1970 on
}
