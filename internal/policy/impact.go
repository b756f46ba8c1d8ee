package policy

import (
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
)

// Impact is what a change of a policy would do, before anybody makes it.
type Impact struct {
	WouldBlock
	Projects int // that the policy would be for
	Before   int // projects that it is for
	Joined   []redoubt.Project
	Left     []redoubt.Project // projects that it would be for no more
	Removed  int               // findings on the paths that it would leave out
	// Unserved are rules that a project would be given no more, each once, sorted: the
	// next full scan there removes their findings.
	Unserved []string
}

// ImpactStorage is what Foresee reads.
type ImpactStorage interface {
	WouldStorage
	Storage
}

// Proposal is a policy as somebody would have it.
type Proposal struct {
	Policy  redoubt.Policy // id 0 is one that is to be made
	Deleted bool
	Rules   []redoubt.ServedRule // that a new one would serve, in the mode that they would have
	Listed  []redoubt.PolicyRule // that a new one would list and not serve, likewise
}

// Foresee tells what a proposal would do. An unknown policy is redoubt.ErrNotFound.
func Foresee(ctx context.Context, s ImpactStorage, would Proposal) (out Impact, err error) {
	policies, err := s.Policies(ctx)
	if err != nil {
		return out, err
	}
	p := would.Policy
	at := slices.IndexFunc(policies, func(one redoubt.Policy) bool { return one.ID == p.ID })
	if at < 0 && p.ID != 0 {
		return out, fmt.Errorf("policy %d: %w", p.ID, redoubt.ErrNotFound)
	}
	var scopes []redoubt.PolicyScope
	var stored *redoubt.Policy
	if at >= 0 {
		stored = &policies[at]
		scopes = append(scopes, stored.Scope)
	}
	if !would.Deleted {
		scopes = append(scopes, p.Scope)
	}
	all, err := s.VisibleProjects(ctx, nil)
	if err != nil {
		return out, err
	}
	out.cover(all, stored, would)
	if stored != nil && len(out.Left) > 0 {
		served, err := s.ServedRules(ctx)
		if err != nil {
			return out, err
		}
		out.Unserved = unserved(p.ID, out.Left, policies, served)
	}
	if !would.Deleted && len(p.Excludes) > 0 && (stored == nil || !leavesOutTheSame(*stored, p)) {
		gone, err := leftOut(ctx, s, p)
		if err != nil {
			return out, err
		}
		out.Removed = len(gone)
	}
	return out, out.Ask(ctx, s, Change{Product: p.Product, Scopes: scopes, As: func(g GateStorage) GateStorage { return asIfPolicy{g, would} }})
}

// cover says which projects the policy is for, and which it would be for.
func (out *Impact) cover(all []redoubt.Project, stored *redoubt.Policy, would Proposal) {
	for _, one := range all {
		was, is := stored != nil && stored.Scope.Covers(one), !would.Deleted && would.Policy.Scope.Covers(one)
		switch {
		case is && !was:
			out.Joined = append(out.Joined, one)
		case was && !is:
			out.Left = append(out.Left, one)
		}
		if was {
			out.Before++
		}
		if is {
			out.Projects++
		}
	}
}

// unserved are the rules of a policy that some of the projects have by no other one.
func unserved(id int64, projects []redoubt.Project, policies []redoubt.Policy, served []redoubt.ServedRule) (names []string) {
	holders := map[string][]int64{}
	for _, r := range served {
		holders[r.Rule.Name] = append(holders[r.Rule.Name], r.PolicyID)
	}
	looked := map[string]bool{}
	for _, one := range projects {
		var others []int64
		for _, p := range policies {
			if p.ID != id && p.Scope.Covers(one) {
				others = append(others, p.ID)
			}
		}
		if key := fmt.Sprint(others); !looked[key] { // most projects have the same policies
			looked[key] = true
			for name, of := range holders {
				if slices.Contains(of, id) && !slices.ContainsFunc(of, func(holder int64) bool { return slices.Contains(others, holder) }) {
					names = append(names, name)
				}
			}
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// asIfPolicy is what the gate would read if the proposal were made.
type asIfPolicy struct {
	GateStorage
	would Proposal
}

// Policies are those that there would be.
func (a asIfPolicy) Policies(ctx context.Context) ([]redoubt.Policy, error) {
	list, err := a.GateStorage.Policies(ctx)
	list = slices.DeleteFunc(slices.Clone(list), func(p redoubt.Policy) bool { return p.ID == a.would.Policy.ID })
	if !a.would.Deleted {
		list = append(list, a.would.Policy)
	}
	return list, err
}

// ServedRules are those that scanners would be given.
func (a asIfPolicy) ServedRules(ctx context.Context) ([]redoubt.ServedRule, error) {
	list, err := a.GateStorage.ServedRules(ctx)
	return append(slices.Clip(list), a.would.Rules...), err
}

// BlockingRules are those that would be in mode block.
func (a asIfPolicy) BlockingRules(ctx context.Context) ([]redoubt.PolicyRule, error) {
	list, err := a.GateStorage.BlockingRules(ctx)
	list = slices.Clip(list)
	for _, r := range a.would.Listed {
		if r.Mode == redoubt.ModeBlock {
			list = append(list, r)
		}
	}
	return list, err
}
