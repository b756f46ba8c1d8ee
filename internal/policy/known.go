package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// lineageKey is a lineage as one kind of source tells of it: the advisories may
// say what a scanner says, and neither is a second finding.
type lineageKey struct {
	lineage int64
	advised bool
}

// know tells which of the findings the primary branch has (docs/reference/policies.md): of a
// lineage as many as it had unresolved, so that one that moved is known and a copy
// beside it is new. What is under the primary branch's own identity comes first,
// then what the ref has already. A copy has none of the lineage's decisions either.
func (j *Judge) know(ctx context.Context, judged []Sighting) error {
	ids := make([]int64, len(j.before))
	for i := range j.before {
		ids[i] = j.before[i].ID
	}
	lineages, err := j.s.LineagesOfFindings(ctx, j.project, ids)
	if err != nil {
		return err
	}
	had := map[int64][]model.Finding{}
	for _, f := range j.before {
		had[lineages[f.ID]] = append(had[lineages[f.ID]], f)
	}
	groups := map[lineageKey][]*Sighting{}
	for i := range judged {
		s := &judged[i]
		s.Known = j.isUnseen(s)
		key := lineageKey{s.Finding.LineageID, s.Advised}
		groups[key] = append(groups[key], s)
	}
	for key, group := range groups {
		if key.lineage != 0 {
			j.count(group, slices.Clone(had[key.lineage]))
		}
	}
	return nil
}

// count knows as many of a lineage's sightings as the primary branch had.
func (j *Judge) count(group []*Sighting, had []model.Finding) {
	take := func(s *Sighting, is func(model.Finding) bool) {
		if at := slices.IndexFunc(had, is); at >= 0 && !s.Known {
			s.Known = true
			had = slices.Delete(had, at, at+1)
		}
	}
	for _, s := range group {
		take(s, func(f model.Finding) bool { return f.ID == s.Finding.ID || f.Identity == s.Finding.Identity })
	}
	slices.SortStableFunc(group, func(a, b *Sighting) int {
		rank := func(s *Sighting) int {
			switch {
			case s.Known:
				return 0
			case s.Finding.ID != 0:
				return 1
			}
			return 2
		}
		return rank(a) - rank(b)
	})
	for _, s := range group {
		take(s, func(f model.Finding) bool { return j.mayBe(s, f) })
	}
	for _, s := range group { // another name of the vulnerability in the same lockfile
		s.Known = s.Known || s.Finding.IssueType == model.SCA && slices.ContainsFunc(group, func(other *Sighting) bool {
			return other.Known && other.Finding.Path == s.Finding.Path
		})
	}
	decided := slices.ContainsFunc(group, func(s *Sighting) bool { return s.Known })
	for _, s := range group {
		if !s.Known && decided {
			s.Triage = model.TriageUntriaged
		}
		decided = true
	}
}

// mayBe reports whether a sighting may be what the primary branch has under another
// identity of its lineage. A long match that was edited within has what it was
// before in its lineage, which a branch may bring back or have beside it: other
// code is new. What moved, or whose rule changed, has the same code. A diff scan
// does not tell that anything moved. On the primary branch the finding is what this
// scan made of it.
func (j *Judge) mayBe(s *Sighting, f model.Finding) bool {
	of := &s.Finding
	if !j.scan.Full && of.ID == 0 && of.Path != f.Path {
		return false
	}
	told := of.IssueType == model.SAST && of.Identity.Kind == model.IdentityMatchBased &&
		of.CodeHash != (model.Digest{}) &&
		f.Identity.Kind == model.IdentityMatchBased && f.CodeHash != (model.Digest{})
	return j.scan.Ref == j.primary || !told || f.CodeHash == of.CodeHash
}
