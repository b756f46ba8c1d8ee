package agent

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/auth"
)

func TestPrintableHidesSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"plain words stay, as does acme/shop@1a2b3c":                                         "plain words stay, as does acme/shop@1a2b3c",
		"Bearer abcdef0123 and Basic dXNlcjpwdw==":                                           "Bearer [REDACTED] and Basic [REDACTED]",
		"cannot clone https://user:pw@git.example/acme/shop.git":                             "cannot clone https://[REDACTED]@git.example/acme/shop.git",
		"SEMGREP_APP_TOKEN=abc, password: 'hunter2'; api-key = xyz":                          "SEMGREP_APP_TOKEN=[REDACTED], password: '[REDACTED]'; api-key = [REDACTED]",
		`{"Authorization": "Bearer abcdef", "client_secret":"s3cr3t"}`:                       `{"Authorization": "[REDACTED] [REDACTED]", "client_secret":"[REDACTED]"}`,
		"ghp_0123456789abcdef and AKIAIOSFODNN7EXAMPLE":                                      "[REDACTED] and [REDACTED]",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef":                   "[REDACTED]",
		"line\nby\tline\x1b[31m and \u202ebackwards\x00":                                     "line by line [31m and backwards",
		"HTTP 401 for url: http://127.0.0.1:8080/api/cli/v2/scans (exit code 2)":             "HTTP 401 for url: http://127.0.0.1:8080/api/cli/v2/scans (exit code 2)",
		"rdt_1_" + strings.Repeat("a", 40) + strings.Repeat(" ", 16*maxCause-20) + "the end": "the end",
	} {
		if got := printable(text); got != want {
			t.Errorf("%q became\n%q, want\n%q", text, got, want)
		}
	}
}

func TestPrintableIsShortTextWithoutTokens(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		secret := auth.NewSecret(rapid.Int64Range(1, 1<<40).Draw(t, "deployment")).Text
		text := printable(rapid.String().Draw(t, "before") + " " + secret + rapid.SampledFrom([]string{"", "\n", "'", " x"}).Draw(t, "after"))
		if strings.Contains(text, secret) || !utf8.ValidString(text) || len(text) > maxCause || strings.ContainsAny(text, "\n\r\x00\x1b") {
			t.Errorf("%q", text)
		}
	})
}

// TestRunLogsHideSecrets checks that logs of runs are redacted like scanners' texts and retain
// their lines.
func TestRunLogsHideSecrets(t *testing.T) {
	for text, want := range map[string]string{
		"one\ntwo\n": "one\ntwo\n",
		"got rdt_1_" + strings.Repeat("a", 40) + "\nrest\n":                          "got [REDACTED]\nrest\n",
		"Authorization: Basic dXNlcjpwdw==\nrest\n":                                  "Authorization: [REDACTED] [REDACTED]\nrest\n",
		"SEMGREP_APP_TOKEN=abc\n":                                                    "SEMGREP_APP_TOKEN=[REDACTED]\n",
		"0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef is gone\n": "[REDACTED] is gone\n",
		"not \xff text\n": "not \uFFFD text\n",
	} {
		if got := runLog(text); got != want {
			t.Errorf("%q became %q, want %q", text, got, want)
		}
	}
}
