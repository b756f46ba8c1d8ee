package ingest

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/report"
)

// blindReport is what semgrep writes of calls, one a line from the top, where nobody is
// logged in: neither their code nor an id.
func blindReport(t interface{ Fatal(...any) }, calls []string) *redoubt.Report {
	results := []any{}
	for i, call := range calls {
		results = append(results, map[string]any{
			"check_id": "no-eval", "path": "a.js",
			"start": map[string]any{"line": i + 1, "col": 3, "offset": 100 * i}, "end": map[string]any{"line": i + 1, "col": 3 + len(call), "offset": 100*i + len(call)},
			"extra": map[string]any{"message": "no eval", "metadata": map[string]any{}, "severity": "ERROR", "fingerprint": "requires login", "lines": "requires login"},
		})
	}
	text, err := json.Marshal(map[string]any{"version": "1.180.0", "results": results, "errors": []any{}, "paths": map[string]any{"scanned": []string{"a.js"}}})
	if err != nil {
		t.Fatal(err)
	}
	reports, err := report.Read(strings.NewReader(string(text)), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return reports[0]
}

// blindCalls are the lines of a file, before anybody puts in another.
var blindCalls = []string{"eval(aa)", "eval(bb)", "eval(ccc)", "eval(d)"}

// blindly applies such a report and returns, by their code, what is live on the ref then.
func blindly(t interface{ Fatal(...any) }, m *memory, ref string, full bool, calls []string) map[string]redoubt.FindingWrite {
	m.tick(1e9)
	u := Upload{Project: redoubt.Project{Name: "acme/payments"}, Ref: ref, Full: full, Report: blindReport(t, calls)}
	if _, err := Apply(context.Background(), m, m, u); err != nil {
		t.Fatal(err)
	}
	out := map[string]redoubt.FindingWrite{}
	for _, row := range m.rows {
		if row.Ref == redoubt.FullRef(ref) && live(row.State) && row.SeenByFull == full {
			out[calls[row.Line-1]] = *row
		}
	}
	return out
}

// TestBlindReportsHideNoNewCode puts calls among those that were ignored, in a report that
// tells nothing of their code: what is new is open, whatever it looks like; what has a
// length of its own is who it was.
func TestBlindReportsHideNoNewCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		was := blindly(t, m, "main", true, blindCalls)
		for _, l := range m.lineages {
			l.Triage = redoubt.Triage{State: redoubt.TriageIgnored}
		}
		calls, put := slices.Clone(blindCalls), []string{}
		for i := range rapid.IntRange(1, 4).Draw(t, "new calls") {
			call := fmt.Sprintf("eval(%s%d)", strings.Repeat("x", rapid.IntRange(0, 3).Draw(t, "length")), i)
			calls = slices.Insert(calls, rapid.IntRange(0, len(calls)).Draw(t, "at"), call)
			put = append(put, call)
		}
		ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
		full := ref == "main" || rapid.Bool().Draw(t, "full")
		told := calls
		if !full {
			told = put // a diff scan tells only what its base does not have
		}
		for range rapid.IntRange(1, 2).Draw(t, "scans") {
			now := blindly(t, m, ref, full, told)
			for _, call := range told {
				row, there := now[call]
				state := m.lineages[row.LineageID].Triage.State
				alike := slices.ContainsFunc(put, func(p string) bool { return len(p) == len(call) })
				switch {
				case !there:
					t.Fatalf("%s is nowhere in %q", call, told)
				case slices.Contains(put, call) && state != redoubt.TriageUntriaged:
					t.Fatalf("%s is new in %q on %s and %s", call, told, ref, state)
				case !alike && (state != redoubt.TriageIgnored || ref == "main" && row.ID != was[call].ID):
					t.Fatalf("%s was ignored, and nothing like it is new in %q on %s", call, told, ref)
				}
			}
		}
	})
}

// TestBlindReportsKeepDecisions: as long as there are as many, they are the same ones,
// wherever they stand; a return of their number brings back what was decided.
func TestBlindReportsKeepDecisions(t *testing.T) {
	m := newMemory()
	was := blindly(t, m, "main", true, blindCalls)
	for code, state := range map[string]redoubt.TriageState{"eval(aa)": redoubt.TriageIgnored, "eval(ccc)": redoubt.TriageFixing} {
		m.lineages[was[code].LineageID].Triage = redoubt.Triage{State: state}
	}
	ids := func(of map[string]redoubt.FindingWrite) map[string]int64 {
		out := map[string]int64{}
		for code, row := range of {
			out[code] = row.ID
		}
		return out
	}
	moved := []string{"eval(d)", "eval(aa)", "eval(ccc)", "eval(bb)"}
	if diff := cmp.Diff(ids(was), ids(blindly(t, m, "main", true, moved))); diff != "" {
		t.Errorf("moved about (-was +is)\n%s", diff)
	}
	for code, row := range blindly(t, m, "dev", true, moved) {
		if row.LineageID != was[code].LineageID {
			t.Errorf("%s on another branch is of lineage %d, want %d", code, row.LineageID, was[code].LineageID)
		}
	}
	if now := blindly(t, m, "main", true, append([]string{"eval(zz)"}, blindCalls...)); now["eval(aa)"].ID == was["eval(aa)"].ID || now["eval(ccc)"].ID != was["eval(ccc)"].ID {
		t.Errorf("with one more: %v, before %v", ids(now), ids(was))
	}
	if diff := cmp.Diff(ids(was), ids(blindly(t, m, "main", true, blindCalls))); diff != "" {
		t.Errorf("without it again (-was +is)\n%s", diff)
	}
}

// TestBlindRowsOfBefore: findings that were stored before their count was part of their
// identity are known again where the report has as many.
func TestBlindRowsOfBefore(t *testing.T) {
	for name, test := range map[string]struct {
		calls []string
		kept  int
	}{
		"as many": {blindCalls, 4}, "one more": {append([]string{"eval(zz)"}, blindCalls...), 0}, "one less": {blindCalls[1:], 0},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			blindly(t, m, "main", true, blindCalls)
			sightings, _ := Observe(blindReport(t, blindCalls))
			clear(m.links)
			for i := range sightings {
				for _, row := range m.rows {
					if f := sightings[i].was; row.Identity == sightings[i].Finding.Identity {
						row.Identity = redoubt.NumberedIdentity(f.kind, f.key, f.number)
						m.links[row.Identity] = row.LineageID
						break
					}
				}
			}
			before := len(m.rows)
			now := blindly(t, m, "main", true, test.calls)
			if fresh := len(m.rows) - before; fresh != len(test.calls)-test.kept {
				t.Errorf("%d of %d are new, want %d kept", fresh, len(now), test.kept)
			}
			again := len(m.rows)
			if blindly(t, m, "main", true, test.calls); len(m.rows) != again {
				t.Errorf("the same once more is new")
			}
		})
	}
}
