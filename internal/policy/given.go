package policy

import (
	"slices"

	"github.com/redoubt/redoubt"
)

// Given is what a project is given: the policies that are for it, and their
// rules (semantics §10).
type Given struct {
	Policies []redoubt.Policy
	// Rules has each rule once, as the strictest of its policies has it, in the
	// order of first mention.
	Rules    []redoubt.ServedRule
	stances  map[string]redoubt.Stance
	sources  map[string]int64 // policy that the stance of a rule is of
	products map[string]redoubt.IssueType
	ref      string // that is judged
}

// For is what a project is given of all policies and of what they serve.
func For(p redoubt.Project, policies []redoubt.Policy, rules []redoubt.ServedRule) Given {
	g := Given{stances: map[string]redoubt.Stance{}, sources: map[string]int64{}, products: map[string]redoubt.IssueType{}}
	byID := map[int64]redoubt.Policy{}
	for _, one := range policies {
		if one.Scope.Covers(p) {
			one.Conditions = slices.DeleteFunc(slices.Clone(one.Conditions), func(c redoubt.PolicyCondition) bool { return !c.Scope.Covers(p) })
			g.Policies = append(g.Policies, one)
			byID[one.ID] = one
		}
	}
	at := map[string]int{}
	for _, r := range rules {
		of, given := byID[r.PolicyID]
		if !given {
			continue
		}
		name := r.Rule.Name
		place, known := at[name]
		stricter := g.take(name, of, r.Mode)
		switch {
		case !known:
			at[name] = len(g.Rules)
			g.Rules = append(g.Rules, r)
		case stricter:
			g.Rules[place] = r
		}
		g.products[name] = r.Rule.IssueType
	}
	return g
}

// On is the same, for judging a ref, which is in full: conditions may be for some
// branches only.
func (g Given) On(ref string) Given {
	g.ref = ref
	return g
}

// take counts what a policy wants of a rule, and reports whether that is
// stricter than what was known.
func (g *Given) take(rule string, of redoubt.Policy, mode redoubt.PolicyMode) bool {
	before := g.stances[rule]
	best := redoubt.StanceOf(of, mode).Stricter(before)
	if best == before {
		return false
	}
	g.stances[rule], g.sources[rule] = best, of.ID
	return true
}

// Stance is what the policies want of a rule: that of the strictest. It is zero
// for a rule that they do not serve.
func (g Given) Stance(rule string) redoubt.Stance { return g.stances[rule] }

// PolicyIDs lists the policies.
func (g Given) PolicyIDs() []int64 {
	ids := make([]int64, len(g.Policies))
	for i, p := range g.Policies {
		ids[i] = p.ID
	}
	return ids
}

// Excludes are the globs of a product that any of the policies has: scanners can
// leave paths out for a product, not for a rule. They are sorted, each once.
func (g Given) Excludes(product redoubt.IssueType) redoubt.PathGlobs {
	var globs redoubt.PathGlobs
	for _, p := range g.Policies {
		if p.Product == product {
			globs = append(globs, p.Excludes...)
		}
	}
	slices.Sort(globs)
	return slices.Compact(globs)
}

// Excluded reports whether the policies leave out a finding of a product at a
// path.
func (g Given) Excluded(product redoubt.IssueType, path string) bool {
	return slices.ContainsFunc(g.Policies, func(p redoubt.Policy) bool { return p.Product == product && p.Excludes.Match(path) })
}

// ExcludedFor reports whether the policies leave out a path for a rule that they
// serve.
func (g Given) ExcludedFor(rule, path string) bool {
	product, served := g.products[rule]
	return served && g.Excluded(product, path)
}
