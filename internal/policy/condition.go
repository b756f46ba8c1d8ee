package policy

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// conditional reports whether a policy of the product has a condition.
func (e EffectivePolicy) conditional(product model.IssueType) bool {
	return slices.ContainsFunc(e.Policies, func(p model.Policy) bool {
		return p.Product == product && len(p.Conditions) > 0
	})
}

// condition returns the mode of the strictest condition that a finding matches, and stores the
// condition in the sighting. Of equally strict conditions, it uses the first. It returns 0 if none
// matches. Findings that are also on the primary branch match only with BlockAll.
func (e EffectivePolicy) condition(s *Sighting, fresh bool) (mode model.PolicyMode) {
	if s.Finding.State != model.Unresolved || s.Triage == model.TriageIgnored {
		return 0
	}
	for i := range e.Policies {
		p := &e.Policies[i]
		if p.Product != s.Finding.IssueType || !fresh && !p.BlockAll || !model.CoversRef(p.Branches, e.ref) {
			continue
		}
		for j := range p.Conditions {
			c := &p.Conditions[j]
			if c.Mode > s.Mode && model.CoversRef(c.Branches, e.ref) && Matches(c, &s.Finding, &s.Supply) {
				s.Condition, s.Mode, s.PolicyID = fmt.Sprintf("condition %d of %s: %s", c.ID, p.Slug, c), c.Mode, p.ID
			}
		}
	}
	return s.Mode
}

// Matches reports whether a finding of the condition's product meets all criteria except projects
// and branches. A finding without severity or confidence does not meet thresholds.
func Matches(c *model.PolicyCondition, f *model.Finding, facts *model.SupplyFacts) bool {
	reachable := f.Reachability == model.Reachable || f.Reachability == model.AlwaysReachable
	switch {
	case f.Severity < c.Severity,
		f.Confidence < c.Confidence,
		c.Reachable && !reachable,
		c.EPSS > 0 && (facts.EPSS == nil || facts.EPSS.Score < c.EPSS),
		c.Exploited && !facts.Exploited,
		c.Malicious && !f.Malicious,
		c.Fixable && len(facts.Fixes) == 0,
		c.Direct && f.Transitivity != model.Direct,
		facts.Age < time.Duration(c.GraceDays)*24*time.Hour:
		return false
	}
	return true
}

// supply reads the facts that conditions on supply-chain findings need.
func (j *Judge) supply(ctx context.Context, judged []Sighting) error {
	if !slices.ContainsFunc(j.policies, func(e EffectivePolicy) bool { return e.conditional(model.SCA) }) {
		return nil
	}
	if err := j.exploited(ctx, judged); err != nil {
		return err
	}
	var ids []int64
	for i := range judged {
		if f := &judged[i].Finding; f.IssueType == model.SCA && f.ID != 0 {
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
		if known, ok := facts[s.Finding.ID]; ok {
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

// exploited sets whether findings without an ID are exploited. These occur in scans that are only
// recorded. The facts of other findings include this.
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

// Explained returns a description of the finding with the condition that it matches, or "" if there
// is none.
func (s *Sighting) Explained() string {
	if s.Condition == "" {
		return ""
	}
	return s.name()
}

// name returns a description of the finding with its location and matching condition. For a
// dependency, it includes the fix.
func (s *Sighting) name() string {
	location := fmt.Sprintf("at %s:%d", s.Finding.Path, s.Finding.Line)
	switch {
	case s.Condition == "":
		return s.Finding.RuleName + " " + location
	case s.Supply.Package == "":
		return fmt.Sprintf("%s %s (%s)", s.Finding.RuleName, location, s.Condition)
	}
	fix := "no fix is available"
	if len(s.Supply.Fixes) > 0 {
		fix = "fixed in " + s.Supply.Fixes[0].Version
	}
	vulnerability := cmp.Or(s.Supply.Vulnerability, s.Finding.RuleName)
	return fmt.Sprintf("%s %s has %s %s (%s; %s)",
		s.Supply.Package, s.Supply.Version, vulnerability, location, fix, s.Condition)
}

// kinds returns what fails the build: rules, conditions or both.
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
