package redact

import (
	"strings"
	"unicode/utf8"
)

// assigned finds values that are assigned to names of secrets, in linear time. It searches for
// assignment signs, which are rare, and then checks for a name before each sign. Words such as
// token and session are frequent in reports and mostly have no value.
//
// It matches the same values as these regular expressions, with which the tests compare it. The
// first is for quoted values, the second for unquoted values, as in settings:
//
//	(?i) NAME ["'\])]* (?:\s*:\s*[a-z]+|\s+string)? \s* (?::=|=>|===?|!==?|=|:) \s* [bru]?
//	  (?:"([^"\n]*)"|'([^'\n]*)'|`([^`\n]*)`)
//	(?im) NAME (?: \s* [=:] \s* VALUE [ \t]* (?:$|[;,]) | = VALUE [ \t] )
//
// NAME is the constant names, and VALUE is ([^\s"'`,;(){}\[\]<>$]{16,}).
type assigned struct {
	s    string
	end  int // end of the last match, including its closing characters
	next int // start of the search for the next sign
	// Positions of the next = and :, valid unless they are before next.
	equals, colon int
	dead          int // an unquoted value that starts before this position does not match
}

// sign returns the position of the next = or :, or the length of the text.
func (a *assigned) sign() int {
	a.equals, a.colon = a.from(a.equals, '='), a.from(a.colon, ':')
	at := min(a.equals, a.colon)
	a.next = min(at+1, len(a.s))
	return at
}

// from returns the position of a sign at or after next. It reuses a known position that is still
// valid.
func (a *assigned) from(known int, sign byte) int {
	if known >= a.next && a.next > 0 {
		return known
	}
	if i := strings.IndexByte(a.s[a.next:], sign); i >= 0 {
		return a.next + i
	}
	return len(a.s)
}

// found ends a match at a position and returns its value.
func (a *assigned) found(value Span, end int) (Span, bool) {
	a.end, a.next = end, end
	return value, true
}

// quoted returns the next quoted value. It returns false at the end of the text.
func (a *assigned) quoted() (Span, bool) {
	for at := a.sign(); at < len(a.s); at = a.sign() {
		op := at
		if a.s[at] == '=' && at > 0 && a.s[at-1] == '!' {
			op--
		}
		before := skipSpaceBack(a.s, op)
		typed := false
		if i, ok := cutWordBack(a.s[:before], "string"); ok {
			if j := skipSpaceBack(a.s, i); j < i {
				before, typed = j, true
			}
		}
		for before > 0 && strings.IndexByte(`"'])`, a.s[before-1]) >= 0 {
			before--
		}
		if start, ok := nameBefore(a.s[:before]); !ok || start < a.end {
			continue
		}
		if a.s[op] == ':' && !typed {
			word := skipSpace(a.s, op+1)
			if end := skipLetters(a.s, word); end > word {
				if value, ok := a.inQuotes(skipSpace(a.s, end)); ok {
					return a.found(value, value.To+1)
				}
			}
		}
		if value, ok := a.inQuotes(op); ok {
			return a.found(value, value.To+1)
		}
	}
	return Span{}, false
}

// inQuotes parses an assignment or comparison sign at a position, and the quoted string after it.
func (a *assigned) inQuotes(at int) (Span, bool) {
	n := signLength(a.s[at:])
	if n == 0 {
		return Span{}, false
	}
	i := skipSpace(a.s, at+n)
	if i < len(a.s) && strings.IndexByte("bruBRU", a.s[i]) >= 0 {
		i++
	}
	if i >= len(a.s) || strings.IndexByte("\"'`", a.s[i]) < 0 {
		return Span{}, false
	}
	for end := i + 1; end < len(a.s) && a.s[end] != '\n'; end++ {
		if a.s[end] == a.s[i] {
			return Span{i + 1, end}, true
		}
	}
	return Span{}, false
}

// signLength returns the length of the sign at the start of a text, or 0. The signs are :=, =>, ==,
// ===, !=, !==, = and :.
func signLength(s string) int {
	for _, sign := range []string{":=", "=>", "===", "==", "!==", "!=", "=", ":"} {
		if strings.HasPrefix(s, sign) {
			return len(sign)
		}
	}
	return 0
}

// shortestBare is the minimum length of an unquoted value, in characters.
const shortestBare = 16

// bare returns the next unquoted value. It returns false at the end of the text.
func (a *assigned) bare() (Span, bool) {
	for at := a.sign(); at < len(a.s); at = a.sign() {
		named := skipSpaceBack(a.s, at)
		start, ok := nameBefore(a.s[:named])
		if !ok || start < a.end {
			continue
		}
		from := skipSpace(a.s, at+1)
		if from < a.dead {
			continue
		}
		to := from
		for to < len(a.s) && !isSpace(a.s[to]) && strings.IndexByte("\"'`,;(){}[]<>$", a.s[to]) < 0 {
			to++
		}
		end := to
		for end < len(a.s) && (a.s[end] == ' ' || a.s[end] == '\t') {
			end++
		}
		closed := end < len(a.s) && (a.s[end] == ';' || a.s[end] == ',')
		if !closed && end < len(a.s) && a.s[end] != '\n' {
			if tight := a.s[at] == '=' && named == at && from == at+1 && end > to; !tight {
				a.dead = to
				continue
			}
			end = to
			closed = true // by the space
		}
		if utf8.RuneCountInString(a.s[from:to]) < shortestBare {
			continue
		}
		if closed {
			end++
		}
		return a.found(Span{from, to}, end)
	}
	return Span{}, false
}

// keyOf lists the words that form a name for a secret together with key, such as api_key.
var keyOf = []string{
	"api", "access", "secret", "private", "auth", "signing", "encryption", "master", "account", "storage", "app", "client",
}

// nameBefore reports whether a text ends in a name for a secret, and where the name starts.
func nameBefore(s string) (start int, ok bool) {
	if s == "" {
		return 0, false
	}
	var words []string
	switch s[len(s)-1] | 0x20 {
	case 'd':
		words = []string{"password", "passwd", "pwd"}
	case 'e':
		words = []string{"passphrase"}
	case 't':
		words = []string{"secret"}
	case 'n':
		words = []string{"token", "authorization"}
	case 'l':
		words = []string{"credential"}
	case 's', lastOfLongS:
		words = []string{"credentials"}
	case 'y':
		return keyBefore(s)
	}
	for _, word := range words {
		if start, ok = cutWordBack(s, word); ok {
			return start, true
		}
	}
	return 0, false
}

// keyBefore is nameBefore for names that end in key, such as api_key.
func keyBefore(s string) (start int, ok bool) {
	i, ok := cutWordBack(s, "key")
	if !ok {
		return 0, false
	}
	if i > 0 && strings.IndexByte("_.-", s[i-1]) >= 0 {
		i--
	}
	for _, word := range keyOf {
		if start, ok := cutWordBack(s[:i], word); ok {
			return start, true
		}
	}
	return 0, false
}

// Two characters outside ASCII match letters when case is ignored.
const (
	longS       = "\u017f" // matches s
	kelvin      = "\u212a" // matches k
	lastOfLongS = 0xbf
)

// cutWordBack removes a lowercase word from the end of a text, ignoring case, and returns its
// start.
func cutWordBack(s, word string) (start int, ok bool) {
	i := len(s)
	for k := len(word) - 1; k >= 0; k-- {
		switch c := word[k]; {
		case i > 0 && s[i-1]|0x20 == c:
			i--
		case c == 's' && strings.HasSuffix(s[:i], longS):
			i -= len(longS)
		case c == 'k' && strings.HasSuffix(s[:i], kelvin):
			i -= len(kelvin)
		default:
			return 0, false
		}
	}
	return i, true
}

// skipLetters returns the position after a run of letters that match [a-z] when case is ignored.
func skipLetters(s string, i int) int {
	for i < len(s) {
		switch c := s[i] | 0x20; {
		case 'a' <= c && c <= 'z':
			i++
		case strings.HasPrefix(s[i:], longS):
			i += len(longS)
		case strings.HasPrefix(s[i:], kelvin):
			i += len(kelvin)
		default:
			return i
		}
	}
	return i
}

func isSpace(c byte) bool {
	return c == ' ' || c == '\t' || c == '\n' || c == '\r' || c == '\f'
}

func skipSpace(s string, i int) int {
	for i < len(s) && isSpace(s[i]) {
		i++
	}
	return i
}

func skipSpaceBack(s string, i int) int {
	for i > 0 && isSpace(s[i-1]) {
		i--
	}
	return i
}
