package redact

import (
	"math/rand/v2"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// These are the regular expressions that assigned replaces.
var (
	oldQuoted = regexp.MustCompile(`(?i)` + names + `["'\])]*(?:\s*:\s*[a-z]+|\s+string)?\s*(?::=|=>|===?|!==?|=|:)\s*[bru]?` +
		"(?:\"([^\"\n]*)\"|'([^'\n]*)'|`([^`\n]*)`)")
	oldValue = `([^\s"'` + "`" + `,;(){}\[\]<>$]{16,})`
	oldBare  = regexp.MustCompile(`(?im)` + names + `(?:\s*[=:]\s*` + oldValue + `[ \t]*(?:$|[;,])|=` + oldValue + `[ \t])`)
)

func oldSpans(e *regexp.Regexp, s string) (out []Span) {
	for _, at := range e.FindAllStringSubmatchIndex(s, -1) {
		for group := 2; group < len(at); group += 2 {
			if at[group] >= 0 {
				out = append(out, Span{at[group], at[group+1]})
			}
		}
	}
	return out
}

func newSpans(next func(*assigned) (Span, bool), s string) (out []Span) {
	for a := (&assigned{s: s}); ; {
		value, ok := next(a)
		if !ok {
			return out
		}
		out = append(out, value)
	}
}

// FuzzAssigned checks that assigned matches the same values as the regular expressions. It also
// checks that shapeMarks finds the same marks as strings.Contains.
func FuzzAssigned(f *testing.F) {
	for _, s := range assignments() {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if want, got := oldSpans(oldQuoted, s), newSpans((*assigned).quoted, s); !slices.Equal(want, got) {
			t.Errorf("in quotes, %q: %v, want %v", s, got, want)
		}
		if want, got := oldSpans(oldBare, s), newSpans((*assigned).bare, s); !slices.Equal(want, got) {
			t.Errorf("without quotes, %q: %v, want %v", s, got, want)
		}
		var want, got []string
		for i, shape := range shapes {
			if strings.Contains(s, shape.mark) {
				want = append(want, shape.mark)
			}
			if shapeMarks.in(s)&(1<<i) != 0 {
				got = append(got, shape.mark)
			}
		}
		if !slices.Equal(want, got) {
			t.Errorf("marks of %q: %q, want %q", s, got, want)
		}
	})
}

// TestAssignedMatchesExpressions compares assigned with the regular expressions on random
// combinations of the parts that they distinguish.
func TestAssignedMatchesExpressions(t *testing.T) {
	parts := []string{
		"password", "PASSWD", "passphrase", "pwd", "secret", "Token", "credential", "credentials", "authorization", "api", "access", "auth", "app", "client", "key", "KEY",
		"_", ".", "-", "\"", "'", "`", "]", ")", " ", "\n", "\t", ":", "=", "!", ">", "b", "r", "string", "str", ",", ";", "(", "$", "{", "é", "\xff", "\u017f", "\u212a",
		"0123456789abcdef", "abcdefgh", "toKen", "\u017fecret", "toK\u212aen", "\r",
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 60_000 {
		var b strings.Builder
		for range 1 + random.IntN(9) {
			b.WriteString(parts[random.IntN(len(parts))])
		}
		s := b.String()
		if want, got := oldSpans(oldQuoted, s), newSpans((*assigned).quoted, s); !slices.Equal(want, got) {
			t.Fatalf("in quotes, %q: %v, want %v", s, got, want)
		}
		if want, got := oldSpans(oldBare, s), newSpans((*assigned).bare, s); !slices.Equal(want, got) {
			t.Fatalf("without quotes, %q: %v, want %v", s, got, want)
		}
	}
}

func assignments() []string {
	return []string{
		`password = "S3cret-Pass"`, `const apiKey: string = 'abcd1234efgh'`, `var token string = "t0k3n-value-1!"`, `headers["Authorization"] = b"Bearer k3y.0123456789abc"`,
		"aws_secret_access_key=wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEY1;", `token=token=token=0123456789abcdef(`, "token: token = `x`", `if (pwd !== "Tr0ub4dor&3")`,
		`token="token"="x"`, "secret:\n  0123456789abcdef0123 \t\n", `password => 'p@ssw0rd1'`, "to\u212aen='x'", "credential\u017f : str = 'x'", `token == "x" token:= 'y`,
	}
}

// TestTextRunsInLinearTime checks that repeated assignments take linear time. In quadratic time the
// test would run for minutes.
func TestTextRunsInLinearTime(t *testing.T) {
	for _, part := range []string{"token=", "token='", "token : ", "key ", `"`, "secret=a(", "password:\n"} {
		s := strings.Repeat(part, 1<<20/len(part)) + "("
		if got := Text(s); got != s {
			t.Errorf("many of %q became %.60q", part, got)
		}
	}
}
