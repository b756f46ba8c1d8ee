package main

import (
	"fmt"
	"strings"
)

// Proportions of a report: how many rules and files it speaks of, and which share of
// its findings speaks of secrets, as real scanners' messages do.
const (
	ruleCount    = 300
	fileCount    = 1400
	perFile      = 40 // lines between two findings of a file
	secretsEvery = 10
)

// maker makes results of Semgrep, no two of which are alike in rule, file and line:
// what tells findings apart differs between the servers, and none may take two for one.
type maker struct{ made int }

// results makes n results, a JSON object each, of some 1.7 KB.
func (m *maker) results(n int) []string {
	out := make([]string, n)
	for i := range out {
		m.made++
		out[i] = result(m.made)
	}
	return out
}

// said is what a finding quotes and says; each takes the finding's number once.
type said struct{ code, message string }

var (
	ordinary = said{
		"    result = subprocess.run(request.args.get('command_%d'), shell=True, capture_output=True)",
		"Detected user input 'command_%d' that reaches a shell. " +
			strings.Repeat("An attacker who controls it can run any command with the rights of this service. ", 6) +
			"Pass a list of arguments and leave shell=False, so that no shell reads the input.",
	}
	ofSecrets = said{
		"    session['token'] = issue(user, password=request.form.get('password_%d'), secret=settings.SESSION_SECRET)",
		"The session token 'token_%d' is made from the password: whoever learns the token learns the password, too. " +
			strings.Repeat("A session cookie without Secure or HttpOnly gives its token away, and a token that never ends is as good as a password. ", 4) +
			"Set secret: to a key of its own, password = None in the session, and token: as a random value of 32 bytes.",
	}
)

// severities of rules, a quarter of which are high.
var severities = []string{"INFO", "WARNING", "WARNING", "ERROR"}

func result(n int) string {
	rule, file, line := n%ruleCount, n%fileCount, 1+n/fileCount*perFile
	text := ordinary
	if n%secretsEvery == 0 {
		text = ofSecrets
	}
	return fmt.Sprintf(`{"check_id":"python.lang.security.audit.rule-%[1]d.rule-%[1]d","path":%[2]q,"start":{"line":%[3]d,"col":5,"offset":%[4]d},"end":{"line":%[3]d,"col":96,"offset":%[5]d},`+
		`"extra":{"message":%[6]q,"severity":%[7]q,"lines":%[8]q,"fingerprint":"%0128[9]x_0","is_ignored":false,"validation_state":"NO_VALIDATOR","engine_kind":"OSS",`+
		`"metavars":{"$INPUT":{"start":{"line":%[3]d,"col":40,"offset":%[4]d},"end":{"line":%[3]d,"col":60,"offset":%[5]d},"abstract_content":"command"}},`+
		`"metadata":{"category":"security","confidence":"MEDIUM","cwe":["CWE-%[10]d: Improper Neutralization of Special Elements used in a Command"],`+
		`"owasp":["A03:2021 - Injection"],"technology":["python"],"subcategory":["vuln"],"likelihood":"HIGH","impact":"MEDIUM",`+
		`"references":["https://owasp.org/Top10/A03_2021-Injection"],"source":"https://rules.example/r/rule-%[1]d"}}}`,
		rule, path(file), line, line*perFile, line*perFile+91, fmt.Sprintf(text.message, n), severities[rule%len(severities)], fmt.Sprintf(text.code, n), n*7919, 20+rule)
}

func path(file int) string { return fmt.Sprintf("src/services/module_%d/file_%d.py", file%40, file) }

// semgrep makes a report of results. It says that all files were scanned, so a full
// scan with it closes what it does not hold.
func semgrep(results []string) []byte {
	files := make([]string, fileCount)
	for i := range files {
		files[i] = fmt.Sprintf("%q", path(i))
	}
	return []byte(`{"version":"1.180.0","results":[` + strings.Join(results, ",") + `],"errors":[],"paths":{"scanned":[` + strings.Join(files, ",") + `]}}`)
}
