package semgrep

import (
	"fmt"
	"testing"

	"github.com/twmb/murmur3"
)

// TestSemgrepIDs checks ids from the scanner's own tests and from recorded runs.
func TestSemgrepIDs(t *testing.T) {
	if got, want := SyntacticID("eqeq-five", "foo.py", "x == 5", 0), "8646a2dfc020913606969dcfe84e53c0"; got != want {
		t.Errorf("syntactic id %s, want %s", got, want)
	}
	for _, v := range []struct{ rule, path, formula, head, tail string }{
		{"eqeq-four", "foo.py", "baz == 4", "e7f900087df6", "46972b8_1"},
		{"supply-chain1", "poetry.lock", "", "2c4ff12fcdf8", "_1"},
		{"eqeq", "app.py", "x == x", "56a78fb44c4b42662732d04d802552fca98e1466449ad72f13772775c0da29a10ce664916b81a2a01da4ae583bda886a70fcdb363b567d6ad4ef5a18efa6907e", "_1"},
	} {
		got := MatchBasedID(v.rule, v.path, v.formula, 1)
		if len(got) != 130 || got[:len(v.head)] != v.head || got[130-len(v.tail):] != v.tail {
			t.Errorf("match_based_id of %s is %s, want %s…%s", v.rule, got, v.head, v.tail)
		}
	}
}

func TestMurmur3(t *testing.T) {
	for text, want := range map[string]string{
		"":      "0000000000000000 0000000000000000",
		"hello": "cbd8a7b341bd9b02 5b1e906a48ae1d19",
		"The quick brown fox jumps over the lazy dog": "e34bbc7bbc071b6c 7a433ca9c49a9347",
	} {
		low, high := murmur3.StringSum128(text)
		if got := fmt.Sprintf("%016x %016x", low, high); got != want {
			t.Errorf("%q: %s, want %s", text, got, want)
		}
	}
}

func TestPyRepr(t *testing.T) {
	for in, want := range map[string]string{
		``: `''`, `a`: `'a'`, `it's`: `"it's"`, `say "x"`: `'say "x"'`, `it's "x"`: `'it\'s "x"'`, "a\tb\nc\rd\\": `'a\tb\nc\rd\\'`,
		"\x00\x1f\x7f\u0080\u00a0\u00ad": `'\x00\x1f\x7f\x80\xa0\xad'`, "é日😀": `'é日😀'`, "\u200b\u2028\ue000": `'\u200b\u2028\ue000'`, "\U000e0001": `'\U000e0001'`,
		"\xffa\xc3": "'\ufffda\ufffd'", "\ufffd\\\xe2\x80": `'` + "\ufffd" + `\\` + "\ufffd\ufffd'",
	} {
		if got := pyRepr(in); got != want {
			t.Errorf("%q: %s, want %s", in, got, want)
		}
	}
}

func TestFormula(t *testing.T) {
	for rule, want := range map[string]string{
		`{"pattern":"$X == $X"}`:                             `$X == $X`,
		`{"patterns":[{"pattern":"b"},{"pattern-not":"a"}]}`: `a b`,

		`{"pattern-sources":[{"pattern":"input()"}],"pattern-sinks":[{"pattern":"exec(...)"}]}`:         `exec(...) input()`,
		`{"patterns":[{"pattern":"z"},{"metavariable-regex":{"metavariable":"$A","regex":"q"}}]}`:       `$A q z`,
		`{"patterns":[{"pattern":"z"},{"metavariable-comparison":{"metavariable":"$A","strip":true}}]}`: ``,
		`{"pattern":"a","pattern-either":null}`:                                                         `a`,
		`{"patterns":["a",null]}`:                                                                       ``,
		`{"join":{"on":["a","b"],"refs":[{"rule":"r","as":"x"}]}}`:                                      `  a a b r x b`,
		`{"r2c-internal-project-depends-on":{"package":"p"}}`:                                           ``,
		`{"taint":{"sources":["s"],"sinks":["k"]},"match":{"all":["m"]}}`:                               `k s m`,

		`nonsense`: ``,
	} {
		if got := FormulaOf([]byte(rule)); got != want {
			t.Errorf("%s: %q, want %q", rule, got, want)
		}
	}
}

func TestBind(t *testing.T) {
	got, _ := Bind("$REQFUNC($REQ, $X)", []Metavar{{"$REQ", "foo"}, {"$X", "$REQ"}, {"$REQFUNC", "bar"}})
	if want := "bar(foo, $REQ)"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
