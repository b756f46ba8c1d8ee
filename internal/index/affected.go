package index

import (
	"github.com/RoaringBitmap/roaring/v2"

	"github.com/redoubt/redoubt"
)

// Affected returns the ids of findings whose answer what changed may have changed,
// ascending, those that are gone too: at most limit of those after an id. A nil set
// asks for all findings that there are.
func (v *View) Affected(c *redoubt.ChangeSet, after int64, limit int) []int64 {
	ids := roaring.New()
	if c != nil {
		for id := range c.Findings {
			if int64(uint32(id)) == id {
				ids.Add(uint32(id))
			}
		}
	}
	for _, t := range []redoubt.IssueType{redoubt.SAST, redoubt.SCA, redoubt.Secrets} {
		v.read(t, func(s *state, p *partition) {
			rows := p.listed
			if c != nil {
				rows = s.affected(p, c)
			}
			for ordinal := range roaring.Values(rows) {
				ids.Add(p.rows[ordinal].id)
			}
		})
	}
	var out []int64
	it := ids.Iterator()
	it.AdvanceIfNeeded(uint32(after) + 1)
	for it.HasNext() && len(out) < limit {
		out = append(out, int64(it.Next()))
	}
	return out
}

// affected returns the rows that show what changed besides findings.
func (s *state) affected(p *partition, c *redoubt.ChangeSet) *roaring.Bitmap {
	if c.Policies || c.PolicyRules && p.issueType == redoubt.SAST { // both are named by findings of code, and policies give all findings due dates
		return p.listed
	}
	rows := roaring.New()
	for id := range c.Lineages {
		for ordinal := range p.occurrences(s.lineages.numbers[id]) {
			rows.Add(ordinal)
		}
	}
	for id := range c.Projects {
		if n := s.projects.numbers[id]; n != 0 {
			rows.Or(p.readBitmap(byProject, n))
		}
	}
	for id := range c.Rules {
		if n := s.rules.numbers[id]; n != 0 {
			rows.Or(p.readBitmap(byRule, n))
		}
	}
	return rows
}
