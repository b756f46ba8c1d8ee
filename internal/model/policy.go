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

// PolicyMode says what a finding of a rule does to a build (docs/reference/policies.md).
type PolicyMode uint8

// Policy modes, mildest first: the strictest of several wins.
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

// ParsePolicyMode reads monitor, comment or block.
func ParsePolicyMode(s string) (PolicyMode, bool) { return policyModes.parse(s) }

// ParseRuleBoard reads the identifiers of the policies filter, as
// rule-board-audit (docs/reference/findings.md).
func ParseRuleBoard(s string) (PolicyMode, bool) { return ruleBoards.parse(s) }

// Policy is a set of rules for one product, and what holds for their findings.
type Policy struct {
	ID      int64
	Name    string
	Slug    string
	Product IssueType
	Default bool // each deployment has one default policy per product
	Scope   PolicyScope
	// Branches narrow what the gate does, not what is scanned: on a ref that none of them
	// fits, the policy is as if all in it were in mode monitor. See CoversRef.
	Branches ProjectGlobs
	Excludes PathGlobs // paths that scanners leave out for this product
	BlockAll bool      // blocking rules block what the primary branch has too
	// Conditions apply to all findings of the product, whatever their rule.
	Conditions []PolicyCondition
	Due        DueDays
	// LastCondition is the highest id that a condition of it has or had, 0 where
	// it never had one. The store keeps it, whatever a change of the policy says.
	LastCondition int64
}

// PolicyScope says which projects a policy is for: those that one of the globs
// and one of the tags fit, whatever their case. A list that is empty fits every
// project, so the zero scope is everything.
type PolicyScope struct {
	Projects ProjectGlobs `json:"projects,omitempty"`
	Tags     []string     `json:"tags,omitempty"`
}

// Everything reports whether the scope leaves no project out.
func (s PolicyScope) Everything() bool { return len(s.Projects) == 0 && len(s.Tags) == 0 }

// Covers reports whether the policy is for a project.
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

// Of is the scope as who sees only these projects may read it, without globs and
// tags that fit none of them. It is false where it covers none of them.
func (s PolicyScope) Of(projects []Project) (PolicyScope, bool) {
	if s.Everything() {
		return s, true
	}
	covered := slices.DeleteFunc(slices.Clone(projects), func(p Project) bool { return !s.Covers(p) })
	fitsNone := func(part PolicyScope) bool { return !slices.ContainsFunc(covered, part.Covers) }
	return PolicyScope{
		Projects: slices.DeleteFunc(slices.Clone(s.Projects), func(glob string) bool {
			return fitsNone(PolicyScope{Projects: ProjectGlobs{glob}})
		}),
		Tags: slices.DeleteFunc(slices.Clone(s.Tags), func(tag string) bool {
			return fitsNone(PolicyScope{Tags: []string{tag}})
		}),
	}, len(covered) > 0
}

// Of is the policy as who sees only these projects may read it, as
// PolicyScope.Of: of the projects that it and its conditions name, theirs. It is
// false where it covers none of them.
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

// Limits of a policy's members.
const (
	MaxPolicyName  = 200 // characters
	MaxPolicyGlobs = 100 // of projects, of paths
	maxGlob        = 512 // characters
)

// reservedSlugs are names under which scanners ask for something else.
var reservedSlugs = []string{"semgrep-rule-lints"}

// Check names everything that is wrong with a policy as a *InvalidError, or
// returns nil.
func (p *Policy) Check() error {
	var bad InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if n := utf8.RuneCountInString(p.Name); n == 0 || n > MaxPolicyName || strings.TrimSpace(p.Name) != p.Name {
		fault("name", "a policy's name has 1 to %d characters, and no space around them", MaxPolicyName)
	}
	if HasControls(p.Name) {
		fault("name", "holds characters that control a terminal")
	}
	if !ValidSlug(p.Slug) || slices.Contains(reservedSlugs, p.Slug) {
		fault("slug", "%.80q will not do: a slug has lower-case letters, digits and hyphens, "+
			"starts with a letter or digit, holds a non-digit, has at most 63 characters, and is not %s",
			p.Slug, strings.Join(reservedSlugs, ", "))
	}
	if p.Product.String() == "" {
		fault("product", "the product is one of sast, sca, secrets")
	}
	if len(p.Conditions) > MaxConditions {
		fault("conditions", "%d conditions are given; %d are allowed", len(p.Conditions), MaxConditions)
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
		fault("scope", "the default policy of a product is for every project; make another policy for some of them")
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

// SlugOf makes the slug of a name: its letters and digits in lower case,
// anything else a hyphen. It is empty where nothing is left.
func SlugOf(name string) string {
	fields := strings.FieldsFunc(strings.ToLower(name), func(r rune) bool {
		return (r < 'a' || r > 'z') && (r < '0' || r > '9')
	})
	slug := strings.Join(fields, "-")
	return strings.TrimRight(slug[:min(len(slug), 63)], "-")
}

// PolicyRule is a rule in a policy, with the mode that gates builds.
type PolicyRule struct {
	ID           int64
	PolicyID     int64
	Rule         Rule // its newest content
	Mode         PolicyMode
	Served       bool // given to scanners; rules known from imports never are
	Removed      bool // it left the policy; its findings still name it
	LastChangeAt time.Time
	LastChangeBy string // empty when no person changed it
}

// RuleMode is what one policy wants of the findings of a rule.
type RuleMode struct {
	PolicyID int64
	Mode     PolicyMode
	BlockAll bool
}

// StanceOf is what a policy wants of a rule in it.
func StanceOf(p Policy, mode PolicyMode) RuleMode {
	return RuleMode{PolicyID: p.ID, Mode: mode, BlockAll: p.BlockAll && mode == ModeBlock}
}

// Stricter returns the stricter of two stances (docs/reference/policies.md): by mode; of two
// that block, the one that blocks all; else the older policy's. The zero Stance
// is milder than any.
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

// RuleVersion is a text that a rule had or has.
type RuleVersion struct {
	Version int    // from 1
	Text    []byte // JSON, in the scanner's own rule language
	Checked bool   // whether the scanner itself has parsed the text
	Starter bool   // it came with the server
	AddedAt time.Time
	AddedBy string
}

// PolicyCondition says what a policy does about findings of its product, whoever reports
// them and whatever their rule: block fails builds on them, comment shows them with the
// build, monitor only records them. A finding matches if it meets all members; of several
// conditions of a policy, one is enough, and the strictest counts.
type PolicyCondition struct {
	ID       int64      `json:"id"` // within the policy, from 1; none comes back
	Mode     PolicyMode `json:"mode"`
	Severity Severity   `json:"severity,omitempty"` // of the finding, at least; 0 is any
	// Confidence is the least one of the finding; 0 is any.
	Confidence Confidence `json:"confidence,omitempty"`
	GraceDays  int        `json:"grace_days,omitempty"`

	// The following members are for supply-chain policies only.

	Reachable bool    `json:"reachable,omitempty"` // code reaches it, or it is dangerous without
	EPSS      float64 `json:"epss,omitempty"`      // score at least, from 0 to 1
	Exploited bool    `json:"exploited,omitempty"` // in the catalogue of exploited vulnerabilities (KEV)
	Malicious bool    `json:"malicious,omitempty"`
	Fixable   bool    `json:"fixable,omitempty"` // some version fixes it
	Direct    bool    `json:"direct,omitempty"`  // the project asks for the package itself
	// Scope leaves out projects that the policy is for.
	Scope PolicyScope `json:"scope,omitzero"`
	// Branches leave out refs that the policy is for. See CoversRef.
	Branches ProjectGlobs `json:"branches,omitempty"`
}

// MaxConditions is how many conditions a policy has at most.
const MaxConditions = 100

// maxGraceDays is some ten years.
const maxGraceDays = 3650

// SupplyFacts are what conditions compare beside the finding itself. Of code and
// secrets, only Age is set.
type SupplyFacts struct {
	Package       string
	Version       string
	Vulnerability string
	Exploited     bool
	Severity      Severity // as it is stored: the advisories rate what a scanner does not
	Fixes         []Fix
	EPSS          *EPSS         // nil where there is no score
	Age           time.Duration // since it became relevant
}

// Check returns an *InvalidError that names the first invalid member of a condition
// of a policy for the product, or nil.
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
		return Invalid("mode", "the mode is one of monitor, comment, block")
	case !(c.EPSS >= 0 && c.EPSS <= 1):
		return Invalid("epss", "an EPSS score is from 0 to 1")
	case c.GraceDays < 0 || c.GraceDays > maxGraceDays:
		return Invalid("grace_days", "the days of grace are from 0 to %d", maxGraceDays)
	case c.Severity != 0 && c.Severity.String() == "":
		return Invalid("severity", "the severity is one of low, medium, high, critical")
	case c.Confidence != 0 && c.Confidence.String() == "":
		return Invalid("confidence", "the confidence is one of low, medium, high")
	case c.Severity == 0 && c.Confidence == 0 && c.GraceDays == 0 && c.supplyMember() == "":
		return Invalid("severity",
			"the condition is empty: set a severity (low matches every rated finding) or another member")
	}
	return nil
}

// supplyMember returns the first member that is set and compares attributes of
// dependencies, or an empty string.
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

// String says what the condition asks for and where, as "high or worse, with a
// fix, in acme/*".
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
	return strings.Join(append(parts, c.places()...), ", ")
}

// places says where the condition holds, where that is not everywhere.
func (c *PolicyCondition) places() (parts []string) {
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

// Sentence says the same in plain language, for those who do not know the words,
// as "blocks when severity is high or worse and a fix exists, in acme/*".
func (c *PolicyCondition) Sentence() string {
	verb := map[PolicyMode]string{ModeBlock: "blocks", ModeComment: "comments", ModeMonitor: "records"}[c.Mode]
	var asks []string
	for _, ask := range []struct {
		asked bool
		text  string
	}{
		{c.Severity == SeverityCritical, "severity is critical"},
		{c.Severity != 0 && c.Severity != SeverityCritical, "severity is " + c.Severity.String() + " or worse"},
		{c.Confidence == ConfidenceHigh, "confidence is high"},
		{c.Confidence != 0 && c.Confidence != ConfidenceHigh, "confidence is " + c.Confidence.String() + " or higher"},
		{c.Reachable, "code reaches it"},
		{c.EPSS > 0, "the EPSS score is " + strconv.FormatFloat(c.EPSS, 'g', -1, 64) + " or more"},
		{c.Exploited, "it is known to be exploited"},
		{c.Malicious, "the package is malicious"},
		{c.Fixable, "a fix exists"},
		{c.Direct, "the project asks for the package itself"},
		{c.GraceDays == 1, "it has been there for a day or more"},
		{c.GraceDays > 1, fmt.Sprintf("it has been there for %d days or more", c.GraceDays)},
	} {
		if ask.asked {
			asks = append(asks, ask.text)
		}
	}
	if len(asks) == 0 {
		return verb + " nothing" // Check refuses it
	}
	text := verb + " when " + asks[0]
	if last := len(asks) - 1; last > 0 {
		text = verb + " when " + strings.Join(asks[:last], ", ") + " and " + asks[last]
	}
	return strings.Join(append([]string{text}, c.places()...), ", ")
}

// SecretRule names a rule of a tool that looks for secrets (docs/reference/secrets.md).
type SecretRule struct{ Tool, Name string }

// CanonicalTool spells the tool as its source does: the editions of semgrep and
// opengrep are one (docs/reference/findings.md).
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
