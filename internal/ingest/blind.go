package ingest

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt"
)

// continueBlind gives sightings that tell nothing of their code the identities of the
// live findings that they continue: of those that are alike on the ref, if these are as
// many, in the order of the file. A scan of all of a ref that never had anything of a
// rule in a file continues so what the primary branch has there. All else gets an
// identity that nothing had before: it inherits from nothing that ended, was otherwise
// many, or is told with its code (semantics §4).
func (u *Upload) continueBlind(ctx context.Context, s Store, project redoubt.Project, sightings []Sighting) (err error) {
	groups := blindGroups(sightings)
	if len(groups) == 0 {
		return nil
	}
	if u.rows, err = u.stored(ctx, s, project.ID); err != nil {
		return err
	}
	reported := identitiesOf(sightings)
	here := newBlindStanding(u.rows, reported)
	if err := here.continueFormer(ctx, s, sightings); err != nil {
		return err
	}
	var primary *blindStanding
	for _, g := range groups {
		if here.continues(g) {
			continue
		}
		if u.Full && u.Ref != project.Primary() && !here.known[g.place()] {
			if primary == nil {
				rows, err := s.Findings(ctx, project.ID, project.Primary(), u.source())
				if err != nil {
					return err
				}
				primary = newBlindStanding(rows, reported)
			}
			if primary.continues(g) {
				continue
			}
		}
		var d digester
		key := d.start("blind 1").str(u.Ref, u.source()).num(s.Now().UnixMicro()).digest(g[0].Finding.EdgeHash).sum()
		here.begin(g, key)
	}
	return nil
}

func identitiesOf(sightings []Sighting) map[redoubt.Identity]bool {
	out := make(map[redoubt.Identity]bool, len(sightings))
	for i := range sightings {
		if !sightings[i].blind {
			out[sightings[i].Finding.Identity] = true
		}
	}
	return out
}

// blindGroup is the sightings that are alike, in the order of the file.
type blindGroup []*Sighting

// blindGroups lists them in the order of what they begin with.
func blindGroups(sightings []Sighting) (list []blindGroup) {
	at := map[redoubt.Digest]int{}
	for i := range sightings {
		s := &sightings[i]
		if !s.blind {
			continue
		}
		n, known := at[s.Finding.EdgeHash]
		if !known {
			n = len(list)
			at[s.Finding.EdgeHash], list = n, append(list, nil)
		}
		list[n] = append(list[n], s)
	}
	return list
}

// rulePlace is a rule in a file.
type rulePlace struct{ rule, path string }

func rulePlaceOf(f *redoubt.Finding) rulePlace { return rulePlace{f.RuleName, f.Path} }

func (g blindGroup) place() rulePlace { return rulePlaceOf(&g[0].Finding) }

// blindStanding is what a source has on a ref, as far as it says what blind sightings are.
type blindStanding struct {
	rows map[redoubt.Identity]*redoubt.Finding
	// alike are the live findings that were told blind, by what they have in common, in
	// the order of the file.
	alike map[redoubt.Digest][]*redoubt.Finding
	known map[rulePlace]bool // where there is a finding, or was one
	// contested are places of live findings whose code is known and which the report
	// does not tell by it: any of these may be what it tells blind.
	contested map[rulePlace]bool
}

func newBlindStanding(list []redoubt.Finding, reported map[redoubt.Identity]bool) *blindStanding {
	st := &blindStanding{
		rows: make(map[redoubt.Identity]*redoubt.Finding, len(list)), alike: map[redoubt.Digest][]*redoubt.Finding{},
		known: map[rulePlace]bool{}, contested: map[rulePlace]bool{},
	}
	for i := range list {
		f := &list[i]
		st.rows[f.Identity], st.known[rulePlaceOf(f)] = f, true
		switch told := f.CodeHash != (redoubt.Digest{}); {
		case !live(f.State) || f.Package != "":
		case told && !reported[f.Identity]:
			st.contested[rulePlaceOf(f)] = true
		case !told && f.EdgeHash != (redoubt.Digest{}):
			st.alike[f.EdgeHash] = append(st.alike[f.EdgeHash], f)
		}
	}
	for _, rows := range st.alike {
		slices.SortFunc(rows, func(a, b *redoubt.Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID)) })
	}
	return st
}

// continues gives the sightings of a group the identities of the findings that they
// continue, and reports whether they continue any.
func (st *blindStanding) continues(g blindGroup) bool {
	rows := st.alike[g[0].Finding.EdgeHash]
	if len(rows) != len(g) || st.contested[g.place()] {
		return false
	}
	for i, s := range g {
		s.Finding.Identity = rows[i].Identity
	}
	return true
}

// begin gives the sightings of a group identities that are made of a key.
func (st *blindStanding) begin(g blindGroup, key redoubt.Digest) {
	n := int64(0)
	for _, s := range g {
		for taken := true; taken; n++ {
			id := redoubt.NumberedIdentity(s.Finding.Identity.Kind, key, n)
			if taken = st.rows[id] != nil; !taken {
				s.Finding.Identity = id
			}
		}
	}
}

// continueFormer adds to what is alike the live findings of before it was stored what is,
// where the report tells of as many of one rule, path and message, and each is as long as
// it was.
func (st *blindStanding) continueFormer(ctx context.Context, s Store, sightings []Sighting) error {
	groups, order := map[redoubt.Digest]blindGroup{}, []redoubt.Digest{}
	for i := range sightings {
		one := &sightings[i]
		if one.former == (redoubt.Digest{}) {
			continue
		}
		if groups[one.former] == nil {
			order = append(order, one.former)
		}
		groups[one.former] = append(groups[one.former], one)
	}
	for _, key := range order {
		g := groups[key]
		rows := st.former(g, key)
		if len(rows) != len(g) || st.contested[g.place()] {
			continue
		}
		lengths, err := storedLengths(ctx, s, rows)
		if err != nil {
			return err
		}
		if same := slices.EqualFunc(rows, g, func(f *redoubt.Finding, one *Sighting) bool { return lengths[f.ID] == lengthOf(one.Result) }); !same {
			continue
		}
		for i, one := range g {
			st.alike[one.Finding.EdgeHash] = append(st.alike[one.Finding.EdgeHash], rows[i])
		}
	}
	return nil
}

// former lists the live findings that were numbered with a key.
func (st *blindStanding) former(g blindGroup, key redoubt.Digest) (rows []*redoubt.Finding) {
	for n := int64(0); ; n++ {
		f := st.rows[redoubt.NumberedIdentity(g[0].Finding.Identity.Kind, key, n)]
		if f == nil || !live(f.State) || f.EdgeHash != (redoubt.Digest{}) {
			return rows
		}
		rows = append(rows, f)
	}
}

// storedLengths are how long the matches of stored findings are, by id.
func storedLengths(ctx context.Context, s Store, rows []*redoubt.Finding) (map[int64]int, error) {
	ids := make([]int64, len(rows))
	for i, f := range rows {
		ids[i] = f.ID
	}
	bodies, err := s.FindingBodies(ctx, ids)
	if err != nil {
		return nil, err
	}
	out := make(map[int64]int, len(ids))
	for _, id := range ids {
		if out[id], err = storedLength(bodies[id]); err != nil {
			return nil, fmt.Errorf("the body of finding %d: %w", id, err)
		}
	}
	return out, nil
}

func storedLength(w redoubt.FindingWrite) (int, error) {
	var body redoubt.Body
	if err := json.Unmarshal(fmt.Appendf(nil, "{%s}", w.Body), &body); err != nil {
		return 0, err
	}
	at := body.Location
	return matchLength(at.Line, at.Column, at.EndLine, at.EndColumn), nil
}
