package redoubt

import "time"

// PolicyMode says what a finding of a rule does to a build (decisions §10).
type PolicyMode uint8

// Policy modes, mildest first: the strictest of several wins.
const (
	ModeMonitor PolicyMode = iota + 1
	ModeComment
	ModeBlock
)

var (
	policyModes = words[PolicyMode]{"", "monitor", "comment", "block"}
	ruleBoards  = words[PolicyMode]{"", "rule-board-audit", "rule-board-pr-comments", "rule-board-block"}
)

// String returns the wire name of the policy_mode filter.
func (m PolicyMode) String() string { return policyModes.name(m) }

// ParsePolicyMode reads monitor, comment or block.
func ParsePolicyMode(s string) (PolicyMode, bool) { return policyModes.parse(s) }

// ParseRuleBoard reads the identifiers of the policies filter, as
// rule-board-audit (decisions §4).
func ParseRuleBoard(s string) (PolicyMode, bool) { return ruleBoards.parse(s) }

// Policy is a set of rules for one product.
type Policy struct {
	ID      int64
	Name    string
	Slug    string
	Product IssueType
	Default bool // each deployment has one default policy per product
}

// PolicyRule is a rule in a policy, with the mode that gates builds.
type PolicyRule struct {
	ID           int64
	PolicyID     int64
	Rule         Rule // its newest content
	Mode         PolicyMode
	Served       bool // given to scanners; rules known from imports never are
	LastChangeAt time.Time
	LastChangeBy string // empty when no person changed it
}
