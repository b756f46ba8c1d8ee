package auth

import (
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// Bounds of a password, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// CheckPassword says what is wrong with a new password: it is long enough, not the
// name itself, and not put together of what is guessed first: common passwords, the
// name of this program, and the words about the person, as of their deployment. No
// mixture of kinds is asked for: what counts is how many tries it takes.
func CheckPassword(password, name string, about ...string) error {
	n := utf8.RuneCountInString(password)
	same := strings.Trim(strings.ToLower(password), " ")
	switch {
	case n < MinPassword:
		return model.Invalid("password", "it has %d characters; at least %d are needed", n, MinPassword)
	case n > MaxPassword:
		return model.Invalid("password", "it has %d characters; at most %d are allowed", n, MaxPassword)
	case same == name, name != "" && strings.Trim(strings.ReplaceAll(same, name, ""), " 0123456789.!-_") == "":
		return model.Invalid("password", "it is the name, or little more: choose another")
	case len(strings.Trim(same, same[:1])) == 0:
		return model.Invalid("password", "it is one character over and over: choose another")
	case guessBits(password, append(about, name, "redoubt")) < minGuess:
		return model.Invalid("password", "it is among the first that are guessed: common passwords, names and years, or "+
			"put together of them. Take a few words that have nothing to do with each other")
	}
	return nil
}
