package model

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// IsControl reports whether terminals, logs or pages could interpret a character. Such characters are
// C0 and C1 controls, DEL, line and paragraph separators, and those that change the text direction.
func IsControl(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == '\u2028', r == '\u2029':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// HasControls reports whether a text contains an IsControl character or invalid UTF-8.
func HasControls(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, IsControl)
}

// IsStorable reports whether a name can be a key in every database: UTF-8 of at most 4096 bytes
// without control characters.
func IsStorable(s string) bool {
	control := func(r rune) bool { return r < 0x20 || r == 0x7f }
	return len(s) <= 4096 && utf8.ValidString(s) && !strings.ContainsFunc(s, control)
}

// Line returns a text on a single line, without IsControl characters. Invalid UTF-8 is returned
// unchanged, so that validation can reject it.
func Line(s string) string { return without(s, "") }

// Note returns a text without IsControl characters except line ends and tabs.
func Note(s string) string { return without(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t") }

// Shorten returns a text of at most the given number of characters, which must be positive. If
// characters are removed, the last one is an ellipsis.
func Shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// CutBytes returns the longest prefix of at most limit bytes that ends between characters. A
// shortened result does not share memory with the text.
func CutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

func without(s, allowed string) string {
	if !utf8.ValidString(s) {
		return s // rejected by validation
	}
	return strings.Map(func(r rune) rune {
		if IsControl(r) && !strings.ContainsRune(allowed, r) {
			return -1
		}
		return r
	}, s)
}

// Escaped returns a text for terminals. IsControl characters that are not in allowed are escaped as in
// JSON (\u001b), invalid bytes as \x9b.
func Escaped(s, allowed string) string {
	escapes := func(r rune) bool { return IsControl(r) && !strings.ContainsRune(allowed, r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, escapes) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch _, size := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case IsControl(r) && !strings.ContainsRune(allowed, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Map returns the results of calling a function for each element, in order.
func Map[T, R any](list []T, of func(T) R) []R {
	out := make([]R, len(list))
	for i, item := range list {
		out[i] = of(item)
	}
	return out
}
