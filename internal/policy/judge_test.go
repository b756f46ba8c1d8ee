package policy_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/policy"
)

// bench is a store with what a judge reads. Each identity is a lineage of its
// own.
type bench struct {
	policies  []redoubt.Policy
	blocking  []redoubt.PolicyRule
	started   time.Time                    // of the last full scan of any ref
	findings  map[string][]redoubt.Finding // by ref and source
	triage    map[redoubt.Identity]redoubt.TriageState
	served    []redoubt.ServedRule
	notes     map[int64]redoubt.Annotations // by lineage
	facts     map[int64]redoubt.SupplyFacts // by finding
	exploited []string
	broken    string             // the method that fails
	asked     []redoubt.Identity // whose occurrences were asked for
	supplied  []int64            // whose facts were asked for
	supplies  int                // how often
	last      int64              // scan of the primary branch
	inPart    map[int64]bool     // scans that could not parse all
	fixed     map[int64][]redoubt.Finding
}

var errBench = errors.New("the bench is broken")

func (b *bench) fault(method string) error {
	if b.broken == method {
		return errBench
	}
	return nil
}

func (b *bench) Policies(context.Context) ([]redoubt.Policy, error) { return b.policies, nil }

func (b *bench) ServedRules(context.Context) ([]redoubt.ServedRule, error) { return b.served, nil }

func (b *bench) BlockingRules(context.Context) ([]redoubt.PolicyRule, error) { return b.blocking, nil }

// Now is long after everything, so that nothing is new by its age.
func (b *bench) Now() time.Time { return time.Date(2030, 1, 1, 0, 0, 0, 0, time.UTC) }

func (b *bench) SupplyFacts(_ context.Context, ids []int64) (map[int64]redoubt.SupplyFacts, error) {
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

func (b *bench) Stream(context.Context, int64, string, string, string) (redoubt.ScanStream, error) {
	return redoubt.ScanStream{LastScanID: b.last, LastFullStart: b.started, Complete: !b.started.IsZero()}, nil
}

func (b *bench) UnresolvedFindings(ctx context.Context, project int64, ref, source string) ([]redoubt.Finding, error) {
	return b.OpenFindings(ctx, project, ref, source)
}

func (b *bench) OpenFindings(_ context.Context, _ int64, ref, source string) (open []redoubt.Finding, err error) {
	for _, f := range b.findings[ref+" "+source] {
		if f.State == redoubt.Unresolved {
			open = append(open, f)
		}
	}
	return open, nil
}

func (b *bench) Occurrences(_ context.Context, _ int64, ref, source string, ids []redoubt.Identity) (map[redoubt.Identity]redoubt.Finding, error) {
	b.asked = append(b.asked, ids...)
	found := map[redoubt.Identity]redoubt.Finding{}
	for _, f := range b.findings[ref+" "+source] {
		if slices.Contains(ids, f.Identity) {
			found[f.Identity] = redoubt.Finding{ID: f.ID, Identity: f.Identity, LineageID: f.LineageID, RelevantSince: f.RelevantSince, State: f.State}
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

func (b *bench) FixedFindings(context.Context, int64, string, string, []redoubt.Identity) (map[int64][]redoubt.Finding, error) {
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

func (b *bench) Lineages(_ context.Context, ids []int64) (map[int64]redoubt.Lineage, error) {
	out := map[int64]redoubt.Lineage{}
	for _, id := range ids {
		out[id] = redoubt.Lineage{ID: id, Annotations: b.notes[id], Triage: redoubt.Triage{State: b.triage[redoubt.Identity{Hash: redoubt.Digest{byte(id)}}]}}
	}
	return out, nil
}

func (b *bench) LineagesOf(_ context.Context, _ int64, ids []redoubt.Identity) (map[redoubt.Identity]redoubt.Lineage, error) {
	out := map[redoubt.Identity]redoubt.Lineage{}
	for _, id := range ids {
		out[id] = redoubt.Lineage{ID: int64(id.Hash[0]), Annotations: b.notes[int64(id.Hash[0])], Triage: redoubt.Triage{State: b.triage[id]}}
	}
	return out, nil
}

// TestJudge holds what a scan of a branch is compared with: the primary branch
// before it, in its own source and among what the advisories say, by rules that
// nobody serves as by others (semantics §10).
func TestJudge(t *testing.T) {
	finding := func(n byte, rule string, change func(*redoubt.Finding)) redoubt.Finding {
		f := redoubt.Finding{ID: int64(n) + 100, Identity: redoubt.Identity{Hash: redoubt.Digest{n}}, LineageID: int64(n), RuleName: rule, Path: "p", State: redoubt.Unresolved, IssueType: redoubt.SAST}
		if change != nil {
			change(&f)
		}
		return f
	}
	malicious := func(f *redoubt.Finding) {
		f.IssueType, f.Reachability, f.Malicious = redoubt.SCA, redoubt.AlwaysReachable, true
	}
	unknown := func(f *redoubt.Finding) { f.IssueType, f.Reachability = redoubt.SCA, redoubt.ReachabilityUnknown }
	const main, topic = "refs/heads/main", "refs/heads/topic"
	rule := func(policyID int64, name string) redoubt.PolicyRule {
		return redoubt.PolicyRule{PolicyID: policyID, Mode: redoubt.ModeBlock, Rule: redoubt.Rule{Name: name}}
	}
	for _, c := range []struct {
		name   string
		change func(*bench, *redoubt.Scan)
		want   []int64
	}{
		{"new on a branch", nil, []int64{101}},
		{"main has it", func(b *bench, _ *redoubt.Scan) { b.findings[main+" gosec"] = []redoubt.Finding{finding(1, "r", nil)} }, nil},
		{"main has it muted", func(b *bench, _ *redoubt.Scan) {
			b.findings[main+" gosec"] = []redoubt.Finding{finding(1, "r", func(f *redoubt.Finding) { f.State = redoubt.Muted })}
		}, []int64{101}},
		{"main had it", func(b *bench, _ *redoubt.Scan) {
			b.findings[main+" gosec"] = []redoubt.Finding{finding(1, "r", func(f *redoubt.Finding) { f.State = redoubt.Fixed })}
		}, []int64{101}},
		{"ignored", func(b *bench, _ *redoubt.Scan) {
			b.triage[redoubt.Identity{Hash: redoubt.Digest{1}}] = redoubt.TriageIgnored
		}, nil},
		{"the first scan of main", func(b *bench, s *redoubt.Scan) {
			s.Ref, b.started = main, time.Time{}
			b.findings[main+" gosec"] = nil
		}, nil},
		{"the rule blocks elsewhere", func(b *bench, _ *redoubt.Scan) { b.blocking = []redoubt.PolicyRule{rule(2, "r")} }, nil},
		{"by an advisory", func(b *bench, _ *redoubt.Scan) {
			b.findings[topic+" "+redoubt.SourceAdvisories] = []redoubt.Finding{finding(2, "MAL-1", malicious), finding(3, "CVE-1", unknown), finding(4, "other", malicious)}
		}, []int64{101, 102}},
		{"by an advisory that main knows", func(b *bench, _ *redoubt.Scan) {
			b.findings[topic+" "+redoubt.SourceAdvisories] = []redoubt.Finding{finding(2, "MAL-1", malicious)}
			b.findings[main+" "+redoubt.SourceAdvisories] = []redoubt.Finding{finding(2, "MAL-1", malicious)}
		}, []int64{101}},
		{"by an advisory, of a scan without supply chain", func(b *bench, s *redoubt.Scan) {
			s.Products = redoubt.Products(0).With(redoubt.SAST)
			b.findings[topic+" "+redoubt.SourceAdvisories] = []redoubt.Finding{finding(2, "MAL-1", malicious)}
		}, []int64{101}},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := &bench{
				policies: []redoubt.Policy{{ID: 1}, {ID: 2, Scope: redoubt.PolicyScope{Projects: redoubt.ProjectGlobs{"other/*"}}}},
				blocking: []redoubt.PolicyRule{rule(1, "r"), rule(1, "MAL-1"), rule(1, "CVE-1")},
				started:  time.Unix(1, 0), triage: map[redoubt.Identity]redoubt.TriageState{},
				findings: map[string][]redoubt.Finding{topic + " gosec": {finding(1, "r", nil), finding(9, "monitored", nil)}},
			}
			scan := redoubt.Scan{Ref: topic, Source: "gosec", Full: true, Products: redoubt.Products(0).With(redoubt.SAST).With(redoubt.SCA)}
			if c.change != nil {
				c.change(b, &scan)
			}
			if scan.Ref == main {
				b.findings[main+" gosec"] = nil
			}
			project := redoubt.Project{ID: 1, Name: "acme/app", DefaultBranch: main}
			given, err := policy.LoadEffectivePolicy(t.Context(), b, project)
			if err != nil {
				t.Fatal(err)
			}
			reported := finding(1, "r", func(f *redoubt.Finding) { f.ID = 0 })
			judge, err := given.Judge(t.Context(), b, project, scan, []policy.Sighting{{Finding: reported}})
			if err != nil {
				t.Fatal(err)
			}
			verdict, err := judge.Outcome(t.Context(), redoubt.ScanApplied)
			var got []int64
			for _, s := range verdict.Blocking {
				got = append(got, s.Finding.ID)
			}
			if err != nil || fmt.Sprint(got) != fmt.Sprint(c.want) || (verdict.Reason != "") != (len(c.want) > 0) {
				t.Errorf("%v block, want %v: %q, %v", got, c.want, verdict.Reason, err)
			}
			if slices.Contains(b.asked, redoubt.Identity{Hash: redoubt.Digest{9}}) {
				t.Error("it reads a finding that no policy would fail a build on")
			}
		})
	}
}
