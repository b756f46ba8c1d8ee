package sbom

import (
	"strings"
	"unicode"
)

// maxVersion is the maximum length of a version in the schemas, in characters.
const maxVersion = 1024

// singleLine returns untrusted text as a single line of valid UTF-8 without surrounding space. It
// removes control characters, which are invalid in XML.
func singleLine(s string) string {
	return strings.TrimSpace(strings.Map(oneLine, strings.ToValidUTF8(s, "\uFFFD")))
}

// multiLine is singleLine for longer texts. It preserves line breaks and tabs.
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

// versionText is singleLine for versions. It truncates to the maximum length of the schemas.
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
