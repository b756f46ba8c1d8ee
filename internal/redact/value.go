package redact

import (
	"math"
	"regexp"
	"strings"
	"unicode"
)

// names end in a word for a secret, and stand before a value in quotes or, as in
// settings, without any: see assigned.
const names = `(?:passw(?:or)?d|passphrase|pwd|secret|token|credentials?|authorization|` +
	`(?:api|access|secret|private|auth|signing|encryption|master|account|storage|app|client)[_.-]?key)`

// authScheme is how the value of a header for authorization begins.
var authScheme = regexp.MustCompile(`^(?i:basic|bearer|token) +`)

var (
	constantName = regexp.MustCompile(`^[A-Z][A-Z0-9]*(?:_[A-Z0-9]+)+$`)
	// joinedWords are names of things, as oauth2-token or prod/db.password.
	joinedWords = regexp.MustCompile(`^/?[A-Za-z]+\d{0,2}(?:[-_./:]+[A-Za-z]+\d{0,2})+/?$`)
	// stand-ins are what people write where a secret is to come.
	standIn = regexp.MustCompile(`(?i)example|change[-_]?me|placeholder|your[-_]|xxxx|dummy|\*{3}|\.{3}|redacted`)
)

// IsTemplate tells whether a value is filled in later, as ${PASSWORD} is.
func IsTemplate(s string) bool {
	return strings.HasPrefix(s, "$") || strings.ContainsAny(s, "<>") ||
		strings.Contains(s, "%s") || strings.Contains(s, "%(") || strings.Contains(s, "${") || strings.Contains(s, "$(") ||
		strings.Contains(s, "{") && strings.Contains(s, "}")
}

// IsSecretValue judges a value that is given to a name for secrets. It is none
// if it is short, made of words, the name of something, or filled in later.
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

// IsRandom judges a value that nobody would write by hand: long, and of letters
// in both cases and digits, or of many hexadecimal digits.
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
// names such as camelCase: at least 20 letters, every third with another case than the one before.
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

// entropy is that of the bytes of a text, in bits a byte.
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

// IsUnlikeWords reports whether a character is one that words and paths do not have.
func IsUnlikeWords(c rune) bool {
	return !unicode.IsLetter(c) && !strings.ContainsRune(" ._-/:", c)
}

// placeholder is what stands for a secret and gives nothing away.
var placeholder = regexp.MustCompile(`^(?i:\[?\**(redacted)?\**\]?|redacted-[0-9a-f]{16}|requires login)$`)

// IsPlaceholder reports whether a text stands for a secret and gives nothing away.
func IsPlaceholder(s string) bool { return placeholder.MatchString(s) }
