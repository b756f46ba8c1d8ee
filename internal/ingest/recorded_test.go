package ingest

import (
	"encoding/json"
	"os"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// recorded reads an upload of semgrep ci 1.180.0.
func recorded(t *testing.T, name string) *model.Report {
	t.Helper()
	type finding struct {
		Rule         string `json:"check_id"`
		Path         string `json:"path"`
		Line         int    `json:"line"`
		MatchBasedID string `json:"match_based_id"`
		Hashes       struct {
			Code    string `json:"code_hash"`
			Pattern string `json:"pattern_hash"`
		} `json:"hashes"`
		SCA *struct {
			Match struct {
				Found struct {
					Package, Version, Ecosystem string
				} `json:"found_dependency"`
				Lockfile string
			} `json:"dependency_match"`
		} `json:"sca_info"`
	}
	var sent struct {
		Findings []finding `json:"findings"`
		Ignores  []finding `json:"ignores"`
		Searched []string  `json:"searched_paths"`
		Skipped  []string  `json:"skipped_paths"`
		Rules    []string  `json:"rule_ids"`
	}
	data, err := os.ReadFile("testdata/" + name + ".json")
	if err != nil {
		t.Fatal(err)
	}
	if err := json.Unmarshal(data, &sent); err != nil {
		t.Fatal(err)
	}
	report := &model.Report{Tool: "semgrep", RulesRun: sent.Rules, Searched: sent.Searched, Skipped: sent.Skipped}
	for i, f := range append(sent.Findings, sent.Ignores...) {
		r := model.Result{
			Rule: &model.Rule{Name: f.Rule, IssueType: model.SAST}, Path: f.Path, Location: model.Location{Line: f.Line},
			MatchBasedID: f.MatchBasedID, CodeHash: f.Hashes.Code, PatternHash: f.Hashes.Pattern, Muted: i >= len(sent.Findings),
		}
		if f.SCA != nil {
			found := f.SCA.Match.Found
			r.Dependency = &model.Vulnerable{Ecosystem: found.Ecosystem, Package: found.Package, Version: found.Version, Lockfile: f.SCA.Match.Lockfile}
		}
		report.Results = append(report.Results, r)
	}
	return report
}

// TestRecordedRun scans a branch with an additional finding, and then a commit on main. That commit
// fixes one finding, upgrades a dependency and moves the file of the others.
func TestRecordedRun(t *testing.T) {
	m := newMemory()
	send := func(name, ref string, full bool) map[ItemChange][]string {
		sum := apply(t, m, Upload{Project: model.Project{Name: "acme/payments"}, Ref: ref, Commit: name, Full: full, Report: recorded(t, name)})
		out := map[ItemChange][]string{}
		for _, item := range sum.Items {
			out[item.Change] = append(out[item.Change], item.Rule+" "+item.Path)
		}
		return out
	}
	send("full", "main", true)
	want := map[ItemChange][]string{ItemNew: {"eqeq service.py"}}
	if diff := cmp.Diff(want, send("diff", "feature", false)); diff != "" {
		t.Errorf("on the branch (-want +got):\n%s", diff)
	}
	want = map[ItemChange][]string{
		ItemMoved:  {"taint-x core.py", "sca-reach core.py", "eqeq core.py"},
		ItemClosed: {"eqeq app.py", "sca-probe requirements.txt"},
	}
	if diff := cmp.Diff(want, send("after-fix", "main", true)); diff != "" {
		t.Errorf("after the fix (-want +got):\n%s", diff)
	}
}
