package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/glob"
	"github.com/redoubt/redoubt/internal/model"
)

// EffectivePolicy combines the policies that apply to a project and their rules
// (docs/reference/policies.md).
type EffectivePolicy struct {
	Policies []model.Policy
	// Rules contains each rule once, with the mode of its strictest policy, in order of first
	// occurrence.
	Rules    []model.ServedRule
	products map[string]model.IssueType // product by name of a served rule
	wants    map[string][]want          // by rule
	ref      string                     // evaluated ref; empty for all
}

// want is the mode of a policy for a rule.
type want struct {
	of   *model.Policy
	mode model.PolicyMode
}

// Set contains all policies of a deployment with their rules.
type Set struct {
	Policies []model.Policy
	Served   []model.ServedRule
	Blocking []model.PolicyRule // rules in mode block, served or known from imports
}

// SetStorage is the storage from which a Set is read.
type SetStorage interface {
	Policies(ctx context.Context) ([]model.Policy, error)
	ServedRules(ctx context.Context) ([]model.ServedRule, error)
	// BlockingRules returns all rules in mode block, served or known from imports.
	BlockingRules(ctx context.Context) ([]model.PolicyRule, error)
}

// LoadSet returns the current policies.
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

// LoadEffectivePolicy returns the current effective policy of a project.
func LoadEffectivePolicy(ctx context.Context, s SetStorage, project model.Project) (EffectivePolicy, error) {
	set, err := LoadSet(ctx, s)
	if err != nil {
		return EffectivePolicy{}, err
	}
	return set.For(project), nil
}

// For returns the effective policy of a project, including blocking rules that are not served
// (docs/reference/policies.md).
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

// For returns the effective policy of a project, given all policies and served rules.
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
		if index, known := at[name]; !known {
			at[name] = len(e.Rules)
			e.Rules = append(e.Rules, r)
		} else if e.RuleMode(name) != before {
			e.Rules[index] = r
		}
		e.products[name] = r.Rule.IssueType
	}
	return e
}

// On returns the effective policy for a full ref. Rules of policies that do not apply to the ref
// have mode monitor, and conditions that do not apply have no effect. Rules are served for all refs.
func (e EffectivePolicy) On(ref string) EffectivePolicy {
	e.ref = ref
	return e
}

// RuleMode returns the setting of the strictest policy for a rule, or zero if no policy has it.
func (e EffectivePolicy) RuleMode(rule string) (best model.RuleMode) {
	for _, w := range e.wants[rule] {
		if e.ref != "" && !model.CoversRef(w.of.Branches, e.ref) {
			w.mode = model.ModeMonitor
		}
		best = model.StanceOf(*w.of, w.mode).Stricter(best)
	}
	return best
}

// Judged returns what can fail a build on a ref or be noted. These are the rules in mode block, and
// the products with conditions.
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

// PolicyIDs returns the IDs of the policies.
func (e EffectivePolicy) PolicyIDs() []int64 {
	return model.Map(e.Policies, func(p model.Policy) int64 { return p.ID })
}

// Excludes returns the sorted, distinct excludes of all policies of a product. Scanners can exclude
// paths for a product but not for a rule.
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

// Excluded reports whether a policy of the product excludes a path.
func (e EffectivePolicy) Excluded(product model.IssueType, path string) bool {
	return slices.ContainsFunc(e.Policies, func(p model.Policy) bool {
		return p.Product == product && glob.Match(p.Excludes, path)
	})
}

// ExcludedFor reports whether a policy excludes a path for a served rule.
func (e EffectivePolicy) ExcludedFor(rule, path string) bool {
	product, served := e.products[rule]
	return served && e.Excluded(product, path)
}
