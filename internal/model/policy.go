package model

import (
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// PolicyMode says what a finding of a rule does to a build (semantics §10).
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
// rule-board-audit (semantics §4).
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

// Stance is what one policy wants of the findings of a rule.
type Stance struct {
	PolicyID int64
	Mode     PolicyMode
	BlockAll bool
}

// StanceOf is what a policy wants of a rule in it.
func StanceOf(p Policy, mode PolicyMode) Stance {
	return Stance{PolicyID: p.ID, Mode: mode, BlockAll: p.BlockAll && mode == ModeBlock}
}

// Stricter returns the stricter of two stances (semantics §10): by mode; of two
// that block, the one that blocks all; else the older policy's. The zero Stance
// is milder than any.
func (s Stance) Stricter(o Stance) Stance {
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
