package auth

import (
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt"
)

// Bounds of a password, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// CheckPassword says what is wrong with a new password: it is long enough to
// resist guessing, and not the name itself. No mixture of kinds is asked for:
// length is what counts.
func CheckPassword(password, name string) error {
	n := utf8.RuneCountInString(password)
	same := strings.Trim(strings.ToLower(password), " ")
	switch {
	case n < MinPassword:
		return redoubt.Invalid("password", "it has %d characters; at least %d are needed", n, MinPassword)
	case n > MaxPassword:
		return redoubt.Invalid("password", "it has %d characters; at most %d are allowed", n, MaxPassword)
	case same == name, name != "" && strings.Trim(strings.ReplaceAll(same, name, ""), " 0123456789.!-_") == "":
		return redoubt.Invalid("password", "it is the name, or little more: choose another")
	case len(strings.Trim(same, same[:1])) == 0:
		return redoubt.Invalid("password", "it is one character over and over: choose another")
	}
	return nil
}
