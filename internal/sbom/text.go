package sbom

import (
	"strings"
	"unicode"
)

// maxVersion is the longest version that the schemas take, in characters.
const maxVersion = 1024

// singleLine makes a single line of a text that others wrote: valid UTF-8 without
// control characters, which XML could not hold, and without space around it.
func singleLine(s string) string {
	return strings.TrimSpace(strings.Map(oneLine, strings.ToValidUTF8(s, "\uFFFD")))
}

// multiLine is singleLine for longer texts, which keep their line breaks and tabs.
func multiLine(s string) string {
	s = strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\r\n", "\n")
	return strings.TrimSpace(strings.Map(func(r rune) rune {
		if r == '\n' || r == '\t' {
			return r
		}
		return oneLine(r)
	}, s))
}

func oneLine(r rune) rune {
	switch {
	case r == '\u2028' || r == '\u2029' || unicode.IsControl(r) && unicode.IsSpace(r):
		return ' '
	case r == '\uFFFE' || r == '\uFFFF' || unicode.IsControl(r):
		return unicode.ReplacementChar
	}
	return r
}

// versionText is line for versions, cut to what the schemas take.
func versionText(s string) string {
	s = singleLine(s)
	if len(s) <= maxVersion {
		return s
	}
	if runes := []rune(s); len(runes) > maxVersion {
		return string(runes[:maxVersion-1]) + "…"
	}
	return s
}

func isLetterOrDigit(r rune) bool {
	return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9'
}

func isHex(s string) bool {
	return s != "" && strings.Trim(s, "0123456789abcdefABCDEF") == ""
}
