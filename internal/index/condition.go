package index

import (
	"slices"
	"time"

	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// condition is a policy condition prepared for matching rows. The project scope is not checked
// here, but when audiences are built.
type condition struct {
	stance
	of      model.PolicyCondition
	product model.IssueType
	clauses []clause // fields with their matching values
	score   uint32   // minimum EPSS score in packScore units; noScore for none
}

// newConditions prepares the conditions of a policy.
func newConditions(p *policy) []*condition {
	out := make([]*condition, len(p.Conditions))
	for i, of := range p.Conditions {
		c := &condition{stance: stance{model.StanceOf(p.Policy, of.Mode), p.wire}, of: of, product: p.Product}
		flag := func(f field, asked bool) {
			if asked {
				c.clauses = append(c.clauses, clause{f, []uint32{uint32(flagYes)}})
			}
		}
		flag(byExploited, of.Exploited)
		flag(byMalicious, of.Malicious)
		flag(byFixable, of.Fixable)
		if of.Severity != 0 {
			c.clauses = append(c.clauses, clause{bySeverity, from(of.Severity, model.SeverityCritical)})
		}
		if of.Confidence != 0 {
			c.clauses = append(c.clauses, clause{byConfidence, from(of.Confidence, model.ConfidenceHigh)})
		}
		if of.Reachable {
			c.clauses = append(c.clauses, clause{
				byReachability, []uint32{uint32(model.Reachable), uint32(model.AlwaysReachable)},
			})
		}
		if of.Direct {
			c.clauses = append(c.clauses, clause{byTransitivity, []uint32{uint32(model.Direct)}})
		}
		if of.EPSS > 0 {
			c.score = packScore(&model.EPSS{Score: of.EPSS})
		}
		out[i] = c
	}
	return out
}

// from returns the values of an enumeration from first to last.
func from[T ~uint8](first, last T) (values []uint32) {
	for v := first; v <= last; v++ {
		values = append(values, uint32(v))
	}
	return values
}

// since returns the latest time of relevance for which the grace period is over.
func (c *condition) since(now time.Time) time.Time {
	return now.Add(-time.Duration(c.of.GraceDays) * 24 * time.Hour)
}

// matches reports whether a row matches the condition. The caller checks the project scope.
func (c *condition) matches(s *state, r *row) bool {
	for _, one := range c.clauses {
		if !slices.Contains(one.values, r.value(one.field)) {
			return false
		}
	}
	return r.score >= c.score && (c.of.GraceDays == 0 || r.relevant <= micros(c.since(s.clock()))) &&
		model.CoversRef(c.of.Branches, s.refs.Text(r.ref))
}

// matching returns the rows of all projects that match a condition.
func (s *state) matching(p *partition, c *condition) *roaring.Bitmap {
	var sets []*roaring.Bitmap
	for _, one := range c.clauses {
		sets = append(sets, p.union(one))
	}
	if len(c.of.Branches) > 0 {
		var refs []uint32
		for number, ref := range s.refs.List() {
			if number > 0 && model.CoversRef(c.of.Branches, ref) {
				refs = append(refs, uint32(number))
			}
		}
		sets = append(sets, p.union(clause{byRef, refs}))
	}
	rows := p.allOf(sets)
	if c.score == noScore && c.of.GraceDays == 0 {
		return rows
	}
	out := roaring.New()
	for ordinal := range roaring.Values(rows) {
		if c.matches(s, &p.rows[ordinal]) {
			out.Add(ordinal)
		}
	}
	return out
}

// conditional reports whether a policy of the product has conditions.
func (s *state) conditional(product model.IssueType) bool {
	for _, p := range s.policies {
		if p.Product == product && len(p.conditions) > 0 {
			return true
		}
	}
	return false
}

// addConditions adds the rows that match a condition with the given mode.
func (s *state) addConditions(p *partition, mode model.PolicyMode, projects [][]uint32, rows *roaring.Bitmap) {
	matching := map[*condition]*roaring.Bitmap{}
	for a := range projects {
		for _, c := range s.audiences[a].conditions {
			if c.product != p.issueType || c.Mode != mode {
				continue
			}
			if matching[c] == nil {
				matching[c] = s.matching(p, c)
			}
			if len(s.audiences) == 1 {
				rows.Or(matching[c])
			} else {
				rows.Or(roaring.And(matching[c], p.union(clause{byProject, projects[a]})))
			}
		}
	}
}

// stanceOn returns the strictest stance of the row's rule and of its matching conditions
// (docs/reference/policies.md).
func (s *state) stanceOn(product model.IssueType, r *row) stance {
	number := s.projects.entries[r.project].audience
	best := s.rules.entries[r.rule].stances[number]
	for _, c := range s.audiences[number].conditions {
		if c.product == product && best.Stricter(c.RuleMode) == c.RuleMode && c.matches(s, r) {
			best = c.stance
		}
	}
	return best
}

// GraceEnded returns the number of findings past the grace period, summed over all conditions. For
// one version of the deployment, modes change only if this number changes.
func (v *View) GraceEnded() (n int) {
	for _, product := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		v.read(product, func(s *state, p *partition) {
			for _, policy := range s.policies {
				for _, c := range policy.conditions {
					if c.product == product && c.of.GraceDays > 0 {
						n += p.lowerBound(c.since(v.now).Add(time.Microsecond))
					}
				}
			}
		})
	}
	return n
}
