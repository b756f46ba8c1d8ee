package redact

import (
	"regexp"
	"strings"
)

// loose are what may be a credential in a log or a traceback; what stands in the groups stays.
// Nobody loses an identity by them, so that it is better to take out too much.
var loose = []*regexp.Regexp{
	regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[0-9a-z+/=._~-]{6,}`),
	regexp.MustCompile(`(://)[^/\s@]+(@)`),
	regexp.MustCompile(`(?i)\b((?:[0-9a-z_]*(?:token|secret|password|passwd|api[_-]?key|credential)|authorization|cookie)["']?\s*[:=]\s*["']?)[^\s"',;)\]}]+`),
	regexp.MustCompile(`()\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeps]-|AKIA|ASIA|sk-|eyJ|rd[tcrd]_)[0-9A-Za-z_./+=-]{8,}`),
	regexp.MustCompile(`()\b[0-9a-fA-F]{64}\b`),
}

// Log takes out of the words of programs what Text does, wherever it comes again, every
// value that is given to a name for secrets, and beginnings of credentials. Lines stay.
func Log(s string) string {
	found := map[string]bool{}
	s = Finder{KeepLines: true, Found: func(secret string) {
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
