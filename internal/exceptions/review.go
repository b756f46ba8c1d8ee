package exceptions

import (
	"cmp"
	"context"
	"maps"
	"math"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// Review describes the effect of accepting a proposed document.
type Review struct {
	Changes   int             // lineages whose triage would change if the whole document were accepted
	Withdraws int             // statements in force that it no longer contains
	Counts    map[string]bool // ids of its statements that are already in force
	// Alone maps the ids of the given statements to the number of lineages that each would change
	// if accepted alone.
	Alone map[string]int
}

// ReviewVEX returns the changes of AcceptVEX for a proposed document, and for each of the given
// statements alone. It only reads.
func ReviewVEX(ctx context.Context, s Store, d model.VEXDocument, shown []model.VEXStatement) (r Review, err error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return r, err
	}
	return review(ctx, s, list, d, shown)
}

func isProposal(e model.Exception) bool {
	return e.Document != nil && e.State == model.ExceptionRequested
}

// ReviewProposals returns the reviews, by id, of all proposed documents in a list, without single
// statements. It only reads.
func ReviewProposals(ctx context.Context, s Store, documents []model.Exception) (map[int64]Review, error) {
	if !slices.ContainsFunc(documents, isProposal) {
		return nil, nil
	}
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	reviews := map[int64]Review{}
	for i := range documents {
		if !isProposal(documents[i]) {
			continue
		}
		d, err := s.VEXDocument(ctx, documents[i].ID)
		if err != nil {
			return nil, err
		}
		if reviews[d.ID], err = review(ctx, s, list, d, nil); err != nil {
			return nil, err
		}
	}
	return reviews, nil
}

func review(
	ctx context.Context, s Store, list []model.Exception, d model.VEXDocument, shown []model.VEXStatement,
) (r Review, err error) {
	b, err := loadActiveStatements(ctx, s, d)
	if err != nil {
		return r, err
	}
	r = Review{Withdraws: b.withdrawn(d.Statements), Counts: b.ids, Alone: map[string]int{}}
	as := d
	as.ID, as.Proposed, as.ReceivedAt = cmp.Or(b.stored.ID, math.MaxInt64), false, s.Now()
	ids, err := s.ExceptionCandidates(ctx, scopeOfVEX(as, b.stored.Statements))
	if err != nil {
		return r, err
	}
	j, complete, alone := NewJudge(list, s.Now()), supposing(&as, d.Statements, true), supposedAlone(&as, shown)
	for part := range slices.Chunk(ids, batch) {
		cases, err := s.ExceptionCases(ctx, part)
		if err != nil {
			return r, err
		}
		for i := range cases {
			if complete.changes(j, &cases[i]) {
				r.Changes++
			}
			for id, one := range alone.about(&cases[i]) {
				if one.changes(j, &cases[i]) {
					r.Alone[id]++
				}
			}
		}
	}
	return r, nil
}

// previewRemovingVEX returns the changes of ending a document. It only reads.
func previewRemovingVEX(ctx context.Context, s Store, e model.Exception) (changed Effect, err error) {
	list, err := s.Exceptions(ctx)
	if err != nil {
		return nil, err
	}
	ids, err := s.ExceptionCandidates(ctx, model.ExceptionScope{Actors: []model.Actor{e.Actor()}})
	if err != nil {
		return nil, err
	}
	j := NewJudge(list, s.Now())
	for part := range slices.Chunk(ids, batch) {
		cases, err := s.ExceptionCases(ctx, part)
		if err != nil {
			return nil, err
		}
		for i := range cases {
			for _, o := range cases[i].Occurrences {
				o.Claims = slices.DeleteFunc(o.Claims, func(c model.VEXClaim) bool { return c.Document.ID == e.ID })
			}
			if event, is := j.Decide(&cases[i]); is {
				changed = append(changed, event)
			}
		}
	}
	return changed, nil
}

// supposed is a document that is evaluated as if it were in force.
type supposed struct {
	document *model.VEXDocument
	byName   map[string][]*model.VEXStatement
	instead  bool // replaces the whole document of the same id, or only statements about the same subject
}

func supposing(d *model.VEXDocument, list []model.VEXStatement, instead bool) *supposed {
	v := &supposed{d, map[string][]*model.VEXStatement{}, instead}
	for i := range list {
		for _, name := range list[i].Names {
			v.byName[name] = append(v.byName[name], &list[i])
		}
	}
	return v
}

// changes reports whether the triage of a lineage would change.
func (v *supposed) changes(j *Judge, c *model.ExceptionCase) bool {
	then := *c
	then.Occurrences = make([]*model.ExceptionOccurrence, len(c.Occurrences))
	for i, o := range c.Occurrences {
		as := *o
		as.Claims = v.claims(o)
		then.Occurrences[i] = &as
	}
	_, changed := j.Decide(&then)
	return changed
}

// claims returns the resulting claims on the vulnerability of an occurrence.
func (v *supposed) claims(o *model.ExceptionOccurrence) (list []model.VEXClaim) {
	var mine []*model.VEXStatement
	seen := map[*model.VEXStatement]bool{}
	for _, name := range o.Names {
		for _, s := range v.byName[name] {
			if !seen[s] {
				seen[s] = true
				mine = append(mine, s)
			}
		}
	}
	for _, c := range o.Claims {
		replaced := v.instead ||
			slices.ContainsFunc(mine, func(s *model.VEXStatement) bool { return s.IsAboutSame(c.Statement) })
		if c.Document.ID != v.document.ID || !replaced {
			list = append(list, c)
		}
	}
	for _, s := range mine {
		list = append(list, model.VEXClaim{Document: v.document, Statement: s})
	}
	return list
}

// supposedOnes contains statements that are each evaluated as if in force alone.
type supposedOnes map[string]map[string]*supposed // by name of the vulnerability, by id

func supposedAlone(d *model.VEXDocument, list []model.VEXStatement) supposedOnes {
	ones := supposedOnes{}
	for i := range list {
		one, id := supposing(d, list[i:i+1], false), list[i].ID()
		for _, name := range list[i].Names {
			if ones[name] == nil {
				ones[name] = map[string]*supposed{}
			}
			ones[name][id] = one
		}
	}
	return ones
}

// about returns the statements about the vulnerability of a lineage, by id.
func (ones supposedOnes) about(c *model.ExceptionCase) map[string]*supposed {
	found := map[string]*supposed{}
	for _, o := range c.Occurrences {
		for _, name := range o.Names {
			maps.Copy(found, ones[name])
		}
	}
	return found
}
