package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
)

// bench is a GateStorage in memory. Each identity has its own lineage.
type bench struct {
	policies  []model.Policy
	blocking  []model.PolicyRule
	started   time.Time                  // start of the last full scan of each ref
	findings  map[string][]model.Finding // by ref and source
	triage    map[model.Identity]model.TriageState
	served    []model.ServedRule
	notes     map[int64]model.Annotations // by lineage
	facts     map[int64]model.SupplyFacts // by finding
	exploited []string
	broken    string           // the method that fails
	requested []model.Identity // identities passed to Occurrences
	supplied  []int64          // findings passed to SupplyFacts
	supplies  int              // number of calls of SupplyFacts
	last      int64            // scan of the primary branch
	inPart    map[int64]bool   // scans that were parsed partially
	fixed     map[int64][]model.Finding
}

var errBench = errors.New("the bench is broken")

func (b *bench) fault(method string) error {
	if b.broken == method {
		return errBench
	}
	return nil
}

func (b *bench) Policies(context.Context) ([]model.Policy, error) { return b.policies, nil }

func (b *bench) ServedRules(context.Context) ([]model.ServedRule, error) { return b.served, nil }

func (b *bench) BlockingRules(context.Context) ([]model.PolicyRule, error) { return b.blocking, nil }

// Now returns a time long after all others, so that findings exceed all grace periods.
func (b *bench) Now() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (b *bench) SupplyFacts(_ context.Context, ids []int64) (map[int64]model.SupplyFacts, error) {
	b.supplied, b.supplies = append(b.supplied, ids...), b.supplies+1
	return b.facts, b.fault("facts")
}

func (b *bench) ExploitedNamed(_ context.Context, names []string) (map[string]bool, error) {
	out := map[string]bool{}
	for _, name := range names {
		out[name] = slices.Contains(b.exploited, name)
	}
	return out, b.fault("exploited")
}

func (b *bench) Stream(context.Context, int64, string, string, string) (model.ScanStream, error) {
	return model.ScanStream{LastScanID: b.last, LastFullStart: b.started, Complete: !b.started.IsZero()}, nil
}

func (b *bench) UnresolvedFindings(ctx context.Context, project int64, ref, source string) ([]model.Finding, error) {
	return b.OpenFindings(ctx, project, ref, source)
}

func (b *bench) OpenFindings(_ context.Context, _ int64, ref, source string) (open []model.Finding, err error) {
	for _, f := range b.findings[ref+" "+source] {
		if f.State == model.Unresolved {
			open = append(open, f)
		}
	}
	return open, nil
}

func (b *bench) Occurrences(_ context.Context, _ int64, ref, source string, ids []model.Identity) (map[model.Identity]model.Finding, error) {
	b.requested = append(b.requested, ids...)
	found := map[model.Identity]model.Finding{}
	for _, f := range b.findings[ref+" "+source] {
		if slices.Contains(ids, f.Identity) {
			found[f.Identity] = model.Finding{ID: f.ID, Identity: f.Identity, LineageID: f.LineageID, RelevantSince: f.RelevantSince, State: f.State}
		}
	}
	return found, nil
}

func (b *bench) ParsedInPart(_ context.Context, scans []int64) (map[int64]bool, error) {
	out := map[int64]bool{}
	for _, id := range scans {
		out[id] = b.inPart[id]
	}
	return out, b.fault("parsed")
}

func (b *bench) FixedFindings(context.Context, int64, string, string, []model.Identity) (map[int64][]model.Finding, error) {
	return b.fixed, b.fault("fixed")
}

func (b *bench) LineagesOfFindings(_ context.Context, _ int64, ids []int64) (map[int64]int64, error) {
	out := map[int64]int64{}
	for _, list := range b.findings {
		for _, f := range list {
			if slices.Contains(ids, f.ID) {
				out[f.ID] = f.LineageID
			}
		}
	}
	return out, b.fault("lineages of findings")
}

func (b *bench) Lineages(_ context.Context, ids []int64) (map[int64]model.Lineage, error) {
	out := map[int64]model.Lineage{}
	for _, id := range ids {
		out[id] = model.Lineage{ID: id, Annotations: b.notes[id], Triage: model.Triage{State: b.triage[model.Identity{Hash: model.Digest{byte(id)}}]}}
	}
	return out, nil
}

func (b *bench) LineagesOf(_ context.Context, _ int64, ids []model.Identity) (map[model.Identity]model.Lineage, error) {
	out := map[model.Identity]model.Lineage{}
	for _, id := range ids {
		out[id] = model.Lineage{ID: int64(id.Hash[0]), Annotations: b.notes[int64(id.Hash[0])], Triage: model.Triage{State: b.triage[id]}}
	}
	return out, nil
}

// TestJudge checks the comparison of a branch's scan with the previous state of the primary branch.
// It covers findings of its own source and of advisories, and served and unserved rules
// (docs/reference/policies.md).
func TestJudge(t *testing.T) {
	finding := func(n byte, rule string, change func(*model.Finding)) model.Finding {
		f := model.Finding{ID: int64(n) + 100, Identity: model.Identity{Hash: model.Digest{n}}, LineageID: int64(n), RuleName: rule, Path: "p", State: model.Unresolved, IssueType: model.SAST}
		if change != nil {
			change(&f)
		}
		return f
	}
	malicious := func(f *model.Finding) {
		f.IssueType, f.Reachability, f.Malicious = model.SCA, model.AlwaysReachable, true
	}
	unknown := func(f *model.Finding) { f.IssueType, f.Reachability = model.SCA, model.ReachabilityUnknown }
	const main, topic = "refs/heads/main", "refs/heads/topic"
	rule := func(policyID int64, name string) model.PolicyRule {
		return model.PolicyRule{PolicyID: policyID, Mode: model.ModeBlock, Rule: model.Rule{Name: name}}
	}
	for _, c := range []struct {
		name   string
		change func(*bench, *model.Scan)
		want   []int64
	}{
		{"new on a branch", nil, []int64{101}},
		{"main has it", func(b *bench, _ *model.Scan) { b.findings[main+" gosec"] = []model.Finding{finding(1, "r", nil)} }, nil},
		{"main has it muted", func(b *bench, _ *model.Scan) {
			b.findings[main+" gosec"] = []model.Finding{finding(1, "r", func(f *model.Finding) { f.State = model.Muted })}
		}, []int64{101}},
		{"main had it", func(b *bench, _ *model.Scan) {
			b.findings[main+" gosec"] = []model.Finding{finding(1, "r", func(f *model.Finding) { f.State = model.Fixed })}
		}, []int64{101}},
		{"ignored", func(b *bench, _ *model.Scan) {
			b.triage[model.Identity{Hash: model.Digest{1}}] = model.TriageIgnored
		}, nil},
		{"the first scan of main", func(b *bench, s *model.Scan) {
			s.Ref, b.started = main, time.Time{}
			b.findings[main+" gosec"] = nil
		}, nil},
		{"the rule blocks elsewhere", func(b *bench, _ *model.Scan) { b.blocking = []model.PolicyRule{rule(2, "r")} }, nil},
		{"by an advisory", func(b *bench, _ *model.Scan) {
			b.findings[topic+" "+model.SourceAdvisories] = []model.Finding{finding(2, "MAL-1", malicious), finding(3, "CVE-1", unknown), finding(4, "other", malicious)}
		}, []int64{101, 102}},
		{"by an advisory that main knows", func(b *bench, _ *model.Scan) {
			b.findings[topic+" "+model.SourceAdvisories] = []model.Finding{finding(2, "MAL-1", malicious)}
			b.findings[main+" "+model.SourceAdvisories] = []model.Finding{finding(2, "MAL-1", malicious)}
		}, []int64{101}},
		{"by an advisory, of a scan without supply chain", func(b *bench, s *model.Scan) {
			s.Products = model.Products(0).With(model.SAST)
			b.findings[topic+" "+model.SourceAdvisories] = []model.Finding{finding(2, "MAL-1", malicious)}
		}, []int64{101}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{
				policies: []model.Policy{{ID: 1}, {ID: 2, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"other/*"}}}},
				blocking: []model.PolicyRule{rule(1, "r"), rule(1, "MAL-1"), rule(1, "CVE-1")},
				started:  time.Unix(1, 0), triage: map[model.Identity]model.TriageState{},
				findings: map[string][]model.Finding{topic + " gosec": {finding(1, "r", nil), finding(9, "monitored", nil)}},
			}
			scan := model.Scan{Ref: topic, Source: "gosec", Full: true, Products: model.Products(0).With(model.SAST).With(model.SCA)}
			if c.change != nil {
				c.change(b, &scan)
			}
			if scan.Ref == main {
				b.findings[main+" gosec"] = nil
			}
			project := model.Project{ID: 1, Name: "acme/app", DefaultBranch: main}
			given, err := policy.LoadEffectivePolicy(t.Context(), b, project)
			if err != nil {
				t.Fatal(err)
			}
			reported := finding(1, "r", func(f *model.Finding) { f.ID = 0 })
			judge, err := given.Judge(t.Context(), b, project, scan, []policy.Sighting{{Finding: reported}})
			if err != nil {
				t.Fatal(err)
			}
			verdict, err := judge.Outcome(t.Context(), model.ScanApplied)
			var got []int64
			for _, s := range verdict.Blocking {
				got = append(got, s.Finding.ID)
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) || (verdict.Reason != "") != (len(c.want) > 0) {
				t.Errorf("%v block, want %v: %q, %v", got, c.want, verdict.Reason, err)
			}
			if slices.Contains(b.requested, model.Identity{Hash: model.Digest{9}}) {
				t.Error("it reads a finding that no policy would fail a build on")
			}
		})
	}
}
