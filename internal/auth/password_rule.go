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
		return model.Invalid("password", "it has %d characters: use at least %d", n, MinPassword)
	case n > MaxPassword:
		return model.Invalid("password", "it has %d characters: use at most %d", n, MaxPassword)
	case same == name, name != "" && strings.Trim(strings.ReplaceAll(same, name, ""), " 0123456789.!-_") == "":
		return model.Invalid("password", "it is little more than the username or digits: choose another")
	case len(strings.Trim(same, same[:1])) == 0:
		return model.Invalid("password", "it repeats one character: choose another")
	case guessBits(password, append(about, name, "redoubt")) < minGuess:
		return model.Invalid("password", "it is easy to guess: avoid common passwords, names and years. Use several "+
			"unrelated words")
	}
	return nil
}
