package ingest

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// TestNewFindingsReferToPrecedent edits decided lines. The new findings inherit nothing. Each
// refers to one old finding, by the latest decision and then the nearest line.
func TestNewFindingsReferToPrecedent(t *testing.T) {
	day := func(n int) time.Time { return time.Date(2026, 5, n, 9, 0, 0, 0, time.UTC) }
	ignored := func(n int) model.Triage {
		return model.Triage{State: model.TriageIgnored, Reason: model.FalsePositive, At: day(n)}
	}
	group := func(results []model.Result) []model.Result {
		for i := range results {
			results[i].MatchBasedID, results[i].PatternHash = "exec_0", "exec_0"
		}
		return results
	}
	for name, test := range map[string]struct {
		triage []model.Triage // of the lines a, b and c
		now    []model.Result
		want   map[int]int // new lines to old ones
	}{
		"edited":              {[]model.Triage{ignored(1), {}, {}}, calls("new", "b", "c"), map[int]int{1: 1}},
		"put above it":        {[]model.Triage{ignored(1), {}, {}}, calls("new", "a", "b", "c"), map[int]int{}},
		"no decision":         {[]model.Triage{{}, {}, {State: model.TriageReopened, At: day(1)}}, calls("new 1", "new 2", "new 3"), map[int]int{}},
		"an exception did":    {[]model.Triage{{State: model.TriageIgnored, Automatic: true, At: day(1)}, {}, {}}, calls("new", "b", "c"), map[int]int{}},
		"a fix in progress":   {[]model.Triage{{}, {State: model.TriageFixing, At: day(1)}, {}}, calls("a", "new", "c"), map[int]int{2: 2}},
		"the latest decision": {[]model.Triage{ignored(1), ignored(3), ignored(2)}, calls("new 1", "new 2", "new 3"), map[int]int{1: 2, 2: 2, 3: 2}},
		"decided in bulk":     {[]model.Triage{ignored(1), ignored(1), ignored(1)}, calls("new 1", "new 2", "new 3", "new 4"), map[int]int{1: 1, 2: 2, 3: 3, 4: 3}},
		"another pattern":     {[]model.Triage{ignored(1), {}, {}}, group(calls("new", "more")), map[int]int{1: 1, 2: 1}},
	} {
		m := newMemory()
		apply(t, m, full(calls("a", "b", "c")...))
		old := map[int64]int{}
		for id, row := range m.rows {
			old[id] = row.Line
			if d := test.triage[row.Line-1]; d.State != 0 {
				m.lineages[row.LineageID].Triage = d
			}
		}
		m.tick(time.Minute)
		apply(t, m, upload(full(test.now...), func(u *Upload) { u.Commit = "c2" }))
		got := map[int]int{}
		for _, e := range m.events {
			if e.Kind != model.EventPrecedent {
				continue
			}
			var p model.Precedent
			if err := json.Unmarshal([]byte(e.Detail), &p); err != nil {
				t.Fatal(err)
			}
			row, before := m.rows[e.FindingID], old[p.FindingID]
			if d := test.triage[before-1]; p.State != d.State.String() || !p.At.Equal(d.At) || (p.Reason != "") != (d.Reason != 0) {
				t.Errorf("%s: the precedent of line %d is %+v", name, row.Line, p)
			}
			if s := m.lineages[row.LineageID].Triage.State; s != model.TriageUntriaged {
				t.Errorf("%s: the new finding of line %d is %s", name, row.Line, s)
			}
			if got[row.Line] != 0 {
				t.Errorf("%s: line %d has two precedents", name, row.Line)
			}
			got[row.Line] = before
		}
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s: lines and those of their precedents (-want +got):\n%s", name, diff)
		}
	}
}
