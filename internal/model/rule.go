package model

import (
	"cmp"
	"strings"
)

// SecretRule names a rule of a tool that looks for secrets (semantics §16).
type SecretRule struct{ Tool, Name string }

// CanonicalTool spells the tool as its source does: the editions of semgrep and
// opengrep are one (semantics §4).
func CanonicalTool(tool string) string {
	tool = strings.ToLower(strings.TrimSpace(tool))
	if strings.HasPrefix(tool, "semgrep") || strings.HasPrefix(tool, "opengrep") {
		return "semgrep"
	}
	return strings.ReplaceAll(tool, ":", "_")
}

// Rule is what a scanner tells about the rule behind its results. A stored rule
// is one version of it: another content under the same name is another row.
type Rule struct {
	ID        int64  // 0 until stored
	Name      string // as the scanner spells it, dotted path included
	Message   string // template with metavariables; empty when only expanded ones are known
	IssueType IssueType

	Severity   Severity
	Confidence Confidence
	Category   string // as security, best-practice; empty when not told

	Subcategories        []string
	VulnerabilityClasses []string
	CWE                  []string
	OWASP                []string
	Technologies         []string
	Languages            []string
	References           []string
	Rulesets             []string

	URL        string     // where the rule is explained
	Origin     string     // community, pro or custom; empty when not told
	SecretType string     // the kind of credential that a secrets rule finds
	Mode       PolicyMode // asked for by dev.semgrep.actions; 0 when not told
	ProOnly    bool       // needs an engine with advanced analysis

	// Unrated: of a vulnerability of which nobody told how severe it is.
	Unrated bool `json:",omitempty"`

	// Version is that of the text which was served and ran, as its results tell: under
	// another one the rule has another text. It is 0 where that is not told.
	Version int `json:",omitempty"`
}

// PlainLanguage reports whether rules of the language look at the text of a file and parse
// nothing, so that an error of syntax hides nothing from them.
func PlainLanguage(language string) bool { return plainLanguages[language] }

var plainLanguages = map[string]bool{"regex": true, "none": true, "generic": true}

// Categories returns the categories of the rule's findings, never nil.
func (r Rule) Categories() []string {
	if r.Category == "" {
		return []string{}
	}
	return []string{r.Category}
}

// Completed returns the rule with what it does not tell taken from another
// content under its name: formats differ in how much they tell of a rule.
func (r Rule) Completed(other Rule) Rule {
	for mine, its := range map[*string]string{
		&r.Message: other.Message, &r.Category: other.Category, &r.URL: other.URL, &r.Origin: other.Origin,
		&r.SecretType: other.SecretType,
	} {
		*mine = cmp.Or(*mine, its)
	}
	for mine, its := range map[*[]string][]string{
		&r.Subcategories: other.Subcategories, &r.VulnerabilityClasses: other.VulnerabilityClasses, &r.CWE: other.CWE,
		&r.OWASP: other.OWASP, &r.Technologies: other.Technologies, &r.Languages: other.Languages,
		&r.References: other.References, &r.Rulesets: other.Rulesets,
	} {
		if len(*mine) == 0 {
			*mine = its
		}
	}
	if r.Severity == 0 {
		r.Unrated = other.Unrated
	}
	r.Severity, r.Confidence = cmp.Or(r.Severity, other.Severity), cmp.Or(r.Confidence, other.Confidence)
	r.Mode = cmp.Or(r.Mode, other.Mode)
	return r
}
