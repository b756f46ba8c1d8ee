package bench

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// Proportions of a real deployment: a few projects and rules have most of the
// findings, and a third of what is on the main branch is on another one too.
const (
	ruleCount   = 300
	elsewhere   = 30   // per cent of the findings of a project that another ref has too
	perLockfile = 1000 // dependencies
	perProject  = 250  // findings of a project, on average
)

// generator makes the same reports each time.
type generator struct {
	rnd   *rand.Rand
	rules []ruleText
	pick  *rand.Zipf
	next  int // of findings made, so that no two are alike
}

// ruleText is a rule as Semgrep repeats it in each of its results.
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

// results makes the results of n findings that were not there before, a JSON
// object each.
func (g *generator) results(n int) []string {
	out := make([]string, n)
	for i := range out {
		out[i] = g.result()
	}
	return out
}

// wording is what a finding quotes and says, each with its number in it.
type wording struct{ code, message string }

// A tenth of the findings speaks of secrets, as reports do: its text is full of words
// behind which a secret might stand, and of signs that give values.
var (
	ordinary = wording{
		"    result_%d = subprocess.run(request.args.get('command_%d'), shell=True, capture_output=True)",
		"Detected user input 'command_%d' that reaches a shell. " +
			strings.Repeat("An attacker who controls it can run any command with the rights of this service. ", 6) +
			"Pass a list of arguments and leave shell=False, so that no shell reads the input.",
	}
	ofSecrets = wording{
		"    session_%d['token'] = issue(user, password=request.form.get('password_%d'), secret=settings.SESSION_SECRET)",
		"The session token 'token_%d' is made from the password: whoever learns the token learns the password, too. " +
			strings.Repeat("A session cookie without Secure or HttpOnly gives its token away, and a token that never ends is as good as a password. ", 4) +
			"Set secret: to a key of its own, password = None in the session, and token: as a random value of 32 bytes.",
	}
)

// result is a finding of some two kilobytes.
func (g *generator) result() string {
	g.next++
	r := g.rules[g.pick.Uint64()]
	line, n := 1+g.rnd.IntN(2000), g.next
	said := ordinary
	if n%10 == 0 {
		said = ofSecrets
	}
	code := fmt.Sprintf(said.code, n, n)
	message := fmt.Sprintf(said.message, n)
	return fmt.Sprintf(`{"check_id":%q,"path":"src/services/module_%d/handlers/file_%d.py","start":{"line":%d,"col":5,"offset":%d},"end":{"line":%d,"col":96,"offset":%d},`+
		`"extra":{"metavars":{"$INPUT":{"start":{"line":%d,"col":40,"offset":%d},"end":{"line":%d,"col":60,"offset":%d},"abstract_content":"command_%d"}},`+
		`"message":%q,"metadata":%s,"severity":%q,"fingerprint":"%0128x_0","lines":%q,"is_ignored":false,"validation_state":"NO_VALIDATOR","engine_kind":"OSS"}}`,
		r.id, n%40, n%700, line, line*40, line, line*40+91, line, line*40+35, line, line*40+55, n, message, r.metadata, r.severity, n*7919, code)
}

// semgrep makes a report of results. It says where it looked, so a full scan
// with it closes what it does not hold.
func semgrep(results []string) []byte {
	var paths strings.Builder
	for i := range 1400 { // all that result comes up with
		fmt.Fprintf(&paths, `,"src/services/module_%d/handlers/file_%d.py"`, i%40, i%700)
	}
	return []byte(`{"version":"1.180.0","results":[` + strings.Join(results, ",") + `],"errors":[],"paths":{"scanned":["README.md"` + paths.String() + `]}}`)
}

// packageLock makes a lockfile of n packages out of a world of 60,000 names.
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

// maxOfProject is how many findings a project has at most: as many as one report may tell
// of in the bytes that are taken at once.
const maxOfProject = 120_000

// sizes deals n findings out to projects: few of them have most.
func (g *generator) sizes(n int) []int {
	sizes := make([]int, max(20, n/perProject))
	projects := rand.NewZipf(g.rnd, 1.2, 12, uint64(len(sizes)-1))
	for i := range n {
		if i < len(sizes) {
			sizes[i]++ // each has one at least
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
