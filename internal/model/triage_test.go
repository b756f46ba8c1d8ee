package model_test

import (
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// TestEndOfDay reads last days, and none whose end nobody could name or would mean never.
func TestEndOfDay(t *testing.T) {
	for day, want := range map[string]string{
		"2027-01-31": "2027-02-01T00:00:00Z", "0001-01-01": "0001-01-02T00:00:00Z", "9999-12-30": "9999-12-31T00:00:00Z",
		"9999-12-31": "", "0000-12-31": "", "0000-01-01": "", "2027-02-30": "", "2027-1-31": "", "": "",
	} {
		end, ok := model.EndOfDay(day)
		if ok != (want != "") || ok && end.Format(time.RFC3339) != want {
			t.Errorf("%q ends at %v, %t, want %q", day, end, ok, want)
		}
		if back := model.LastDay(end); ok && back != day {
			t.Errorf("%q came back as %q", day, back)
		}
	}
}

// TestDecidedByPerson is of each state, set by a person and by a worker.
func TestDecidedByPerson(t *testing.T) {
	for state, want := range map[model.TriageState]struct{ decided, handled bool }{
		0: {}, model.TriageUntriaged: {}, model.TriageReopened: {true, false},
		model.TriageIgnored: {true, true}, model.TriageReviewing: {true, true}, model.TriageFixing: {true, true},
	} {
		if got := (model.Triage{State: state}); got.DecidedByPerson() != want.decided || got.HandledByPerson() != want.handled {
			t.Errorf("%q: decided %t, handled %t", state, got.DecidedByPerson(), got.HandledByPerson())
		}
		if got := (model.Triage{State: state, Automatic: true}); got.DecidedByPerson() || got.HandledByPerson() {
			t.Errorf("%q of a worker is a person's", state)
		}
	}
}

// TestTriageLine differs for each member.
func TestTriageLine(t *testing.T) {
	now := time.Unix(1, 0)
	seen := map[string]bool{}
	for _, tr := range []model.Triage{
		{},
		{State: model.TriageIgnored},
		{Reason: model.NoTime},
		{Comment: "a"},
		{At: now},
		{By: model.Actor{Kind: "user", ID: "1"}},
		{Automatic: true},
		{Until: now},
		{Assignee: "a"},
	} {
		if line := tr.Line(); seen[line] {
			t.Errorf("%+v is %q, as another", tr, line)
		}
		seen[tr.Line()] = true
	}
}
