package model

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

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
