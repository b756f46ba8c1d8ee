package agent

import (
	"strings"
	"unicode"

	"github.com/redoubt/redoubt/internal/redact"
)

// maxCause bounds what is kept of a scanner's own words, in bytes.
const maxCause = 2000

// printable is the scanner's own words on one line, without secrets.
func printable(s string) string {
	// A traceback ends with what matters; nobody reads megabytes of it.
	if len(s) > 16*maxCause {
		s = s[len(s)-16*maxCause:]
		s = s[strings.IndexFunc(s, unicode.IsSpace)+1:] // half of a secret would not be known for one
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) { // those that move or hide text too
			return ' '
		}
		return r
	}, redact.Log(s))
	s = strings.Join(strings.Fields(s), " ")
	return strings.ToValidUTF8(s[max(0, len(s)-maxCause):], "")
}
