package ingest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
)

// calls returns the matches of a pattern without metavariables in one file, numbered from the top
// as the scanner does.
func calls(codes ...string) (out []model.Result) {
	for i, code := range codes {
		r := result(eqeq, "a.js", 1+i, "")
		r.MatchBasedID, r.CodeHash, r.PatternHash = fmt.Sprint("eval_", i), code, "eval(...)"
		out = append(out, r)
	}
	return out
}

// TestReorderedMatchesDoNotHideNewCode adds, removes, moves and swaps matches that the scanner distinguishes
// by order only. New code must be undecided, and a decision must stay with its code.
func TestReorderedMatchesDoNotHideNewCode(t *testing.T) {
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
			m.lineages[row.LineageID].Triage = model.Triage{State: model.TriageIgnored}
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
			got, want := map[string]model.TriageState{}, map[string]model.TriageState{}
			for _, row := range m.rows {
				if row.Ref == model.FullRef(ref) && live(row.State) {
					code := file[row.Line-1]
					got[code] = m.lineages[row.LineageID].Triage.State
					if ref == "main" && decided[code] != 0 && row.ID != decided[code] {
						t.Fatalf("%q is finding %d, and was %d", code, row.ID, decided[code])
					}
				}
			}
			for _, code := range file {
				want[code] = model.TriageUntriaged
				if decided[code] != 0 {
					want[code] = model.TriageIgnored
				}
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Fatalf("decisions by code (-want +got):\n%s", diff)
			}
		}
	})
}

// TestEditWithinLongMatch checks that a long match is the same finding while its first and last
// line are unchanged. Another formula group is another finding.
func TestEditWithinLongMatch(t *testing.T) {
	long := func(code, start string) model.Result {
		r := calls(code)[0]
		r.Location.EndLine, r.StartHash, r.EndHash = r.Location.Line+4, start, "}"
		return r
	}
	for name, test := range map[string]struct {
		now           model.Result
		new, retained int
	}{
		"edited within":  {long("y", "f {"), 0, 1},
		"another start":  {long("y", "g {"), 1, 0},
		"one line only":  {calls("y")[0], 1, 0},
		"another group":  {func() model.Result { r := long("y", "f {"); r.MatchBasedID = "exec_0"; return r }(), 1, 0},
		"nothing edited": {long("x", "f {"), 0, 1},
	} {
		m := newMemory()
		apply(t, m, full(long("x", "f {")))
		m.tick(1e9)
		if sum := apply(t, m, upload(full(test.now), func(u *Upload) { u.Commit = "c2" })); sum.New != test.new || sum.Changed+sum.Unchanged != test.retained {
			t.Errorf("%s: %+v", name, sum)
		}
	}
}

// TestMoveBeforeFirstBranchScan checks code that the first scan of a branch finds in another
// file than the primary branch. It has no decision, because it may be new. Moved code joins its
// lineage once the primary branch has the move; equal code never does.
func TestMoveBeforeFirstBranchScan(t *testing.T) {
	at := func(path string) model.Result {
		r := calls("x")[0]
		r.Path, r.MatchBasedID = path, path+"_0"
		return r
	}
	for _, complete := range []bool{true, false} {
		for name, test := range map[string]struct {
			merged []model.Result               // final results of main
			want   map[string]model.TriageState // on all refs, by path
		}{
			"a move":          {[]model.Result{at("lib/app/a.js")}, map[string]model.TriageState{"lib/app/a.js": model.TriageIgnored}},
			"code of its own": {[]model.Result{at("app/a.js"), at("lib/app/a.js")}, map[string]model.TriageState{"app/a.js": model.TriageIgnored, "lib/app/a.js": model.TriageUntriaged}},
		} {
			t.Run(fmt.Sprint(name, ", full ", complete), func(t *testing.T) {
				m := newMemory()
				decided := apply(t, m, full(at("app/a.js"))).Items[0].FindingID
				for _, l := range m.lineages {
					l.Triage = model.Triage{State: model.TriageIgnored}
				}
				m.tick(1e9)
				sum := apply(t, m, upload(full(at("lib/app/a.js")), func(u *Upload) { u.Ref, u.Full, u.DeclaredFull = "dev", complete, complete }))
				if row := m.rows[sum.Items[0].FindingID]; sum.New != 1 || m.lineages[row.LineageID].Triage.State != model.TriageUntriaged {
					t.Fatalf("on the branch: %+v, %s", sum, m.lineages[row.LineageID].Triage.State)
				}
				m.tick(1e9)
				apply(t, m, full(test.merged...))
				got := map[string]model.TriageState{}
				for _, row := range m.rows {
					state := m.lineages[row.LineageID].Triage.State
					if got[row.Path] != 0 && got[row.Path] != state {
						t.Errorf("%s is %s and %s", row.Path, got[row.Path], state)
					}
					got[row.Path] = state
				}
				if diff := cmp.Diff(test.want, got); diff != "" || m.rows[decided].State != model.Unresolved {
					t.Errorf("after the merge (-want +got)\n%s", diff)
				}
			})
		}
	}
}
