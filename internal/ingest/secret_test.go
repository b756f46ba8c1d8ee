package ingest

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt"
)

// teaching is a reading that calls its rule one for secrets. It knows a secret
// by its code, as a key would.
type teaching struct{ reports []*redoubt.Report }

func (r teaching) Reports(func(tool, rule string) bool) []*redoubt.Report { return r.reports }

func (teaching) Stale() bool { return false }

func (r teaching) Conceal(_ string, results []redoubt.Result, codes []redoubt.Digest) {
	for i := range results {
		results[i].Secret = &redoubt.SecretMatch{Hash: codes[i]}
		results[i].Message, results[i].Code, results[i].DataFlow = "template", "", nil
	}
}

// taught is an upload that says of a rule of findings of code that it looks for
// secrets, and has one of them as a secret already.
func taught(rule string, results ...redoubt.Result) teaching {
	secrets := &redoubt.Rule{Name: rule, IssueType: redoubt.Secrets, Message: "template", SecretType: "Example"}
	for i := range results {
		results[i].Rule = secrets
	}
	return teaching{[]*redoubt.Report{{Tool: "semgrep", Rules: []*redoubt.Rule{secrets}, Results: results}}}
}

// TestSettleRewritesFindings draws the history of a rule that nobody knew to
// look for secrets, with what people decided of its findings, and then tells.
func TestSettleRewritesFindings(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		m := newMemory()
		draw := func(name string, of ...string) string { return rapid.SampledFrom(of).Draw(rt, name) }
		for range rapid.IntRange(1, 6).Draw(rt, "scans") {
			var results []redoubt.Result
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
		decided := map[int64]redoubt.Triage{} // by finding
		for id, f := range m.rows {
			decided[id] = m.lineages[f.LineageID].Triage
		}
		before := m.secretsOfLive()
		m.tick(time.Minute)
		reports, err := ResolveSecrets(t.Context(), m, taught("eqeq"))
		if err != nil || len(reports) != 1 || !m.secretRules[redoubt.SecretRule{Tool: "semgrep", Name: "eqeq"}] {
			rt.Fatalf("%d reports, %v, %v", len(reports), m.secretRules, err)
		}
		m.checkConcealed(rt)
		after := m.secretsOfLive()
		for place := range before {
			if after[place] != 1 {
				rt.Fatalf("%v is there %d times, of %d before", place, after[place], before[place])
			}
		}
		if len(after) != len(before) {
			rt.Fatalf("live were %v and are %v", before, after)
		}
		for id, triage := range decided {
			f := m.rows[id]
			if got := m.lineages[f.LineageID].Triage; triageWeight(got) < triageWeight(triage) {
				rt.Fatalf("%v was decided as %+v and is %+v", placeOf(f), triage, got)
			}
		}
		writes := m.writes
		if _, err := ResolveSecrets(t.Context(), m, taught("eqeq")); err != nil || m.writes != writes {
			rt.Fatalf("told again, it writes: %v", err)
		}
	})
}

type secretPlace struct {
	ref, path string
	code      redoubt.Digest
}

func placeOf(f *redoubt.FindingWrite) secretPlace { return secretPlace{f.Ref, f.Path, f.CodeHash} }

// secretsOfLive counts the live rows of each secret of a file of a ref.
func (m *memory) secretsOfLive() map[secretPlace]int {
	out := map[secretPlace]int{}
	for _, f := range m.rows {
		if live(f.State) {
			out[placeOf(f)]++
		}
	}
	return out
}

// decide has people decide about some findings.
func (m *memory) decide(rt *rapid.T) {
	for id := range m.nextID {
		f := m.rows[id]
		if f == nil || rapid.IntRange(0, 2).Draw(rt, "decide") > 0 {
			continue
		}
		triage := redoubt.Triage{State: redoubt.TriageIgnored, Automatic: rapid.Bool().Draw(rt, "automatic")}
		if l := m.lineages[f.LineageID]; triageWeight(triage) > triageWeight(l.Triage) {
			l.Triage = triage
		}
	}
}

// checkConcealed looks for what could be guessed from.
func (m *memory) checkConcealed(rt *rapid.T) {
	if err := m.checkRows(); err != nil {
		rt.Fatal(err)
	}
	for _, f := range m.rows {
		if text := string(f.Body) + string(f.Evidence); strings.Contains(text, "raw") || !strings.Contains(text, "template") {
			rt.Fatalf("finding %d is kept as %s", f.ID, text)
		}
		if f.IssueType != redoubt.Secrets || f.Identity.Kind != redoubt.IdentitySecret || f.SecretType != "Example" || f.RuleID == 0 {
			rt.Fatalf("finding %d is %+v", f.ID, f.Finding)
		}
	}
	for id := range m.links {
		if id.Kind != redoubt.IdentitySecret {
			rt.Fatalf("the identity %v is left", id)
		}
	}
}

// TestASecretThatIsThereAlreadyTakesOver: what was told as code is the secret that a later report
// tells. What people decided about it holds.
func TestASecretThatIsThereAlreadyTakesOver(t *testing.T) {
	m := newMemory()
	code := result(eqeq, "a.py", 3, "raw")
	code.CodeHash = "raw"
	apply(t, m, full(code))
	var row *redoubt.FindingWrite
	for _, row = range m.rows { // the only one
	}
	m.lineages[row.LineageID].Triage = redoubt.Triage{State: redoubt.TriageIgnored}
	known := result(eqeq, "a.py", 3, "")
	known.Secret = &redoubt.SecretMatch{Hash: redoubt.CodeDigest("raw")}
	one := taught("eqeq", known)
	u := full()
	u.Full, u.DeclaredFull, u.Report = false, false, one.reports[0]
	sum := apply(t, m, u)
	if sum.New != 0 || len(m.rows) != 1 {
		t.Fatalf("%+v", sum)
	}
	if _, err := ResolveSecrets(t.Context(), m, one); err != nil {
		t.Fatal(err)
	}
	if row = m.rows[row.ID]; row.State != redoubt.Unresolved || row.IssueType != redoubt.Secrets {
		t.Errorf("the row that did not know is %+v", row.Finding)
	}
	if len(m.lineages) != 1 || m.lineages[row.LineageID].Triage.State != redoubt.TriageIgnored {
		t.Errorf("lineages: %v", m.lineages)
	}
	if u.At = m.clock; apply(t, m, u).Counts.Secrets != 1 {
		t.Error("the report is not of one secret")
	}
}

// TestRulesOfOtherToolsAreNotMeant: names are a tool's own.
func TestRulesOfOtherToolsAreNotMeant(t *testing.T) {
	m := newMemory()
	other := full(result(eqeq, "a.py", 3, "raw"))
	other.Report.Tool = "bandit"
	apply(t, m, other)
	nightly := full(result(eqeq, "b.py", 3, "raw"))
	nightly.Category = "nightly"
	apply(t, m, nightly)
	if _, err := ResolveSecrets(t.Context(), m, taught("eqeq")); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.rows {
		if want := map[string]redoubt.IssueType{"bandit": redoubt.SAST, "semgrep:nightly": redoubt.Secrets}[f.Source]; f.IssueType != want {
			t.Errorf("of %s it is %s, want %s", f.Source, f.IssueType, want)
		}
	}
}

// TestAPolicyTeachesToo: a rule that is served as one for secrets is known with
// the next upload, whatever that is of.
func TestAPolicyTeachesToo(t *testing.T) {
	m := newMemory()
	apply(t, m, full(result(eqeq, "a.py", 3, "raw")))
	m.secretRules[redoubt.SecretRule{Tool: "semgrep", Name: "eqeq"}] = false
	if _, err := ResolveSecrets(t.Context(), m, teaching{}); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.rows {
		if f.IssueType != redoubt.Secrets || strings.Contains(string(f.Body)+string(f.Evidence), "raw") {
			t.Errorf("it is %s, kept as %s %s", f.IssueType, f.Body, f.Evidence)
		}
	}
	if !m.secretRules[redoubt.SecretRule{Tool: "semgrep", Name: "eqeq"}] {
		t.Error("it is not settled")
	}
}

// TestSecretsSideBySideStayTwo: a branch moved a file that main has at both places.
// What was decided on the one at the old place is not about the other.
func TestSecretsSideBySideStayTwo(t *testing.T) {
	m := newMemory()
	at := func(ref string, paths ...string) {
		var results []redoubt.Result
		for _, path := range paths {
			r := result(eqeq, path, 3, "raw")
			r.CodeHash = "raw"
			results = append(results, r)
		}
		u := full(results...)
		u.Ref = ref
		apply(t, m, u)
	}
	at("topic", "app/a.py")
	at("main", "app/a.py", "lib/app/a.py")
	at("topic", "lib/app/a.py")
	lineage := map[string]int64{}
	for _, f := range m.rows {
		lineage[f.Ref+" "+f.Path] = f.LineageID
	}
	old, moved, other := lineage["refs/heads/main app/a.py"], lineage["refs/heads/topic lib/app/a.py"], lineage["refs/heads/main lib/app/a.py"]
	if old != moved || old == other {
		t.Fatalf("main has %d and %d, the branch %d", old, other, moved)
	}
	m.lineages[old].Triage = redoubt.Triage{State: redoubt.TriageIgnored}
	if _, err := ResolveSecrets(t.Context(), m, taught("eqeq")); err != nil {
		t.Fatal(err)
	}
	for _, f := range m.rows {
		want := redoubt.TriageIgnored
		if f.Ref == "refs/heads/main" && f.Path == "lib/app/a.py" {
			want = redoubt.TriageUntriaged
		}
		if got := m.lineages[f.LineageID].Triage.State; f.IssueType != redoubt.Secrets || got != want {
			t.Errorf("%s on %s is of %s and %s, want %s", f.Path, f.Ref, f.IssueType, got, want)
		}
	}
}
