package ingest

import (
	"testing"

	"github.com/redoubt/redoubt"
)

// TestTransitions is the table of docs/life-of-a-finding.md but for deleted refs, which the
// store removes.
func TestTransitions(t *testing.T) {
	a, beside := matched("a.py", 1, "x"), matched("b.py", 1, "y")
	muted := with(a, func(r *redoubt.Result) { r.Muted = true })
	untold := with(a, func(r *redoubt.Result) { r.PatternHash = "" })
	leaves := upload(full(beside), func(u *Upload) { u.OutOfPolicy = func(_, path string) bool { return path == "a.py" } })
	passes := upload(full(beside), func(u *Upload) { u.Report.Skipped = []string{"a.py"} })
	seen, seenMuted, closed := full(a, beside), full(muted, beside), full(beside)
	states := map[string][]Upload{
		"none": {closed}, "unresolved": {seen}, "muted": {seenMuted}, "fixed": {seen, closed}, "removed": {seen, leaves},
	}
	for _, c := range []struct {
		from   string
		scan   Upload
		to     redoubt.State
		events string
		now    bool
	}{
		{"none", seen, redoubt.Unresolved, "", true},
		{"none", seenMuted, redoubt.Muted, "", true},
		{"unresolved", seen, redoubt.Unresolved, "", false},
		{"unresolved", full(untold, beside), redoubt.Unresolved, "", false},
		{"unresolved", seenMuted, redoubt.Muted, "muted ", false},
		{"unresolved", closed, redoubt.Fixed, "fixed ", false},
		{"unresolved", leaves, redoubt.StateRemoved, "removed ", false},
		{"unresolved", passes, redoubt.Unresolved, "", false},
		{"muted", seen, redoubt.Unresolved, "unmuted ", false},
		{"muted", seenMuted, redoubt.Muted, "", false},
		{"muted", closed, redoubt.Fixed, "fixed ", false},
		{"muted", leaves, redoubt.StateRemoved, "removed ", false},
		{"muted", passes, redoubt.Muted, "", false},
		{"fixed", seen, redoubt.Unresolved, "returned ", true},
		{"fixed", seenMuted, redoubt.Muted, "returned muted ", true},
		{"fixed", passes, redoubt.Fixed, "", false},
		{"fixed", leaves, redoubt.Fixed, "", false},
		{"removed", seen, redoubt.Unresolved, "returned ", true},
		{"removed", seenMuted, redoubt.Muted, "returned muted ", true},
		{"removed", passes, redoubt.StateRemoved, "", false},
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
