package auth

import (
	"strings"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// Limits of a password, in characters.
const (
	MinPassword = 12
	MaxPassword = 256
)

// CheckPassword returns an error for a weak password. It must be long enough, differ from the name,
// and not consist of parts that are guessed first. These are common passwords, the name of this
// program and the words in about, such as the deployment's name. No mixture of character classes is
// required, because only the number of guesses matters.
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
