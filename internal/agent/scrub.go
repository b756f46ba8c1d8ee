package agent

import (
	"strings"
	"unicode"

	"github.com/redoubt/redoubt/internal/redact"
)

// maxCause limits the stored text of a scanner, in bytes.
const maxCause = 2000

// printable returns the scanner's text on one line, without secrets.
func printable(s string) string {
	// The end of a traceback matters; megabytes of it are not needed.
	if len(s) > 16*maxCause {
		s = s[len(s)-16*maxCause:]
		s = s[strings.IndexFunc(s, unicode.IsSpace)+1:] // half of a secret would not be detected
	}
	s = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Cf, r) { // including characters that move or hide text
			return ' '
		}
		return r
	}, redact.Log(s))
	s = strings.Join(strings.Fields(s), " ")
	return strings.ToValidUTF8(s[max(0, len(s)-maxCause):], "")
}
