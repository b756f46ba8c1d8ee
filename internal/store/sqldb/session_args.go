package sqldb

import (
	"fmt"
	"math/bits"
	"strings"
)

// matchArgs refuses a statement that has another number of arguments than it names
// ($1 to $N, or ?), or does not name one of them: PostgreSQL refuses it too, where
// SQLite's driver drops in silence what is not named, and a value is stored in the wrong
// place or a tenant is not asked for.
func matchArgs(query string, args int) error {
	named, missing := countParams(query)
	if named != args {
		return fmt.Errorf("a statement names %d arguments and was given %d: %.80s", named, args, query)
	}
	if missing > 0 {
		return fmt.Errorf("a statement is given %d arguments and does not name the one with number %d: %.80s",
			args, missing, query)
	}
	return nil
}

// countParams is the number of arguments of a statement: the highest of $N and ?N, and
// one more for each ? without a number, as SQLite counts. Text in quotes names none.
// Of the first 64, missing is the lowest that is not named; it is 0 where all are.
func countParams(query string) (highest, missing int) {
	seen := uint64(0) // bit N-1 is set where N is named
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

// leadingNumber is the number at the start of a text, and how many digits it has.
func leadingNumber(text string) (n, digits int) {
	for digits < len(text) && text[digits] >= '0' && text[digits] <= '9' {
		n = n*10 + int(text[digits]-'0')
		digits++
	}
	return n, digits
}

// firstMissing is the lowest number that is not seen up to the highest, or 0.
func firstMissing(seen uint64, highest int) int {
	if lowest := bits.TrailingZeros64(^seen) + 1; lowest <= min(highest, 64) {
		return lowest
	}
	return 0
}
