package ingest

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestRecordedUploadUsesOwnLockfiles rescans an old commit with an affected lockfile.
// The match is in the summary for the gate and is not stored, unless another source reports it.
func TestRecordedUploadUsesOwnLockfiles(t *testing.T) {
	own := model.Result{
		Rule: &model.Rule{Name: "r", IssueType: model.SCA}, Path: "a.lock",
		Dependency: &model.Vulnerable{Ecosystem: "npm", Package: "a", Version: "1", Lockfile: "a.lock", Vulnerability: "cve-2024-1"},
	}
	other := own
	other.Dependency = &model.Vulnerable{Ecosystem: "npm", Package: "a", Version: "1", Lockfile: "b.lock", Vulnerability: "CVE-2024-1"}
	twin := func(source string, state model.State) []model.Subject {
		return []model.Subject{{FindingID: 9, Source: source, State: state}}
	}
	for name, c := range map[string]struct {
		twins   []model.Subject
		results []model.Result
		want    int
	}{
		"no decision":                       {nil, nil, 1},
		"the report says it":                {nil, []model.Result{own}, 0},
		"the report says it of another":     {nil, []model.Result{other}, 1},
		"another source has it":             {twin("semgrep", model.Unresolved), nil, 0},
		"another source has it muted":       {twin("semgrep", model.Muted), nil, 0},
		"another source had it":             {twin("semgrep", model.Fixed), nil, 1},
		"the source has it by a later scan": {twin("inventory", model.Unresolved), nil, 1},
	} {
		t.Run(name, func(t *testing.T) {
			f := newFollowed()
			upload := func(commit, version string, results []model.Result) Summary {
				t.Helper()
				u := asking(followedProject, func(_ context.Context, id int64, ref string, stated []model.Holding) (model.Advised, error) {
					if stated == nil {
						return model.Advised{ProjectID: id, Ref: ref}, nil
					}
					if len(stated) != 1 || stated[0].Lockfile != "a.lock" || stated[0].Dependencies[0].Version != version || stated[0].Commit != commit {
						t.Errorf("asked about %+v", stated)
					}
					advised := advisedMatch(id, ref)
					advised.Matches[0].IDs, advised.Twins = []string{"CVE-2024-1", "GHSA-1"}, [][]model.Subject{c.twins}
					return advised, nil
				})
				u.Commit, u.Report.Inventories[0].Dependencies[0].Version, u.Report.Results = commit, version, results
				sum, err := Apply(t.Context(), f, f, u)
				if err != nil {
					t.Fatal(err)
				}
				return sum
			}
			upload("c1", "1", nil)
			upload("c2", "2", nil)
			sum := upload("c1", "1", c.results)
			if sum.Outcome != model.ScanSuperseded || len(sum.Advised) != c.want || len(f.rows) != 0 {
				t.Errorf("%v tells %d for the gate, and %d are stored", sum.Outcome, len(sum.Advised), len(f.rows))
			}
			if c.want == 1 && sum.Advised[0].Finding.RuleName != "CVE-2024-1" {
				t.Errorf("it tells %+v", sum.Advised[0].Finding)
			}
		})
	}
}
