package report

import (
	"net/url"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Limits of strings, in bytes.
const (
	maxBlock = 64 << 10 // messages and code
	maxName  = 1 << 10  // names, ids, addresses
	maxPath  = 4 << 10
	maxList  = 1000 // strings in a list of a rule, steps of a data flow
)

// name returns the string as one line of a bounded length, without control
// characters.
func (t text) name() string { return oneLine(string(t), maxName) }

// link returns the string if it is an address that a browser may be sent to, and
// nothing otherwise: whoever shows it as a link runs no script of the report's.
func (t text) link() string {
	address := t.name()
	if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return ""
	}
	return address
}

// block returns the string as text of a bounded length: lines and tabs stay,
// other control characters go.
func (t text) block() string { return multiLine(string(t), maxBlock) }

func oneLine(s string, limit int) string {
	return cut(strings.TrimSpace(withoutControls(s, "")), limit)
}

func multiLine(s string, limit int) string {
	return cut(withoutControls(s, "\n\t"), limit)
}

// withoutControls drops control characters, but for those to keep, and makes
// the rest valid UTF-8.
func withoutControls(s, keep string) string {
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

// cut shortens a string to a number of bytes, between characters.
func cut(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	for limit > 0 && !utf8.RuneStart(s[limit]) {
		limit--
	}
	return strings.Clone(s[:limit])
}

// names cleans a list of names and drops repeats and empty ones.
func (l texts) names() []string {
	var out []string
	for _, s := range l[:min(len(l), maxList)] {
		if s = text(s).name(); s != "" {
			out = append(out, s)
		}
	}
	return distinct(out)
}

// distinct drops repeats and keeps the order; the list is changed in place.
func distinct[T comparable](list []T) []T {
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
