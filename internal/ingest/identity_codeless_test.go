package ingest

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// codelessReport returns Semgrep's report of calls, one a line, without login. It has neither their
// code nor an id.
func codelessReport(t interface{ Fatal(...any) }, calls []string) *model.Report {
	var results []reporttest.Result
	for i, call := range calls {
		results = append(results, reporttest.Result{
			Rule: "no-eval", Path: "a.js", Line: i + 1, Column: 3, EndColumn: 3 + len(call), Offset: 100 * i, Message: "no eval",
		})
	}
	text := reporttest.SemgrepOf([]string{"a.js"}, results...)
	reports, err := report.Read(bytes.NewReader(text), report.Options{})
	if err != nil {
		t.Fatal(err)
	}
	return reports[0]
}

// originalCalls are the original lines of a file.
var originalCalls = []string{"eval(aa)", "eval(bb)", "eval(ccc)", "eval(d)"}

// blindly applies such a report and returns the live findings of the ref by their code.
func blindly(t interface{ Fatal(...any) }, m *memory, ref string, full bool, calls []string) map[string]model.FindingWrite {
	m.tick(1e9)
	u := Upload{Project: model.Project{Name: "acme/payments"}, Ref: ref, Full: full, Report: codelessReport(t, calls)}
	if _, err := Apply(context.Background(), m, m, u); err != nil {
		t.Fatal(err)
	}
	out := map[string]model.FindingWrite{}
	for _, row := range m.rows {
		if row.Ref == model.FullRef(ref) && live(row.State) && row.SeenByFull == full {
			out[calls[row.Line-1]] = *row
		}
	}
	return out
}

// TestCodelessReportsDoNotHideNewCode inserts calls among ignored ones, in a report without code. New
// calls must be open. Calls of unique length must retain their identity.
func TestCodelessReportsDoNotHideNewCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		was := blindly(t, m, "main", true, originalCalls)
		for _, l := range m.lineages {
			l.Triage = model.Triage{State: model.TriageIgnored}
		}
		calls, put := slices.Clone(originalCalls), []string{}
		for i := range rapid.IntRange(1, 4).Draw(t, "new calls") {
			call := fmt.Sprintf("eval(%s%d)", strings.Repeat("x", rapid.IntRange(0, 3).Draw(t, "length")), i)
			calls = slices.Insert(calls, rapid.IntRange(0, len(calls)).Draw(t, "at"), call)
			put = append(put, call)
		}
		ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
		full := ref == "main" || rapid.Bool().Draw(t, "full")
		reported := calls
		if !full {
			reported = put // a diff scan only reports results that its base does not have
		}
		for range rapid.IntRange(1, 2).Draw(t, "scans") {
			now := blindly(t, m, ref, full, reported)
			for _, call := range reported {
				row, exists := now[call]
				state := m.lineages[row.LineageID].Triage.State
				similar := slices.ContainsFunc(put, func(p string) bool { return len(p) == len(call) })
				switch {
				case !exists:
					t.Fatalf("%s is nowhere in %q", call, reported)
				case slices.Contains(put, call) && state != model.TriageUntriaged:
					t.Fatalf("%s is new in %q on %s and %s", call, reported, ref, state)
				case !similar && (state != model.TriageIgnored || ref == "main" && row.ID != was[call].ID):
					t.Fatalf("%s was ignored, and nothing like it is new in %q on %s", call, reported, ref)
				}
			}
		}
	})
}

// TestCodelessReportsOfEqualCountPreserveDecisions checks that equal numbers of results continue each other at any
// position. A return to an earlier number restores no decisions.
func TestCodelessReportsOfEqualCountPreserveDecisions(t *testing.T) {
	m := newMemory()
	was := blindly(t, m, "main", true, originalCalls)
	for code, state := range map[string]model.TriageState{"eval(aa)": model.TriageIgnored, "eval(ccc)": model.TriageFixing} {
		m.lineages[was[code].LineageID].Triage = model.Triage{State: state}
	}
	ids := func(of map[string]model.FindingWrite) map[string]int64 {
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
	if now := blindly(t, m, "main", true, append([]string{"eval(zz)"}, originalCalls...)); now["eval(aa)"].ID == was["eval(aa)"].ID || now["eval(ccc)"].ID != was["eval(ccc)"].ID {
		t.Errorf("with one more: %v, before %v", ids(now), ids(was))
	}
	now := blindly(t, m, "main", true, originalCalls)
	for _, code := range []string{"eval(aa)", "eval(bb)"} {
		if now[code].ID == was[code].ID || m.lineages[now[code].LineageID].Triage.State != model.TriageUntriaged {
			t.Errorf("without it again, %s is %d, before %v", code, now[code].ID, ids(was))
		}
	}
}

// codelessStep is a scan of calls, with or without their code, followed by decisions.
type codelessStep struct {
	ref      string
	calls    string // one letter each, * if ignored afterwards; eval results have equal lengths except for upper case
	withCode bool
	diff     bool
	want     string // after the scan: its letters, each with * if it is ignored
}

// TestCodelessReportsContinueLiveFindings reports calls with and without their code, on several refs. E
// is never decided on, so it must always be open.
func TestCodelessReportsContinueLiveFindings(t *testing.T) {
	for name, steps := range map[string][]codelessStep{
		"the number comes back, not the code":      {{"main", "a*b*", false, false, "a*b*"}, {"main", "abe", false, false, "abe"}, {"main", "ae", false, false, "ae"}},
		"the number of another ref comes back":     {{"main", "a*b*", false, false, "a*b*"}, {"dev", "abe", false, false, "abe"}, {"dev", "ae", false, false, "ae"}},
		"the primary branch had it once":           {{"main", "a*b*", false, false, "a*b*"}, {"main", "abe", false, false, "abe"}, {"dev", "ae", false, false, "ae"}},
		"the primary branch has it":                {{"main", "a*b*", false, false, "a*b*"}, {"dev", "ab", false, false, "a*b*"}, {"dev", "ab", false, false, "a*b*"}},
		"known by its code between":                {{"main", "ab", true, false, "ab"}, {"main", "a*b*", false, false, "a*b*"}, {"main", "abe", true, false, "a*b*e"}, {"main", "ae", false, false, "ae"}},
		"known by its code, as many":               {{"main", "a*b*", true, false, "a*b*"}, {"main", "ab", false, false, "a*b*"}, {"main", "ab", false, false, "a*b*"}, {"main", "ab", true, false, "a*b*"}},
		"known by its code, one of another length": {{"main", "a*b*", true, false, "a*b*"}, {"main", "aE", false, false, "aE"}},
		"with its code, of another length":         {{"main", "a*b*", false, false, "a*b*"}, {"main", "aE", true, false, "aE"}},
		"told by its code on the branch":           {{"main", "a*b*", false, false, "a*b*"}, {"dev", "abe", true, false, "abe"}, {"dev", "ae", false, false, "ae"}},
		"a diff scan of a name that is used again": {{"main", "", false, false, ""}, {"patch-1", "a*", false, true, "a*"}, {"patch-1", "", false, true, ""}, {"patch-1", "e", false, true, "e"}},
		"diff scans of what stands":                {{"main", "", false, false, ""}, {"patch-1", "a*", false, true, "a*"}, {"patch-1", "a", false, true, "a"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			for i, step := range steps {
				if got := step.apply(t, m); got != step.want {
					t.Fatalf("scan %d is %q, want %q", i+1, got, step.want)
				}
			}
		})
	}
}

// callsOf returns the lines of a file, one for each letter. Lines of upper-case letters are longer.
func callsOf(letters string) (calls []string) {
	for _, letter := range letters {
		call := fmt.Sprintf("eval(%c)", letter)
		if letter < 'a' {
			call = fmt.Sprintf("eval(%c%c)", letter, letter)
		}
		calls = append(calls, call)
	}
	return calls
}

// apply scans the calls and ignores those marked by the step. It returns the resulting states.
func (step codelessStep) apply(t *testing.T, m *memory) (got string) {
	t.Helper()
	letters := strings.ReplaceAll(step.calls, "*", "")
	calls := callsOf(letters)
	r := codelessReport(t, calls)
	for i := range r.Results {
		if step.withCode {
			r.Results[i].Code, r.Results[i].CodeHash = calls[i], calls[i]
		}
	}
	r.Searched, r.RulesRun = []string{"a.js"}, []string{"no-eval"}
	m.tick(1e9)
	u := Upload{Project: model.Project{Name: "acme/payments"}, Ref: step.ref, Full: !step.diff, Report: r}
	if _, err := Apply(t.Context(), m, m, u); err != nil {
		t.Fatal(err)
	}
	state := make([]string, len(letters))
	for _, row := range m.rows {
		if row.Ref != model.FullRef(step.ref) || !live(row.State) || row.SeenByFull == step.diff {
			continue
		}
		letter, triage := letters[row.Line-1:row.Line], &m.lineages[row.LineageID].Triage
		if strings.Contains(step.calls, letter+"*") {
			triage.State = model.TriageIgnored
		}
		if state[row.Line-1] = letter; triage.State == model.TriageIgnored {
			state[row.Line-1] += "*"
		}
	}
	return strings.Join(state, "")
}
