package ingest

import (
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestTransitions implements the table of docs/explanation/life-of-a-finding.md, except for deleted
// refs, which the store removes.
func TestTransitions(t *testing.T) {
	a, neighbor := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	muted := with(a, func(r *model.Result) { r.Muted = true })
	untold := with(a, func(r *model.Result) { r.PatternHash = "" })
	leaves := upload(full(neighbor), func(u *Upload) { u.OutOfPolicy = func(_, path string) bool { return path == "a.py" } })
	passes := upload(full(neighbor), func(u *Upload) { u.Report.Skipped = []string{"a.py"} })
	seen, seenMuted, closed := full(a, neighbor), full(muted, neighbor), full(neighbor)
	states := map[string][]Upload{
		"none": {closed}, "unresolved": {seen}, "muted": {seenMuted}, "fixed": {seen, closed}, "removed": {seen, leaves},
	}
	for _, c := range []struct {
		from   string
		scan   Upload
		to     model.State
		events string
		now    bool
	}{
		{"none", seen, model.Unresolved, "", true},
		{"none", seenMuted, model.Muted, "", true},
		{"unresolved", seen, model.Unresolved, "", false},
		{"unresolved", full(untold, neighbor), model.Unresolved, "", false},
		{"unresolved", seenMuted, model.Muted, "muted ", false},
		{"unresolved", closed, model.Fixed, "fixed ", false},
		{"unresolved", leaves, model.StateRemoved, "removed ", false},
		{"unresolved", passes, model.Unresolved, "", false},
		{"muted", seen, model.Unresolved, "unmuted ", false},
		{"muted", seenMuted, model.Muted, "", false},
		{"muted", closed, model.Fixed, "fixed ", false},
		{"muted", leaves, model.StateRemoved, "removed ", false},
		{"muted", passes, model.Muted, "", false},
		{"fixed", seen, model.Unresolved, "returned ", true},
		{"fixed", seenMuted, model.Muted, "returned muted ", true},
		{"fixed", passes, model.Fixed, "", false},
		{"fixed", leaves, model.Fixed, "", false},
		{"removed", seen, model.Unresolved, "returned ", true},
		{"removed", seenMuted, model.Muted, "returned muted ", true},
		{"removed", passes, model.StateRemoved, "", false},
	} {
		m := newMemory()
		for _, u := range states[c.from] {
			apply(t, m, u)
		}
		events := len(m.events)
		apply(t, m, c.scan)
		for _, f := range m.rows {
			if f.Path != "a.py" {
				continue
			}
			got := ""
			for _, e := range m.events[events:] {
				got += string(e.Kind) + " "
			}
			if now := f.RelevantSince.Equal(m.clock); f.State != c.to || got != c.events || now != c.now {
				t.Errorf("%s: %s, events %q, now %v; want %+v", c.from, f.State, got, now, c)
			}
		}
	}
}
