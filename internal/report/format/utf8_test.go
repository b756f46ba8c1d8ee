package format

import "testing"

// TestAsUTF8 checks the decoding against the output of semgrep 1.180.0 with a login.
func TestAsUTF8(t *testing.T) {
	for raw, want := range map[string]string{
		"":                         "",
		"h\xe9\xe8lo":              "h\uFFFD\uFFFDlo",
		"/* \xe2\x82 */ eval(bb);": "/* \uFFFD */ eval(bb);",
		"/* \xed\xa0\x80 \xc0\xaf \xf4\x90\x80\x80*/": "/* \uFFFD\uFFFD\uFFFD \uFFFD\uFFFD \uFFFD\uFFFD\uFFFD\uFFFD*/",
		"/* \x93\xfa\x96{ */":                         "/* \uFFFD\uFFFD\uFFFD{ */", // Shift-JIS
		"/* \u20ac \uFFFD */":                         "/* \u20ac \uFFFD */",
		"\xf0\x9f\x98":                                "\uFFFD",
		"\xf0\x9f\x98y\xe0\x80":                       "\uFFFDy\uFFFD\uFFFD",
	} {
		if got := AsUTF8(raw); got != want {
			t.Errorf("%q is %q, want %q", raw, got, want)
		}
	}
}
