package secrets

import (
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// RuleTraits are the properties of a rule that may mark it as a rule for secrets
// (docs/reference/secrets.md).
type RuleTraits struct {
	Name                       string
	Product                    read.Text
	Category, Technology, Tags read.Texts
}

// IsSecret reports whether a rule is for secrets, by its words or by a segment of its name. An
// example is generic.secrets.security.x. A declared product takes precedence.
func (t *RuleTraits) IsSecret() bool {
	if t.Product != "" {
		return strings.EqualFold(string(t.Product), "secrets")
	}
	for _, words := range [][]string{t.Category, t.Technology, t.Tags, strings.Split(t.Name, ".")} {
		if slices.ContainsFunc(words, isSecretsWord) {
			return true
		}
	}
	return false
}

func isSecretsWord(s string) bool {
	return strings.EqualFold(s, "secrets") || strings.EqualFold(s, "secret")
}

// Guesses are Bandit's rules for hardcoded passwords. They match names of variables, so their
// results are code findings, but the quoted text may be a password.
var Guesses = []string{"B105", "B106", "B107"}

var (
	guess  = regexp.MustCompile(`(?s)'(.+)'`) // in a message
	quoted = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
)

// HideGuess redacts the text that a result of Guesses quotes. It redacts every string in the code,
// or all of the code if the quoted text is not a string within one line.
func (r *Redactor) HideGuess(out *model.Result) {
	m := guess.FindStringSubmatch(out.Message)
	if m == nil {
		return
	}
	r.Suspect(m[1])
	out.Message = strings.ReplaceAll(out.Message, m[0], "'"+Redacted+"'")
	if !strings.Contains(out.Code, `"`+m[1]+`"`) && !strings.Contains(out.Code, m[0]) {
		out.Code = ""
	}
	out.CodeHash = "" // it is a hash of code with the quoted text
	out.Code = quoted.ReplaceAllStringFunc(out.Code, func(s string) string { return s[:1] + Redacted + s[:1] })
}
