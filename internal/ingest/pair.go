package ingest

import (
	"cmp"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// pair is a stored finding and the sighting that it is now.
type pair struct {
	row      *redoubt.Finding
	sighting *Sighting
}

// likeness is what a finding keeps when its identity changes. Of the members
// path and pattern, one is left out: the path of a file that moved, the pattern
// of a rule that changed its text.
type likeness struct {
	rule, path    string
	code, pattern redoubt.Digest
}

// pairUp finds among what a scan would close and what it sees first those that
// are one finding (decisions §5), and returns the others too, in their order.
//
// First a rule that changed its text: same path, rule and code. Then, in a full
// scan, a file that moved: the path is gone; rule, code and pattern are the
// same. Where both sides count the same they pair by path, then line; otherwise
// nobody can tell which is which, and none pairs. Without code nothing pairs.
func pairUp(scope Scope, closing []*redoubt.Finding, unseen []*Sighting) ([]pair, []*redoubt.Finding, []*Sighting) {
	if len(closing) == 0 || len(unseen) == 0 {
		return nil, closing, unseen
	}
	changedRule := func(f *redoubt.Finding) (likeness, bool) {
		return likeness{rule: f.RuleName, path: f.Path, code: f.CodeHash}, true
	}
	movedFrom := func(f *redoubt.Finding) (likeness, bool) {
		return likeness{rule: f.RuleName, code: f.CodeHash, pattern: f.PatternHash}, scope.gone(f.Path)
	}
	movedTo := func(f *redoubt.Finding) (likeness, bool) {
		like, _ := movedFrom(f)
		return like, true
	}
	pairs, closing, unseen := match(closing, unseen, changedRule, changedRule)
	if !scope.Full {
		return pairs, closing, unseen
	}
	moves, closing, unseen := match(closing, unseen, movedFrom, movedTo)
	return append(pairs, moves...), closing, unseen
}

// group is the findings of one likeness on both sides.
type group struct {
	rows      []*redoubt.Finding
	sightings []*Sighting
}

// match pairs what is alike under the two keys and returns what stays alone.
func match(closing []*redoubt.Finding, unseen []*Sighting, from, to func(*redoubt.Finding) (likeness, bool),
) (pairs []pair, rows []*redoubt.Finding, sightings []*Sighting) {
	groups := map[likeness]*group{}
	for _, row := range closing {
		like, ok := from(row)
		if !ok || row.CodeHash == (redoubt.Digest{}) {
			continue
		}
		if groups[like] == nil {
			groups[like] = &group{}
		}
		groups[like].rows = append(groups[like].rows, row)
	}
	for _, s := range unseen {
		like, ok := to(&s.Finding)
		if g := groups[like]; ok && g != nil {
			g.sightings = append(g.sightings, s)
		}
	}
	pairedRow, pairedSighting := map[*redoubt.Finding]bool{}, map[*Sighting]bool{}
	for _, row := range closing { // in the order of rows, not of the map
		like, _ := from(row)
		if g := groups[like]; g != nil && len(g.rows) == len(g.sightings) {
			pairs = append(pairs, g.pairs()...)
		}
		delete(groups, like)
	}
	for _, p := range pairs {
		pairedRow[p.row], pairedSighting[p.sighting] = true, true
	}
	rows = slices.DeleteFunc(slices.Clone(closing), func(f *redoubt.Finding) bool { return pairedRow[f] })
	sightings = slices.DeleteFunc(slices.Clone(unseen), func(s *Sighting) bool { return pairedSighting[s] })
	return pairs, rows, sightings
}

func (g *group) pairs() []pair {
	slices.SortFunc(g.rows, func(a, b *redoubt.Finding) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID))
	})
	slices.SortStableFunc(g.sightings, func(a, b *Sighting) int {
		return cmp.Or(strings.Compare(a.Finding.Path, b.Finding.Path), cmp.Compare(a.Finding.Line, b.Finding.Line))
	})
	out := make([]pair, len(g.rows))
	for i := range g.rows {
		out[i] = pair{g.rows[i], g.sightings[i]}
	}
	return out
}
