package redact

import (
	"encoding/base64"
	"net/url"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

const (
	lower       = "abcdefghijklmnopqrstuvwxyz234567"
	hexDigits   = "0123456789abcdef"
	upperDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	alnum       = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// drawn generates a credential of random characters. Its fixed parts are concatenated at run time,
// so that secret scanners do not report this repository.
type drawn func(random func(alphabet string, n int) string) (before, secret, after string)

func alone(of func(r func(string, int) string) string) drawn {
	return func(r func(string, int) string) (string, string, string) { return "", of(r), "" }
}

var kinds = map[string]drawn{
	"Redoubt, token":   alone(func(r func(string, int) string) string { return "rd" + "t_1_" + r(lower, 52) + "_" + r(lower, 6) }),
	"Redoubt, code":    alone(func(r func(string, int) string) string { return "rd" + "c_2s_" + r(lower, 52) + "_" + r(lower, 6) }),
	"Redoubt, refresh": alone(func(r func(string, int) string) string { return "rd" + "r_1_" + r(lower, 52) + "_" + r(lower, 6) }),
	"Redoubt, device":  alone(func(r func(string, int) string) string { return "rd" + "d_1_" + r(lower, 52) + "_" + r(lower, 6) }),
	"Hugging Face":     alone(func(r func(string, int) string) string { return "hf" + "_" + r(alnum, 34) }),
	"Twilio":           alone(func(r func(string, int) string) string { return "S" + "K" + r(hexDigits, 32) }),
	"age":              alone(func(r func(string, int) string) string { return "AGE-SECRET" + "-KEY-1" + r(upperDigits, 58) }),
	"Discord": func(r func(string, int) string) (string, string, string) {
		return "https://discord.com/api/webhooks/123456789012345678/", r(alnum, 68), ""
	},
	"bearer": func(r func(string, int) string) (string, string, string) {
		return "Authorization: Bearer ", "k3y." + r(alnum, 24), ""
	},
	"basic": func(r func(string, int) string) (string, string, string) {
		return "Authorization: Basic ", base64.StdEncoding.EncodeToString([]byte("user:" + r(alnum, 12))), ""
	},
	"cookie": func(r func(string, int) string) (string, string, string) {
		return "Cookie: ", "session=s1-Qw8zRt5y" + r(alnum, 12), ""
	},
	"curl": func(r func(string, int) string) (string, string, string) {
		return "curl -sS -u ci:", "p1-" + r(alnum, 10), ""
	},
	"connection string": func(r func(string, int) string) (string, string, string) {
		return "Server=db;User Id=sa;Password=", "p1-" + r(alnum, 12), ";"
	},
	"mysql": func(r func(string, int) string) (string, string, string) {
		return "mysqldump -h db -p", "p1-" + r(alnum, 10), " shop"
	},
	"sshpass": func(r func(string, int) string) (string, string, string) {
		return "sshpass -p ", "p1-" + r(alnum, 10), " ssh host"
	},
	"netrc": func(r func(string, int) string) (string, string, string) {
		return "machine git.example login ci password ", "p1-" + r(alnum, 10), ""
	},
	"pgpass": func(r func(string, int) string) (string, string, string) {
		return "db.internal:5432:shop:app:", "p1-" + r(alnum, 10), ""
	},
	"signature": func(r func(string, int) string) (string, string, string) {
		return "https://blob.example/x?se=2030&sig=", r(alnum, 43), ""
	},
	"given in a sentence": func(r func(string, int) string) (string, string, string) {
		return "failed with SEMGREP_APP_TOKEN=", "0a1b2" + r(hexDigits, 59), " in the environment"
	},
}

// TestCredentialKindsAreRedacted checks that credentials of all kinds are redacted in different contexts.
func TestCredentialKindsAreRedacted(t *testing.T) {
	for name, draw := range kinds {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				before, secret, after := draw(func(alphabet string, n int) string {
					return string(rapid.SliceOfN(rapid.SampledFrom([]byte(alphabet)), n, n).Draw(rt, "random"))
				})
				if name != "cookie" && name != "given in a sentence" {
					before = rapid.SampledFrom([]string{"", "x = ", "see ", "\"", "("}).Draw(rt, "start") + before
				}
				text := before + secret + after + rapid.SampledFrom([]string{"", "\n", " and more", "\" ..."}).Draw(rt, "end")
				for what, got := range map[string]string{"text": Text(text), "log": Log(text)} {
					if strings.Contains(got, secret) {
						rt.Fatalf("as %s, %q became %q", what, text, got)
					}
				}
				if got := Text(text); got != strings.Replace(text, secret, Mark, 1) {
					rt.Fatalf("%q became %q", text, got)
				}
			})
		})
	}
}

// TestNonSecretsArePreserved checks that texts similar to credentials are preserved.
func TestNonSecretsArePreserved(t *testing.T) {
	for _, s := range []string{
		"the bearer token authentication scheme", "Bearer authentication-required", "basic authentication", "use Basic auth", "Set-Cookie: name=value; Secure",
		"curl -u $USER:$PASSWORD https://x", "curl -u user:${PW}", "mysql -p$PASSWORD", "sshpass -p \"$PW\" ssh h", "machine h login u password <password>",
		"?sig=short", "rdt_TOKEN", "rdt_1_", "SKU0123456789", `api_key = "getAuthenticationTokenFromSession"`, "token=x in it",
		"password=changeme;", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
	} {
		if got := Text(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}

// TestMixedCaseLettersAreSecret checks that a value of letters alone is a secret if its case
// changes more often than in words.
func TestMixedCaseLettersAreSecret(t *testing.T) {
	if got := Text(`client_secret="DDpSBQTWnVrxUBNIvxqXLsJh"`); got != `client_secret="`+Mark+`"` {
		t.Error(got)
	}
}

// FuzzText checks that redaction of arbitrary text does not panic and that its result has a bounded
// length.
func FuzzText(f *testing.F) {
	for _, s := range assignments() {
		f.Add(s)
	}
	f.Add("Authorization: Basic dXNlcjpwYXNzd29yZA==\ncurl -u a:secret1 x")
	f.Fuzz(func(t *testing.T, s string) {
		if once := Text(s); len(once) > 3*len(s)+len(Mark) {
			t.Errorf("%q became %q", s, once)
		}
		Log(s)
		Finder{Key: []byte("k")}.Name(s)
	})
}

// TestNamesStayEqual checks that Name replaces each kind of credential with a keyed hash of fixed
// length. Equal names must stay equal.
func TestNamesStayEqual(t *testing.T) {
	mine, other := Finder{Key: []byte("k")}, Finder{Key: []byte("another")}
	for name, draw := range kinds {
		if name == "given in a sentence" {
			continue // names have no assignments
		}
		rapid.Check(t, func(rt *rapid.T) {
			random := func(alphabet string, n int) string {
				return string(rapid.SliceOfN(rapid.SampledFrom([]byte(alphabet)), n, n).Draw(rt, "random"))
			}
			before, secret, after := draw(random)
			_, second, _ := draw(random)
			got := mine.Name(before + secret + after)
			size := len(before+after) + len("REDACTED-0123456789abcdef")
			if len(got) != size || !strings.HasPrefix(got, before) || !strings.HasSuffix(got, after) {
				rt.Fatalf("%s: %q became %q", name, before+secret+after, got)
			}
			if mine.Name(before+secret+after) != got || mine.Name(got) != got || other.Name(got) != got {
				rt.Fatalf("%s: %q does not stay", name, got)
			}
			if other.Name(before+secret+after) == got || second != secret && mine.Name(before+second+after) == got {
				rt.Fatalf("%s: another name or key gives %q too", name, got)
			}
		})
	}
	escaped := "https://x.example/r?vcs_url=" + url.QueryEscape("https://ci:p1-Qw8zRt5y@host/a")
	if got := mine.Name(escaped); strings.Contains(got, "Qw8zRt5y") || !strings.HasPrefix(got, "https://x.example/r?vcs_url=https://ci:REDACTED-") {
		t.Error(got)
	}
	for _, s := range []string{"src/a+b%20c.py", "1.0.0+build", "100%", "pkg:npm/%40acme/left@1.0.0"} {
		if got := mine.Name(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}
