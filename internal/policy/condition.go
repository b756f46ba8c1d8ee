package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

// conditional reports whether a policy has a condition.
func (e EffectivePolicy) conditional() bool {
	return slices.ContainsFunc(e.Policies, func(p redoubt.Policy) bool { return len(p.Conditions) > 0 })
}

// condition finds the strictest condition that holds for a finding, of several
// the first in the order of the policies, and tells the sighting of it; there is
// none where none does. Reachability counts only where a condition asks for it.
// Whatever the mode, conditions hold for what would fail a build.
func (e EffectivePolicy) condition(s *Sighting, fresh bool) (mode redoubt.PolicyMode) {
	if s.Finding.IssueType != redoubt.SCA || s.Finding.State != redoubt.Unresolved || s.Triage == redoubt.TriageIgnored {
		return 0
	}
	for i := range e.Policies {
		p := &e.Policies[i]
		for j := range p.Conditions {
			c := &p.Conditions[j]
			if c.Mode > s.Mode && (fresh || p.BlockAll) && redoubt.CoversRef(p.Branches, e.ref) && redoubt.CoversRef(c.Branches, e.ref) && holds(c, &s.Finding, &s.Supply) {
				s.Condition, s.Mode, s.PolicyID = fmt.Sprintf("condition %d of %s: %s", c.ID, p.Slug, c), c.Mode, p.ID
			}
		}
	}
	return s.Mode
}

// holds reports whether a finding is all that a condition asks for.
func holds(c *redoubt.PolicyCondition, f *redoubt.Finding, facts *redoubt.SupplyFacts) bool {
	reachable := f.Reachability == redoubt.Reachable || f.Reachability == redoubt.AlwaysReachable
	switch {
	case f.IssueType != redoubt.SCA,
		f.Severity < c.Severity,
		c.Reachable && !reachable,
		c.EPSS > 0 && (facts.EPSS == nil || facts.EPSS.Score < c.EPSS),
		c.Exploited && !facts.Exploited,
		c.Malicious && !f.Malicious,
		c.Fixable && len(facts.Fixes) == 0,
		c.Direct && f.Transitivity != redoubt.Direct,
		facts.Age < time.Duration(c.GraceDays)*24*time.Hour:
		return false
	}
	return true
}

// supply tells supply-chain findings what conditions ask of them.
func (j *Judge) supply(ctx context.Context, judged []Sighting) error {
	if !j.effective.conditional() {
		return nil
	}
	if err := j.exploited(ctx, judged); err != nil {
		return err
	}
	var ids []int64
	for i := range judged {
		if f := &judged[i].Finding; f.IssueType == redoubt.SCA && f.ID != 0 {
			ids = append(ids, f.ID)
		}
	}
	if len(ids) == 0 {
		return nil
	}
	facts, err := j.s.SupplyFacts(ctx, ids)
	if err != nil {
		return err
	}
	for i := range judged {
		s := &judged[i]
		if known, there := facts[s.Finding.ID]; there {
			known.EPSS, known.Age = s.Supply.EPSS, s.Supply.Age
			known.Version = cmp.Or(s.Supply.Version, known.Version)
			if len(s.Supply.Fixes) > 0 {
				known.Fixes = s.Supply.Fixes
			}
			s.Supply = known
			if s.Unrated && known.Severity != 0 {
				s.Finding.Severity = known.Severity
			}
		}
	}
	return nil
}

// exploited tells findings that the ref does not have, as those of a scan that is
// recorded only may be, whether they are exploited; of others their facts tell.
func (j *Judge) exploited(ctx context.Context, judged []Sighting) error {
	var names []string
	for i := range judged {
		if s := &judged[i]; s.Finding.ID == 0 && s.Supply.Vulnerability != "" {
			names = append(names, strings.ToUpper(s.Supply.Vulnerability))
		}
	}
	if len(names) == 0 {
		return nil
	}
	known, err := j.s.ExploitedNamed(ctx, names)
	if err != nil {
		return err
	}
	for i := range judged {
		s := &judged[i]
		s.Supply.Exploited = s.Supply.Exploited || s.Finding.ID == 0 && known[strings.ToUpper(s.Supply.Vulnerability)]
	}
	return nil
}

// Explained says of a finding that a condition holds for which dependency it is,
// what to do, and why; it is empty for others.
func (s *Sighting) Explained() string {
	if s.Condition == "" {
		return ""
	}
	return s.name()
}

// name says for people what a finding is and where: of a dependency that a
// condition fails the build on, what to do and why too.
func (s *Sighting) name() string {
	place := fmt.Sprintf("at %s:%d", s.Finding.Path, s.Finding.Line)
	if s.Condition == "" || s.Supply.Package == "" {
		return s.Finding.RuleName + " " + place
	}
	fix := "no version fixes it"
	if len(s.Supply.Fixes) > 0 {
		fix = "fixed in " + s.Supply.Fixes[0].Version
	}
	vulnerability := s.Supply.Vulnerability
	if vulnerability == "" {
		vulnerability = s.Finding.RuleName
	}
	return fmt.Sprintf("%s %s has %s %s (%s; %s)", s.Supply.Package, s.Supply.Version, vulnerability, place, fix, s.Condition)
}

// kinds says what fails the build: rules, conditions or both.
func kinds(blocking []Sighting) string {
	rules, conditions := false, false
	for i := range blocking {
		if blocking[i].Condition == "" {
			rules = true
		} else {
			conditions = true
		}
	}
	switch {
	case !conditions:
		return "blocking rules"
	case !rules:
		return "blocking conditions"
	}
	return "blocking rules and conditions"
}
