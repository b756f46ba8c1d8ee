package store

import (
	"fmt"
	"strings"
)

// matchArgs refuses a statement that has another number of arguments than it names
// ($1 to $N, or ?): PostgreSQL refuses it too, where SQLite's driver drops in silence
// those that are too many, and a value is stored in the wrong place.
func matchArgs(query string, args int) error {
	if named := countParams(query); named != args {
		return fmt.Errorf("a statement names %d arguments and was given %d: %.80s", named, args, query)
	}
	return nil
}

// countParams is the number of arguments of a statement: the highest of $N and ?N, and
// one more for each ? without a number, as SQLite counts. Text in quotes names none.
func countParams(query string) int {
	highest := 0
	for {
		at := strings.IndexAny(query, "$?'")
		if at < 0 {
			return highest
		}
		sign := query[at]
		query = query[at+1:]
		if sign == '\'' {
			end := strings.IndexByte(query, '\'')
			if end < 0 {
				return highest
			}
			query = query[end+1:]
			continue
		}
		n, digits := 0, 0
		for digits < len(query) && query[digits] >= '0' && query[digits] <= '9' {
			n = n*10 + int(query[digits]-'0')
			digits++
		}
		query = query[digits:]
		switch {
		case digits > 0:
			highest = max(highest, n)
		case sign == '?':
			highest++
		}
	}
}
