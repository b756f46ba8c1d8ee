package policy_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// TestReevaluate checks that a scan is evaluated like a repetition: with the current triage,
// policies and primary branch.
func TestReevaluate(t *testing.T) {
	const main, topic = "refs/heads/main", "refs/heads/topic"
	finding := func(n byte, rule string) model.Finding {
		return model.Finding{ID: int64(n) + 100, Identity: model.Identity{Hash: model.Digest{n}}, LineageID: int64(n), RuleName: rule, Path: "src/p", Line: int(n), State: model.Unresolved, IssueType: model.SAST, Severity: model.SeverityHigh}
	}
	ignore := func(b *bench, n byte) {
		b.triage[model.Identity{Hash: model.Digest{n}}] = model.TriageIgnored
	}
	for _, c := range []struct {
		name   string
		change func(*bench)
		want   []int64
	}{
		{"nothing happened", nil, []int64{101, 102}},
		{"one ignored", func(b *bench) { ignore(b, 1) }, []int64{102}},
		{"all ignored", func(b *bench) { ignore(b, 1); ignore(b, 2) }, nil},
		{"the primary branch has one by now", func(b *bench) { b.findings[main+" gosec"] = []model.Finding{finding(1, "r")} }, []int64{102}},
		{"another rule blocks instead", func(b *bench) { b.blocking[0].Rule.Name = "other" }, []int64{103}},
		{"another rule blocks by now", func(b *bench) {
			b.blocking = append(b.blocking, model.PolicyRule{PolicyID: 1, Mode: model.ModeBlock, Rule: model.Rule{Name: "other"}})
		}, []int64{101, 102, 103}},
		{"the path is excluded by now", func(b *bench) {
			b.policies[0].Product, b.policies[0].Excludes = model.SAST, model.PathGlobs{"src/**"}
		}, nil},
		{"fixed by a later scan, which a re-run of the old commit is not", func(b *bench) {
			f := finding(1, "r")
			f.State = model.Fixed
			b.findings[topic+" gosec"][0] = f
		}, []int64{101, 102}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{
				policies: []model.Policy{{ID: 1}},
				blocking: []model.PolicyRule{{PolicyID: 1, Mode: model.ModeBlock, Rule: model.Rule{Name: "r"}}},
				started:  time.Unix(1, 0), triage: map[model.Identity]model.TriageState{},
				findings: map[string][]model.Finding{topic + " gosec": {finding(1, "r"), finding(2, "r"), finding(3, "other")}},
			}
			if c.change != nil {
				c.change(b)
			}
			scan := model.Scan{ID: 7, Ref: topic, Source: "gosec", Products: model.Products(0).With(model.SAST)}
			outcome, err := policy.Reevaluate(t.Context(), b, model.Project{ID: 1, Name: "acme/app", DefaultBranch: main}, scan, b.findings[topic+" gosec"])
			if err != nil {
				t.Fatal(err)
			}
			var got []int64
			if gate := outcome.Record(); gate != nil {
				for _, blocked := range gate.Blocking {
					got = append(got, blocked.FindingID)
					if blocked.PolicyID != 1 || blocked.Path != "src/p" || blocked.Severity != model.SeverityHigh {
						t.Errorf("%+v", blocked)
					}
				}
			}
			for _, id := range c.want {
				if !slices.ContainsFunc(outcome.Judged, func(s policy.Sighting) bool { return s.Finding.ID == id }) {
					t.Errorf("judged are %v", outcome.Judged)
				}
			}
			if fmt.Sprint(got) != fmt.Sprint(c.want) {
				t.Errorf("%v block, want %v", got, c.want)
			}
		})
	}
}
