package ingest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt"
)

// recognise finds sightings under another identity of a finding's lineage: of
// a report that tells less or more than the last one, of a file that moved
// back, or of what came and went on another ref. It returns the others too.
func (p *planner) recognise(rows []redoubt.Finding, seen map[int64]bool, unseen []*Sighting) (known []pair, others []*Sighting) {
	if !p.reports || len(p.lineages.known) == 0 {
		return nil, unseen
	}
	absent := map[int64][]*redoubt.Finding{}
	for i := range rows {
		if row := &rows[i]; !seen[row.ID] {
			absent[row.LineageID] = append(absent[row.LineageID], row)
		}
	}
	taken := map[int64]bool{}
	for _, s := range unseen {
		var best *redoubt.Finding
		for _, row := range absent[p.lineages.of(s.Finding.Identity)] {
			if !taken[row.ID] && p.Scope.mayBeSame(row, &s.Finding) && (best == nil || closer(row, best, s.Finding.Path)) {
				best = row
			}
		}
		if best == nil {
			others = append(others, s)
			continue
		}
		taken[best.ID] = true
		known = append(known, pair{row: best, sighting: s})
	}
	return known, others
}

// mayBeSame reports whether a row that the scan did not see under its own identity
// may be what it saw under another one of the lineage: the row is closed, or
// would be, or lies where the sighting does.
func (s Scope) mayBeSame(row, sighting *redoubt.Finding) bool {
	return !live(row.State) || s.absentState(row) == redoubt.Fixed ||
		row.Path == sighting.Path && (s.Full || row.RuleName == sighting.RuleName)
}

// closer prefers the live row, then the one on the path, then the older one.
func closer(row, best *redoubt.Finding, path string) bool {
	if live(row.State) != live(best.State) {
		return live(row.State)
	}
	return row.Path == path && best.Path != path
}

// detailLevel ranks how much is known of a finding: nothing of its code, its code, or
// the scanner's own match_based_id beside it.
func detailLevel(f *redoubt.Finding) int {
	switch {
	case f.Identity.Kind == redoubt.IdentityMatchBased && f.CodeHash != (redoubt.Digest{}):
		return 2
	case f.CodeHash == (redoubt.Digest{}), f.Identity.Kind == redoubt.IdentityDependency:
		return 0
	}
	return 1
}

// otherRule reports whether a row that is the sighting differs from it by its
// rule: by its name, or by its text, which is in the scanner's own ids alone.
func (s *Sighting) otherRule(row *redoubt.Finding) bool {
	f := &s.Finding
	return detailLevel(f) == detailLevel(row) && (detailLevel(f) == 2 || f.RuleName != row.RuleName)
}

// keepDetails lets a finding keep what a sighting that tells less does not tell, and
// returns body and evidence where the sighting changes them.
func (p *planner) keepDetails(row, next *redoubt.Finding, s *Sighting) (w redoubt.FindingWrite) {
	next.Identity, next.CodeHash, next.PatternHash, next.RuleID = row.Identity, row.CodeHash, row.PatternHash, row.RuleID
	next.EdgeHash = row.EdgeHash
	was := p.bodies[row.ID]
	var body redoubt.Body
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", was.Body), &body); err != nil {
		p.err = fmt.Errorf("the body of finding %d: %w", row.ID, err)
		return w
	}
	told := bodyOf(s, p.linksOf(s))
	told.MatchBasedID, told.SyntacticID = body.MatchBasedID, body.SyntacticID
	if told.LineOfCodeURL == "" || told.Location == body.Location {
		told.LineOfCodeURL = body.LineOfCodeURL // of whichever commit: the body is as good
	}
	var err error
	if w.Body, err = told.Members(); err != nil {
		p.err = err
	}
	if bytes.Equal(w.Body, was.Body) {
		next.Content = row.Content
		return redoubt.FindingWrite{}
	}
	w.Evidence = was.Evidence
	return w
}

// loadBodies reads body and evidence of the rows that a sighting may be of that tells
// less, or of whose code it tells first: of its rule, and not reported under their own
// identity. Where some may pair by their number, all of the rule count.
func (a *application) loadBodies(ctx context.Context, rows []redoubt.Finding, reported map[redoubt.Identity]bool, unseen []*redoubt.Finding) (map[int64]redoubt.FindingWrite, error) {
	type levels struct {
		least, most int
		guess       bool // code is told of some and of others not
	}
	told := map[string]levels{}
	for _, f := range unseen {
		n := detailLevel(f)
		of, known := told[f.RuleName]
		if !known {
			of.least = n
		}
		told[f.RuleName] = levels{least: min(of.least, n), most: max(of.most, n)}
	}
	for i := range rows {
		n := detailLevel(&rows[i])
		if of, asked := told[rows[i].RuleName]; asked && !reported[rows[i].Identity] && (n == 0) != (of.most == 0) {
			of.guess = true
			told[rows[i].RuleName] = of
		}
	}
	var ids []int64
	for i := range rows {
		of, asked := told[rows[i].RuleName]
		if asked && (of.guess || of.least < detailLevel(&rows[i])) && !reported[rows[i].Identity] {
			ids = append(ids, rows[i].ID)
		}
	}
	if len(ids) == 0 {
		return nil, nil
	}
	return a.s.FindingBodies(ctx, ids)
}
