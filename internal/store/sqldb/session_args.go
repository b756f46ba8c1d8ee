package sqldb

import (
	"fmt"
	"math/bits"
	"strings"
)

// matchArgs returns an error unless a statement names exactly its arguments, as $1 to $N or ?.
// PostgreSQL rejects a mismatch too. SQLite's driver silently drops unnamed arguments, which could
// store a wrong value or omit the tenant.
func matchArgs(query string, args int) error {
	named, missing := countParams(query)
	if named != args {
		return fmt.Errorf("a statement uses %d arguments but has %d: %.80s", named, args, query)
	}
	if missing > 0 {
		return fmt.Errorf("a statement has %d arguments and does not use number %d: %.80s",
			args, missing, query)
	}
	return nil
}

// countParams returns the number of arguments of a statement as SQLite counts them. That is the
// highest $N or ?N, plus one for each ? without a number. Quoted text is skipped. missing is the
// lowest unnamed argument of the first 64, or 0.
func countParams(query string) (highest, missing int) {
	seen := uint64(0) // bit N-1 is set if N is named
	for at := 0; at < len(query); at++ {
		n := 0
		switch query[at] {
		case '\'':
			end := strings.IndexByte(query[at+1:], '\'')
			if end < 0 {
				return highest, firstMissing(seen, highest)
			}
			at += 1 + end
			continue
		case '?':
			n = highest + 1
		case '$':
		default:
			continue
		}
		if number, digits := leadingNumber(query[at+1:]); digits > 0 {
			n, at = number, at+digits
		}
		highest = max(highest, n)
		if n > 0 && n <= 64 {
			seen |= 1 << (n - 1)
		}
	}
	return highest, firstMissing(seen, highest)
}

// leadingNumber returns the number at the start of a text and its count of digits.
func leadingNumber(text string) (n, digits int) {
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		n = n*10 + int(text[digits]-'0')
		digits++
	}
	return n, digits
}

// firstMissing returns the lowest number up to highest that is not in seen, or 0.
func firstMissing(seen uint64, highest int) int {
	if lowest := bits.TrailingZeros64(^seen) + 1; lowest <= min(highest, 64) {
		return lowest
	}
	return 0
}
