package triage

import (
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

func TestUndoRestoresFormerStates(t *testing.T) {
	w := &world{now: start, actor: model.Actor{Kind: "user", ID: "ada"}, lineages: map[int64]model.Lineage{}}
	former := map[int64]model.Triage{
		1: {State: model.TriageUntriaged},
		2: {State: model.TriageIgnored, Reason: model.NoTime, Comment: "later", Until: start.AddDate(0, 1, 0), Assignee: "bob", At: start.Add(-time.Hour), By: model.Actor{Kind: "token", ID: "7"}},
		3: {State: model.TriageFixing, At: start.Add(-time.Minute)},
	}
	for id, triage := range former {
		w.lineages[id] = model.Lineage{ID: id, Triage: triage}
		w.findings = append(w.findings, model.Finding{ID: id, LineageID: id, IssueType: model.SAST, State: model.Unresolved, RelevantSince: start})
	}
	ids := model.FindingFilter{IssueType: model.SAST, HasIDs: true, IDs: []int64{1, 2, 3}}
	if _, err := Apply(t.Context(), w, w, Request{Filter: ids, State: model.TriageIgnored, Reason: model.FalsePositive}); err != nil {
		t.Fatal(err)
	}
	decision := append([]model.TriageEvent{}, w.trail...)
	w.now, w.actor = start.Add(time.Hour), model.Actor{Kind: "user", ID: "bob"}
	if _, err := Apply(t.Context(), w, w, Request{Filter: model.FindingFilter{IssueType: model.SAST, HasIDs: true, IDs: []int64{3}}, State: model.TriageReviewing}); err != nil {
		t.Fatal(err)
	}
	bobs := w.lineages[3].Triage

	got, err := Undo(t.Context(), w, append(decision, model.TriageEvent{LineageID: 99}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(UndoResult{Restored: []int64{1, 2}, Skipped: []int64{3, 99}}, got); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	for id, want := range map[int64]model.Triage{1: former[1], 2: former[2], 3: bobs} {
		if diff := cmp.Diff(want, w.lineages[id].Triage); diff != "" {
			t.Errorf("lineage %d (-want +got):\n%s", id, diff)
		}
	}
	if last := w.trail[len(w.trail)-1]; last.By != w.actor || last.After != former[2] {
		t.Errorf("the trail ends with %+v", last)
	}
	second, err := Undo(t.Context(), w, decision)
	if err != nil || len(second.Restored) != 0 || len(second.Skipped) != 3 {
		t.Errorf("undone again: %+v, %v", second, err)
	}
}

// TestUndoComparesInstants checks that the current triage is compared with the event by instant,
// regardless of time zone. Another time or end prevents the undo.
func TestUndoComparesInstants(t *testing.T) {
	at, until, east := start, start.AddDate(0, 1, 0), time.FixedZone("east", 3600)
	was := model.Triage{State: model.TriageIgnored, At: at, Until: until}
	for name, tt := range map[string]struct {
		now  model.Triage
		undo bool
	}{
		"the same":                {was, true},
		"written in another zone": {model.Triage{State: model.TriageIgnored, At: at.In(east), Until: until.In(east)}, true},
		"at another time":         {model.Triage{State: model.TriageIgnored, At: at.Add(time.Second), Until: until}, false},
		"with another end":        {model.Triage{State: model.TriageIgnored, At: at, Until: until.Add(time.Second)}, false},
	} {
		w := &world{now: start, lineages: map[int64]model.Lineage{1: {ID: 1, Triage: tt.now}}}
		got, err := Undo(t.Context(), w, []model.TriageEvent{{LineageID: 1, After: was}})
		if err != nil || (len(got.Restored) == 1) != tt.undo {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// TestUndoReturnsErrors checks that errors are returned, and that nothing is written if there is
// nothing to undo.
func TestUndoReturnsErrors(t *testing.T) {
	event := []model.TriageEvent{{LineageID: 1}}
	for _, method := range []string{"Lineages", "UpdateTriage"} {
		w := &world{now: start, lineages: map[int64]model.Lineage{1: {ID: 1}}, fail: method}
		if _, err := Undo(t.Context(), w, event); !errors.Is(err, errBroken) {
			t.Errorf("%s: got %v", method, err)
		}
	}
	w := &world{now: start, lineages: map[int64]model.Lineage{}, fail: "UpdateTriage"}
	if got, err := Undo(t.Context(), w, event); err != nil || len(got.Skipped) != 1 {
		t.Errorf("of what is gone: %+v, %v", got, err)
	}
}
