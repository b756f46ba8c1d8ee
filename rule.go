package redoubt

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
}

// Categories returns the categories of the rule's findings, never nil.
func (r Rule) Categories() []string {
	if r.Category == "" {
		return []string{}
	}
	return []string{r.Category}
}
