package agent

import (
	"regexp"
	"strings"
	"unicode"
)

// maxCause bounds what is kept of a scanner's own words, in bytes.
const maxCause = 2000

const hidden = "[hidden]"

// secretTexts are what may be a secret in a scanner's own words; what stands in
// the groups stays. It is better to hide too much.
var secretTexts = []*regexp.Regexp{
	regexp.MustCompile(`()rdt_[0-9a-z_]+`),
	regexp.MustCompile(`(?i)\b((?:bearer|basic)\s+)[0-9a-z+/=._~-]{6,}`),
	regexp.MustCompile(`(://)[^/\s@]+(@)`),
	regexp.MustCompile(`(?i)\b((?:[0-9a-z_]*(?:token|secret|password|passwd|api[_-]?key|credential)|authorization)["']?\s*[:=]\s*["']?)[^\s"',;)\]}]+`),
	regexp.MustCompile(`()\b(?:gh[pousr]_|github_pat_|glpat-|xox[abeps]-|AKIA|ASIA|sk-|eyJ)[0-9A-Za-z_./+=-]{8,}`),
	regexp.MustCompile(`()\b[0-9a-fA-F]{64}\b`),
}

// printable is the scanner's own words on one line, without secrets.
func printable(s string) string {
	// A traceback ends with what matters; nobody reads megabytes of it.
	if len(s) > 16*maxCause {
		s = s[len(s)-16*maxCause:]
		s = s[strings.IndexFunc(s, unicode.IsSpace)+1:] // half of a secret would not be known for one
	}
	for _, secret := range secretTexts {
		s = secret.ReplaceAllString(s, "${1}"+hidden+"${2}")
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) { // those that move or hide text too
			return ' '
		}
		return r
	}, s)
	s = strings.Join(strings.Fields(s), " ")
	return strings.ToValidUTF8(s[max(0, len(s)-maxCause):], "")
}
