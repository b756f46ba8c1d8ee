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
	MaxPath  = 4 << 10  // paths, which are refused and not cut
	MaxList  = 1000     // strings in a list of a rule, steps of a data flow
)

// Name returns the string as one line of a bounded length, without control
// characters.
func (t Text) Name() string { return OneLine(string(t), MaxName) }

// Link returns the string if it is an address that a browser may be sent to, and
// nothing otherwise: whoever shows it as a link runs no script of the report's.
func (t Text) Link() string {
	address := t.Name()
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

// Block returns the string as text of a bounded length: lines and tabs stay,
// other control characters go.
func (t Text) Block() string { return MultiLine(string(t), MaxBlock) }

// OneLine returns a string without control characters, space around it, and what
// is beyond so many bytes.
func OneLine(s string, limit int) string {
	return cut(strings.TrimSpace(WithoutControls(s, "")), limit)
}

// MultiLine returns a string without control characters but line ends and tabs,
// and without what is beyond so many bytes.
func MultiLine(s string, limit int) string {
	return cut(WithoutControls(s, "\n\t"), limit)
}

// WithoutControls drops control characters, but for those to keep, and makes
// the rest valid UTF-8.
func WithoutControls(s, keep string) string {
	if isPlain(s, keep) {
		return s
	}
	s = strings.ToValidUTF8(s, string(utf8.RuneError))
	drop := func(r rune) bool { return unicode.IsControl(r) && !strings.ContainsRune(keep, r) }
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

// isPlain tells of ASCII without control characters, which most texts are, in a
// fraction of the time that decoding them takes.
func isPlain(s, keep string) bool {
	for i := range len(s) {
		if c := s[i]; c >= 0x7f || c < ' ' && strings.IndexByte(keep, c) < 0 {
			return false
		}
	}
	return true
}

// cut shortens a text to a number of bytes, between characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// Names cleans a list of names and drops repeats and empty ones.
func (l Texts) Names() []string {
	var out []string
	for _, s := range l[:min(len(l), MaxList)] {
		if s = Text(s).Name(); s != "" {
			out = append(out, s)
		}
	}
	return Distinct(out)
}

// Distinct drops repeats and keeps the order; the list is changed in place.
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

// Base returns the last element of a name, with either kind of slash.
func Base(name string) string {
	return path.Base(strings.ReplaceAll(name, `\`, "/"))
}
