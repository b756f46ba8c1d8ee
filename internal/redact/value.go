package redact

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// names matches the end of a name for a secret. It precedes a quoted or unquoted value; see
// assigned.
const names = `(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|` +
	`(?:api|access|secret|private|auth|signing|encryption|master|account|storage|app|client)[_.-]?key)`

// authScheme matches the scheme at the start of the value of an Authorization header.
var authScheme = regexp.MustCompile(`^(?i:basic|bearer|token) +`)

var (
	constantName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$`)
	// joinedWords matches names of resources, such as oauth2-token or prod/db.password.
	joinedWords = regexp.MustCompile(`^/?[A-Za-z]+\d{0,2}(?:[-_./:]+[A-Za-z]+\d{0,2})+/?$`)
	// standIn matches text that people write in place of a secret.
	standIn = regexp.MustCompile(`(?i)example|change[-_]?me|placeholder|your[-_]|xxxx|dummy|\*{3}|\.{3}|redacted`)
)

// IsTemplate reports whether a value is a template that is filled in later, such as ${PASSWORD}.
func IsTemplate(s string) bool {
	return strings.HasPrefix(s, "$") || strings.ContainsAny(s, "<>") ||
		strings.Contains(s, "%s") || strings.Contains(s, "%(") || strings.Contains(s, "${") || strings.Contains(s, "$(") ||
		strings.Contains(s, "{") && strings.Contains(s, "}")
}

// IsSecretValue reports whether a value assigned to a name of a secret is a secret. It rejects
// values that are short, consist of words, name a resource, or are templates.
func IsSecretValue(s string) bool {
	switch {
	case len(s) < minValue, len(s) > 1<<12, strings.ContainsFunc(s, unicode.IsSpace),
		strings.Contains(s, "://"), strings.HasPrefix(s, "data:"), strings.HasPrefix(s, "."), strings.HasPrefix(s, "~"),
		IsTemplate(s):
		return false
	case !strings.ContainsFunc(s, IsUnlikeWords) && !isMixed(s),
		standIn.MatchString(s), constantName.MatchString(s), joinedWords.MatchString(s):
		return false
	}
	return entropy(s) >= 2.5
}

// IsRandom reports whether a value is too random to be written by hand. It is long, and has letters
// of both cases and digits, or many hexadecimal digits.
func IsRandom(s string) bool {
	if len(s) < 16 || !IsSecretValue(s) || entropy(s) < 3 {
		return false
	}
	var lower, upper, digits, others int
	for _, c := range s {
		switch {
		case unicode.IsLower(c):
			lower++
		case unicode.IsUpper(c):
			upper++
		case unicode.IsDigit(c):
			digits++
		default:
			others++
		}
	}
	isHex := strings.Trim(strings.ToLower(s), "0123456789abcdef-") == ""
	mixed, long := lower > 0 && upper > 0 && digits > 2, isHex && len(s) >= 32 && digits > 4
	return mixed || long || digits > 3 && lower+upper > 3 && others == 0
}

// isMixed reports whether a value consists of letters whose case changes more often than in
// camelCase. It has at least 20 letters, and the case changes at every third letter on average.
func isMixed(s string) bool {
	changes, upper := 0, false
	for i, c := range s {
		if !unicode.IsLetter(c) {
			return false
		}
		if i > 0 && unicode.IsUpper(c) != upper {
			changes++
		}
		upper = unicode.IsUpper(c)
	}
	return len(s) >= 20 && 3*changes >= len(s)
}

// entropy returns the Shannon entropy of a text, in bits per byte.
func entropy(s string) (bits float64) {
	var count [256]float64
	for i := range len(s) {
		count[s[i]]++
	}
	for _, n := range count {
		if n > 0 {
			p := n / float64(len(s))
			bits -= p * math.Log2(p)
		}
	}
	return bits
}

// IsUnlikeWords reports whether a character does not occur in words and paths.
func IsUnlikeWords(c rune) bool {
	return !unicode.IsLetter(c) && !strings.ContainsRune(" ._-/:", c)
}

// placeholder matches a replacement of a secret that does not reveal it.
var placeholder = regexp.MustCompile(`^(?i:\[?\**(redacted)?\**\]?|redacted-[0-9a-f]{16}|requires login)$`)

// IsPlaceholder reports whether a text is the replacement of a secret and does not reveal it.
func IsPlaceholder(s string) bool { return placeholder.MatchString(s) }
