package ingest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// align pairs live findings with results. A diff scan does not list removed files. It therefore
// moves no file, and transfers no decision to or from results without code.
func (stored *Stored) align(a *alignment, facts Facts) (err error) {
	decided := func(row *model.Finding) bool {
		return !facts.Scope.Full && triageWeight(stored.Lineages[row.LineageID].Triage) > 0
	}
	rows := make(map[model.Identity]bool, len(stored.Findings))
	for i := range stored.Findings {
		rows[stored.Findings[i].Identity] = true
	}
	a.bodies, a.served, a.decided = stored.Bodies, servedRules(facts.RuleIDs), decided
	a.owned = func(id model.Identity) bool { return rows[id] || stored.Known[id].ID != 0 }
	pairs, err := a.pairs()
	stored.pairs = slices.DeleteFunc(pairs, func(k pair) bool {
		return decided(k.row) &&
			(k.sighting.codeless || k.row.CodeHash == model.Digest{} && k.row.Identity.Kind == model.IdentityOwn)
	})
	return err
}

// servedRules returns the ids, by name, of the rules of a report whose text is known.
func servedRules(ids map[*model.Rule]int64) map[string]int64 {
	out := map[string]int64{}
	for rule, id := range ids {
		if rule.Version > 0 {
			out[rule.Name] = id
		}
	}
	return out
}

// recognise pairs the remaining results with closed findings of the same identity, and with
// findings whose lineage has the identity. Those returned, or were matched on another ref.
func (p *planner) recognise(rows []model.Finding, seen map[int64]bool, unseen []*Sighting) (known []pair) {
	absent := map[int64][]*model.Finding{}
	for i := range rows {
		if row := &rows[i]; !seen[row.ID] {
			absent[row.LineageID] = append(absent[row.LineageID], row)
		}
	}
	matched := map[int64]bool{}
	match := func(row *model.Finding, s *Sighting) {
		matched[row.ID] = true
		known = append(known, pair{row: row, sighting: s})
	}
	var others []*Sighting
	for _, s := range unseen {
		if row := p.rows[s.Finding.Identity]; row != nil && !seen[row.ID] {
			match(row, s)
		} else if row == nil && p.reports {
			others = append(others, s)
		}
	}
	for _, s := range others {
		var best *model.Finding
		for _, row := range absent[p.lineages.of(s.Finding.Identity)] {
			if !matched[row.ID] && p.Scope.mayBeSame(row, &s.Finding) && (best == nil || closer(row, best, s.Finding.Path)) {
				best = row
			}
		}
		if best != nil {
			match(best, s)
		}
	}
	return known
}

// mayBeSame reports whether a row and a sighting with another identity of the lineage may be the
// same finding. The row must be closed, be about to close, or have the same path.
func (s Scope) mayBeSame(row, sighting *model.Finding) bool {
	return !live(row.State) || s.absentState(row) == model.Fixed ||
		row.Path == sighting.Path && (s.Full || row.RuleName == sighting.RuleName)
}

// closer prefers a live row, then a row with the same path, then the older row.
func closer(row, best *model.Finding, path string) bool {
	if live(row.State) != live(best.State) {
		return live(row.State)
	}
	return row.Path == path && best.Path != path
}

// freshIdentity creates an unused identity for a result without code, or for one whose identity
// belongs to another finding.
func (p *planner) freshIdentity(kind model.IdentityKind) model.Identity {
	var d digester
	p.fresh++
	return model.NumberedIdentity(
		kind, d.start("fresh 1").str(p.Ref, p.Source).num(p.ScanID, p.Now.UnixMicro()).sum(), p.fresh,
	)
}

// detailLevel ranks the known details of a finding. It is 0 without code and for dependencies, 1
// with code, and 2 with code and the scanner's own match_based_id.
func detailLevel(f *model.Finding) int {
	switch {
	case f.Identity.Kind == model.IdentityMatchBased && f.CodeHash != (model.Digest{}):
		return 2
	case f.CodeHash == (model.Digest{}), f.Identity.Kind == model.IdentityDependency:
		return 0
	}
	return 1
}

// otherRule reports whether the name or text of a finding's rule changed. Only the scanner's own
// ids include the text.
func otherRule(row, f *model.Finding) bool {
	if detailLevel(f) != detailLevel(row) {
		return false
	}
	return f.RuleName != row.RuleName || detailLevel(f) == 2 && f.CodeHash == row.CodeHash && f.Identity != row.Identity
}

// retainDetails retains the details of a finding that a less detailed sighting omits. It returns the
// body and evidence if the sighting changes them.
func (p *planner) retainDetails(row, next *model.Finding, s *Sighting) (w model.FindingWrite) {
	next.Identity, next.CodeHash, next.PatternHash, next.RuleID = row.Identity, row.CodeHash, row.PatternHash, row.RuleID
	next.EdgeHash = row.EdgeHash
	if next.Content == row.Content {
		return w
	}
	was := p.bodies[row.ID]
	var body model.Body
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", was.Body), &body); err != nil {
		p.err = fmt.Errorf("the body of finding %d: %w", row.ID, err)
		return w
	}
	updated := bodyOf(s, p.linksOf(s))
	updated.MatchBasedID, updated.SyntacticID = body.MatchBasedID, body.SyntacticID
	if updated.LineOfCodeURL == "" || updated.Location == body.Location {
		updated.LineOfCodeURL = body.LineOfCodeURL // a link into any commit is sufficient while the location is equal
	}
	var err error
	if w.Body, err = updated.Members(); err != nil {
		p.err = err
	}
	if bytes.Equal(w.Body, was.Body) {
		next.Content = row.Content
		return model.FindingWrite{}
	}
	w.Evidence = was.Evidence
	return w
}
