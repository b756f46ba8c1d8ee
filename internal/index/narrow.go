package index

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt/internal/model"
)

// narrow adds what the pages filter by beyond the contract.
func (s *state) narrow(p *partition, q *query, f *model.FindingFilter) {
	if f.Primary {
		q.add(byPrimary, []uint32{1})
	}
	if f.Search != "" || len(f.Named) > 0 {
		q.with = append(q.with, s.cachedSearch(p, f.Search, f.Named))
	}
	if f.Except != nil {
		q.without = s.exceptions(p, f.Except)
	}
}

// exceptions returns, for each list of values in a filter, the rows that have
// one of them.
func (s *state) exceptions(p *partition, f *model.FindingFilter) []*roaring.Bitmap {
	q := &query{}
	if f.Ref != "" {
		q.add(byRef, s.refs.Find([]string{f.Ref}))
	}
	for _, one := range []model.FindingFilter{
		{Projects: f.Projects}, {ProjectIDs: f.ProjectIDs}, {ProjectTags: f.ProjectTags}, {Visibilities: f.Visibilities},
	} {
		if numbers, all := s.projectsOf(&one); !all {
			q.add(byProject, numbers)
		}
	}
	for _, one := range []model.FindingFilter{{Rules: f.Rules}, {Rulesets: f.Rulesets}, {Categories: f.Categories}} {
		if numbers, all := s.rulesOf(&one); !all {
			q.add(byRule, numbers)
		}
	}
	q.addWords(byTag, &s.tags, f.ComponentTags)
	q.addWords(byPackage, &s.packages, f.Packages)
	q.addWords(bySecretType, &s.secrets, f.SecretTypes)
	lists := *f
	lists.Malicious, lists.Exploited, lists.Unrated, lists.ProOnly, lists.ExcludeHistoric = nil, nil, nil, nil, false
	q.addSmall(&lists)
	var out []*roaring.Bitmap
	if len(f.Modes) > 0 {
		out = append(out, s.inModes(p, f.Modes))
	}
	if len(f.Assignees) > 0 {
		out = append(out, s.assignedTo(p, f.Assignees))
	}
	if f.Due != nil {
		out = append(out, s.dueIn(p, f.Due))
	}
	for _, c := range q.clauses {
		out = append(out, p.union(c))
	}
	return out
}
