package report

import (
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/format"
	"github.com/redoubt/redoubt/internal/report/read"
	"github.com/redoubt/redoubt/internal/report/secrets"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// TestSecretsRemovedFromReports inserts a secret into all members of a report that may contain one, and
// checks that it is removed.
func TestSecretsRemovedFromReports(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9+/=_!$%^&*-]{8,40}[0-9]`).Draw(rt, "secret")
		switch rapid.IntRange(0, 4).Draw(rt, "kind") {
		case 2: // longer than a piece
			secret = strings.Repeat(secret, 8<<10/len(secret))
		case 0: // several lines
			secret = "-----BEGIN KEY-----\n" + secret + strings.Repeat("A", secrets.MinSecretLine) + "\n" + secret + "\n-----END KEY-----"
		case 1: // characters that are escaped or removed
			secret = secret[:4] + "\"\\\t\u00e9\x01" + secret[4:]
		}
		driver := rapid.SampledFrom([]string{"gitleaks", "trufflehog", "Some Secretlint"}).Draw(rt, "driver")
		if driver == "Some Secretlint" {
			driver = "secretlint"
		}
		assertGone(t, rt, "x.sarif", sarifWithSecret(driver, secret), secret)
		assertGone(t, rt, "x.json", semgrepWithSecret(secret), secret)
	})
}

func assertGone(t *testing.T, rt *rapid.T, name, file, secret string) {
	reports, err := Read(strings.NewReader(file), format.Options{Name: name, Key: testKey})
	if err != nil {
		rt.Fatalf("Read: %v", err)
	}
	found := 0
	for _, r := range reports {
		reporttest.Check(t, r)
		for _, res := range r.Results {
			if res.Secret != nil {
				found++
				if res.Secret.Hash == (model.Digest{}) && !secrets.IsRedacted(strings.TrimSpace(secret)) {
					rt.Fatalf("no hash of the secret")
				}
			}
		}
	}
	if found == 0 {
		rt.Fatalf("no secret was found in %s", file)
	}
	needles := []string{secret, read.MultiLine(secret, read.MaxBlock), read.OneLine(secret, read.MaxBlock)}
	for line := range strings.SplitSeq(secret, "\n") {
		if len(line) >= secrets.MinSecretLine && !strings.HasPrefix(line, "-----") {
			needles = append(needles, line)
		}
	}
	reporttest.EachString(reflect.ValueOf(reports), func(s string) {
		for _, needle := range needles {
			if strings.Contains(s, needle) {
				rt.Fatalf("%q holds the secret %q", s, needle)
			}
		}
	})
}

// TestTruncatedSecretsAreRemoved checks that no significant part of a secret remains if it is truncated
// by a limit.
func TestTruncatedSecretsAreRemoved(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		secret := rapid.StringMatching(`[A-Za-z0-9]{20,300}`).Draw(rt, "secret")
		before := rapid.IntRange(-10, len(secret)+10).Draw(rt, "bytes of it before the limit")
		fill := func(limit int) string { return strings.Repeat("~ ", limit)[:max(limit-before, 0)] + secret + " end" }
		reports := []string{
			fmt.Sprintf(`{"runs":[{"tool":{"driver":{"name":"gitleaks-action","rules":[{"id":"r","helpUri":%[2]q,"fullDescription":{"text":%[3]q}}]}},"results":[
				{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"},"region":{"snippet":{"text":%[1]q}}}}]},
				{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":%[4]q}}}]}]},
				{"tool":{"driver":{"name":"bandit"}},"results":[
				{"ruleId":%[2]q,"message":{"text":%[5]q,"arguments":[%[3]q]},"locations":[{"physicalLocation":{"artifactLocation":{"uri":"a"},"region":{"snippet":{"text":%[3]q}}}}],"fingerprints":{"a":%[2]q}}]}]}`,
				secret, fill(read.MaxName), fill(read.MaxBlock), "../"+fill(read.MaxName-20), strings.Repeat("[a](1)", 10)+"{0}"),
			fmt.Sprintf(`{"skipped_rules":[],"version":"1","results":[
				{"check_id":"s","path":"a","start":{"line":1,"col":1},"end":{"line":1,"col":%[4]d},"extra":{"lines":%[1]q,"metadata":{"product":"secrets"}}},
				{"check_id":%[2]q,"path":"a","extra":{"message":%[3]q,"lines":%[3]q,"fingerprint":%[2]q,"metadata":{"cwe":[%[2]q]},
				 "dataflow_trace":{"intermediate_vars":[{"location":{"path":"a"},"content":%[3]q}]}}}]}`,
				secret, fill(read.MaxName), fill(read.MaxBlock), len(secret)+1),
		}
		for _, file := range reports {
			got, err := Read(strings.NewReader(file), format.Options{Name: "x", Key: testKey})
			if err != nil {
				rt.Fatal(err)
			}
			reporttest.EachString(reflect.ValueOf(got), func(s string) {
				for i := range len(secret) - secrets.MinSecretPart {
					if part := secret[i : i+secrets.MinSecretPart]; strings.Contains(s, part) {
						rt.Fatalf("…%q holds %q of the secret", s[max(len(s)-200, 0):], part)
					}
				}
			})
		}
	})
}

// TestSecretsRemovedFromPaths checks secrets in paths, which are unescaped and cleaned, and quoted
// in refusals.
func TestSecretsRemovedFromPaths(t *testing.T) {
	const secret = `p%40ss//w0rd\x"Zz%41`
	file := fmt.Sprintf(`{"runs":[{"tool":{"driver":{"name":"gitleaks"}},"results":[
		{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":%q},"region":{"snippet":{"text":%q}}}}]},
		{"ruleId":"r","locations":[{"physicalLocation":{"artifactLocation":{"uri":%q}}}]},
		{"ruleId":%[2]q,"locations":[{"physicalLocation":{"artifactLocation":{"uri":"b"}}}]}]}]}`, "a/"+secret, secret, "../"+secret)
	r := readOne(t, "x.sarif", file)
	if got := r.Results[0].Path; got != "a/"+secrets.Redacted {
		t.Errorf("the path is %q", got)
	}
	if got := r.Refused[0].Reason; !strings.Contains(got, `"../`+secrets.Redacted+`"`) {
		t.Errorf("the refusal is %s", got)
	}
	if got := r.Results[1].Rule.SecretType; got != secrets.Redacted {
		t.Errorf("the type is %q", got)
	}
}

// TestSecretSearchIsBounded checks that the phrases to search have a limited length. Otherwise
// many secrets with a common prefix make the search slow.
func TestSecretSearchIsBounded(t *testing.T) {
	r := secrets.NewRedactor(nil)
	for n := secrets.MinSecret; n < 1000; n++ {
		r.Remember(strings.Repeat("a", n) + "b")
	}
	for piece := range r.Complete {
		if len(piece) > secrets.MaxPiece {
			t.Fatalf("a piece of %d bytes is looked for", len(piece))
		}
	}
	r.Remember(strings.Repeat("%80", secrets.MaxPiece)) // not UTF-8 after unescaping
}

// sarifWithSecret returns a report with the secret in its snippet and in all members that a report
// stores.
func sarifWithSecret(driver, secret string) string {
	q := func(format string) string {
		b, _ := json.Marshal(fmt.Sprintf(format, secret))
		return string(b)
	}
	location := func(uri string) string {
		return `{"physicalLocation":{"artifactLocation":{"uri":` + uri + `},"region":{"startLine":1,"snippet":{"text":` + q("%s") + `}},
			"contextRegion":{"snippet":{"text":` + q("x = '%s'") + `}}}}`
	}
	return `{"runs":[{"tool":{"driver":{"name":"` + driver + `","rules":[{"id":"r","fullDescription":{"text":` + q("as %s") + `},"helpUri":` + q("https://x/%s") + `,
			"properties":{"tags":[` + q("CWE-1: %s") + `]}},{"id":` + q("rule-%s") + `}]}},
		"automationDetails":{"id":` + q("cat-%s/1") + `},
		"artifacts":[{"location":{"uri":` + q("dir/%s.txt") + `},"roles":["analysisTarget"]}],
		"invocations":[{"toolExecutionNotifications":[{"level":"error","locations":[` + location(q("bad/%s")) + `]}]}],
		"results":[
			{"ruleId":"r","message":{"text":` + q("found %s here") + `},"locations":[` + location(`"conf.py"`) + `],"partialFingerprints":{"commitSha":` + q("%s") + `,"commitMessage":` + q("add %s") + `},
			 "codeFlows":[{"threadFlows":[{"locations":[{"location":` + location(`"conf.py"`) + `}]}]}]},
			{"ruleId":` + q("other-%s") + `,"message":{"text":` + q("%s") + `},"locations":[` + location(q("dir/%s.txt")) + `],"fingerprints":{"a":` + q("%s") + `}},
			{"message":{"text":` + q("%s") + `}}]}]}`
}

func semgrepWithSecret(secret string) string {
	line, _ := json.Marshal("  key = " + secret)
	message, _ := json.Marshal("found " + secret)
	content, _ := json.Marshal(secret)
	lines := strings.Split(secret, "\n")
	end := len([]rune(lines[len(lines)-1])) + 1
	if len(lines) == 1 {
		end += len("  key = ")
	}
	location := fmt.Sprintf(`"path":"conf.py","start":{"line":1,"col":9},"end":{"line":%d,"col":%d}`, len(lines), end)
	return fmt.Sprintf(`{"skipped_rules":[],"results":[
		{"check_id":"s",%[1]s,"extra":{"message":%[2]s,"lines":%[3]s,"metavars":{"$X":{"abstract_content":%[4]s}},"metadata":{"product":"secrets"}}},
		{"check_id":"c",%[1]s,"extra":{"message":%[2]s,"lines":%[3]s,"metadata":{},"dataflow_trace":{"intermediate_vars":[{"location":{"path":"conf.py"},"content":%[4]s}]}}}]}`,
		location, message, line, content)
}

func TestSecretHash(t *testing.T) {
	hash := func(key, secret string) model.Digest { return secrets.NewRedactor([]byte(key)).Register(secret) }
	if hash("k", "hunter2hunter2") != hash("k", " hunter2hunter2\n") {
		t.Error("space around a secret changes its hash")
	}
	if hash("k", "hunter2hunter2") == hash("l", "hunter2hunter2") || hash("k", "hunter2hunter2") == hash("k", "hunter2hunter3") {
		t.Error("another key or secret has the same hash")
	}
	for _, s := range []string{"", "REDACTED", "[REDACTED]", "***", "ghp_****************", "ghp_0123...", "requires login", "  "} {
		if hash("k", s) != (model.Digest{}) {
			t.Errorf("%q has a hash, though the report held it redacted", s)
		}
	}
	if hash("", "hunter2hunter2") != (model.Digest{}) {
		t.Error("there is a hash without a key")
	}
}

// TestCommonWordsAreNotRedacted checks that words in a match do not remove parts of paths, names and other
// findings.
func TestCommonWordsAreNotRedacted(t *testing.T) {
	r := readOne(t, "x", `{"skipped_rules":[],"results":[
		{"check_id":"s","path":"a.py","start":{"line":1,"col":1},"end":{"line":1,"col":60},"extra":{"metadata":{"product":"secrets"},
		 "lines":"client(\"production\", hmac=\"sha256\", key=\"k3y-0123456789\")","metavars":{"$F":{"abstract_content":"client"},"$N":{"abstract_content":"production"}}}},
		{"check_id":"c","path":"production/sha256.py","extra":{"message":"client of production uses sha256 and k3y-0123456789","metadata":{}}}],
		"paths":{"scanned":["production/sha256.py"]}}`)
	got := r.Results[1]
	if got.Path != "production/sha256.py" || r.Searched[0] != got.Path || got.Message != "client of production uses sha256 and "+secrets.Redacted {
		t.Errorf("path %q, message %q", got.Path, got.Message)
	}
}

func TestLinks(t *testing.T) {
	for address, want := range map[read.Text]string{
		"https://example.com/r?x=1#y": "https://example.com/r?x=1#y", " http://h ": "http://h", "javascript:alert(1)": "", "java\nscript://h/%0aalert(1)": "",
		"data:text/html,x": "", "//h/x": "", "/x": "", "https:": "", "https://h\x00/": "https://h/", "%": "", "": "",
	} {
		if got := address.Link(); got != want {
			t.Errorf("link(%q) = %q, want %q", address, got, want)
		}
	}
}

func TestSecretTypes(t *testing.T) {
	for rule, want := range map[string]string{
		"aws-access-token": "aws", "stripe-access-token": "stripe", "github-fine-grained-pat": "github fine grained", "private-key": "private",
		"generic.secrets.gitleaks.slack-webhook-url": "slack", "jwt": "jwt", "CKV_SECRET_6": "CKV", "generic-api-key": "generic",
	} {
		if got := secrets.SecretTypeOf(rule); got != want {
			t.Errorf("secretTypeOf(%s) = %q, want %q", rule, got, want)
		}
	}
}
