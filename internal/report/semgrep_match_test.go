package report

import (
	"bytes"
	"encoding/json"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/semgrep"
)

// idCase is a match as input of the scanner's functions.
type idCase struct {
	Name     string         `json:"name"`
	Path     string         `json:"path"`
	Lines    string         `json:"lines"`
	Index    int            `json:"index"`
	Rule     map[string]any `json:"rule"`
	Metavars [][2]string    `json:"metavars"`
}

// ids are the ids that the scanner computes for a match.
type ids struct {
	Context      string `json:"context"`
	SyntacticID  string `json:"syntactic_id"`
	MatchBasedID string `json:"match_based_id"`
	CodeHash     string `json:"code_hash"`
	PatternHash  string `json:"pattern_hash"`
}

func (c idCase) ours(t *testing.T) ids {
	t.Helper()
	rule, err := json.Marshal(c.Rule)
	if err != nil {
		t.Fatal(err)
	}
	var bound []semgrep.Metavar
	for _, m := range c.Metavars {
		bound = append(bound, semgrep.Metavar{Name: m[0], Content: m[1]})
	}
	context := semgrep.SyntacticContext(c.Lines)
	formula, ok := semgrep.Bind(semgrep.FormulaOf(rule), bound)
	if !ok {
		t.Fatal("the formula is beyond the bounds")
	}
	return ids{
		context, semgrep.SyntacticID(c.Name, c.Path, context, c.Index), semgrep.MatchBasedID(c.Name, c.Path, formula, c.Index),
		format.CodeHash(context), semgrep.PatternHash(formula),
	}
}

// caseMaker generates cases with the peculiarities of Python's text functions.
type caseMaker struct{ *rand.Rand }

func pick[T any](r *rand.Rand, list ...T) T { return list[r.IntN(len(list))] }

func (m caseMaker) text(pieces []string, most int) string {
	var b strings.Builder
	for range m.IntN(most + 1) {
		b.WriteString(pick(m.Rand, pieces...))
	}
	return b.String()
}

var (
	linePieces = []string{
		"x", " ", "  ", "\t", "\n", "\n    ", "\r\n", "\r", "'", `"`, `\`, "é", "日", "😀", "\u00a0", "\u2028", "\u200b", "\x1c", "\f", "\v", "\x00", "\x7f",
		"\u0085", "# nosem", " # nosemgrep: a.b, c", "// NOSEM=x y", "#nosem", ": nosem:", " nosemgrep", "if x:\n\ty()", ",", "\n\n",
	}
	namePieces = []string{"a", "rule", ".", "-", "_", "é", "'", `"`, `\`}
	pathPieces = []string{"a", "b.py", "dir/", "é", " ", "'", `"`}
	varNames   = []string{"$X", "$Y", "$REQ", "$REQFUNC", "$XX"}
	texts4     = []string{"foo($X)", "$REQFUNC($REQ)", "$X == $Y", "'q'", "\n", "é\u00a0", "a", "b"}
)

func (m caseMaker) value(depth int) any {
	switch n := m.IntN(12); {
	case depth == 0 || n < 5:
		return m.text(texts4, 3)
	case n < 8:
		list := []any{}
		for range m.IntN(4) {
			list = append(list, m.value(depth-1))
		}
		return list
	case n < 11:
		members := map[string]any{}
		for range m.IntN(4) {
			members[pick(m.Rand, "pattern", "pattern-not", "metavariable", "regex", "focus")] = m.value(depth - 1)
		}
		return members
	}
	return pick[any](m.Rand, nil, true, 1, 2.5)
}

func (m caseMaker) draw() idCase {
	c := idCase{
		Name: "r" + m.text(namePieces, 5), Path: "p" + m.text(pathPieces, 4) + "c", Index: m.IntN(3), Metavars: [][2]string{},
		Lines: "x" + m.text(linePieces, 8), Rule: map[string]any{},
	}
	if m.IntN(2) == 0 {
		c.Lines = strings.Repeat(" ", m.IntN(5)) + c.Lines
	}
	for range 1 + m.IntN(2) {
		c.Rule[pick(m.Rand, append([]string{"severity"}, semgrep.PatternKeys...)...)] = m.value(3)
	}
	if join, is := c.Rule["join"].(map[string]any); is {
		join["on"] = pick[any](m.Rand, "ab", []any{"a", "b"})
	}
	for _, i := range m.Perm(len(varNames))[:m.IntN(4)] {
		c.Metavars = append(c.Metavars, [2]string{varNames[i], m.text(append([]string{"$X"}, texts4...), 2)})
	}
	return c
}

// TestSemgrepIDsMatchScanner compares ids of random matches with those of the real scanner's
// functions.
func TestSemgrepIDsMatchScanner(t *testing.T) {
	semgrep := os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep: run make setup, which installs the pinned one into .cache/venv, and make test")
	}
	m := caseMaker{rand.New(rand.NewPCG(1, 2))}
	cases := make([]idCase, 4000)
	for i := range cases {
		cases[i] = m.draw()
	}
	script, err := os.ReadFile("testdata/scanner/ids.py")
	if err != nil {
		t.Fatal(err)
	}
	input, err := json.Marshal(cases)
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(semgrep), "python"), "-c", string(script))
	cmd.Dir, cmd.Stdin, cmd.Stderr = t.TempDir(), bytes.NewReader(input), os.Stderr
	output, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var want []ids
	if err := json.Unmarshal(output, &want); err != nil {
		t.Fatal(err)
	}
	different := 0
	for i, c := range cases {
		if diff := cmp.Diff(want[i], c.ours(t)); diff != "" && different < 5 {
			different++
			t.Errorf("%#v (-scanner +ours):\n%s", c, diff)
		}
	}
}

// upload returns the findings that the recorded run uploaded, by rule, file and line.
func upload(t *testing.T) map[string]ids {
	t.Helper()
	var recorded struct {
		Body struct {
			Findings, Ignores []struct {
				Rule string `json:"check_id"`
				Path string
				Line int
				ids
				Hashes ids
			}
		}
	}
	readJSON(t, "../agent/testdata/captures/full/3-results.json", &recorded)
	out := map[string]ids{}
	for _, f := range append(recorded.Body.Findings, recorded.Body.Ignores...) {
		f.CodeHash, f.PatternHash = f.Hashes.CodeHash, f.Hashes.PatternHash
		out[locationKey(f.Rule, f.Path, f.Line)] = f.ids
	}
	return out
}

func locationKey(rule, path string, line int) string {
	text, _ := json.Marshal([]any{rule, path, line})
	return string(text)
}

func readJSON(t *testing.T, name string, v any) {
	t.Helper()
	data, err := os.ReadFile(name)
	if err == nil {
		err = json.Unmarshal(data, v)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// recordedTexts returns the rules of the recorded run as the server stores them.
func recordedTexts(t *testing.T) func(name string) []byte {
	t.Helper()
	var served struct{ Rules []json.RawMessage }
	readJSON(t, "../agent/testdata/captures/rules.json", &served)
	texts := map[string][]byte{}
	for _, rule := range served.Rules {
		var r struct{ ID string }
		if err := json.Unmarshal(rule, &r); err != nil {
			t.Fatal(err)
		}
		texts[r.ID] = rule
	}
	return func(name string) []byte { return texts[name] }
}

// TestReportIDsMatchUpload checks that the report of the recorded run has the ids of its
// upload. The report is read with and without fingerprints.
func TestReportIDsMatchUpload(t *testing.T) {
	data, err := os.ReadFile("testdata/captures/full.json")
	if err != nil {
		t.Fatal(err)
	}
	var silent map[string]any
	if err := json.Unmarshal(data, &silent); err != nil {
		t.Fatal(err)
	}
	for _, r := range silent["results"].([]any) {
		r.(map[string]any)["extra"].(map[string]any)["fingerprint"] = semgrep.RequiresLogin
	}
	without, err := json.Marshal(silent)
	if err != nil {
		t.Fatal(err)
	}
	want := upload(t)
	for what, text := range map[string][]byte{"as it is": data, "without fingerprints": without} {
		t.Run(what, func(t *testing.T) {
			reports, err := Read(bytes.NewReader(text), format.Options{Name: "full.json", Key: testKey, RuleText: recordedTexts(t)})
			if err != nil {
				t.Fatal(err)
			}
			compared := 0
			for _, r := range reports[0].Results {
				if r.Rule.IssueType == model.Secrets {
					if r.SyntacticID+r.PatternHash+r.CodeHash != "" {
						t.Errorf("a secret has ids: %+v", r)
					}
					continue
				}
				compared++
				got := ids{SyntacticID: r.SyntacticID, MatchBasedID: r.MatchBasedID, CodeHash: r.CodeHash, PatternHash: r.PatternHash}
				if diff := cmp.Diff(want[locationKey(r.Rule.Name, r.Path, r.Location.Line)], got); diff != "" {
					t.Errorf("%s %s:%d (-uploaded +read):\n%s", r.Rule.Name, r.Path, r.Location.Line, diff)
				}
			}
			if compared != 6 {
				t.Errorf("%d results compared, want 6", compared)
			}
		})
	}
}

// TestDifferentRuleTextIsIgnored checks that a different text of a rule does not define the
// pattern hash.
func TestDifferentRuleTextIsIgnored(t *testing.T) {
	data, err := os.ReadFile("testdata/captures/full.json")
	if err != nil {
		t.Fatal(err)
	}
	other := func(string) []byte { return []byte(`{"pattern":"something else"}`) }
	reports, err := Read(bytes.NewReader(data), format.Options{Name: "full.json", Key: testKey, RuleText: other})
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range reports[0].Results {
		if r.PatternHash != "" {
			t.Errorf("%s has the pattern hash of another text", r.Rule.Name)
		}
	}
}

// TestMutedMatchIsCounted checks that muted matches, which the report omits, are counted.
func TestMutedMatchIsCounted(t *testing.T) {
	result := func(line, number string) string {
		return `{"check_id":"r","path":"a.py","start":{"line":` + line + `,"col":1},"end":{"line":` + line + `,"col":7},
			"extra":{"severity":"INFO","metadata":{},"lines":"x == x","fingerprint":"f_` + number + `"}}`
	}
	for numbers, want := range map[string][]string{
		"0 1": {semgrep.SyntacticID("r", "a.py", "x == x", 0), semgrep.SyntacticID("r", "a.py", "x == x", 1)},
		"1 2": {semgrep.SyntacticID("r", "a.py", "x == x", 1), semgrep.SyntacticID("r", "a.py", "x == x", 2)},
		"2 0": {semgrep.SyntacticID("r", "a.py", "x == x", 0), semgrep.SyntacticID("r", "a.py", "x == x", 1)}, // invalid order
	} {
		first, second, _ := strings.Cut(numbers, " ")
		r := readOne(t, "x", `{"skipped_rules":[],"results":[`+result("1", first)+","+result("2", second)+`]}`)
		got := []string{r.Results[0].SyntacticID, r.Results[1].SyntacticID}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", numbers, diff)
		}
	}
}

// TestMatchIndexIgnoredForOtherCode checks that the number in a match_based_id is ignored if the
// formula group contains other code.
func TestMatchIndexIgnoredForOtherCode(t *testing.T) {
	result := func(line, code, number string) string {
		return `{"check_id":"r","path":"a.py","start":{"line":` + line + `,"col":1},"end":{"line":` + line + `,"col":7},
			"extra":{"severity":"INFO","metadata":{},"lines":"` + code + `","fingerprint":"f_` + number + `"}}`
	}
	r := readOne(t, "x", `{"skipped_rules":[],"results":[`+result("1", "eval(a)", "0")+","+result("2", "eval(b)", "1")+","+result("3", "eval(a)", "2")+`]}`)
	for i, want := range []struct {
		code   string
		number int
	}{{"eval(a)", 0}, {"eval(b)", 0}, {"eval(a)", 1}} {
		got := r.Results[i]
		if got.CodeNumber != want.number+1 || got.SyntacticID != semgrep.SyntacticID("r", "a.py", want.code, want.number) {
			t.Errorf("line %d: %q is number %d", i+1, want.code, got.CodeNumber)
		}
	}
}
