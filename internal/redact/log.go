package redact

import (
	"regexp"
	"strings"
)

// loose matches more than Finder does. False positives are acceptable in logs, because no finding
// identity depends on them. The groups are preserved.
var loose = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[0-9a-z+/=._~-]{6,}`),
	regexp.MustCompile(`(://)[^/\s@]+(@)`),
	regexp.MustCompile(
		`(?i)\b((?:[0-9a-z_]*(?:token|secret|password|passwd|api[_-]?key|credential)|authorization|cookie)` +
			`["']?\s*[:=]\s*["']?)[^\s"',;)\]}]+`,
	),
	regexp.MustCompile(
		`()\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeps]-|AKIA|ASIA|sk-|eyJ|rd[tcrd]_)[0-9A-Za-z_./+=-]{8,}`,
	),
	regexp.MustCompile(`()\b[0-9a-fA-F]{64}\b`),
}

// Log redacts logs and error messages more strictly than Text does. It also redacts every
// repetition of a value that Text replaced, every value assigned to a name of a secret, and
// shortened credentials. It preserves lines.
func Log(s string) string {
	found := map[string]bool{}
	s = Finder{PreserveLines: true, Found: func(secret string) {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minValue && !strings.HasPrefix(line, "-----") {
				found[line] = true
			}
		}
	}}.Text(s)
	s = NewKnown(found).Redact(s)
	for _, e := range loose {
		s = e.ReplaceAllString(s, "${1}"+Mark+"${2}")
	}
	return Joined(s)
}
