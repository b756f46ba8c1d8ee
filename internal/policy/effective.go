package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/model"
)

// EffectivePolicy is what holds for a project: the policies that are for it, and
// their rules (docs/reference/policies.md).
type EffectivePolicy struct {
	Policies []model.Policy
	// Rules has each rule once, as the strictest of its policies has it, in the
	// order of first mention.
	Rules    []model.ServedRule
	products map[string]model.IssueType // of the served rules
	wants    map[string][]want          // by rule
	ref      string                     // that is judged; empty for all
}

// want is the mode that a policy has for a rule, on the refs that it is for.
type want struct {
	of   *model.Policy
	mode model.PolicyMode
}

// Set is all policies of a deployment with their rules.
type Set struct {
	Policies []model.Policy
	Served   []model.ServedRule
	Blocking []model.PolicyRule // rules in mode block, served or known from imports
}

// SetStorage reads a Set.
type SetStorage interface {
	Policies(ctx context.Context) ([]model.Policy, error)
	ServedRules(ctx context.Context) ([]model.ServedRule, error)
	// BlockingRules lists the rules that a policy has in mode block, served or
	// known from imports.
	BlockingRules(ctx context.Context) ([]model.PolicyRule, error)
}

// LoadSet reads the policies as they are now.
func LoadSet(ctx context.Context, s SetStorage) (set Set, err error) {
	if set.Policies, err = s.Policies(ctx); err != nil {
		return set, err
	}
	if set.Served, err = s.ServedRules(ctx); err != nil {
		return set, err
	}
	set.Blocking, err = s.BlockingRules(ctx)
	return set, err
}

// LoadEffectivePolicy reads what holds for a project by the policies as they are now.
func LoadEffectivePolicy(ctx context.Context, s SetStorage, project model.Project) (EffectivePolicy, error) {
	set, err := LoadSet(ctx, s)
	if err != nil {
		return EffectivePolicy{}, err
	}
	return set.For(project), nil
}

// For is what holds for a project, with the blocking rules that are not served (docs/reference/policies.md).
func (s Set) For(p model.Project) EffectivePolicy {
	e := For(p, s.Policies, s.Served)
	for _, r := range s.Blocking {
		if at := policyAt(e.Policies, r.PolicyID); at >= 0 {
			e.wants[r.Rule.Name] = append(e.wants[r.Rule.Name], want{&e.Policies[at], r.Mode})
		}
	}
	return e
}

func policyAt(policies []model.Policy, id int64) int {
	return slices.IndexFunc(policies, func(p model.Policy) bool { return p.ID == id })
}

// For is what holds for a project of all policies and of what they serve.
func For(p model.Project, policies []model.Policy, rules []model.ServedRule) EffectivePolicy {
	e := EffectivePolicy{wants: map[string][]want{}, products: map[string]model.IssueType{}}
	for _, one := range policies {
		if one.Scope.Covers(p) {
			one.Conditions = slices.DeleteFunc(slices.Clone(one.Conditions), func(c model.PolicyCondition) bool {
				return !c.Scope.Covers(p)
			})
			e.Policies = append(e.Policies, one)
		}
	}
	byID := make(map[int64]*model.Policy, len(e.Policies))
	for i := range e.Policies {
		byID[e.Policies[i].ID] = &e.Policies[i]
	}
	at := map[string]int{}
	for _, r := range rules {
		of, covers := byID[r.PolicyID]
		if !covers {
			continue
		}
		name := r.Rule.Name
		before := e.RuleMode(name)
		e.wants[name] = append(e.wants[name], want{of, r.Mode})
		if place, known := at[name]; !known {
			at[name] = len(e.Rules)
			e.Rules = append(e.Rules, r)
		} else if e.RuleMode(name) != before {
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
	return e
}

// RuleMode returns that of the strictest policy. It is zero for a rule that the policies do
// not have.
func (e EffectivePolicy) RuleMode(rule string) (best model.RuleMode) {
	for _, w := range e.wants[rule] {
		if e.ref != "" && !model.CoversRef(w.of.Branches, e.ref) {
			w.mode = model.ModeMonitor
		}
		best = model.StanceOf(*w.of, w.mode).Stricter(best)
	}
	return best
}

// Judged lists what may fail a build on a ref, or be noted: findings of rules in mode block,
// and all of products that conditions are about.
func (e EffectivePolicy) Judged(ref string) (rules []string, products []model.IssueType) {
	on := e.On(ref)
	for name := range e.wants {
		if on.RuleMode(name).Mode == model.ModeBlock {
			rules = append(rules, name)
		}
	}
	for _, product := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		if e.conditional(product) {
			products = append(products, product)
		}
	}
	return rules, products
}

// PolicyIDs lists the policies.
func (e EffectivePolicy) PolicyIDs() []int64 {
	return model.Map(e.Policies, func(p model.Policy) int64 { return p.ID })
}

// Excludes are the globs of a product that any of the policies has: scanners can
// leave paths out for a product, not for a rule. They are sorted, each once.
func (e EffectivePolicy) Excludes(product model.IssueType) model.PathGlobs {
	var globs model.PathGlobs
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
func (e EffectivePolicy) Excluded(product model.IssueType, path string) bool {
	return slices.ContainsFunc(e.Policies, func(p model.Policy) bool {
		return p.Product == product && glob.Match(p.Excludes, path)
	})
}

// ExcludedFor reports whether the policies leave out a path for a rule that they
// serve.
func (e EffectivePolicy) ExcludedFor(rule, path string) bool {
	product, served := e.products[rule]
	return served && e.Excluded(product, path)
}
