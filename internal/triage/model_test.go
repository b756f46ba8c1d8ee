package triage

import (
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// naive returns the result of a valid request according to docs/reference/triage.md: the selected
// IDs and the resulting triage of each lineage.
func naive(w *world, r Request) (ids []int64, after map[int64]model.Triage) {
	after = map[int64]model.Triage{}
	for id, l := range w.lineages {
		after[id] = l.Triage
	}
	var matches []model.Finding
	for _, f := range w.findings {
		status := modelStatus(f, after[f.LineageID])
		switch {
		case status == "", f.IssueType != r.Filter.IssueType:
		case r.Filter.Ref != "" && f.Ref != r.Filter.Ref:
		case r.Filter.HasIDs && !slices.Contains(r.Filter.IDs, f.ID):
		case len(r.Filter.Severities) > 0 && !slices.Contains(r.Filter.Severities, f.Severity):
		case len(r.Filter.Statuses) > 0 && !slices.ContainsFunc(r.Filter.Statuses, func(s model.Status) bool { return s.String() == status }):
		default:
			matches = append(matches, f)
		}
	}
	for len(matches) > r.Limit && r.Limit > 0 { // remove the oldest
		oldest := 0
		for i, f := range matches {
			if o := matches[oldest]; f.RelevantSince.Before(o.RelevantSince) || f.RelevantSince.Equal(o.RelevantSince) && f.ID < o.ID {
				oldest = i
			}
		}
		matches = slices.Delete(matches, oldest, oldest+1)
	}
	before := maps.Clone(after)
	ids = []int64{}
	for _, f := range w.findings { // in ascending order of ID
		same := func(m model.Finding) bool { return m.LineageID == f.LineageID }
		if f.IssueType != r.Filter.IssueType || f.State == model.StateRemoved || !slices.ContainsFunc(matches, same) {
			continue
		}
		t := before[f.LineageID]
		if r.Automatic && !t.Automatic && t.State != model.TriageUntriaged {
			continue
		}
		ids = append(ids, f.ID)
		after[f.LineageID] = modelDecision(w, r, t)
	}
	return ids, after
}

func modelStatus(f model.Finding, t model.Triage) string {
	switch f.State {
	case model.StateRemoved:
		return ""
	case model.Fixed:
		return "fixed"
	case model.Muted:
		return "ignored"
	}
	switch t.State {
	case model.TriageUntriaged, model.TriageReopened:
		return "open"
	}
	return t.State.String()
}

func modelDecision(w *world, r Request, t model.Triage) model.Triage {
	comment, assignee := t.Comment, t.Assignee
	if r.Note != "" {
		comment = r.Note
	}
	if r.Assign != nil {
		assignee = *r.Assign
	}
	unchanged := t.State == r.State && t.Reason == r.Reason && t.Automatic == r.Automatic && t.Comment == comment && t.Assignee == assignee && t.Until.Equal(r.Until)
	switch {
	case r.State == 0:
		t.Comment, t.Assignee = comment, assignee
		return t
	case unchanged: // already in the requested state
		return t
	}
	return model.Triage{State: r.State, Reason: r.Reason, Comment: comment, At: w.now, By: w.actor, Automatic: r.Automatic, Until: r.Until, Assignee: assignee}
}

func drawWorld(t *rapid.T) *world {
	w := &world{now: start, lineages: map[int64]model.Lineage{}, members: []model.Member{{User: model.User{Name: "ada"}}, {User: model.User{Name: "bob"}}}}
	for id := int64(1); id <= 5; id++ {
		w.lineages[id] = model.Lineage{ID: id, Triage: model.Triage{State: model.TriageUntriaged}}
	}
	for id := range int64(rapid.IntRange(0, 15).Draw(t, "findings")) {
		lineage := rapid.Int64Range(1, 5).Draw(t, "lineage")
		w.findings = append(w.findings, model.Finding{
			ID: id + 1, LineageID: lineage,
			IssueType:     []model.IssueType{model.SAST, model.SCA}[lineage%2],
			Ref:           rapid.SampledFrom(refs).Draw(t, "ref"),
			State:         model.State(rapid.IntRange(1, 4).Draw(t, "state")),
			Severity:      model.Severity(rapid.IntRange(1, 3).Draw(t, "severity")),
			RelevantSince: start.Add(time.Duration(rapid.IntRange(-4, 0).Draw(t, "since")) * time.Hour),
		})
	}
	return w
}

var (
	start = time.Date(2026, 3, 1, 8, 0, 0, 0, time.UTC)
	refs  = []string{"refs/heads/main", "refs/heads/dev", "refs/pull/7/merge"}
)

func drawRequest(t *rapid.T) Request {
	r := Request{HasFilter: true, Limit: rapid.IntRange(0, 6).Draw(t, "limit"), Automatic: rapid.IntRange(0, 3).Draw(t, "automatic") == 0}
	r.State = model.TriageState(rapid.SampledFrom([]int{0, 2, 3, 4, 5}).Draw(t, "new state"))
	if r.State == model.TriageIgnored {
		r.Reason = model.TriageReason(rapid.IntRange(0, 4).Draw(t, "reason"))
	}
	if rapid.IntRange(0, 2).Draw(t, "assign") == 0 {
		name := rapid.SampledFrom([]string{"", "ada", "bob"}).Draw(t, "assignee")
		r.Assign = &name
	}
	if r.State != 0 && r.State != model.TriageReopened && rapid.Bool().Draw(t, "ends") {
		r.Until = start.Add(time.Duration(rapid.IntRange(7, 9).Draw(t, "until")) * time.Minute)
	}
	if r.State == 0 && r.Assign == nil || rapid.Bool().Draw(t, "has note") {
		r.Note = rapid.SampledFrom([]string{"one", "two"}).Draw(t, "note")
	}
	f := &r.Filter
	f.IssueType = rapid.SampledFrom([]model.IssueType{model.SAST, model.SCA}).Draw(t, "type")
	if rapid.Bool().Draw(t, "by ref") {
		f.Ref = rapid.SampledFrom(refs).Draw(t, "filter ref")
	}
	if rapid.Bool().Draw(t, "by id") {
		f.HasIDs, f.IDs = true, rapid.SliceOf(rapid.Int64Range(1, 20)).Draw(t, "ids")
	}
	if rapid.Bool().Draw(t, "by severity") {
		f.Severities = []model.Severity{model.Severity(rapid.IntRange(1, 3).Draw(t, "filter severity"))}
	}
	if rapid.Bool().Draw(t, "by status") {
		f.Statuses = []model.Status{model.Status(rapid.IntRange(1, 5).Draw(t, "filter status"))}
	}
	return r
}

// endDecisions applies expiry as an upload or maintenance does, and checks the result.
func (w *world) endDecisions(t *rapid.T) {
	for id, l := range w.lineages {
		want := l.Triage
		if !want.Until.IsZero() && !want.Until.After(w.now) {
			want.State, want.Reason, want.Until, want.Automatic, want.At = model.TriageReopened, 0, time.Time{}, true, w.now
		}
		e, over := l.Expire(w.now)
		if over {
			e.After.By = want.By // the system, not the author of the decision
			if e.Before != l.Triage || e.LineageID != id || e.By.Kind != "system" || e.Note == "" {
				t.Fatalf("the end of %+v is recorded as %+v", l.Triage, e)
			}
			l.Triage = e.After
		}
		if over != (want != w.lineages[id].Triage) || l.Triage != want {
			t.Fatalf("%+v ends as %+v, want %+v", w.lineages[id].Triage, l.Triage, want)
		}
		w.lineages[id] = l
	}
}

func TestApplyMatchesModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		w := drawWorld(t)
		for range rapid.IntRange(1, 6).Draw(t, "requests") {
			w.now = w.now.Add(time.Minute)
			w.endDecisions(t)
			w.actor = model.Actor{Kind: "token", ID: rapid.SampledFrom([]string{"1", "2"}).Draw(t, "actor")}
			r := drawRequest(t)
			ids, after := naive(w, r)
			before, trail := maps.Clone(w.lineages), len(w.trail)
			got, err := Apply(t.Context(), w, w, r)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(ids, got.IDs); diff != "" {
				t.Fatalf("ids (-naive +got):\n%s", diff)
			}
			changed := 0
			for id, want := range after {
				if diff := cmp.Diff(want, w.lineages[id].Triage); diff != "" {
					t.Fatalf("triage of lineage %d (-naive +got):\n%s", id, diff)
				}
				if w.lineages[id].Triage != before[id].Triage {
					changed++
				}
			}
			if lines := len(w.trail) - trail; lines != changed {
				t.Fatalf("%d lines in the trail for %d changed lineages", lines, changed)
			}
		}
	})
}
