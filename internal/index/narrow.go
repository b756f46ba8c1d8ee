package index

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// narrow adds what the pages filter by beyond the contract.
func (s *state) narrow(p *partition, q *query, f *redoubt.FindingFilter) {
	if f.Primary {
		q.with = append(q.with, s.onPrimary(p))
	}
	if f.Search != "" {
		q.with = append(q.with, s.found(p, f.Search, f.Named))
	}
	if f.Except != nil {
		q.without = s.exceptions(p, f.Except)
	}
}

// onPrimary returns the rows on the primary branch of their project.
func (s *state) onPrimary(p *partition) *roaring.Bitmap {
	byBranch := map[uint32][]*roaring.Bitmap{} // few branches are primary somewhere
	for n, project := range s.projects.entries {
		if project != nil {
			byBranch[project.primaryRef] = append(byBranch[project.primaryRef], p.having(byProject, uint32(n)))
		}
	}
	out := roaring.New()
	for ref, projects := range byBranch {
		out.Or(roaring.And(p.having(byRef, ref), roaring.FastOr(projects...)))
	}
	return out
}

// exceptions returns, for each list of values in a filter, the rows that have
// one of them.
func (s *state) exceptions(p *partition, f *redoubt.FindingFilter) []*roaring.Bitmap {
	q := &query{}
	if f.Ref != "" {
		q.add(byRef, s.refs.find([]string{f.Ref}))
	}
	for _, one := range []redoubt.FindingFilter{
		{Projects: f.Projects}, {ProjectIDs: f.ProjectIDs}, {ProjectTags: f.ProjectTags}, {Visibilities: f.Visibilities},
	} {
		if numbers, all := s.projectsOf(&one); !all {
			q.add(byProject, numbers)
		}
	}
	for _, one := range []redoubt.FindingFilter{{Rules: f.Rules}, {Rulesets: f.Rulesets}, {Categories: f.Categories}} {
		if numbers, all := s.rulesOf(&one); !all {
			q.add(byRule, numbers)
		}
	}
	q.addWords(byTag, &s.tags, f.ComponentTags)
	q.addWords(byPackage, &s.packages, f.Packages)
	q.addWords(bySecretType, &s.secrets, f.SecretTypes)
	lists := *f
	lists.Malicious, lists.Exploited, lists.ProOnly, lists.ExcludeHistoric = nil, nil, nil, false
	q.addSmall(&lists)
	var out []*roaring.Bitmap
	if len(f.Modes) > 0 {
		out = append(out, s.inModes(p, f.Modes))
	}
	for _, c := range q.clauses {
		out = append(out, p.union(c))
	}
	return out
}
