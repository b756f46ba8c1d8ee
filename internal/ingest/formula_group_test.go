package ingest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
)

// calls are the matches of a pattern without metavariables in one file, which the
// scanner numbers from the top.
func calls(codes ...string) (out []redoubt.Result) {
	for i, code := range codes {
		r := result(eqeq, "a.js", 1+i, "")
		r.MatchBasedID, r.CodeHash, r.PatternHash = fmt.Sprint("eval_", i), code, "eval(...)"
		out = append(out, r)
	}
	return out
}

// Whatever is put in, taken out, moved or swapped among matches that the scanner
// tells apart by their order: new code is new and nobody's decision, and a
// decision stays with its code.
func TestNoOrdinalHidesNewCode(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := newMemory()
		send := func(u Upload) {
			m.tick(1e9)
			if _, err := Apply(t.Context(), m, m, u); err != nil {
				t.Fatal(err)
			}
		}
		main := []string{"a", "b", "c"}
		send(full(calls(main...)...))
		decided := map[string]int64{} // by code: the finding on main
		for _, row := range m.rows {
			m.lineages[row.LineageID].Triage = redoubt.Triage{State: redoubt.TriageIgnored}
			decided[main[row.Line-1]] = row.ID
		}
		files, serial := map[string][]string{"main": main, "dev": main}, 0
		for range rapid.IntRange(1, 8).Draw(t, "scans") {
			ref := rapid.SampledFrom([]string{"main", "dev"}).Draw(t, "ref")
			file := slices.Clone(files[ref])
			for range rapid.IntRange(1, 3).Draw(t, "edits") {
				at := rapid.IntRange(0, len(file)).Draw(t, "at")
				switch edit := rapid.IntRange(0, 3).Draw(t, "edit"); {
				case edit < 2 || len(file) == 0:
					serial++
					file = slices.Insert(file, at, fmt.Sprint("new ", serial))
				case edit == 2:
					file = slices.Delete(file, min(at, len(file)-1), min(at, len(file)-1)+1)
				default:
					i, j := min(at, len(file)-1), rapid.IntRange(0, len(file)-1).Draw(t, "with")
					file[i], file[j] = file[j], file[i]
				}
			}
			files[ref] = file
			send(upload(full(calls(file...)...), func(u *Upload) { u.Ref = ref }))
			got, want := map[string]redoubt.TriageState{}, map[string]redoubt.TriageState{}
			for _, row := range m.rows {
				if row.Ref == redoubt.FullRef(ref) && live(row.State) {
					code := file[row.Line-1]
					got[code] = m.lineages[row.LineageID].Triage.State
					if ref == "main" && decided[code] != 0 && row.ID != decided[code] {
						t.Fatalf("%q is finding %d, and was %d", code, row.ID, decided[code])
					}
				}
			}
			for _, code := range file {
				want[code] = redoubt.TriageUntriaged
				if decided[code] != 0 {
					want[code] = redoubt.TriageIgnored
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("decisions by code (-want +got):\n%s", diff)
			}
		}
	})
}

// An edit within a long match is the same finding as long as its first and last
// line stand, and another formula group is not.
func TestAnEditWithinALongMatch(t *testing.T) {
	long := func(code, start string) redoubt.Result {
		r := calls(code)[0]
		r.Location.EndLine, r.StartHash, r.EndHash = r.Location.Line+4, start, "}"
		return r
	}
	for name, test := range map[string]struct {
		now       redoubt.Result
		new, kept int
	}{
		"edited within":  {long("y", "f {"), 0, 1},
		"another start":  {long("y", "g {"), 1, 0},
		"one line only":  {calls("y")[0], 1, 0},
		"another group":  {func() redoubt.Result { r := long("y", "f {"); r.MatchBasedID = "exec_0"; return r }(), 1, 0},
		"nothing edited": {long("x", "f {"), 0, 1},
	} {
		m := newMemory()
		apply(t, m, full(long("x", "f {")))
		m.tick(1e9)
		if sum := apply(t, m, upload(full(test.now), func(u *Upload) { u.Commit = "c2" })); sum.New != test.new || sum.Changed+sum.Unchanged != test.kept {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

// TestAMoveOnABranchTakesTheDecisionAlong scans a branch in full for the first time, on
// which a file that main has stands under another name.
func TestAMoveOnABranchTakesTheDecisionAlong(t *testing.T) {
	at := func(path string, results ...redoubt.Result) []redoubt.Result {
		for i := range results {
			results[i].Path = path
			results[i].MatchBasedID = path + results[i].MatchBasedID
		}
		return results
	}
	scanned := func(ref string, searched []string, results ...redoubt.Result) Upload {
		return upload(full(results...), func(u *Upload) { u.Ref, u.Report.Searched = ref, searched })
	}
	for name, test := range map[string]struct {
		main, branch []redoubt.Result
		searched     []string // of the branch
		skipped      []string
		before       []redoubt.Result
		want         map[string]redoubt.TriageState // on the branch, by path and code
	}{
		"moved": {
			main: at("a.js", calls("x")...), branch: at("b.js", calls("x")...), searched: []string{"b.js"},
			want: map[string]redoubt.TriageState{"b.js x": redoubt.TriageIgnored},
		},
		"moved, with new code above": {
			main: at("a.js", calls("x")...), branch: at("b.js", calls("evil", "x")...), searched: []string{"b.js"},
			want: map[string]redoubt.TriageState{"b.js evil": redoubt.TriageUntriaged, "b.js x": redoubt.TriageIgnored},
		},
		"copied": {
			main: at("a.js", calls("x")...), branch: append(at("a.js", calls("x")...), at("b.js", calls("x")...)...), searched: []string{"a.js", "b.js"},
			want: map[string]redoubt.TriageState{"a.js x": redoubt.TriageIgnored, "b.js x": redoubt.TriageUntriaged},
		},
		"moved and doubled": {
			main: at("a.js", calls("x")...), branch: append(at("b.js", calls("x")...), at("c.js", calls("x")...)...), searched: []string{"b.js", "c.js"},
			want: map[string]redoubt.TriageState{"b.js x": redoubt.TriageUntriaged, "c.js x": redoubt.TriageUntriaged},
		},
		"its old file was not looked at": {
			main: at("a.js", calls("x")...), branch: at("b.js", calls("x")...), searched: []string{"b.js"}, skipped: []string{"a.js"},
			want: map[string]redoubt.TriageState{"b.js x": redoubt.TriageUntriaged},
		},
		"the branch had it and fixed it": {
			main: at("a.js", calls("x")...), before: at("a.js", calls("x")...), branch: at("b.js", calls("x")...), searched: []string{"b.js"},
			want: map[string]redoubt.TriageState{"b.js x": redoubt.TriageUntriaged},
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			apply(t, m, scanned("main", []string{"a.js"}, test.main...))
			for _, l := range m.lineages {
				l.Triage = redoubt.Triage{State: redoubt.TriageIgnored}
			}
			if test.before != nil {
				m.tick(1e9)
				apply(t, m, scanned("dev", []string{"a.js"}, test.before...))
				m.tick(1e9)
				apply(t, m, scanned("dev", []string{"c.js"}))
			}
			m.tick(1e9)
			last := scanned("dev", test.searched, test.branch...)
			last.Report.Skipped = test.skipped
			apply(t, m, last)
			got := map[string]redoubt.TriageState{}
			for _, row := range m.rows {
				if row.Ref == "refs/heads/dev" && live(row.State) {
					for _, r := range test.branch {
						if r.Path == row.Path && r.Location.Line == row.Line {
							got[r.Path+" "+r.CodeHash] = m.lineages[row.LineageID].Triage.State
						}
					}
				}
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("decisions on the branch (-want +got):\n%s", diff)
			}
		})
	}
}
