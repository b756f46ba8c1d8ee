package model

import (
	"fmt"
	"strings"
	"unicode/utf8"
)

// IsControl reports whether a character is one that terminals, logs and pages obey
// in place of showing it: those of C0 and C1 with DEL, separators of lines and
// paragraphs, and what turns the direction of text around.
func IsControl(r rune) bool {
	switch {
	case r < 0x20, r >= 0x7f && r < 0xa0:
		return true
	case r == '\u2028', r == '\u2029':
		return true
	}
	return r >= '\u202a' && r <= '\u202e' || r >= '\u2066' && r <= '\u2069'
}

// HasControls reports whether a text holds an IsControl, or is no UTF-8.
func HasControls(s string) bool {
	return !utf8.ValidString(s) || strings.ContainsFunc(s, IsControl)
}

// IsStorable reports whether a name can be a key in every engine: UTF-8 of at most 4096 bytes
// without control characters.
func IsStorable(s string) bool {
	control := func(r rune) bool { return r < 0x20 || r == 0x7f }
	return len(s) <= 4096 && utf8.ValidString(s) && !strings.ContainsFunc(s, control)
}

// Line is a text that people wrote, on one line: without IsControl. What is no UTF-8
// stays, for who checks it to refuse.
func Line(s string) string { return without(s, "") }

// Note is a text that people wrote, on as many lines as they did: without IsControl
// but line ends and tabs.
func Note(s string) string { return without(strings.ReplaceAll(s, "\r\n", "\n"), "\n\t") }

// Shorten is a text of at most so many characters, one or more. Where something is left out,
// the last of them is an ellipsis.
func Shorten(s string, most int) string {
	if r := []rune(s); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return s
}

// CutBytes is the beginning of a text of at most so many bytes, between characters. It shares
// no memory with a text that it cuts.
func CutBytes(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

func without(s, keep string) string {
	if !utf8.ValidString(s) {
		return s // nobody keeps that
	}
	return strings.Map(func(r rune) rune {
		if IsControl(r) && !strings.ContainsRune(keep, r) {
			return -1
		}
		return r
	}, s)
}

// Escaped is a text as a terminal may show it: each IsControl that is not to be kept
// is written as JSON would, as \u001b, and a byte that is no UTF-8 as \x9b.
func Escaped(s, keep string) string {
	escapes := func(r rune) bool { return IsControl(r) && !strings.ContainsRune(keep, r) }
	if utf8.ValidString(s) && !strings.ContainsFunc(s, escapes) {
		return s
	}
	var b strings.Builder
	for i, r := range s {
		switch _, size := utf8.DecodeRuneInString(s[i:]); {
		case r == utf8.RuneError && size == 1:
			fmt.Fprintf(&b, `\x%02x`, s[i])
		case IsControl(r) && !strings.ContainsRune(keep, r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// Map returns the results of a function for the items of a list, in their order.
func Map[T, R any](list []T, of func(T) R) []R {
	out := make([]R, len(list))
	for i, item := range list {
		out[i] = of(item)
	}
	return out
}
