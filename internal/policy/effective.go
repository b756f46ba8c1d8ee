package policy

import (
	"slices"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/glob"
)

// EffectivePolicy is what holds for a project: the policies that are for it, and
// their rules (semantics §10).
type EffectivePolicy struct {
	Policies []redoubt.Policy
	// Rules has each rule once, as the strictest of its policies has it, in the
	// order of first mention.
	Rules    []redoubt.ServedRule
	stances  map[string]redoubt.Stance
	sources  map[string]int64 // policy that the stance of a rule is of
	products map[string]redoubt.IssueType
	wants    []want
	ref      string // that is judged
}

// want is what a policy wants of a rule, on the refs that it is for.
type want struct {
	rule string
	of   redoubt.Policy
	mode redoubt.PolicyMode
}

// For is what holds for a project of all policies and of what they serve.
func For(p redoubt.Project, policies []redoubt.Policy, rules []redoubt.ServedRule) EffectivePolicy {
	e := EffectivePolicy{stances: map[string]redoubt.Stance{}, sources: map[string]int64{}, products: map[string]redoubt.IssueType{}}
	byID := map[int64]redoubt.Policy{}
	for _, one := range policies {
		if one.Scope.Covers(p) {
			one.Conditions = slices.DeleteFunc(slices.Clone(one.Conditions), func(c redoubt.PolicyCondition) bool { return !c.Scope.Covers(p) })
			e.Policies = append(e.Policies, one)
			byID[one.ID] = one
		}
	}
	at := map[string]int{}
	for _, r := range rules {
		of, covers := byID[r.PolicyID]
		if !covers {
			continue
		}
		name := r.Rule.Name
		place, known := at[name]
		stricter := e.take(name, of, r.Mode)
		switch {
		case !known:
			at[name] = len(e.Rules)
			e.Rules = append(e.Rules, r)
		case stricter:
			e.Rules[place] = r
		}
		e.products[name] = r.Rule.IssueType
	}
	return e
}

// On is the same, for judging a ref, which is in full: policies and conditions may be
// for some branches only. What a policy serves it serves on all of them; elsewhere it
// only monitors.
func (e EffectivePolicy) On(ref string) EffectivePolicy {
	e.ref = ref
	if !slices.ContainsFunc(e.Policies, func(p redoubt.Policy) bool { return len(p.Branches) > 0 }) {
		return e
	}
	e.stances, e.sources = map[string]redoubt.Stance{}, map[string]int64{}
	for _, w := range e.wants {
		mode := w.mode
		if !redoubt.CoversRef(w.of.Branches, ref) {
			mode = redoubt.ModeMonitor
		}
		e.count(w.rule, w.of, mode)
	}
	return e
}

// take takes over what a policy wants of a rule, and reports whether that is
// stricter than what was known.
func (e *EffectivePolicy) take(rule string, of redoubt.Policy, mode redoubt.PolicyMode) bool {
	e.wants = append(e.wants, want{rule, of, mode})
	return e.count(rule, of, mode)
}

func (e *EffectivePolicy) count(rule string, of redoubt.Policy, mode redoubt.PolicyMode) bool {
	before := e.stances[rule]
	best := redoubt.StanceOf(of, mode).Stricter(before)
	if best == before {
		return false
	}
	e.stances[rule], e.sources[rule] = best, of.ID
	return true
}

// Stance is what the policies want of a rule: that of the strictest. It is zero
// for a rule that they do not serve.
func (e EffectivePolicy) Stance(rule string) redoubt.Stance { return e.stances[rule] }

// Judged lists what may fail a build on a ref, or be noted: findings of rules in mode block,
// and all of products that conditions are about.
func (e EffectivePolicy) Judged(ref string) (rules []string, products []redoubt.IssueType) {
	for name, stance := range e.On(ref).stances {
		if stance.Mode == redoubt.ModeBlock {
			rules = append(rules, name)
		}
	}
	for _, product := range []redoubt.IssueType{redoubt.SAST, redoubt.SCA, redoubt.Secrets} {
		if e.conditional(product) {
			products = append(products, product)
		}
	}
	return rules, products
}

// PolicyIDs lists the policies.
func (e EffectivePolicy) PolicyIDs() []int64 {
	ids := make([]int64, len(e.Policies))
	for i, p := range e.Policies {
		ids[i] = p.ID
	}
	return ids
}

// Excludes are the globs of a product that any of the policies has: scanners can
// leave paths out for a product, not for a rule. They are sorted, each once.
func (e EffectivePolicy) Excludes(product redoubt.IssueType) redoubt.PathGlobs {
	var globs redoubt.PathGlobs
	for _, p := range e.Policies {
		if p.Product == product {
			globs = append(globs, p.Excludes...)
		}
	}
	slices.Sort(globs)
	return slices.Compact(globs)
}

// Excluded reports whether the policies leave out a finding of a product at a
// path.
func (e EffectivePolicy) Excluded(product redoubt.IssueType, path string) bool {
	return slices.ContainsFunc(e.Policies, func(p redoubt.Policy) bool { return p.Product == product && glob.Match(p.Excludes, path) })
}

// ExcludedFor reports whether the policies leave out a path for a rule that they
// serve.
func (e EffectivePolicy) ExcludedFor(rule, path string) bool {
	product, served := e.products[rule]
	return served && e.Excluded(product, path)
}
