package main

import (
	"bytes"
	"fmt"
	"strings"
)

// benchReport is a made-up report of one project, the same in every run: a few
// rules have most of the findings, and one takes some two kilobytes.
type benchReport struct {
	results []string // JSON
	next    int      // findings made so far
}

func newBenchReport(n int) *benchReport {
	b := &benchReport{}
	b.add(n)
	return b
}

// replace puts new findings in the place of the oldest.
func (b *benchReport) replace(n int) {
	b.results = b.results[n:]
	b.add(n)
}

func (b *benchReport) add(n int) {
	for range n {
		b.next++
		b.results = append(b.results, benchResult(b.next))
	}
}

// benchRules is how many rules a report knows.
const benchRules = 150

func benchResult(n int) string {
	rule := n * n % benchRules // squares are uneven
	line := 1 + n*37%2000
	severity := []string{"INFO", "WARNING", "WARNING", "ERROR"}[rule%4]
	message := fmt.Sprintf("What a caller gave as 'command_%d' reaches a shell. ", n) +
		strings.Repeat("Whoever chooses it can run any program with the rights of this service. ", 6) +
		"Pass the program and its arguments as a list, without a shell."
	code := fmt.Sprintf("    done_%d = subprocess.run(request.args.get('command_%d'), shell=True, capture_output=True)", n, n)
	if n%10 == 0 { // a tenth speaks of secrets, which take the longest to tell from none
		message = fmt.Sprintf("The session token 'token_%d' is made from the password. ", n) +
			strings.Repeat("A session cookie without Secure gives its token away, and a token that never ends is a password. ", 5) +
			"Set secret: to a key of its own and token: to a random value."
		code = fmt.Sprintf("    session_%d['token'] = issue(user, password=request.form.get('password_%d'), secret=settings.SECRET)", n, n)
	}
	metadata := fmt.Sprintf(`{"category":"security","confidence":%q,"cwe":["CWE-%d: Improper Neutralization of Special Elements used in a Command"],`+
		`"owasp":["A03:2021 - Injection"],"technology":["python"],"subcategory":["vuln"],"vulnerability_class":["Command Injection"],`+
		`"likelihood":"HIGH","impact":"MEDIUM","references":["https://owasp.org/Top10/A03_2021-Injection"]}`, []string{"LOW", "MEDIUM", "HIGH"}[rule%3], 20+rule)
	return fmt.Sprintf(`{"check_id":"bench.python.rule-%d","path":"src/module_%d/file_%d.py","start":{"line":%d,"col":5,"offset":%d},"end":{"line":%d,"col":96,"offset":%d},`+
		`"extra":{"metavars":{"$INPUT":{"start":{"line":%d,"col":40,"offset":%d},"end":{"line":%d,"col":60,"offset":%d},"abstract_content":"command_%d"}},`+
		`"message":%q,"metadata":%s,"severity":%q,"fingerprint":"%0128x_0","lines":%q,"is_ignored":false,"validation_state":"NO_VALIDATOR","engine_kind":"OSS"}}`,
		rule, n%40, n%700, line, line*40, line, line*40+91, line, line*40+35, line, line*40+55, n, message, metadata, severity, n*7919, code)
}

// text is the report as Semgrep writes it.
func (b *benchReport) text() []byte {
	var out bytes.Buffer
	out.WriteString(`{"version":"1.180.0","results":[`)
	for i, r := range b.results {
		if i > 0 {
			out.WriteByte(',')
		}
		out.WriteString(r)
	}
	out.WriteString(`],"errors":[],"paths":{"scanned":["README.md"]}}`)
	return out.Bytes()
}
