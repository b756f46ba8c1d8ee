package report_test

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/report/secrets"
)

const (
	password = "q8Zr-7Kw2!pLx0vT"
	github   = "ghp_0123456789abcdefghijABCDEFGHIJ012345"
)

// key is a private key of several lines, of which a snippet may contain a part.
var key = "-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0Z3VS5JJcds3xfn\nygWyF8PbnGy0AHB7MhgwMbRvI0MBZhp\n-----END RSA PRIVATE KEY-----"

func TestBlank(t *testing.T) {
	for name, test := range map[string]struct{ code, want string }{
		"nothing":       {"if x == x:\n\treturn", "if x == x:\n\treturn"},
		"a shape":       {"a\nt = '" + github + "'\nb", "a\nt = '[REDACTED]'\nb"},
		"given a name":  {"db_password = \"" + password + "\"\nuse(\"" + password + "\")", "db_password = \"[REDACTED]\"\nuse(\"[REDACTED]\")"},
		"several lines": {"k = '''" + key + "'''\nnext()", "k = '''-----BEGIN RSA PRIVATE KEY-----[REDACTED]\n[REDACTED]\n[REDACTED]\n[REDACTED]-----END RSA PRIVATE KEY-----'''\nnext()"},
		"windows":       {"a\r\nb\r\n", "a\r\nb\r\n"},
	} {
		var b secrets.Blanker
		b.Learn(test.code)
		if diff := cmp.Diff(test.want, b.Blank(test.code)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
	}
}

// TestBlankAppliesAcrossFiles checks that a secret in one file or report is removed from all.
func TestBlankAppliesAcrossFiles(t *testing.T) {
	reading := &report.Reading{}
	leaks := `[{"RuleID":"generic","Description":"d","StartLine":1,"EndLine":1,"Match":"x","Secret":"swordfish-nine","File":"a.env","Commit":"","Fingerprint":"f"}]`
	if err := reading.Add(strings.NewReader(leaks), report.Options{Key: []byte("k"), Format: report.GitleaksJSON}); err != nil {
		t.Fatal(err)
	}
	b := reading.Blanker()
	b.Learn("token = '" + password + "'\n")
	b.Secret("connect(\"hunter2-hunter\")")
	got := b.Blank("f(\"swordfish-nine\")\ng(\"" + password + "\")\nh(\"hunter2-hunter\")\ni(\"plain\")")
	if diff := cmp.Diff("f(\"[REDACTED]\")\ng(\"[REDACTED]\")\nh(\"[REDACTED]\")\ni(\"plain\")", got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestBlankPreservesLineCount checks that the number of lines is preserved for any text.
func TestBlankPreservesLineCount(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{"\n", "\r\n", key, github, "password = \"" + password + "\"", "-----BEGIN PRIVATE KEY-----", "x", "\"", "https://u:" + password + "@h.example/"})).Draw(t, "parts")
		code := strings.Join(parts, " ")
		var b secrets.Blanker
		b.Learn(code)
		got := b.Blank(code)
		if strings.Count(got, "\n") != strings.Count(code, "\n") {
			t.Fatalf("%q has other lines than %q", got, code)
		}
		for _, secret := range []string{github, password} {
			if strings.Contains(got, secret) {
				t.Fatalf("%q holds %q", got, secret)
			}
		}
	})
}

func TestBlankSnippet(t *testing.T) {
	code := []string{"A=plain words", "B = os.getenv('HOME')", "PASS=hunter2", "url := http://x", "end == x"}
	secret := model.SnippetLocation{Line: 12, EndLine: 12, Secret: true}
	for name, test := range map[string]struct {
		of      model.SnippetLocation
		secrets []model.SnippetLocation
		want    []string
	}{
		"code":            {model.SnippetLocation{Line: 12, EndLine: 12}, nil, code},
		"beside a secret": {model.SnippetLocation{Line: 11, EndLine: 11}, []model.SnippetLocation{secret}, []string{code[0], code[1], "[REDACTED]", code[3], code[4]}},
		"a secret":        {secret, []model.SnippetLocation{secret}, []string{"A=[REDACTED]", "B = [REDACTED]", "[REDACTED]", "url := [REDACTED]", "end == x"}},
		"of strings":      {model.SnippetLocation{Line: 12, EndLine: 12, Strings: true}, nil, []string{code[0], "B = os.getenv('[REDACTED]')", code[2], code[3], code[4]}},
	} {
		got := append([]string{}, code...)
		secrets.BlankSnippet(got, 10, test.of, test.secrets)
		if diff := cmp.Diff(test.want, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		second := append([]string{}, got...)
		if secrets.BlankSnippet(second, 10, test.of, test.secrets); !cmp.Equal(got, second) {
			t.Errorf("%s: not the same twice: %q", name, second)
		}
	}
}
