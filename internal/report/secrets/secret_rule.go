package secrets

import (
	"regexp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report/read"
)

// RuleTraits are what a rule says of itself that may tell that it looks for
// secrets (docs/reference/secrets.md).
type RuleTraits struct {
	Name                       string
	Product                    read.Text
	Category, Technology, Tags read.Texts
}

// IsSecret tells whether a rule that no format calls a secrets rule is one
// anyhow: by its own words, or by a segment of its name, as of
// generic.secrets.security.x. A word for another product ends the matter.
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

// Guesses are Bandit's rules for passwords in code. They go by the names of
// variables, so their results are code findings, not secrets; what they quote
// may be a password all the same.
var Guesses = []string{"B105", "B106", "B107"}

var (
	guess  = regexp.MustCompile(`(?s)'(.+)'`) // in a message
	quoted = regexp.MustCompile(`"(?:[^"\\\n]|\\.)*"|'(?:[^'\\\n]|\\.)*'`)
)

// HideGuess takes what a rule of guesses quotes out of its result: every string
// of the code, or all of the code where the string is not seen to be quoted in
// one line.
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
	out.CodeHash = "" // of code with what is guessed
	out.Code = quoted.ReplaceAllStringFunc(out.Code, func(s string) string { return s[:1] + Redacted + s[:1] })
}
