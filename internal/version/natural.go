package version

import (
	"cmp"
	"strings"
)

// isNatural reports whether a text may be a version of an unknown ecosystem. A version contains
// a digit and no space or character of URLs or ranges.
func isNatural(s string) bool {
	return strings.ContainsAny(s, "0123456789") && !strings.ContainsAny(s, " \t\r\n/\\<>=*|,;@#?&")
}

// natural is a version of an unknown ecosystem, split into parts.
type natural []string

func (n natural) compare(other parsed) int { return compareNatural(n, other.(natural)) }

// naturalParts splits a version into runs of digits, without leading zeros, and runs of other
// characters. Separators are removed, and so is a v before the first digit. The parts are in lower
// case.
func naturalParts(s string) []string {
	s = strings.ToLower(s)
	if len(s) > 1 && s[0] == 'v' && isDigit(s[1]) {
		s = s[1:]
	}
	var parts []string
	for len(s) > 0 {
		end := 1
		switch {
		case isSeparator(s[0]):
			s = s[1:]
			continue
		case isDigit(s[0]):
			for end < len(s) && isDigit(s[end]) {
				end++
			}
			parts = append(parts, number(s[:end]))
		default:
			for end < len(s) && !isDigit(s[end]) && !isSeparator(s[end]) {
				end++
			}
			parts = append(parts, s[:end])
		}
		s = s[end:]
	}
	return parts
}

// compareNatural compares versions part by part: numbers by value, and words by their bytes. A word
// is less than a number, and a version is less than its extensions.
func compareNatural(a, b []string) int {
	for i := range min(len(a), len(b)) {
		numeric := isDigit(a[i][0])
		if numeric != isDigit(b[i][0]) {
			if numeric {
				return 1
			}
			return -1
		}
		compareParts := strings.Compare
		if numeric {
			compareParts = compareDigits
		}
		if sign := compareParts(a[i], b[i]); sign != 0 {
			return sign
		}
	}
	return cmp.Compare(len(a), len(b))
}

// compareDigits compares numbers of any length by value. They must not have leading zeros.
func compareDigits(a, b string) int {
	return cmp.Or(cmp.Compare(len(a), len(b)), strings.Compare(a, b))
}

func number(digits string) string {
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0"
	}
	return digits
}

func isDigit(c byte) bool     { return '0' <= c && c <= '9' }
func isSeparator(c byte) bool { return strings.IndexByte(".-_+~:!^", c) >= 0 }
