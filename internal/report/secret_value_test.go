package report

import (
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// shaped generates credentials in known formats. Their fixed parts are concatenated at run time, so
// that secret scanners do not report this repository.
var shaped = map[string]func(random func(alphabet string, n int) string) string{
	"AWS":          func(r func(string, int) string) string { return "AK" + "IA" + r(upperDigits, 16) },
	"GitHub":       func(r func(string, int) string) string { return "gh" + "p_" + r(alnum, 36) },
	"GitHub, fine": func(r func(string, int) string) string { return "github" + "_pat_" + r(alnum, 22) + "_" + r(alnum, 59) },
	"Slack":        func(r func(string, int) string) string { return "xox" + "b-" + r(digitsOnly, 12) + "-" + r(alnum, 24) },
	"GitLab":       func(r func(string, int) string) string { return "glpat" + "-" + r(alnum, 20) },
	"Stripe":       func(r func(string, int) string) string { return "sk" + "_live_" + r(alnum, 24) },
	"Google":       func(r func(string, int) string) string { return "AI" + "za" + r(alnum, 35) },
	"npm":          func(r func(string, int) string) string { return "npm" + "_" + r(alnum, 36) },
	"PyPI":         func(r func(string, int) string) string { return "pypi" + "-AgEIcHlwaS5vcmc" + r(alnum, 60) },
	"JWT": func(r func(string, int) string) string {
		return "ey" + "J" + r(alnum, 20) + ".ey" + "J" + r(alnum, 30) + "." + r(alnum, 43)
	},
	"SendGrid": func(r func(string, int) string) string { return "SG" + "." + r(alnum, 22) + "." + r(alnum, 43) },
	"Slack, webhook": func(r func(string, int) string) string {
		return r(upperDigits, 9) + "/" + r(upperDigits, 9) + "/" + r(alnum, 24)
	},
}

const (
	digitsOnly  = "0123456789"
	upperDigits = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567"
	alnum       = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
)

// TestKnownCredentialFormatsAreRedacted checks that credentials in known formats are redacted in
// the texts of any finding, which remains a code finding.
func TestKnownCredentialFormatsAreRedacted(t *testing.T) {
	for name, draw := range shaped {
		t.Run(name, func(t *testing.T) {
			rapid.Check(t, func(rt *rapid.T) {
				secret := draw(func(alphabet string, n int) string {
					return string(rapid.SliceOfN(rapid.SampledFrom([]byte(alphabet)), n, n).Draw(rt, "random"))
				})
				before := rapid.SampledFrom([]string{"", "x = ", `call("`, "curl -H 'X-Key: ", "see "}).Draw(rt, "before")
				if name == "Slack, webhook" {
					before = "https://hooks.slack.com/services/"
				}
				after := rapid.SampledFrom([]string{"", `")`, "'", " and more", "\n"}).Draw(rt, "after")
				got := secrets.NewRedactor(testKey).BlankText(before + secret + after)
				if got != before+secrets.Redacted+after {
					rt.Fatalf("%q became %q", before+secret+after, got)
				}
				rep := readText(t, "x.json", semgrepWithLine("any.rule", "", secret))
				if res := rep[0].Results[0]; strings.Contains(reporttest.Dump(rep), secret) != (name == "Slack, webhook") || res.Rule.IssueType != model.SAST {
					rt.Fatalf("a finding of %s is %+v", res.Rule.IssueType, res)
				}
			})
		})
	}
}

// TestSecretDetection checks texts in which the secret is between « and ».
func TestSecretDetection(t *testing.T) {
	for _, marked := range []string{
		`password = "«S3cret-Pass»"`, `DB_PASSWORD: '«hunter2hunter2»'`, `{"api_key": "«a81c9e02f7»"}`, `headers["Authorization"] = "Bearer «k3y.0123456789abc»"`,
		`const apiKey: string = '«abcd1234efgh»'`, `var token string = "«t0k3n-value-1!»"`, `client_secret := "«f47ac10b-58cc-4372-a567-0e02b2c3d479»"`,
		"aws_secret_access_key=«wJalrXUtnFEMIK7MDENGbPxRfiCYzzzzzzzzKEY1»", "export NPM_TOKEN=«a9f3c8e1b7d24c6f8a0e5b3d7c1f9e2a»;", `if (pwd == "«Tr0ub4dor&3»")`,
		`db = connect("postgres://app:«pa55word»@db/x")`, `git clone https://«»x:«qwertz»@host/r`, `password => '«p@ssw0rd1»'`,
	} {
		text, want := unmark(marked)
		if got := secrets.NewRedactor(testKey).BlankText(text); got != want {
			t.Errorf("%s became %s", text, got)
		}
	}
}

func unmark(marked string) (text, want string) {
	var b strings.Builder
	for rest := marked; ; {
		before, after, found := strings.Cut(rest, "«")
		b.WriteString(before)
		if !found {
			break
		}
		secret, after, _ := strings.Cut(after, "»")
		if secret != "" {
			b.WriteString(secrets.Redacted)
		}
		rest = after
	}
	return strings.NewReplacer("«", "", "»", "").Replace(marked), b.String()
}

// TestNonSecretsAreUnchanged checks that similar texts, and code about secrets without a secret, are
// unchanged.
func TestNonSecretsAreUnchanged(t *testing.T) {
	for _, s := range []string{
		`password = os.getenv("DB_PASSWORD_1")`, `password = config["db_password_2"]`, `token_url = "https://idp.test/oauth2/token"`, `password = ""`,
		`secret = "${SECRET_1}"`, `password: "{{ vault_password_1 }}"`, `token = "csrfmiddlewaretoken"`, `password_field = "input-4711-x"`,
		`password = "YOUR_PASSWORD_1"`, `api_key = "your-api-key-123456"`, `token = "<TOKEN_123456>"`, `password = f"{user}-{n}-0"`, `secret_name = "prod/db1/secret2"`,
		`token = next_token_of_page(page2)`, `password = self.password_2_confirmed`, `api_key = settings.API_KEY_2`, `private_key = "/etc/ssl/key1.pem"`,
		`commit = "da39a3ee5e6b4b0d3255bfef95601890afd80709"`, `sha256: e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855`,
		`"integrity": "sha512-z4PhNX7vuL3xVChQ1m2AB9Yg5AULVxXcg/SpIdNs6c5H0NE8XYXysP+DGNKHfuwvY7kxvUdBeoGlODJ6+SfaPg=="`, `id = "f47ac10b-58cc-4372-a567-0e02b2c3d479"`,
		`<img src="data:image/png;base64,iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4">`, `max_tokens = "1048576 of them"`, `primary_key = "user_id_20240101"`,
		`The password is hashed with MD5, see CWE-328: use scrypt`, `password: str = Field(..., min_length=12)`, `tokenizer = "cl100k_base-2024"`,
		`https://host:8443/a@b`, `http://localhost:3000/x?y=a@b.c`, `postgres://${USER}:${PASSWORD}@db/x`, `mailto:a@b.c`, `secret="oauth2-token"`, `git@host:team/repo.git`,
		`AKIA_IS_A_PREFIX`, `ghp_short`, `-----BEGIN CERTIFICATE-----`, `std::secret::token = 0123456789012345678`, `x.token = y0.z1.w2.v3.u4.t5.s6`,
	} {
		if got := secrets.NewRedactor(testKey).BlankText(s); got != s {
			t.Errorf("%s became %s", s, got)
		}
	}
}

// TestHashesAndIDsAreNotSecrets checks random hashes, ids and images that are not assigned to a name
// of a secret.
func TestHashesAndIDsAreNotSecrets(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		bytes := rapid.SliceOfN(rapid.Byte(), 16, 64).Draw(rt, "bytes")
		text := hex.EncodeToString(bytes)
		id := fmt.Sprintf("%x-%x-%x-%x-%x", bytes[:4], bytes[4:6], bytes[6:8], bytes[8:10], bytes[10:16])
		image := "data:image/png;base64," + base64.StdEncoding.EncodeToString(append([]byte("\x89PNG"), bytes...))
		for _, value := range []string{text, id, image} {
			name := rapid.SampledFrom([]string{"digest", "commit", "etag", "checksum", "id", "version", "src", "cache_key", "md5"}).Draw(rt, "name")
			for _, s := range []string{name + ` = "` + value + `"`, name + ": " + value, value} {
				if got := secrets.NewRedactor(testKey).BlankText(s); got != s {
					rt.Fatalf("%s became %s", s, got)
				}
			}
		}
	})
}

// TestRedactionIsIdempotent checks that redaction is idempotent, because stored scans are
// read again.
func TestRedactionIsIdempotent(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		parts := rapid.SliceOf(rapid.SampledFrom([]string{
			"password", "token", " = ", ": ", `"`, "'", "hunter2-1x", "\n", "a://b:", "c9d8@e", "-----BEGIN PRIVATE KEY-----", "0123456789abcdefABCDEF", "{", "}",
		})).Draw(rt, "parts")
		r := secrets.NewRedactor(testKey)
		once := r.BlankText(strings.Join(parts, ""))
		if twice := r.BlankText(once); twice != once {
			rt.Fatalf("%q became %q", once, twice)
		}
	})
}

// TestPrivateKeysAreRedacted checks that a key is redacted and its header preserved, even if the
// snippet lacks its end.
func TestPrivateKeysAreRedacted(t *testing.T) {
	const begin, end = "-----BEGIN RSA PRIVATE " + "KEY-----", "-----END RSA PRIVATE KEY-----"
	body := "\nMIIEpAIBAAKCAQEAx5Z2n0\nq8y7GZ1c2v3b4n5m6\n"
	for text, want := range map[string]string{begin + body + end: begin + secrets.Redacted + end, begin + body: begin + secrets.Redacted, "x\n" + begin + body + end + "\ny": "x\n" + begin + secrets.Redacted + end + "\ny"} {
		if got := secrets.NewRedactor(testKey).BlankText(text); got != want {
			t.Errorf("%q became %q", text, got)
		}
	}
}

// TestHardcodedSecretRuleStringsAreRemoved checks that the strings of rules about hardcoded secrets are
// removed from code, message and data flow.
func TestHardcodedSecretRuleStringsAreRemoved(t *testing.T) {
	file := func(rule, message string) string {
		return fmt.Sprintf(`{"skipped_rules":[],"results":[{"check_id":%q,"path":"a.py","start":{"line":1,"col":1},"end":{"line":1,"col":40},"extra":{"metadata":{},
			"message":%q,"lines":"jwt.encode(claims, 'letmein', algorithm=x)",
			"dataflow_trace":{"intermediate_vars":[{"location":{"path":"a.py"},"content":"'letmein'"}]}}}]}`, rule, message)
	}
	for rule, message := range map[string]string{
		"python.jwt.security.jwt-hardcode.jwt-python-hardcoded-secret": "found 'letmein'", "G101": "Potential hardcoded credentials: 'letmein'", "x.hard-coded-token": "m",
	} {
		rep := readOne(t, "x", file(rule, message))
		if text := reporttest.Dump([]*model.Report{rep}); strings.Contains(text, "letmein") {
			t.Errorf("%s keeps it: %s", rule, text)
		}
		if rep.Results[0].Rule.IssueType != model.SAST || rep.Results[0].CodeHash != "" || rep.Results[0].CodeKey == (model.Digest{}) {
			t.Errorf("%s: %+v", rule, rep.Results[0])
		}
	}
	if rep := readOne(t, "x", file("hardcoded-colour", "m")); !strings.Contains(rep.Results[0].Code, "letmein") {
		t.Error("a rule about something else loses its strings")
	}
}

func BenchmarkBlank(b *testing.B) {
	r := secrets.NewRedactor(testKey)
	const code, message = "        cursor.execute(\"SELECT * FROM users WHERE name = '%s'\" % name)\n        return cursor.fetchall()",
		"Detected string formatting in a SQL statement: use parameters, or an attacker reads whatever they like"
	b.SetBytes(int64(len(code) + len(message)))
	for b.Loop() {
		if r.BlankText(code) != code || r.BlankText(message) != message || secrets.SpeaksOfSecrets(message) {
			b.Fatal("blanked")
		}
	}
}
