package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// AsIf is what the gate would read if rules of a policy were in another mode than they
// are, to ask what that would block before anybody does it.
type AsIf struct {
	GateStorage
	Rules []redoubt.PolicyRule // whose mode would change, of any policies
	Mode  redoubt.PolicyMode   // that they would have
}

// ServedRules are those that scanners are given, in the modes that they would have.
func (a AsIf) ServedRules(ctx context.Context) ([]redoubt.ServedRule, error) {
	list, err := a.GateStorage.ServedRules(ctx)
	list, changed := slices.Clone(list), a.changed()
	for i := range list {
		if changed[list[i].ID] {
			list[i].Mode = a.Mode
		}
	}
	return list, err
}

// BlockingRules are those that would be in mode block.
func (a AsIf) BlockingRules(ctx context.Context) ([]redoubt.PolicyRule, error) {
	list, err := a.GateStorage.BlockingRules(ctx)
	changed := a.changed()
	list = slices.DeleteFunc(slices.Clone(list), func(r redoubt.PolicyRule) bool { return changed[r.ID] })
	if a.Mode == redoubt.ModeBlock {
		for _, r := range a.Rules {
			r.Mode = a.Mode
			list = append(list, r)
		}
	}
	return list, err
}

func (a AsIf) changed() map[int64]bool {
	ids := make(map[int64]bool, len(a.Rules))
	for _, r := range a.Rules {
		ids[r.ID] = true
	}
	return ids
}

// Changed is the question about another mode for these rules of a policy.
func (a AsIf) Changed(p redoubt.Policy) Change {
	names := map[string]bool{}
	for _, r := range a.Rules {
		names[r.Rule.Name] = true
	}
	return Change{Product: p.Product, Scopes: []redoubt.PolicyScope{p.Scope}, Rules: names, As: func(s GateStorage) GateStorage {
		a.GateStorage = s
		return a
	}}
}
