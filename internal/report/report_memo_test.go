package report

import (
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
)

// recallResult is a result of Semgrep's, as JSON.
func recallResult(rule, path string, line int, code, more string) string {
	return fmt.Sprintf(`{"check_id":%q,"path":%q,"start":{"line":%d,"col":1},"end":{"line":%d,"col":9},"extra":{"message":"m","severity":"ERROR","metadata":{"category":"security"},"lines":%q%s}}`,
		rule, path, line, line, code, more)
}

func recallReport(results ...string) string {
	return `{"version":"1","results":[` + strings.Join(results, ",\n") + `],"errors":[],"paths":{"scanned":["a.py"]}}`
}

// memoOf makes a memo of a report that was read, as ingest does but for the identities.
func memoOf(rep *redoubt.Report) *redoubt.ReportMemo {
	m := &redoubt.ReportMemo{Context: rep.Context}
	for i := range rep.Results {
		if r := &rep.Results[i]; r.Raw.Digest != (redoubt.Digest{}) {
			m.Results = append(m.Results, redoubt.ReadResult{Raw: r.Raw, Location: r.Location, Muted: r.Muted})
		}
	}
	return m
}

// TestRecall: what a memo knows is not read, unless something speaks against it.
func TestRecall(t *testing.T) {
	const secret = "Hunter2-Hunter2-x9"
	list := []string{
		recallResult("r.a", "a.py", 1, "f(1)", ""), recallResult("r.a", "a.py", 2, "f(1)", ""),
		recallResult("r.a", "b.py", 1, "f(1)", ""), recallResult("r.b", "b.py", 1, "g(1)", `,"is_ignored":true`),
	}
	plain := Options{Name: "x.json", Key: testKey, Remember: true}
	with := func(results ...string) string {
		return recallReport(append(append([]string{}, list...), results...)...)
	}
	text := func(formula string) func(string) []byte {
		return func(string) []byte { return []byte(`{"pattern":"` + formula + `"}`) }
	}
	all := recallReport(list...)
	for name, c := range map[string]struct {
		before, file string
		first, then  Options
		secret       func(tool, rule string) bool
		known        int
		stale        bool
	}{
		"the same":                {all, all, plain, plain, nil, 4, false},
		"in another order":        {all, recallReport(list[3], list[2], list[1], list[0]), plain, plain, nil, 4, false},
		"with a byte order mark":  {all, "\ufeff" + with(recallResult("r.a", "a.py", 3, "f(1)", "")), plain, plain, nil, 2, false},
		"with space":              {all, strings.ReplaceAll(all, "},\n{", "} , \n\t {"), plain, plain, nil, 4, false},
		"one of a group is new":   {all, with(recallResult("r.a", "a.py", 3, "f(1)", "")), plain, plain, nil, 2, false},
		"one of a group is gone":  {all, recallReport(list[1:]...), plain, plain, nil, 2, false},
		"one comes twice":         {all, with(list[0]), plain, plain, nil, 2, false},
		"one is for the decoder":  {all, with(strings.Replace(list[0], `"path"`, `"path":"c.py","path"`, 1)), plain, plain, nil, 2, false},
		"one is refused":          {all, with(recallResult("r.c", "../c", 1, "c", "")), plain, plain, nil, 4, false},
		"another root":            {all, all, plain, Options{Key: testKey, Remember: true, Root: "/src"}, nil, 4, true},
		"another rule's text":     {all, all, plain, Options{Key: testKey, Remember: true, RuleText: text("f($X)")}, nil, 4, true},
		"another text":            {all, all, Options{Key: testKey, Remember: true, RuleText: text("f(1)")}, Options{Key: testKey, Remember: true, RuleText: text("f($X)")}, nil, 4, true},
		"the same text":           {all, all, Options{Key: testKey, Remember: true, RuleText: text("f(1)")}, Options{Key: testKey, Remember: true, RuleText: text("f(1)")}, nil, 4, false},
		"another key":             {all, all, plain, Options{Key: []byte("another"), Remember: true}, nil, 0, false},
		"no key":                  {all, all, plain, Options{Remember: true}, nil, 0, false},
		"not to be remembered":    {all, all, plain, Options{Key: testKey}, nil, 0, false},
		"a secret more":           {all, with(recallResult("r.c", "c.py", 1, "password = '"+strings.ReplaceAll(secret, "-", "7")+"'", "")), plain, plain, nil, 4, true},
		"a secret in an address":  {all, with(recallResult("r.c", "c.py", 1, "https://me:Passw0rd-17x@host/x", "")), plain, plain, nil, 4, true},
		"an earlier text of one":  {all, with(strings.Replace(recallResult("r.c", "c.py", 1, "c", ""), `"metadata":{`, `"metadata":{"semgrep.dev":{"src":"previous-scan","rule":{"rule_name":"r.a"}},`, 1)), plain, plain, nil, 4, true},
		"its rule is for secrets": {all, all, plain, plain, func(_, rule string) bool { return rule == "r.b" }, 4, true},
	} {
		t.Run(name, func(t *testing.T) {
			var first, second Reading
			if err := first.Add(strings.NewReader(c.before), c.first); err != nil {
				t.Fatal(err)
			}
			c.then.Name, c.then.Memo = "x.json", memoOf(first.Reports(nil)[0])
			if err := second.Add(strings.NewReader(c.file), c.then); err != nil {
				t.Fatal(err)
			}
			cleaned := second.Clean(c.secret)
			rep := cleaned.Reports(nil)[0]
			if len(rep.Known) != c.known || cleaned.Stale() != c.stale {
				t.Errorf("%d results are known, stale: %t; want %d, %t", len(rep.Known), cleaned.Stale(), c.known, c.stale)
			}
			var plainly Reading
			c.then.Memo = nil
			if err := plainly.Add(strings.NewReader(c.file), c.then); err != nil {
				t.Fatal(err)
			}
			want := plainly.Clean(c.secret).Reports(nil)[0]
			if got := len(rep.Known) + len(rep.Results); got != len(want.Results) {
				t.Errorf("%d results, want %d", got, len(want.Results))
			}
			if !c.stale && (rep.Context != want.Context || rep.HidesMuted != want.HidesMuted) {
				t.Error("the report says something else than what it is read as without a memo")
			}
			if err := second.Forget(); err != nil {
				t.Fatal(err)
			}
			again := second.Clean(c.secret)
			if rep := again.Reports(nil)[0]; len(rep.Known) > 0 || again.Stale() || len(rep.Results) != len(want.Results) || rep.Context != want.Context {
				t.Errorf("once it is forgotten, %d results are known of %d, stale: %t", len(rep.Known), len(rep.Results), again.Stale())
			}
		})
	}
}

// TestRecallOfSeveralFiles: what several files hold is known to none of them.
func TestRecallOfSeveralFiles(t *testing.T) {
	file := recallReport(recallResult("r.a", "a.py", 1, "f(1)", ""))
	o := Options{Name: "x.json", Key: testKey, Remember: true}
	var first, second Reading
	if err := first.Add(strings.NewReader(file), o); err != nil {
		t.Fatal(err)
	}
	o.Memo = memoOf(first.Reports(nil)[0])
	for range 2 {
		if err := second.Add(strings.NewReader(file), o); err != nil {
			t.Fatal(err)
		}
	}
	cleaned := second.Clean(nil)
	if rep := cleaned.Reports(nil)[0]; len(rep.Known) > 0 || len(rep.Results) != 2 || rep.Context != (redoubt.Digest{}) || cleaned.Stale() {
		t.Errorf("of two files, %d results are known of %d", len(rep.Known), len(rep.Results))
	}
}

// TestRecallOfRevealedRules: a rule that proves to look for secrets in the transaction
// makes the memo void, and nothing of the report is remembered.
func TestRecallOfRevealedRules(t *testing.T) {
	file := recallReport(recallResult("r.a", "a.py", 1, "f(1)", ""), recallResult("r.b", "a.py", 1, "f(1)", ""))
	o := Options{Name: "x.json", Key: testKey, Remember: true}
	var first, second Reading
	if err := first.Add(strings.NewReader(file), o); err != nil {
		t.Fatal(err)
	}
	late := func(_, rule string) bool { return rule == "r.b" }
	cleaned := first.Clean(nil)
	o.Memo = memoOf(cleaned.Reports(nil)[0])
	if rep := cleaned.Reports(late)[0]; rep.Context != (redoubt.Digest{}) || cleaned.Stale() {
		t.Error("a report is remembered whose results became secrets")
	}
	if err := second.Add(strings.NewReader(file), o); err != nil {
		t.Fatal(err)
	}
	cleaned = second.Clean(nil)
	if cleaned.Stale() {
		t.Fatal("the memo does not hold")
	}
	if cleaned.Reports(late); !cleaned.Stale() {
		t.Error("the memo holds, though one of its rules looks for secrets")
	}
}

// TestMemoDigestsAreKeyed: nobody who has a memo can try what a result holds.
func TestMemoDigestsAreKeyed(t *testing.T) {
	file := recallReport(recallResult("r.a", "a.py", 1, "f(1)", ""))
	var seen []redoubt.Report
	for _, key := range []string{"one", "two"} {
		reports, err := Read(strings.NewReader(file), Options{Name: "x.json", Key: []byte(key), Remember: true})
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, *reports[0])
	}
	if seen[0].Context == seen[1].Context || seen[0].Results[0].Raw.Digest == seen[1].Results[0].Raw.Digest {
		t.Error("under two keys the digests are the same")
	}
}

// TestSecretsAreReadEachTime: no digest is kept of what holds a secret or told one.
func TestSecretsAreReadEachTime(t *testing.T) {
	const token = "ghp_0123456789abcdefghij0123456789abcdef"
	for name, result := range map[string]string{
		"a secret":         strings.Replace(recallResult("r.s", "a.py", 1, "Hunter2-Hunter2-x9", ""), `"metadata":{`, `"metadata":{"product":"secrets",`, 1),
		"code with one":    recallResult("r.a", "a.py", 1, "k = '"+token+"'", ""),
		"a message":        strings.Replace(recallResult("r.a", "a.py", 1, "f(1)", ""), `"message":"m"`, `"message":"m `+token+`"`, 1),
		"a password":       recallResult("r.a", "a.py", 1, "password = 'Hq7zZt42pLw9xK'", ""),
		"a trace":          recallResult("r.a", "a.py", 1, "f(1)", `,"dataflow_trace":{"intermediate_vars":[{"location":{"path":"a.py","start":{"line":1}},"content":"`+token+`"}]}`),
		"a dependency":     recallResult("r.a", "a.py", 1, "f(1)", `,"sca_info":{"dependency_match":{"found_dependency":{"package":"p","version":"1","ecosystem":"npm"}}}`),
		"what others hold": recallResult("r.a", "a.py", 1, "see "+token, ""),
	} {
		reports, err := Read(strings.NewReader(recallReport(result, recallResult("r.z", "z.py", 1, "k = '"+token+"'", ""))), Options{Name: "x.json", Key: testKey, Remember: true})
		if err != nil {
			t.Fatal(err)
		}
		for _, r := range reports[0].Results {
			if r.Raw.Digest != (redoubt.Digest{}) || r.Raw.Group == 0 {
				t.Errorf("%s: the digest of %s is kept", name, r.Rule.Name)
			}
		}
	}
}

// TestRenamedGroupsAreNotRemembered: where a path or the name of a rule loses a secret,
// groups are not what they were read as.
func TestRenamedGroupsAreNotRemembered(t *testing.T) {
	const token = "ghp_0123456789abcdefghij0123456789abcdef"
	for name, result := range map[string]string{
		"a path": recallResult("r.a", "a/"+token+".py", 1, "f(1)", ""),
		"a rule": recallResult("r."+token, "a.py", 1, "f(1)", ""),
	} {
		reports, err := Read(strings.NewReader(recallReport(result)), Options{Name: "x.json", Key: testKey, Remember: true})
		if err != nil {
			t.Fatal(err)
		}
		if reports[0].Context != (redoubt.Digest{}) {
			t.Errorf("%s: the report is remembered", name)
		}
	}
}
