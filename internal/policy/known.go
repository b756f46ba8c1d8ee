package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// lineageKey groups findings by lineage, separately for scanners and advisories, because both may
// report the same problem.
type lineageKey struct {
	lineage int64
	advised bool
}

// know marks the findings that the primary branch has (docs/reference/policies.md). In each
// lineage, it marks as many as the primary branch had unresolved. So a moved finding is known, and
// an additional copy is new. Findings with the identity of one on the primary branch come first,
// then existing findings of the ref. New copies do not have the lineage's triage decision.
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

// count marks as many sightings of a lineage as known as the primary branch had.
func (j *Judge) count(group []*Sighting, had []model.Finding) {
	match := func(s *Sighting, is func(model.Finding) bool) {
		if at := slices.IndexFunc(had, is); at >= 0 && !s.Known {
			s.Known = true
			had = slices.Delete(had, at, at+1)
		}
	}
	for _, s := range group {
		match(s, func(f model.Finding) bool { return f.ID == s.Finding.ID || f.Identity == s.Finding.Identity })
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
		match(s, func(f model.Finding) bool { return j.mayBe(s, f) })
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

// mayBe reports whether a sighting may be a finding that the primary branch has under another
// identity of its lineage. Moved code and code of a changed rule have the same hash, so a different
// hash means new code. This excludes earlier versions of an edited match, which are in the same
// lineage. A diff scan cannot detect moves. On the primary branch, the finding is the result of
// this scan, so the hash is not compared.
func (j *Judge) mayBe(s *Sighting, f model.Finding) bool {
	of := &s.Finding
	if !j.scan.Full && of.ID == 0 && of.Path != f.Path {
		return false
	}
	bothHashed := of.IssueType == model.SAST && of.Identity.Kind == model.IdentityMatchBased &&
		of.CodeHash != (model.Digest{}) &&
		f.Identity.Kind == model.IdentityMatchBased && f.CodeHash != (model.Digest{})
	return j.scan.Ref == j.primary || !bothHashed || f.CodeHash == of.CodeHash
}
