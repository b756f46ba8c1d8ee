package model

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// PolicyMode is the effect of a rule's findings on a build (docs/reference/policies.md).
type PolicyMode uint8

// Policy modes in ascending order. The strictest of several modes applies.
const (
	ModeMonitor PolicyMode = iota + 1
	ModeComment
	ModeBlock
)

var (
	policyModes = enumNames[PolicyMode]{"", "monitor", "comment", "block"}
	ruleBoards  = enumNames[PolicyMode]{"", "rule-board-audit", "rule-board-pr-comments", "rule-board-block"}
)

// String returns the wire name of the policy_mode filter.
func (m PolicyMode) String() string { return policyModes.name(m) }

// ParsePolicyMode parses monitor, comment or block.
func ParsePolicyMode(s string) (PolicyMode, bool) { return policyModes.parse(s) }

// ParseRuleBoard parses an identifier of the policies filter, such as rule-board-audit
// (docs/reference/findings.md).
func ParseRuleBoard(s string) (PolicyMode, bool) { return ruleBoards.parse(s) }

// Policy is a set of rules for one product, with settings for their findings.
type Policy struct {
	ID      int64
	Name    string
	Slug    string
	Product IssueType
	Default bool // each deployment has one default policy per product
	Scope   PolicyScope
	// Branches restricts the gate, but not scans. On refs that no glob matches, rules have mode
	// monitor and conditions have no effect at the gate. See CoversRef.
	Branches ProjectGlobs
	Excludes PathGlobs // paths that scanners skip for this product
	BlockAll bool      // blocking rules also block findings that are on the primary branch
	// Conditions apply to all findings of the product, regardless of their rule.
	Conditions []PolicyCondition
	Due        DueDays
	// LastCondition is the highest ID of a current or former condition, or 0. Only the store
	// updates it.
	LastCondition int64
}

// PolicyScope selects the projects of a policy: those that match one of the globs and one of the
// tags, ignoring case. An empty list matches every project, so the zero scope covers all projects.
type PolicyScope struct {
	Projects ProjectGlobs `json:"projects,omitempty"`
	Tags     []string     `json:"tags,omitempty"`
}

// Everything reports whether the scope covers all projects.
func (s PolicyScope) Everything() bool { return len(s.Projects) == 0 && len(s.Tags) == 0 }

// Covers reports whether the scope includes a project.
func (s PolicyScope) Covers(p Project) bool {
	globs := make(ProjectGlobs, len(s.Projects))
	for i, glob := range s.Projects {
		globs[i] = strings.ToLower(glob)
	}
	tagged := func(tag string) bool {
		return slices.ContainsFunc(p.Tags, func(own string) bool { return strings.EqualFold(tag, own) })
	}
	return globs.Allows(strings.ToLower(p.Name)) && (len(s.Tags) == 0 || slices.ContainsFunc(s.Tags, tagged))
}

// Of returns the scope as visible to users who can access only the given projects. Globs and tags
// that match none of them are removed. It returns false if none of the projects is covered.
func (s PolicyScope) Of(projects []Project) (PolicyScope, bool) {
	if s.Everything() {
		return s, true
	}
	covered := slices.DeleteFunc(slices.Clone(projects), func(p Project) bool { return !s.Covers(p) })
	matchesNone := func(part PolicyScope) bool { return !slices.ContainsFunc(covered, part.Covers) }
	return PolicyScope{
		Projects: slices.DeleteFunc(slices.Clone(s.Projects), func(glob string) bool {
			return matchesNone(PolicyScope{Projects: ProjectGlobs{glob}})
		}),
		Tags: slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool {
			return matchesNone(PolicyScope{Tags: []string{tag}})
		}),
	}, len(covered) > 0
}

// Of returns the policy as visible to users who can access only the given projects. See
// PolicyScope.Of. It returns false if none of the projects is covered.
func (p Policy) Of(projects []Project) (_ Policy, covers bool) {
	if p.Scope, covers = p.Scope.Of(projects); !covers {
		return Policy{}, false
	}
	conditions := p.Conditions
	p.Conditions = nil
	for _, c := range conditions {
		if c.Scope, covers = c.Scope.Of(projects); covers {
			p.Conditions = append(p.Conditions, c)
		}
	}
	return p, true
}

// Limits of a policy's fields.
const (
	MaxPolicyName  = 200 // characters
	MaxPolicyGlobs = 100 // each for projects and paths
	maxGlob        = 512 // characters
)

// reservedSlugs contains names that scanners use for other requests.
var reservedSlugs = []string{"semgrep-rule-lints"}

// Check returns all errors of a policy as an *InvalidError, or nil.
func (p *Policy) Check() error {
	var bad InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(p.Name); n == 0 || n > MaxPolicyName || strings.TrimSpace(p.Name) != p.Name {
		fault("name", "enter a name of 1 to %d characters without surrounding spaces", MaxPolicyName)
	}
	if HasControls(p.Name) {
		fault("name", "must not contain control characters")
	}
	if !ValidSlug(p.Slug) || slices.Contains(reservedSlugs, p.Slug) {
		fault("slug", "invalid slug %.80q: use at most 63 lower-case letters, digits and hyphens, "+
			"a letter or digit first, not only digits, and none of %s",
			p.Slug, strings.Join(reservedSlugs, ", "))
	}
	if p.Product.String() == "" {
		fault("product", "the product must be sast, sca or secrets")
	}
	if len(p.Conditions) > MaxConditions {
		fault("conditions", "%d conditions given; the limit is %d", len(p.Conditions), MaxConditions)
	}
	for i := range p.Conditions {
		if err := p.Conditions[i].Check(p.Product); err != nil {
			fault(fmt.Sprintf("conditions[%d]", i), "%v", err)
		}
	}
	if err := p.Due.Check(p.Product); err != nil {
		fault("due", "%v", err)
	}
	if p.Default && !p.Scope.Everything() {
		fault("scope", "a default policy applies to every project: create another policy for some projects")
	}
	if _, err := NormalTags(p.Scope.Tags); err != nil {
		fault("tags", "%v", err)
	}
	checkGlobs(p.Scope.Projects, func(format string, args ...any) { fault("projects", format, args...) })
	checkGlobs(p.Branches, func(format string, args ...any) { fault("branches", format, args...) })
	checkGlobs(p.Excludes, func(format string, args ...any) { fault("excludes", format, args...) })
	if err := p.Excludes.Check(); err != nil {
		fault("excludes", "%v", err)
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// SlugOf returns the slug of a name: letters and digits in lower case, separated by hyphens. It is
// empty if the name has no letters and digits.
func SlugOf(name string) string {
	fields := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := strings.Join(fields, "-")
	return strings.TrimRight(slug[:min(len(slug), 63)], "-")
}

// PolicyRule is a rule in a policy, with a mode for builds.
type PolicyRule struct {
	ID           int64
	PolicyID     int64
	Rule         Rule // newest content
	Mode         PolicyMode
	Served       bool // sent to scanners; false for rules known only from imports
	Removed      bool // removed from the policy, but still referenced by findings
	LastChangeAt time.Time
	LastChangeBy string // empty if the last change was not by a user
}

// RuleMode is the setting of a policy for the findings of a rule.
type RuleMode struct {
	PolicyID int64
	Mode     PolicyMode
	BlockAll bool
}

// StanceOf returns the setting of a policy for a rule in the given mode.
func StanceOf(p Policy, mode PolicyMode) RuleMode {
	return RuleMode{PolicyID: p.ID, Mode: mode, BlockAll: p.BlockAll && mode == ModeBlock}
}

// Stricter returns the stricter of two settings (docs/reference/policies.md). It compares the
// modes, then prefers BlockAll, then the older policy. The zero RuleMode is the least strict.
func (s RuleMode) Stricter(o RuleMode) RuleMode {
	switch {
	case s.Mode != o.Mode:
		if s.Mode > o.Mode {
			return s
		}
	case s.BlockAll != o.BlockAll:
		if s.BlockAll {
			return s
		}
	case s.PolicyID < o.PolicyID:
		return s
	}
	return o
}

// RuleVersion is a current or former text of a rule.
type RuleVersion struct {
	Version int    // from 1
	Text    []byte // JSON in the scanner's rule language
	Checked bool   // whether the scanner has parsed the text
	Starter bool   // included with the server
	AddedAt time.Time
	AddedBy string
}

// PolicyCondition defines the effect of findings of a policy's product, regardless of source and
// rule. Mode block fails builds, comment shows the findings with the build, and monitor only
// records them. A finding must meet all criteria of a condition. If it matches several conditions,
// the strictest mode applies.
type PolicyCondition struct {
	ID       int64      `json:"id"` // within the policy, from 1; not reused
	Mode     PolicyMode `json:"mode"`
	Severity Severity   `json:"severity,omitempty"` // minimum; 0 for any
	// Confidence is the minimum confidence; 0 for any.
	Confidence Confidence `json:"confidence,omitempty"`
	GraceDays  int        `json:"grace_days,omitempty"`

	// The following criteria are for supply-chain policies only.

	Reachable bool    `json:"reachable,omitempty"` // reachable from code, or dangerous regardless of use
	EPSS      float64 `json:"epss,omitempty"`      // minimum score, from 0 to 1
	Exploited bool    `json:"exploited,omitempty"` // in the catalog of known exploited vulnerabilities (KEV)
	Malicious bool    `json:"malicious,omitempty"`
	Fixable   bool    `json:"fixable,omitempty"` // a version with a fix exists
	Direct    bool    `json:"direct,omitempty"`  // the project requires the package directly
	// Scope restricts the projects of the policy.
	Scope PolicyScope `json:"scope,omitzero"`
	// Branches restricts the refs of the policy. See CoversRef.
	Branches ProjectGlobs `json:"branches,omitempty"`
}

// MaxConditions is the maximum number of conditions per policy.
const MaxConditions = 100

// maxGraceDays is about ten years.
const maxGraceDays = 3650

// SupplyFacts contains the values that conditions compare in addition to the finding. For code and
// secrets, only Age is set.
type SupplyFacts struct {
	Package       string
	Version       string
	Vulnerability string
	Exploited     bool
	Severity      Severity // as stored: advisories provide it if the scanner does not
	Fixes         []Fix
	EPSS          *EPSS         // nil if there is no score
	Age           time.Duration // since it became relevant
}

// Check validates a condition of a policy for the product. It returns an *InvalidError about the
// first invalid criterion, or nil.
func (c *PolicyCondition) Check(product IssueType) error {
	var where error
	fault := func(member string) func(format string, args ...any) {
		return func(format string, args ...any) {
			if where == nil {
				where = Invalid(member, format, args...)
			}
		}
	}
	checkGlobs(c.Scope.Projects, fault("projects"))
	checkGlobs(c.Branches, fault("branches"))
	if _, err := NormalTags(c.Scope.Tags); err != nil {
		fault("tags")("%w", err)
	}
	if where != nil {
		return where
	}
	if member := c.supplyMember(); member != "" && product != SCA {
		return Invalid(member,
			"applies to supply-chain policies only: remove it from a condition of a policy for %s", product)
	}
	switch {
	case c.Mode.String() == "":
		return Invalid("mode", "the mode must be monitor, comment or block")
	case !(c.EPSS >= 0 && c.EPSS <= 1):
		return Invalid("epss", "the EPSS score must be from 0 to 1")
	case c.GraceDays < 0 || c.GraceDays > maxGraceDays:
		return Invalid("grace_days", "the days of grace must be from 0 to %d", maxGraceDays)
	case c.Severity != 0 && c.Severity.String() == "":
		return Invalid("severity", "the severity must be low, medium, high or critical")
	case c.Confidence != 0 && c.Confidence.String() == "":
		return Invalid("confidence", "the confidence must be low, medium or high")
	case c.Severity == 0 && c.Confidence == 0 && c.GraceDays == 0 && c.supplyMember() == "":
		return Invalid("severity",
			"the condition is empty: set a severity (low matches every rated finding) or another member")
	}
	return nil
}

// supplyMember returns the first criterion in use that applies only to dependencies, or "".
func (c *PolicyCondition) supplyMember() string {
	for _, m := range []struct {
		name string
		set  bool
	}{
		{"reachable", c.Reachable},
		{"epss", c.EPSS != 0},
		{"exploited", c.Exploited},
		{"malicious", c.Malicious},
		{"fixable", c.Fixable},
		{"direct", c.Direct},
	} {
		if m.set {
			return m.name
		}
	}
	return ""
}

// String returns the criteria and the scope, such as "high or worse, with a fix, in acme/*".
func (c *PolicyCondition) String() string {
	var parts []string
	add := func(asked bool, text string) {
		if asked {
			parts = append(parts, text)
		}
	}
	switch {
	case c.Severity == SeverityCritical:
		add(true, "critical")
	case c.Severity != 0:
		add(true, c.Severity.String()+" or worse")
	}
	add(c.Confidence == ConfidenceHigh, "confidence high")
	add(c.Confidence != 0 && c.Confidence != ConfidenceHigh, "confidence "+c.Confidence.String()+" or higher")
	add(c.Reachable, "reachable")
	add(c.EPSS > 0, "EPSS "+strconv.FormatFloat(c.EPSS, 'g', -1, 64)+" or more")
	add(c.Exploited, "known to be exploited")
	add(c.Malicious, "malicious")
	add(c.Fixable, "with a fix")
	add(c.Direct, "direct")
	add(c.GraceDays == 1, "known for a day")
	add(c.GraceDays > 1, fmt.Sprintf("known for %d days", c.GraceDays))
	return strings.Join(append(parts, c.restrictions()...), ", ")
}

// restrictions returns the restrictions of projects and refs.
func (c *PolicyCondition) restrictions() (parts []string) {
	for _, p := range []struct {
		word string
		list []string
	}{{"in", c.Scope.Projects}, {"tagged", c.Scope.Tags}, {"on", c.Branches}} {
		if len(p.list) > 0 {
			parts = append(parts, p.word+" "+strings.Join(p.list, " or "))
		}
	}
	return parts
}

// Sentence returns the condition as a sentence, such as "blocks when severity is high or worse and
// a fix exists, in acme/*".
func (c *PolicyCondition) Sentence() string {
	verb := map[PolicyMode]string{ModeBlock: "blocks", ModeComment: "comments", ModeMonitor: "records"}[c.Mode]
	var clauses []string
	for _, clause := range []struct {
		applies bool
		text    string
	}{
		{c.Severity == SeverityCritical, "severity is critical"},
		{c.Severity != 0 && c.Severity != SeverityCritical, "severity is " + c.Severity.String() + " or worse"},
		{c.Confidence == ConfidenceHigh, "confidence is high"},
		{c.Confidence != 0 && c.Confidence != ConfidenceHigh, "confidence is " + c.Confidence.String() + " or higher"},
		{c.Reachable, "it is reachable"},
		{c.EPSS > 0, "the EPSS score is " + strconv.FormatFloat(c.EPSS, 'g', -1, 64) + " or more"},
		{c.Exploited, "it is known to be exploited"},
		{c.Malicious, "the package is malicious"},
		{c.Fixable, "a fix exists"},
		{c.Direct, "the package is a direct dependency"},
		{c.GraceDays == 1, "it has been known for a day or more"},
		{c.GraceDays > 1, fmt.Sprintf("it has been known for %d days or more", c.GraceDays)},
	} {
		if clause.applies {
			clauses = append(clauses, clause.text)
		}
	}
	if len(clauses) == 0 {
		return verb + " nothing" // Check rejects this
	}
	text := verb + " when " + clauses[0]
	if last := len(clauses) - 1; last > 0 {
		text = verb + " when " + strings.Join(clauses[:last], ", ") + " and " + clauses[last]
	}
	return strings.Join(append([]string{text}, c.restrictions()...), ", ")
}

// SecretRule identifies a rule of a secret scanner (docs/reference/secrets.md).
type SecretRule struct{ Tool, Name string }

// CanonicalTool returns the tool name used in sources. Editions of semgrep and opengrep are treated
// as one tool (docs/reference/findings.md).
func CanonicalTool(tool string) string {
	tool = strings.ToLower(strings.TrimSpace(tool))
	if strings.HasPrefix(tool, "semgrep") || strings.HasPrefix(tool, "opengrep") {
		return "semgrep"
	}
	return strings.ReplaceAll(tool, ":", "_")
}

// Rule is a rule as described by a scanner. A stored Rule is one version: different content with
// the same name is stored as another row.
type Rule struct {
	ID        int64  // 0 until stored
	Name      string // as spelled by the scanner, including a dotted path
	Message   string // template with metavariables; empty if only expanded messages are known
	IssueType IssueType

	Severity   Severity
	Confidence Confidence
	Category   string // such as security or best-practice; empty if unknown

	Subcategories        []string
	VulnerabilityClasses []string
	CWE                  []string
	OWASP                []string
	Technologies         []string
	Languages            []string
	References           []string
	Rulesets             []string

	URL        string     // documentation of the rule
	Origin     string     // community, pro or custom; empty if unknown
	SecretType string     // type of credential that a secrets rule finds
	Mode       PolicyMode // from dev.semgrep.actions; 0 if unknown
	ProOnly    bool       // requires an engine with advanced analysis

	// Unrated is true for a vulnerability without a known severity.
	Unrated bool `json:",omitempty"`

	// Version is the version of the served text, as reported with its results, or 0 if unknown.
	// Another version implies another text.
	Version int `json:",omitempty"`
}

// PlainLanguage reports whether rules of the language match plain text without parsing, so that
// syntax errors hide no results.
func PlainLanguage(language string) bool { return plainLanguages[language] }

var plainLanguages = map[string]bool{"regex": true, "none": true, "generic": true}

// Categories returns the categories of the rule's findings. The result is not nil.
func (r Rule) Categories() []string {
	if r.Category == "" {
		return []string{}
	}
	return []string{r.Category}
}

// Completed returns the rule with missing fields copied from another version. Formats differ in the
// fields that they provide.
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
