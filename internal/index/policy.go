package index

import (
	"slices"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// audience is a group of projects to which the same policies and conditions apply. Stances of rules
// are computed per audience, of which there are few, because few policies are limited to some
// projects.
type audience struct {
	policies   []int64                 // ascending
	conditions []*condition            // conditions of the policies that apply to the projects
	due        [model.Secrets]dueTable // by issue type - 1
}

// stance is the effective policy mode of a rule for one audience.
type stance struct {
	model.RuleMode
	source []byte // the member sourcing_policy; empty if there is no policy
}

// audienceOf returns the number of the project's audience. It creates the audience if necessary and
// returns fresh = true. Then rules have no stance for it yet.
func (s *state) audienceOf(p *project) (number uint32, fresh bool) {
	var ids []int64
	for id, policy := range s.policies {
		if policy.Scope.Covers(p.scoped) {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	a := audience{policies: ids}
	for _, id := range ids {
		for _, c := range s.policies[id].conditions {
			if c.of.Scope.Covers(p.scoped) {
				a.conditions = append(a.conditions, c)
			}
		}
	}
	n := slices.IndexFunc(s.audiences, func(other audience) bool {
		return slices.Equal(a.policies, other.policies) && slices.Equal(a.conditions, other.conditions)
	})
	if n >= 0 {
		return uint32(n), false
	}
	for i := range a.due {
		a.due[i] = s.dueTableOf(ids, model.IssueType(i+1))
	}
	s.audiences = append(s.audiences, a)
	return uint32(len(s.audiences) - 1), true
}

// gatherAudiences rebuilds the audiences after a policy change.
func (s *state) gatherAudiences() {
	s.audiences = nil
	for n, p := range s.projects.entries {
		if p != nil {
			changed := *p
			changed.audience, _ = s.audienceOf(p)
			s.projects.entries[n] = &changed
		}
	}
	s.updateAllStances()
}

func (s *state) updateAllStances() {
	for name := range s.rulesByName {
		s.updateStances(name)
	}
}

func (s *state) removePolicies(ids []int64) {
	if len(ids) == 0 {
		return
	}
	for _, id := range ids {
		delete(s.policies, id)
		for _, of := range s.policyRules {
			for ruleID, pr := range of {
				if pr.policy == id {
					delete(of, ruleID)
				}
			}
		}
	}
	s.gatherAudiences()
}

// updateStances sets the stances of a rule: for each audience, the strictest of the policies with
// the rule (docs/reference/findings.md). If no policy has it, the default policy of its product
// applies, which monitors.
func (s *state) updateStances(name string) {
	for _, n := range s.rulesByName[name] {
		changed := *s.rules.entries[n]
		changed.stances = make([]stance, len(s.audiences))
		for i, a := range s.audiences {
			best := s.stanceOf(name, changed.product, a)
			changed.stances[i].RuleMode = best
			if p := s.policies[best.PolicyID]; p != nil {
				changed.stances[i].source = p.wire
			}
		}
		s.rules.entries[n] = &changed
	}
}

func (s *state) stanceOf(name string, product model.IssueType, a audience) (best model.RuleMode) {
	for _, pr := range s.policyRules[name] {
		if _, given := slices.BinarySearch(a.policies, pr.policy); given {
			best = best.Stricter(model.StanceOf(s.policies[pr.policy].Policy, pr.mode))
		}
	}
	if best.Mode != 0 {
		return best
	}
	for _, p := range s.policies {
		if p.Default && p.Product == product {
			return model.StanceOf(p.Policy, model.ModeMonitor)
		}
	}
	return best
}

// addModes adds a filter by mode. It is a clause on rules if no conditions apply and the rules'
// modes are the same for all audiences.
func (s *state) addModes(p *partition, q *query, modes []model.PolicyMode) {
	if len(modes) == 0 {
		return
	}
	rules := s.rulesInModes(modes)
	if s.conditional(p.issueType) ||
		slices.ContainsFunc(rules, func(of []uint32) bool { return !slices.Equal(of, rules[0]) }) {
		q.with = append(q.with, s.inModes(p, modes))
		return
	}
	q.add(byRule, slices.Concat(rules[:min(1, len(rules))]...))
}

// rulesInModes returns, by audience, the rules with one of the modes.
func (s *state) rulesInModes(modes []model.PolicyMode) [][]uint32 {
	out := make([][]uint32, len(s.audiences))
	for n, r := range s.rules.entries {
		for a := range out {
			if r != nil && slices.Contains(modes, r.stances[a].Mode) {
				out[a] = append(out[a], uint32(n))
			}
		}
	}
	return out
}

// inModes returns the rows with one of the modes.
func (s *state) inModes(p *partition, modes []model.PolicyMode) *roaring.Bitmap {
	out := roaring.New()
	for mode, rows := range s.rowsByMode(p) {
		if slices.Contains(modes, model.PolicyMode(mode)) {
			out.Or(rows)
		}
	}
	return out
}

// rowsByMode returns rows by mode, which is the strictest mode of the rule and the matching
// conditions (docs/reference/policies.md). Rows without a policy are omitted.
func (s *state) rowsByMode(p *partition) (byMode [model.ModeBlock + 1]*roaring.Bitmap) {
	stricter, projects := roaring.New(), s.projectsByAudience()
	byMode[0] = emptyBitmap
	for mode := model.ModeBlock; mode > 0; mode-- {
		rows := roaring.New()
		for a, rules := range s.rulesInModes([]model.PolicyMode{mode}) {
			if len(s.audiences) == 1 {
				rows.Or(p.union(clause{byRule, rules}))
			} else {
				rows.Or(roaring.And(p.union(clause{byProject, projects[a]}), p.union(clause{byRule, rules})))
			}
		}
		s.addConditions(p, mode, projects, rows)
		rows.AndNot(stricter)
		stricter.Or(rows)
		byMode[mode] = rows
	}
	return byMode
}

// projectsByAudience returns the projects of each audience.
func (s *state) projectsByAudience() [][]uint32 {
	projects := make([][]uint32, len(s.audiences))
	for n, project := range s.projects.entries {
		if project != nil {
			projects[project.audience] = append(projects[project.audience], uint32(n))
		}
	}
	return projects
}
