package ingest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

// silent returns a result of Semgrep's JSON without login.
func silent(path string, line int) model.Result {
	return result(eqeq, path, line, "")
}

// only returns the only row.
func only(t *testing.T, m *memory) *model.FindingWrite {
	t.Helper()
	if len(m.rows) != 1 {
		t.Fatalf("there are %d rows, want 1", len(m.rows))
	}
	for _, row := range m.rows {
		return row
	}
	return nil
}

// TestLessDetailedReport checks that a less detailed report matches existing findings and changes
// only reported properties.
func TestLessDetailedReport(t *testing.T) {
	m := newMemory()
	detailed := matched("a.py", 3, "x")
	detailed.SyntacticID, detailed.Code = "5yn", "x == x"
	apply(t, m, full(detailed))
	before := *only(t, m)
	apply(t, m, upload(full(silent("a.py", 3)), func(u *Upload) { u.Commit = "c2" }))
	if diff := cmp.Diff(before, *only(t, m)); diff != "" {
		t.Errorf("the same place (-before +after):\n%s", diff)
	}
	sum := apply(t, m, upload(full(silent("a.py", 7)), func(u *Upload) { u.Commit = "c3" }))
	after := *only(t, m)
	if sum.Changed != 1 || after.Line != 7 || after.Identity != before.Identity || after.CodeHash != before.CodeHash || after.PatternHash != before.PatternHash {
		t.Errorf("another line: %+v, %+v", sum, after)
	}
	for _, want := range []string{`"match_based_id":"` + detailed.MatchBasedID, `"syntactic_id":"5yn"`, `"line":7`} {
		if !strings.Contains(string(after.Body), want) {
			t.Errorf("the body %s has no %s", after.Body, want)
		}
	}
	if !strings.Contains(string(after.Evidence), "x == x") {
		t.Errorf("the code is gone: %s", after.Evidence)
	}
	detailed.Location.Line, detailed.Location.EndLine = 7, 7
	if sum := apply(t, m, full(detailed)); sum.New+sum.Moved+sum.Closed+sum.Returned != 0 || len(m.events) != 0 {
		t.Errorf("as before: %+v, events %v", sum, m.events)
	}
}

// TestMoreDetailedReport adds the scanner's ids later. No finding is new, and decisions remain.
func TestMoreDetailedReport(t *testing.T) {
	m := newMemory()
	apply(t, m, full(silent("a.py", 3), silent("a.py", 9)))
	for _, l := range m.lineages {
		l.Triage = model.Triage{State: model.TriageIgnored}
	}
	sum := apply(t, m, full(matched("a.py", 4, "x"), matched("a.py", 10, "y")))
	if sum.Changed != 2 || sum.New+sum.Closed+sum.Moved != 0 || len(m.events) != 0 {
		t.Fatalf("%+v, events %v", sum, m.events)
	}
	for _, row := range m.rows {
		if row.Identity.Kind != model.IdentityMatchBased || m.lineages[row.LineageID].Triage.State != model.TriageIgnored {
			t.Errorf("%+v", row.Finding)
		}
	}
	// With another number of results, matches are ambiguous, even for results on equal lines.
	sum = apply(t, m, full(silent("a.py", 10)))
	if sum.Closed != 2 || sum.New != 1 || sum.Unchanged+sum.Changed != 0 {
		t.Errorf("one of two: %+v", sum)
	}
}

// TestDifferentResultCountsPreventMatch checks that different numbers of results prevent matches.
func TestDifferentResultCountsPreventMatch(t *testing.T) {
	m := newMemory()
	apply(t, m, full(matched("a.py", 3, "x"), matched("a.py", 9, "y")))
	if sum := apply(t, m, full(silent("a.py", 5))); sum.Closed != 2 || sum.New != 1 {
		t.Errorf("%+v", sum)
	}
}

// TestSnippetAndMatchBasedID checks that a result with a snippet matches one with a match_based_id
// without a move.
func TestSnippetAndMatchBasedID(t *testing.T) {
	snippet := result(eqeq, "a.py", 3, "x == x")
	snippet.CodeHash = "x"
	m := newMemory()
	apply(t, m, full(matched("a.py", 3, "x")))
	id := only(t, m).Identity
	if sum := apply(t, m, full(snippet)); sum.New+sum.Closed+sum.Moved != 0 || only(t, m).Identity != id || len(m.events) != 0 {
		t.Errorf("%+v, events %v", sum, m.events)
	}
}

// TestReturnUnderOlderIdentity checks that a finding returns under an older identity of its
// lineage, regardless of the scan's coverage.
func TestReturnUnderOlderIdentity(t *testing.T) {
	m := newMemory()
	apply(t, m, full(matched("app/a.py", 3, "x")))
	apply(t, m, full(matched("lib/app/a.py", 3, "x")))
	apply(t, m, full())
	id := only(t, m).ID
	back := upload(full(matched("app/a.py", 3, "x")), func(u *Upload) { u.Full, u.DeclaredFull = false, false })
	if sum := apply(t, m, back); sum.Returned != 1 || sum.New != 0 || only(t, m).ID != id || only(t, m).Path != "app/a.py" {
		t.Errorf("%+v", sum)
	}
}

// TestCopyIsSeparateFinding reports a moved file at its old path by a diff scan. The finding at the
// new path must not change.
func TestCopyIsSeparateFinding(t *testing.T) {
	m := newMemory()
	apply(t, m, full(matched("app/a.py", 3, "x")))
	apply(t, m, full(matched("lib/app/a.py", 3, "x")))
	copied := upload(full(matched("app/a.py", 3, "x")), func(u *Upload) {
		u.Full, u.DeclaredFull, u.Report.Searched, u.Report.RulesRun = false, false, []string{"app/a.py"}, []string{"eqeq"}
	})
	if sum := apply(t, m, copied); sum.New != 1 || len(m.rows) != 2 {
		t.Errorf("%+v, %d rows", sum, len(m.rows))
	}
}

// TestPatternHashIsRetained checks that JSON reports without pattern_hash do not clear the stored one.
func TestPatternHashIsRetained(t *testing.T) {
	m := newMemory()
	apply(t, m, full(matched("a.py", 3, "x")))
	pattern := only(t, m).PatternHash
	without := matched("a.py", 4, "x")
	without.PatternHash = ""
	apply(t, m, full(without))
	if only(t, m).PatternHash != pattern {
		t.Error("the pattern hash is gone")
	}
}

// TestMoveWithoutPattern moves a file between two reports of which one has no patterns.
func TestMoveWithoutPattern(t *testing.T) {
	without := func(r model.Result) model.Result { r.PatternHash = ""; return r }
	for _, pair := range [][2]model.Result{
		{matched("app/a.py", 3, "x"), without(matched("lib/app/a.py", 3, "x"))},
		{without(matched("app/a.py", 3, "x")), matched("lib/app/a.py", 3, "x")},
	} {
		m := newMemory()
		apply(t, m, full(pair[0]))
		if sum := apply(t, m, full(pair[1])); sum.Moved != 1 || sum.New != 0 {
			t.Errorf("%+v", sum)
		}
	}
}

// TestRuleFromAnotherFolder checks that a rule from another folder is the same, even if the report
// lists the rules that ran. A rule with another name is not.
func TestRuleFromAnotherFolder(t *testing.T) {
	named := func(name string) model.Result {
		r := matched("a.py", 3, "x")
		rule := *eqeq
		rule.Name = name
		r.Rule, r.MatchBasedID = &rule, name
		return r
	}
	for name, want := range map[string]string{"rules.eqeq": "moved", "a.b.eqeq": "moved", "rules.neq": "new", "rules.noteqeq": "new"} {
		m := newMemory()
		apply(t, m, full(named("eqeq")))
		sum := apply(t, m, full(named(name)))
		if got := map[[2]int]string{{1, 0}: "moved", {0, 1}: "new"}[[2]int{sum.Moved, sum.New}]; got != want {
			t.Errorf("%s: %+v, want it %s", name, sum, want)
		}
	}
	m := newMemory()
	apply(t, m, full(named("eqeq")))
	sum := apply(t, m, upload(full(named("rules.eqeq")), func(u *Upload) { u.Report.RulesRun = []string{"rules.eqeq"} }))
	if sum.Moved != 1 || sum.New+sum.Closed != 0 {
		t.Errorf("eqeq did not run under its old name: %+v", sum)
	}
}

// TestReportWithoutMutedResults checks that Semgrep's JSON, which omits muted results, closes them only
// if their file was removed.
func TestReportWithoutMutedResults(t *testing.T) {
	muted := matched("a.py", 3, "x")
	muted.Muted = true
	for name, test := range map[string]struct {
		searched []string
		hides    bool
		want     model.State
	}{
		"hidden":                   {[]string{"a.py"}, true, model.Muted},
		"told":                     {[]string{"a.py"}, false, model.Fixed},
		"hidden, the file is gone": {[]string{"b.py"}, true, model.Fixed},
	} {
		m := newMemory()
		apply(t, m, full(muted))
		apply(t, m, upload(full(), func(u *Upload) {
			u.DeclaredFull, u.Report.Searched, u.Report.HidesMuted = false, test.searched, test.hides
		}))
		if got := only(t, m).State; got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestSecretIsOneFindingAcrossReports checks that a secret is one finding. Reports may contain its line
// only or its value, and rules may be from any folder.
func TestSecretIsOneFindingAcrossReports(t *testing.T) {
	scanned, imported := secret("a.py", 1, 1), secret("a.py", 1, 1)
	rule := *imported.Rule
	rule.Name = "folder.rules." + rule.Name
	imported.Rule, imported.Secret.Value = &rule, model.Digest{9}
	for name, reports := range map[string][]model.Result{
		"scan first": {scanned, imported, scanned}, "import first": {imported, scanned, imported},
	} {
		m := newMemory()
		apply(t, m, full(reports[0]))
		id := only(t, m).ID
		for i, r := range reports[1:] {
			if sum := apply(t, m, full(r)); sum.New+sum.Closed+sum.Returned != 0 || only(t, m).ID != id {
				t.Errorf("%s, step %d: %+v", name, i+2, sum)
			}
		}
	}
}

// TestSecretOnEditedLine checks that a reported secret is the same on an edited line.
func TestSecretOnEditedLine(t *testing.T) {
	before, after, other := secret("a.py", 1, 1), secret("a.py", 4, 2), secret("a.py", 4, 3)
	before.Secret.Value, after.Secret.Value, other.Secret.Value = model.Digest{9}, model.Digest{9}, model.Digest{8}
	m := newMemory()
	apply(t, m, full(before))
	id := only(t, m).ID
	if sum := apply(t, m, full(after)); sum.New+sum.Closed != 0 || only(t, m).ID != id || only(t, m).Line != 4 {
		t.Errorf("edited: %+v", sum)
	}
	if sum := apply(t, m, full(other)); sum.New != 1 || sum.Closed != 1 {
		t.Errorf("another secret in its place: %+v", sum)
	}
}

// TestChangedPasswordIsNewFinding checks that a changed password is a new finding, even if only its keyed
// hash differs.
func TestChangedPasswordIsNewFinding(t *testing.T) {
	password := func(path, key string) model.Result {
		return with(matched(path, 3, key), func(r *model.Result) {
			r.CodeHash, r.CodeKey, r.Code = "", model.CodeDigest(key), `password = "`+model.Redacted+`"`
		})
	}
	for _, path := range []string{"app/a.py", "lib/app/a.py"} {
		m := newMemory()
		apply(t, m, full(password("app/a.py", "1")))
		if sum := apply(t, m, full(password(path, "2"))); sum.New != 1 || sum.Closed != 1 {
			t.Errorf("%s: %+v", path, sum)
		}
	}
}

// TestEditAroundMatch checks that an equal match in another statement is the same. Other code of
// equal length is not, even if the rule binds metavariables.
func TestEditAroundMatch(t *testing.T) {
	at := func(line string) model.Result {
		r := result(eqeq, "a.js", 3, line)
		r.Binds = true
		r.Location.EndLine, r.Location.Column = 3, strings.Index(line, "eval")+1
		r.Location.EndColumn = r.Location.Column + len("eval(a)")
		return r
	}
	for line, want := range map[string]int{"return eval(a)": 0, "const b = eval(a)": 0, "const a = eval(b)": 1} {
		m := newMemory()
		apply(t, m, full(at("const a = eval(a)")))
		m.tick(1e9)
		if sum := apply(t, m, full(at(line))); sum.New != want {
			t.Errorf("%s: %d new, want %d", line, sum.New, want)
		}
	}
}

// TestFingerprintCountsAsCode checks that a tool's fingerprint, such as CodeQL's
// primaryLocationLineHash, counts as code. Findings retain their ids when lines shift and when
// their file is renamed.
func TestFingerprintCountsAsCode(t *testing.T) {
	at := func(path string, line int, fingerprints ...string) (out []model.Result) {
		for i, f := range fingerprints {
			r := result(eqeq, path, line+i, "")
			r.Fingerprint = f
			out = append(out, r)
		}
		return out
	}
	m := newMemory()
	apply(t, m, full(at("a.js", 1, "x:1", "y:1", "z:1")...))
	for _, step := range []struct {
		results []model.Result
		added   int
	}{
		{at("a.js", 5, "x:1", "y:1", "z:1"), 0},
		{at("a.js", 5, "new:1", "x:1", "y:1", "z:1"), 1},
		{at("z.js", 5, "new:1", "x:1", "y:1", "z:1"), 0},
	} {
		m.tick(1e9)
		if sum := apply(t, m, full(step.results...)); sum.New != step.added || sum.Closed != 0 {
			t.Errorf("%s: %d new, %d closed, want %d and 0", step.results[0].Path, sum.New, sum.Closed, step.added)
		}
	}
}
