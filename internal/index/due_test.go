package index

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// dueNow is the current time of due date tests. Worlds begin two weeks earlier.
var dueNow = time.UnixMicro(1_700_000_000_000_000).UTC().AddDate(0, 0, 14)

func clockOfDue() time.Time { return dueNow }

// naiveDue computes the due day of a finding directly from docs/reference/due-dates.md.
func (w *world) naiveDue(f model.IndexedFinding) (day time.Time, dated bool) {
	status := model.StatusOf(f.State, w.lineages[f.LineageID].Triage.State)
	if !slices.Contains([]model.Status{model.StatusOpen, model.StatusReviewing, model.StatusFixing}, status) {
		return day, false
	}
	return w.naiveTarget(f)
}

// naiveTarget returns the day by which policies require a finding to be fixed, regardless of its
// status.
func (w *world) naiveTarget(f model.IndexedFinding) (day time.Time, dated bool) {
	l := w.lineages[f.LineageID]
	days := 0
	for _, p := range w.policies {
		d := p.Due
		if p.Product != f.IssueType || !p.Scope.Covers(w.projects[f.ProjectID]) {
			continue
		}
		has := []int{0, d.Low, d.Medium, d.High, d.Critical}[f.Severity]
		if unrated(f) && f.IssueType == model.SCA && d.NotRated > 0 {
			has = d.NotRated
		}
		for _, n := range []int{has, d.Exploited} {
			counts := n == has || l.Annotations.Exploited
			if n > 0 && counts && (days == 0 || n < days) {
				days = n
			}
		}
	}
	if days == 0 {
		return day, false
	}
	start := f.RelevantSince
	if f.State == model.Unresolved && f.StateUpdatedAt.After(start) {
		start = f.StateUpdatedAt
	}
	end := f.StateUpdatedAt
	if f.State != model.Fixed {
		end = w.now()
	}
	stopped := time.Duration(0)
	for _, one := range w.ignored[f.LineageID] {
		from, to := one[0], one[1]
		if from.Before(start) {
			from = start
		}
		if to.After(end) {
			to = end
		}
		stopped += max(to.Sub(from), 0)
	}
	return start.Add(stopped).UTC().Truncate(24*time.Hour).AddDate(0, 0, days), true
}

// naiveWindows returns the due date windows of a finding.
func (w *world) naiveWindows(f model.IndexedFinding, now time.Time) (in []string) {
	day, dated := w.naiveDue(f)
	today := now.Truncate(24 * time.Hour)
	left := int(day.Sub(today) / (24 * time.Hour))
	for window, is := range map[model.DueWindow]bool{
		model.DueOverdue: dated && left < 0, model.Due7Days: dated && left >= 0 && left <= 7, model.Due30Days: dated && left >= 0 && left <= 30,
		model.DueLater: dated && left > 30, model.DueNone: !dated,
	} {
		if is {
			in = append(in, string(window))
		}
	}
	return in
}

// acceptsDue reports whether a finding matches the due date filters.
func (w *world) acceptsDue(f model.FindingFilter, finding model.IndexedFinding) bool {
	day, dated := w.naiveDue(finding)
	if !f.DueBefore.IsZero() && (!dated || !day.Before(f.DueBefore)) {
		return false
	}
	return f.Due == nil || anyIn(windowsIn(f), w.naiveWindows(finding, dueNow))
}

// windowsIn returns the windows that a filter was created from.
func windowsIn(f model.FindingFilter) (out []string) {
	if f.Due == nil {
		return nil
	}
	for _, window := range model.DueWindows() {
		if r, dated := window.Range(dueNow); dated && slices.Contains(f.Due.Ranges, r) || !dated && f.Due.Undated {
			out = append(out, string(window))
		}
	}
	return out
}

// soonestFirst compares findings like Soonest, for a list that is sorted newest first.
func (w *world) soonestFirst(a, b model.IndexedFinding) int {
	dayA, datedA := w.naiveDue(a)
	dayB, datedB := w.naiveDue(b)
	switch {
	case datedA != datedB:
		if datedA {
			return -1
		}
		return 1
	case !datedA:
		return 0
	case !dayA.Equal(dayB):
		return dayA.Compare(dayB)
	}
	return 0
}

// someDays draws the due days of a policy.
func someDays(t *rapid.T, product model.IssueType) (d model.DueDays) {
	if chance(t, "no days", 40) {
		return d
	}
	days := func(name string) int { return one(t, name, 0, 1, 3, 7, 14, 30, 90) }
	d = model.DueDays{Critical: days("critical"), High: days("high"), Medium: days("medium"), Low: days("low")}
	if product == model.SCA {
		d.NotRated, d.Exploited = days("not rated"), days("exploited")
	}
	return d
}

// someStops updates the clock pauses of a lineage as a store does for a decision now. It also
// records the times at which the lineage was ignored.
func (w *world) someStops(l *model.Lineage, before model.Triage) {
	now := w.now()
	add, _ := model.StopChange(before, l.Triage, now)
	l.Stops += add
	was, is := before.State == model.TriageIgnored, l.Triage.State == model.TriageIgnored
	switch since, running := w.ignoredSince[l.ID]; {
	case is && !was:
		w.ignoredSince[l.ID] = now
	case was && !is && running:
		w.ignored[l.ID] = append(w.ignored[l.ID], [2]time.Time{since, now})
		delete(w.ignoredSince, l.ID)
	}
}

// TestDueDateOrder checks pages in the order of due dates and filters by each window.
// Findings have different due days, paused clocks and equal due dates.
func TestDueDateOrder(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{BodyCache: 1 << 20, Clock: clockOfDue})
		w.putPolicy(model.Policy{ID: 1, Product: model.SAST, Default: true, Due: model.DueDays{Critical: 3, High: 7, Medium: 7, Low: 30}})
		for range rapid.IntRange(5, 25).Draw(t, "commits") {
			w.step(t)
			w.skipped += time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour
		}
		v := view(t, x)
		f := model.FindingFilter{IssueType: model.SAST}
		want := w.list(f)
		slices.SortStableFunc(want, w.soonestFirst)
		size := rapid.IntRange(1, 4).Draw(t, "size")
		seen := map[int64]bool{}
		var got []model.IndexedFinding
		for skip := 0; skip < len(want); skip += size {
			page, err := v.List(context.Background(), ListQuery{Filter: f, Order: Soonest, Skip: skip, Size: size})
			if err != nil {
				t.Fatal(err)
			}
			for _, it := range page.Page.items {
				id := int64(it.row.id)
				if seen[id] {
					t.Fatalf("finding %d is on two pages", id)
				}
				seen[id] = true
				got = append(got, w.findings[id])
			}
		}
		if len(got) != len(want) {
			t.Fatalf("%d findings, want %d", len(got), len(want))
		}
		if !slices.IsSortedFunc(got, w.soonestFirst) {
			t.Fatal("a finding that is due later comes first")
		}
		for _, window := range model.DueWindows() {
			f.Due = model.DueWithin([]model.DueWindow{window}, dueNow)
			w.checkList(t, v, f)
		}
	})
}

// TestDueTargetCounts compares DueTargets with counts over all findings.
func TestDueTargetCounts(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld()
		x := New(w, Options{Clock: clockOfDue})
		w.putPolicy(model.Policy{ID: 1, Product: model.SAST, Default: true, Due: model.DueDays{Critical: 1, High: 2, Medium: 3}})
		for range rapid.IntRange(5, 25).Draw(t, "commits") {
			w.step(t)
			w.skipped += time.Duration(rapid.IntRange(0, 40).Draw(t, "hours")) * time.Hour
		}
		f := model.FindingFilter{IssueType: model.SAST, Dedup: chance(t, "dedup", 50)}
		since := time.UnixMicro(1_700_000_000_000_000).AddDate(0, 0, rapid.IntRange(-1, 10).Draw(t, "since"))
		want := DueTargets{Tag: map[string]DueTarget{}}
		for _, finding := range w.list(f) {
			one := DueTarget{}
			day, dated := w.naiveTarget(finding)
			switch fixed := finding.StateUpdatedAt; {
			case !dated:
				continue
			case finding.State == model.Fixed && w.lineages[finding.LineageID].Triage.State == model.TriageIgnored:
				continue
			case finding.State == model.Fixed && !fixed.Before(since):
				one.Fixed = 1
				if fixed.Before(day.AddDate(0, 0, 1)) {
					one.InTime = 1
				}
			case slices.Contains(w.naiveWindows(finding, dueNow), string(model.DueOverdue)):
				one.Overdue = 1
			default:
				continue
			}
			want.Severity[finding.Severity].add(one)
			for _, tag := range w.projects[finding.ProjectID].Tags {
				sum := want.Tag[strings.ToLower(tag)]
				sum.add(one)
				want.Tag[strings.ToLower(tag)] = sum
			}
		}
		if diff := cmp.Diff(want, view(t, x).DueTargets(f, since), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("since %v (-naive +got):\n%s", since, diff)
		}
	})
}

// TestDueDatesFollowTimeAndPolicy checks that time, a policy and a decision change due
// dates without a change of the finding.
func TestDueDatesFollowTimeAndPolicy(t *testing.T) {
	w := newWorld()
	begin := w.now()
	at := begin
	w.putProject(model.Project{ID: 1, Name: "acme/api"})
	w.putRule(model.Rule{ID: 1, Name: "r", IssueType: model.SAST, Message: "m"})
	w.putPolicy(model.Policy{ID: 1, Product: model.SAST, Default: true})
	w.putLineage(model.Lineage{ID: 1, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged}})
	w.putFinding(model.IndexedFinding{Finding: model.Finding{
		ID: 1, IssueType: model.SAST, ProjectID: 1, Ref: "refs/heads/main", LineageID: 1, RuleID: 1, State: model.Unresolved,
		Severity: model.SeverityHigh, CreatedAt: begin, RelevantSince: begin,
	}, Body: []byte(`"rule_message":null`)})
	w.commit()
	x := New(w, Options{BodyCache: 1 << 20, Clock: func() time.Time { return at }})
	check := func(what, due string, overdue, present bool) {
		t.Helper()
		text := string(written(t, view(t, x), model.FindingFilter{IssueType: model.SAST}, 0, 10))
		want := fmt.Sprintf(`"due_at":"%sT23:59:59.999999Z","overdue":%v,`, due, overdue)
		if present && !strings.Contains(text, want) || !present && strings.Contains(text, "due") {
			t.Errorf("%s: %s, want %s, told %v", what, text, want, present)
		}
	}
	check("no policy has days", "", false, false)
	w.putPolicy(model.Policy{ID: 1, Product: model.SAST, Default: true, Due: model.DueDays{High: 7}})
	w.commit()
	check("seven days", "2023-11-21", false, true)
	at = time.Date(2023, 11, 21, 23, 59, 59, 999_999_999, time.UTC)
	check("on the last day", "2023-11-21", false, true)
	at = at.Add(time.Nanosecond)
	check("the day after", "2023-11-21", true, true)
	w.putPolicy(model.Policy{ID: 1, Product: model.SAST, Default: true, Due: model.DueDays{High: 30}})
	w.commit()
	check("thirty days", "2023-12-14", false, true)
	stop := model.ClockPauses(fmt.Sprintf("%d-", begin.AddDate(0, 0, 2).UnixMicro()))
	w.putLineage(model.Lineage{ID: 1, ProjectID: 1, Triage: model.Triage{State: model.TriageIgnored, Reason: 1}, Stops: stop})
	w.commit()
	check("ignored", "", false, false)
	stop += model.ClockPauses(fmt.Sprintf("%d ", begin.AddDate(0, 0, 12).UnixMicro()))
	w.putLineage(model.Lineage{ID: 1, ProjectID: 1, Triage: model.Triage{State: model.TriageReopened}, Stops: stop})
	w.commit()
	check("ignored for ten days", "2023-12-24", false, true)
}
