package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// racer runs scans of one project with blocking rules.
type racer struct {
	*wire
	n int
}

func newRacer(w *world) *racer {
	r := &racer{wire: &wire{world: w, t: w.T, name: "acme/race", first: "acme/race", number: 1}}
	r.serve()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		for _, p := range policies {
			if _, setting := tx.SetRuleMode(ctx, p.ID, "r1", model.ModeBlock); setting != nil && p.Product == model.SAST {
				err = setting
			}
		}
		return err
	})
	return r
}

// raced is a running scan.
type raced struct {
	path   string
	upload wireUpload
}

func (r *racer) run(ref, commit string, full bool, codes ...string) raced {
	r.clock.Advance(time.Second)
	r.n++
	u := wireUpload{Ref: ref, Commit: commit, Full: full}
	tree := wireTree{pattern: "p"}
	for i, code := range codes {
		tree.items = append(tree.items, wireItem{"r1", "a.py", code, i + 1, false})
	}
	u.Report = &model.Report{Tool: "semgrep", RulesRun: wireRules, Searched: wirePaths, Results: tree.results(true, true)}
	path, _ := r.start(u, fmt.Sprint("race", r.n))
	return raced{path, u}
}

// end completes a scan and returns the scanner's warnings and the response.
func (r *racer) end(s raced) (warnings, answer string) {
	r.clock.Advance(time.Second)
	warnings = r.post(s.path+"results", resultsBody(s.upload))
	return warnings, r.post(s.path+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{}, "dependencies": map[string]any{}})
}

// TestOlderScanEndingLast runs two scans of one ref concurrently. The older one must be marked as
// not counting, in its response and in lists. Its commit must still be judged, because the branch
// may be reset to it and merged.
func TestOlderScanEndingLast(t *testing.T) {
	each(t, func(w *world) {
		for _, full := range []bool{true, false} {
			r := newRacer(w)
			name, number := fmt.Sprintf("acme/race-%v", full), map[bool]int{true: 11, false: 12}[full]
			r.name, r.first, r.number, r.n = name, name, number, number*100
			r.end(r.run("main", "c0", true))
			older := r.run("dev", "c1", full, "x == x", "y == y")
			newer := r.run("dev", "c2", full, "z == z")
			if _, answer := r.end(newer); !strings.Contains(answer, "app_block_override") {
				w.Errorf("full %v: the newer scan is answered %s", full, answer)
			}
			before, _ := w.code("dev")
			warnings, answer := r.end(older)
			if !strings.Contains(warnings, "A later scan") {
				w.Errorf("full %v: the scanner prints %s", full, warnings)
			}
			if !strings.Contains(answer, "app_block_override") || !strings.Contains(answer, `"scan_outcome":"late"`) || !strings.Contains(answer, `"success":true`) {
				w.Errorf("full %v: the older scan is answered %s", full, answer)
			}
			after, _ := w.code("dev")
			w.same("findings", before, after)
			var outcomes []string
			for _, s := range w.scans()[:3] { // newest start first
				outcomes = append(outcomes, s.Commit+" "+s.Outcome)
			}
			w.same("the search of scans", []string{"c2 ", "c1 late", "c0 "}, outcomes)
		}
	})
}

// TestRescanOfOldCommit scans a commit with later scans. On a branch it must be judged; on the primary
// branch it must not fail the build.
func TestRescanOfOldCommit(t *testing.T) {
	each(t, func(w *world) {
		r := newRacer(w)
		r.end(r.run("main", "c0", true))
		for ref, blocks := range map[string]bool{"dev": true, "main": false} {
			r.end(r.run(ref, "a"+ref, true, "x == x"))
			r.end(r.run(ref, "b"+ref, true))
			warnings, answer := r.end(r.run(ref, "a"+ref, true, "x == x"))
			if !strings.Contains(warnings, "Newer commits") || !strings.Contains(answer, `"scan_outcome":"superseded"`) {
				w.Errorf("%s: the scanner receives %s and %s", ref, warnings, answer)
			}
			if strings.Contains(answer, "app_block_override") != blocks {
				w.Errorf("%s: %s", ref, answer)
			}
			w.same("the search", "superseded", w.scans()[0].Outcome)
		}
	})
}

// TestLateImport imports a report that started before the newest one, as from a machine with a slow
// clock. On a branch it must be judged; on the primary branch it must not fail the build.
func TestLateImport(t *testing.T) {
	each(t, func(w *world) {
		r := newRacer(w)
		r.end(r.run("main", "c0", true))
		r.end(r.run("dev", "c1", true))
		u := r.run("dev", "c2", true, "x == x").upload
		early := w.clock.Now().Add(-time.Hour).Format(time.RFC3339)
		answer, err := w.client().ImportReport(w.Context(), "acme", api.ImportQuery{
			Project: r.name, Ref: "dev", At: early,
		}, strings.NewReader(string(jsonBody(u))))
		if err != nil || answer.Imports[0].Outcome != "late" || !answer.Gate.Blocked {
			w.Errorf("%+v, %v", answer, err)
		}
		u = r.run("main", "c3", true, "x == x").upload
		answer, err = w.client().ImportReport(w.Context(), "acme", api.ImportQuery{
			Project: r.name, Ref: "main", At: early,
		}, strings.NewReader(string(jsonBody(u))))
		if err != nil || answer.Imports[0].Outcome != "late" || answer.Gate.Blocked {
			w.Errorf("on main: %+v, %v", answer, err)
		}
	})
}

// TestRunOutcome requests the scan of a run while another scan of the ref ends.
func TestRunOutcome(t *testing.T) {
	w := newWorld(t, "sqlite")
	r := newRacer(w)
	r.end(r.run("main", "c0", true))
	w.userAgent = "Semgrep/1.180.0 (command/ci) (redoubt-ci/Abcdefgh1234)"
	older := r.run("dev", "c1", true, "x == x")
	w.userAgent = ""
	r.end(r.run("dev", "c2", true, "y == y"))
	r.end(older)
	var out struct {
		Commit  string             `json:"commit"`
		Outcome api.ImportResponse `json:"outcome"`
	}
	for run, want := range map[string]string{"Abcdefgh1234": "c1 late true", "": "c2 applied true", "unknown0": "c2 applied true"} {
		w.decode([]byte(w.ok("GET", "/api/agent/scans/outcome?project=acme/race&ref=dev&run="+run, nil)), &out)
		w.same("the outcome of "+run, want, fmt.Sprint(out.Commit, " ", out.Outcome.Imports[0].Outcome, " ", out.Outcome.Gate.Blocked))
	}
}
