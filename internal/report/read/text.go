package read

import (
	"net/url"
	"path"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of strings, in bytes.
const (
	MaxBlock = 64 << 10 // messages and code
	MaxName  = 1 << 10  // names, ids, addresses
	MaxPath  = 4 << 10  // paths, which are refused instead of truncated
	MaxList  = 1000     // strings in a list of a rule, steps of a data flow
)

// Name returns the string as one line, without control characters, truncated to MaxName.
func (t Text) Name() string { return OneLine(string(t), MaxName) }

// Link returns the string if it is an http or https URL, and otherwise "". Links in pages must not
// run scripts from a report.
func (t Text) Link() string {
	address := t.Name()
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

// Block returns the string without control characters except line ends and tabs, truncated to
// MaxBlock.
func (t Text) Block() string { return MultiLine(string(t), MaxBlock) }

// OneLine returns a string without control characters and surrounding space, truncated to a limit
// in bytes.
func OneLine(s string, limit int) string {
	return cut(strings.TrimSpace(WithoutControls(s, "")), limit)
}

// MultiLine returns a string without control characters except line ends and tabs, truncated to a
// limit in bytes.
func MultiLine(s string, limit int) string {
	return cut(WithoutControls(s, "\n\t"), limit)
}

// WithoutControls removes control characters except those in allowed, and replaces invalid UTF-8.
func WithoutControls(s, allowed string) string {
	if isPlain(s, allowed) {
		return s
	}
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	drop := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(allowed, r) }
	if strings.IndexFunc(s, drop) < 0 {
		return s
	}
	return strings.Map(func(r rune) rune {
		if drop(r) {
			return -1
		}
		return r
	}, s)
}

// isPlain reports whether a string is ASCII without control characters. It is much faster than
// decoding, and most texts are plain.
func isPlain(s, allowed string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && strings.IndexByte(allowed, c) < 0 {
			return false
		}
	}
	return true
}

// cut truncates a text to a number of bytes, at the boundary of a character.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// Names returns the cleaned names without duplicates and empty names, at most MaxList.
func (l Texts) Names() []string {
	var out []string
	for _, s := range l[:min(len(l), MaxList)] {
		if s = Text(s).Name(); s != "" {
			out = append(out, s)
		}
	}
	return Distinct(out)
}

// Distinct removes duplicates in place and preserves the order.
func Distinct[T comparable](list []T) []T {
	seen := make(map[T]bool, len(list))
	out := list[:0]
	for _, s := range list {
		if !seen[s] {
			seen[s] = true
			out = append(out, s)
		}
	}
	return out
}

// Base returns the last element of a path with slashes or backslashes.
func Base(name string) string {
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}
