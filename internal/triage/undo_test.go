package triage

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt"
)

func TestUndoGivesEachItsOwnFormerState(t *testing.T) {
	w := &world{now: start, actor: redoubt.Actor{Kind: "user", ID: "ada"}, lineages: map[int64]redoubt.Lineage{}}
	former := map[int64]redoubt.Triage{
		1: {State: redoubt.TriageUntriaged},
		2: {State: redoubt.TriageIgnored, Reason: redoubt.NoTime, Comment: "later", Until: start.AddDate(0, 1, 0), Assignee: "bob", At: start.Add(-time.Hour), By: redoubt.Actor{Kind: "token", ID: "7"}},
		3: {State: redoubt.TriageFixing, At: start.Add(-time.Minute)},
	}
	for id, triage := range former {
		w.lineages[id] = redoubt.Lineage{ID: id, Triage: triage}
		w.findings = append(w.findings, redoubt.Finding{ID: id, LineageID: id, IssueType: redoubt.SAST, State: redoubt.Unresolved, RelevantSince: start})
	}
	ids := redoubt.FindingFilter{IssueType: redoubt.SAST, HasIDs: true, IDs: []int64{1, 2, 3}}
	if _, err := Apply(t.Context(), w, w, Request{Filter: ids, State: redoubt.TriageIgnored, Reason: redoubt.FalsePositive}); err != nil {
		t.Fatal(err)
	}
	decision := append([]redoubt.TriageEvent{}, w.trail...)
	w.now, w.actor = start.Add(time.Hour), redoubt.Actor{Kind: "user", ID: "bob"}
	if _, err := Apply(t.Context(), w, w, Request{Filter: redoubt.FindingFilter{IssueType: redoubt.SAST, HasIDs: true, IDs: []int64{3}}, State: redoubt.TriageReviewing}); err != nil {
		t.Fatal(err)
	}
	bobs := w.lineages[3].Triage

	got, err := Undo(t.Context(), w, append(decision, redoubt.TriageEvent{LineageID: 99}))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(UndoResult{Restored: []int64{1, 2}, Kept: []int64{3, 99}}, got); diff != "" {
		t.Errorf("undone (-want +got):\n%s", diff)
	}
	for id, want := range map[int64]redoubt.Triage{1: former[1], 2: former[2], 3: bobs} {
		if diff := cmp.Diff(want, w.lineages[id].Triage); diff != "" {
			t.Errorf("lineage %d (-want +got):\n%s", id, diff)
		}
	}
	if last := w.trail[len(w.trail)-1]; last.By != w.actor || last.After != former[2] {
		t.Errorf("the trail ends with %+v", last)
	}
	again, err := Undo(t.Context(), w, decision)
	if err != nil || len(again.Restored) != 0 || len(again.Kept) != 3 {
		t.Errorf("undone again: %+v, %v", again, err)
	}
}
