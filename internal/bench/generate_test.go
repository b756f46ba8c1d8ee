package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Proportions of a real deployment. A few projects and rules have most of the findings. About a
// third of those on the main branch are on another one, too.
const (
	ruleCount   = 300
	elsewhere   = 30   // percentage of a project's findings that are on another ref, too
	perLockfile = 1000 // dependencies
	perProject  = 250  // average number of findings of a project
)

// generator generates the same reports in each run.
type generator struct {
	rnd   *rand.Rand
	rules []ruleText
	pick  *rand.Zipf
	next  int // number of generated findings, which makes them distinct
}

// ruleText is a rule, which Semgrep repeats in each result.
type ruleText struct {
	id       string
	severity string
	metadata string // JSON
}

func newGenerator() *generator {
	g := &generator{rnd: rand.New(rand.NewPCG(1, 2))}
	g.pick = rand.NewZipf(g.rnd, 1.2, 8, ruleCount-1)
	for i := range ruleCount {
		g.rules = append(g.rules, g.rule(i))
	}
	return g
}

func oneOf[T any](g *generator, list ...T) T { return list[g.rnd.IntN(len(list))] }

func (g *generator) rule(i int) ruleText {
	language := oneOf(g, "python", "javascript", "go", "java", "ruby")
	return ruleText{
		id:       fmt.Sprintf("%s.lang.security.audit.rule-%d.rule-%d", language, i, i),
		severity: oneOf(g, "INFO", "WARNING", "WARNING", "ERROR"),
		metadata: fmt.Sprintf(`{"category":%q,"confidence":%q,"cwe":["CWE-%d: Improper Neutralization of Special Elements used in a Command"],`+
			`"owasp":["A01:2017 - Injection","A03:2021 - Injection"],"technology":[%q],"subcategory":["vuln"],"vulnerability_class":["Code Injection"],`+
			`"likelihood":"HIGH","impact":"MEDIUM","references":["https://owasp.org/Top10/A03_2021-Injection"],"source":"https://rules.example/r/rule-%d"}`,
			oneOf(g, "security", "security", "security", "best-practice", "correctness"), oneOf(g, "LOW", "MEDIUM", "HIGH"), 20+i, language, i),
	}
}

// results generates n new results, each a JSON object.
func (g *generator) results(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = g.result()
	}
	return out
}

// wording contains the code and the message of a finding, with placeholders for its number.
type wording struct{ code, message string }

// A tenth of the findings mentions secrets, like real reports do: their text contains many words
// and characters that may precede a secret.
var (
	ordinary = wording{
		"    result_%d = subprocess.run(request.args.get('command_%d'), shell=True, capture_output=True)",
		"Detected user input 'command_%d' that reaches a shell. " +
			strings.Repeat("An attacker who controls it can run any command with the rights of this service. ", 6) +
			"Pass a list of arguments and leave shell=False, so that no shell reads the input.",
	}
	ofSecrets = wording{
		"    session_%d['token'] = issue(user, password=request.form.get('password_%d'), secret=settings.SESSION_SECRET)",
		"The session token 'token_%d' is derived from the password: the token reveals the password. " +
			strings.Repeat("A session cookie without Secure or HttpOnly gives its token away, and a token that never ends is as good as a password. ", 4) +
			"Set secret: to a key of its own, password = None in the session, and token: as a random value of 32 bytes.",
	}
)

// result generates a finding of about two kilobytes.
func (g *generator) result() string {
	g.next++
	r := g.rules[g.pick.Uint64()]
	line, n := 1+g.rnd.IntN(2000), g.next
	template := ordinary
	if n%10 == 0 {
		template = ofSecrets
	}
	code := fmt.Sprintf(template.code, n, n)
	message := fmt.Sprintf(template.message, n)
	return fmt.Sprintf(`{"check_id":%q,"path":"src/services/module_%d/handlers/file_%d.py","start":{"line":%d,"col":5,"offset":%d},"end":{"line":%d,"col":96,"offset":%d},`+
		`"extra":{"metavars":{"$INPUT":{"start":{"line":%d,"col":40,"offset":%d},"end":{"line":%d,"col":60,"offset":%d},"abstract_content":"command_%d"}},`+
		`"message":%q,"metadata":%s,"severity":%q,"fingerprint":"%0128x_0","lines":%q,"is_ignored":false,"validation_state":"NO_VALIDATOR","engine_kind":"OSS"}}`,
		r.id, n%40, n%700, line, line*40, line, line*40+91, line, line*40+35, line, line*40+55, n, message, r.metadata, r.severity, n*7919, code)
}

// semgrep returns a report of results. It lists the scanned files, so that a full scan closes
// findings that it does not contain.
func semgrep(results []string) []byte {
	var paths strings.Builder
	for i := range 1400 { // all paths that result generates
		fmt.Fprintf(&paths, `,"src/services/module_%d/handlers/file_%d.py"`, i%40, i%700)
	}
	return []byte(`{"version":"1.180.0","results":[` + strings.Join(results, ",") + `],"errors":[],"paths":{"scanned":["README.md"` + paths.String() + `]}}`)
}

// packageLock generates a lockfile of n packages with 60,000 possible names.
func (g *generator) packageLock(n int) []byte {
	names := rand.NewZipf(g.rnd, 1.1, 50, 60_000)
	var out strings.Builder
	out.WriteString(`{"name":"app","lockfileVersion":3,"packages":{"":{"name":"app","version":"1.0.0","dependencies":{"package-0":"^1.0.0"}}`)
	for i := range n {
		fmt.Fprintf(&out, `,"node_modules/tree-%d/node_modules/package-%d":{"version":"%d.%d.%d","license":%q}`,
			i, names.Uint64(), 1+g.rnd.IntN(4), g.rnd.IntN(10), g.rnd.IntN(5), oneOf(g, "MIT", "MIT", "MIT", "Apache-2.0", "ISC", "BSD-3-Clause"))
	}
	return []byte(out.String() + "}}")
}

// maxOfProject is the maximum number of findings of a project: a report with more would exceed the
// maximum size of an upload.
const maxOfProject = 120_000

// sizes distributes n findings over projects, unequally.
func (g *generator) sizes(n int) []int {
	sizes := make([]int, max(20, n/perProject))
	projects := rand.NewZipf(g.rnd, 1.2, 12, uint64(len(sizes)-1))
	for i := range n {
		if i < len(sizes) {
			sizes[i]++ // each has at least one
			continue
		}
		p := projects.Uint64()
		for sizes[p] == maxOfProject {
			p = projects.Uint64()
		}
		sizes[p]++
	}
	return sizes
}
