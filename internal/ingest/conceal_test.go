package ingest

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/conceal"
	"github.com/redoubt/redoubt/internal/model"
)

// teaching is a reading that declares its rule a secrets rule.
type teaching struct{ reports []*model.Report }

func (r teaching) Reports(func(tool, rule string) bool) []*model.Report { return r.reports }

// taught returns an upload that declares a rule a secrets rule and reports some results as secrets.
// The rule has stored code findings.
func taught(rule string, results ...model.Result) teaching {
	secrets := &model.Rule{Name: rule, IssueType: model.Secrets, Message: "template", SecretType: "Example"}
	for i := range results {
		results[i].Rule = secrets
	}
	return teaching{[]*model.Report{{Tool: "semgrep", Rules: []*model.Rule{secrets}, Results: results}}}
}

// TestSettleRewritesFindings draws findings of a rule and decisions on them. A report then declares
// the rule a secrets rule.
func TestSettleRewritesFindings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
		for range rapid.IntRange(1, 6).Draw(rt, "scans") {
			var results []model.Result
			for line := range rapid.IntRange(0, 5).Draw(rt, "results") {
				code := draw("code", "raw1", "raw2", "raw3")
				r := result(eqeq, draw("path", "a.py", "b.py"), line, code)
				r.CodeHash, r.MatchBasedID = code, fmt.Sprintf("%s %s %d", r.Path, code, line)
				r.Message, r.SyntacticID = "found "+code, "syntactic "+code
				results = append(results, r)
			}
			u := full(results...)
			u.Ref = draw("ref", "main", "topic")
			m.tick(time.Minute)
			if _, err := Apply(t.Context(), m, m, u); err != nil {
				rt.Fatal(err)
			}
		}
		m.decide(rt)
		before := map[int64]model.Finding{}
		lineages := map[int64]model.Lineage{}
		for id, f := range m.rows {
			before[id], lineages[f.LineageID] = f.Finding, *m.lineages[f.LineageID]
		}
		m.tick(time.Minute)
		reports, err := conceal.Resolve(t.Context(), m, taught("eqeq"))
		if err != nil || len(reports) != 1 || !m.secretRules[model.SecretRule{Tool: "semgrep", Name: "eqeq"}] {
			rt.Fatalf("%d reports, %v, %v", len(reports), m.secretRules, err)
		}
		m.checkConcealed(rt)
		if len(m.rows) != len(before) {
			rt.Fatalf("%d rows were %d", len(m.rows), len(before))
		}
		for id, f := range m.rows {
			want := before[id]
			want.IssueType, want.SecretType, want.ValidationState = model.Secrets, "Example", model.NoValidator
			want.Identity, want.RuleID = f.Identity, f.RuleID
			want.CodeHash, want.PatternHash, want.EdgeHash, want.Content = model.Digest{}, model.Digest{}, model.Digest{}, model.Digest{}
			if diff := gocmp.Diff(want, f.Finding); diff != "" {
				rt.Fatalf("finding %d (-want +got):\n%s", id, diff)
			}
			if m.links[f.Identity] != f.LineageID {
				rt.Fatalf("finding %d is of lineage %d, its identity of %d", id, f.LineageID, m.links[f.Identity])
			}
			if diff := gocmp.Diff(lineages[f.LineageID], *m.lineages[f.LineageID]); diff != "" {
				rt.Fatalf("lineage of finding %d (-want +got):\n%s", id, diff)
			}
		}
		writes := m.writes
		if _, err := conceal.Resolve(t.Context(), m, taught("eqeq")); err != nil || m.writes != writes {
			rt.Fatalf("told again, it writes: %v", err)
		}
	})
}

// decide adds decisions to some findings.
func (m *memory) decide(rt *rapid.T) {
	for id := range m.nextID {
		f := m.rows[id]
		if f == nil || rapid.IntRange(0, 2).Draw(rt, "decide") > 0 {
			continue
		}
		triage := model.Triage{State: model.TriageIgnored, Automatic: rapid.Bool().Draw(rt, "automatic")}
		if l := m.lineages[f.LineageID]; triageWeight(triage) > triageWeight(l.Triage) {
			l.Triage = triage
		}
	}
}

// checkConcealed checks that no stored data reveals a secret.
func (m *memory) checkConcealed(rt *rapid.T) {
	if err := m.checkRows(); err != nil {
		rt.Fatal(err)
	}
	for _, f := range m.rows {
		if text := string(f.Body) + string(f.Evidence); strings.Contains(text, "raw") || !strings.Contains(text, "template") {
			rt.Fatalf("finding %d is kept as %s", f.ID, text)
		}
		if f.IssueType != model.Secrets || f.Identity.Kind != model.IdentitySecret || f.SecretType != "Example" || f.RuleID == 0 {
			rt.Fatalf("finding %d is %+v", f.ID, f.Finding)
		}
	}
	for id := range m.links {
		if id.Kind != model.IdentitySecret {
			rt.Fatalf("the identity %v is left", id)
		}
	}
}

// TestReportWithHashesContinuesFindings checks a report that contains the secrets with their
// hashes, on other lines. Two places of one secret are one result, so one of the findings has no
// continuation.
func TestReportWithHashesContinuesFindings(t *testing.T) {
	hidden := func(line int, code string) model.Result {
		r := result(eqeq, "a.py", line, "")
		r.Secret = &model.SecretMatch{Hash: model.CodeDigest(code)}
		return r
	}
	for name, c := range map[string]struct {
		report model.Report
		full   bool
		want   map[int]string
	}{
		"a full scan":         {*taught("eqeq", hidden(6, "raw1"), hidden(12, "raw2")).reports[0], true, map[int]string{6: "open 0", 12: "ignored 1"}},
		"a redacted one":      {*taught("eqeq", hidden(6, ""), hidden(12, "")).reports[0], true, map[int]string{6: "open 0", 12: "ignored 1"}},
		"one secret twice":    {*taught("eqeq", hidden(6, "raw1"), hidden(12, "raw1")).reports[0], true, map[int]string{6: "open new"}},
		"a diff scan":         {*taught("eqeq", hidden(6, "raw1"), hidden(12, "raw2")).reports[0], false, map[int]string{6: "open new", 12: "open new", 3: "open 0", 9: "ignored 1"}},
		"a scan of one alone": {*taught("eqeq", hidden(12, "raw2")).reports[0], true, map[int]string{12: "open new"}},
	} {
		t.Run(name, func(t *testing.T) {
			m := newMemory()
			apply(t, m, full(coded(3, "raw1"), coded(9, "raw2")))
			ids := map[int64]string{}
			for id, f := range m.rows {
				ids[id] = map[int]string{3: "0", 9: "1"}[f.Line]
				if f.Line == 9 {
					m.lineages[f.LineageID].Triage = model.Triage{State: model.TriageIgnored}
				}
			}
			u := full()
			u.Full, u.DeclaredFull, u.Report = c.full, c.full, &c.report
			m.tick(time.Minute)
			reports, err := conceal.Resolve(t.Context(), m, teaching{[]*model.Report{&c.report}})
			if err != nil {
				t.Fatal(err)
			}
			if _, err := ApplyAll(t.Context(), m, m, u, reports); err != nil {
				t.Fatal(err)
			}
			got := map[int]string{}
			for id, f := range m.rows {
				if live(f.State) {
					triage := map[bool]string{true: "ignored", false: "open"}[m.lineages[f.LineageID].Triage.State == model.TriageIgnored]
					got[f.Line] = triage + " " + cmp.Or(ids[id], "new")
				}
			}
			if diff := gocmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// coded returns a result with code in a.py.
func coded(line int, code string) model.Result {
	r := result(eqeq, "a.py", line, code)
	r.CodeHash, r.MatchBasedID = code, fmt.Sprintf("a.py %s %d", code, line)
	return r
}

// TestRuleNamesAreScopedToTool checks that rule names are scoped to their tool.
func TestRuleNamesAreScopedToTool(t *testing.T) {
	m := newMemory()
	other := full(result(eqeq, "a.py", 3, "raw"))
	other.Report.Tool = "bandit"
	apply(t, m, other)
	nightly := full(result(eqeq, "b.py", 3, "raw"))
	nightly.Category = "nightly"
	apply(t, m, nightly)
	if _, err := conceal.Resolve(t.Context(), m, taught("eqeq")); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.rows {
		if want := map[string]model.IssueType{"bandit": model.SAST, "semgrep:nightly": model.Secrets}[f.Source]; f.IssueType != want {
			t.Errorf("of %s it is %s, want %s", f.Source, f.IssueType, want)
		}
	}
}

// TestPolicySecretRuleAppliesToNextUpload checks that a rule served as a secrets rule takes effect with the next
// upload of any kind.
func TestPolicySecretRuleAppliesToNextUpload(t *testing.T) {
	m := newMemory()
	apply(t, m, full(result(eqeq, "a.py", 3, "raw")))
	m.secretRules[model.SecretRule{Tool: "semgrep", Name: "eqeq"}] = false
	if _, err := conceal.Resolve(t.Context(), m, teaching{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.rows {
		if f.IssueType != model.Secrets || strings.Contains(string(f.Body)+string(f.Evidence), "raw") {
			t.Errorf("it is %s, kept as %s %s", f.IssueType, f.Body, f.Evidence)
		}
	}
	if !m.secretRules[model.SecretRule{Tool: "semgrep", Name: "eqeq"}] {
		t.Error("it is not settled")
	}
}

// TestSecretOnBranchesHasOneLineage checks that a secret on two branches remains in one lineage,
// regardless of the order of scans.
func TestSecretOnBranchesHasOneLineage(t *testing.T) {
	for _, order := range [][]string{{"main", "topic"}, {"topic", "main"}} {
		m := newMemory()
		for _, ref := range order {
			u := full(coded(3, "raw1"), coded(9, "raw2"))
			u.Ref = ref
			apply(t, m, u)
		}
		ids := slices.Sorted(maps.Keys(m.rows))
		for _, f := range m.rows {
			if f.Line == 9 {
				m.lineages[f.LineageID].Triage = model.Triage{State: model.TriageIgnored}
			}
		}
		for _, ref := range order {
			one, other := coded(5, ""), coded(11, "")
			for r, code := range map[*model.Result]string{&one: "raw1", &other: "raw2"} {
				r.Secret = &model.SecretMatch{Hash: model.CodeDigest(code)}
				r.MatchBasedID, r.CodeHash = "", ""
			}
			u := full()
			u.Ref = ref
			m.tick(time.Minute)
			reports, err := conceal.Resolve(t.Context(), m, taught("eqeq", one, other))
			if err == nil {
				_, err = ApplyAll(t.Context(), m, m, u, reports)
			}
			if err != nil {
				t.Fatal(err)
			}
		}
		if now := slices.Sorted(maps.Keys(m.rows)); !slices.Equal(ids, now) {
			t.Fatalf("%v: findings were %v and are %v", order, ids, now)
		}
		for id, f := range m.rows {
			want := map[int]model.TriageState{5: model.TriageUntriaged, 11: model.TriageIgnored}[f.Line]
			if got := m.lineages[f.LineageID].Triage.State; !live(f.State) || got != want {
				t.Errorf("%v: finding %d on line %d is %s, want %s", order, id, f.Line, got, want)
			}
		}
	}
}
