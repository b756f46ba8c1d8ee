package ingest

import (
	"cmp"
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// continueBlind gives sightings that tell nothing of their code the identities of the
// findings that they continue: of those that are alike and that the last scan of the ref
// which looked at the file saw in as much of it, if these are as many, in the order of the
// file. All else gets an identity that nothing had before: it inherits from nothing that
// ended, was missed or otherwise many, or is told with its code (semantics §4).
func (u *Upload) continueBlind(ctx context.Context, s Store, project redoubt.Project, sightings []Sighting) (err error) {
	groups := blindGroups(sightings)
	if len(groups) == 0 {
		return nil
	}
	if u.rows, err = u.stored(ctx, s, project.ID); err != nil {
		return err
	}
	scope := scopeOf(u, sightings)
	b := blindSearch{upload: u, store: s, project: project, sightings: sightings, here: newBlindStanding(s, scope, u.rows, sightings)}
	for _, g := range groups {
		continued, err := b.continues(ctx, g)
		if err != nil {
			return err
		}
		if !continued {
			var d digester
			key := d.start("blind 1").str(u.Ref, u.source()).num(s.Now().UnixMicro()).digest(g[0].Finding.EdgeHash)
			key.flag(g.muted())
			b.here.begin(g, key.sum())
		}
	}
	return nil
}

// blindSearch looks for what the blind sightings of an upload continue.
type blindSearch struct {
	upload    *Upload
	store     Store
	project   redoubt.Project
	sightings []Sighting
	here      *blindStanding // on the ref
	onPrimary *blindStanding // once it is asked for
}

// continues gives the sightings of a group the identities of what they continue, and
// reports whether they continue anything. A full scan of a ref that never had anything of the
// rule in the file continues what the primary branch has there.
func (b *blindSearch) continues(ctx context.Context, g blindGroup) (bool, error) {
	continued, err := b.here.continues(ctx, g)
	if err != nil || continued || !b.upload.Full || b.upload.Ref == b.project.Primary() || b.here.known[g.place()] {
		return continued, err
	}
	if b.onPrimary == nil {
		rows, err := b.store.Findings(ctx, b.project.ID, b.project.Primary(), b.upload.source())
		if err != nil {
			return false, err
		}
		b.onPrimary = newBlindStanding(b.store, b.here.scope, rows, b.sightings)
	}
	return b.onPrimary.continues(ctx, g)
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
	at := map[likeness]int{}
	for i := range sightings {
		s := &sightings[i]
		if !s.blind {
			continue
		}
		key := likenessOf(&s.Finding)
		n, known := at[key]
		if !known {
			n = len(list)
			at[key], list = n, append(list, nil)
		}
		list[n] = append(list[n], s)
	}
	return list
}

// likeness is what those of a blind group share. What is muted in the code is counted
// apart, since a report may leave it out.
type likeness struct {
	alike redoubt.Digest
	muted bool
}

func likenessOf(f *redoubt.Finding) likeness { return likeness{f.EdgeHash, f.State == redoubt.Muted} }

func (g blindGroup) place() place { return place{g[0].Finding.RuleName, g[0].Finding.Path} }
func (g blindGroup) muted() bool  { return g[0].Finding.State == redoubt.Muted }

// blindStanding is what a source has on a ref, as far as it says what the blind sightings
// of a scan are.
type blindStanding struct {
	store Store
	scope Scope // of the scan
	rows  map[redoubt.Identity]*redoubt.Finding
	// alike are the live findings that were told blind and not missed, in the order of
	// the file.
	alike map[likeness][]*redoubt.Finding
	known map[place]bool // where there is a finding, or was one
	// told are live findings whose code is known, which were not missed and which the
	// report does not tell by it: any that has the same outline may be what it tells blind.
	told map[place][]*redoubt.Finding
	// came are the keys of what the report tells by its code and was not counted there.
	came map[matchKey]bool
	keys map[place]map[matchKey]bool // of told, as far as somebody asked
}

func newBlindStanding(s Store, scope Scope, list []redoubt.Finding, sightings []Sighting) *blindStanding {
	st := &blindStanding{
		store: s, scope: scope, rows: make(map[redoubt.Identity]*redoubt.Finding, len(list)), alike: map[likeness][]*redoubt.Finding{},
		known: map[place]bool{}, told: map[place][]*redoubt.Finding{}, came: map[matchKey]bool{}, keys: map[place]map[matchKey]bool{},
	}
	reported := identitiesOf(sightings)
	for i := range list {
		f := &list[i]
		at := place{f.RuleName, f.Path}
		st.rows[f.Identity], st.known[at] = f, true
		switch told := f.CodeHash != (redoubt.Digest{}); {
		case !live(f.State) || f.Package != "" || f.Coverage == redoubt.CoverageMissed:
		case told && !reported[f.Identity]:
			st.told[at] = append(st.told[at], f)
		case !told && f.EdgeHash != (redoubt.Digest{}):
			st.alike[likenessOf(f)] = append(st.alike[likenessOf(f)], f)
		}
	}
	for i := range sightings {
		one := &sightings[i]
		if row := st.rows[one.Finding.Identity]; !one.blind && one.Finding.Package == "" && (row == nil || !scope.counted(row)) {
			st.came[numberKey(&one.Finding, outlineOf(one.Result))] = true
		}
	}
	for _, rows := range st.alike {
		inOrder(rows)
	}
	return st
}

// inOrder sorts findings that are alike in the order of the file, in one line of their coming.
func inOrder(rows []*redoubt.Finding) {
	slices.SortFunc(rows, func(a, b *redoubt.Finding) int { return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.ID, b.ID)) })
}

// continues gives the sightings of a group the identities of the findings that they
// continue, and reports whether they continue any.
func (st *blindStanding) continues(ctx context.Context, g blindGroup) (bool, error) {
	rows := st.alike[likenessOf(&g[0].Finding)]
	if len(rows) != len(g) || !seenAlike(rows, st.scope.coverage(g.place().rule, g.place().path)) {
		return false, nil
	}
	if contested, err := st.contested(ctx, g); err != nil || contested {
		return false, err
	}
	for i, s := range g {
		s.Finding.Identity = rows[i].Identity
	}
	return true, nil
}

// seenAlike reports whether the last scan that looked saw findings, and in as much of the
// file as this one. Where that was not kept, the findings have to have come with one scan:
// each that found another number began all of them anew, so where some had been missed,
// later ones stand beside them.
func seenAlike(rows []*redoubt.Finding, covered redoubt.Coverage) bool {
	first := rows[0]
	if first.Coverage != covered && first.Coverage != redoubt.CoverageUnknown {
		return false
	}
	return !slices.ContainsFunc(rows, func(f *redoubt.Finding) bool {
		return f.Coverage != first.Coverage || f.Coverage == redoubt.CoverageUnknown && f.FirstScanID != first.FirstScanID
	})
}

// contested reports whether a group may be what is known by its code.
func (st *blindStanding) contested(ctx context.Context, g blindGroup) (bool, error) {
	key := numberKey(&g[0].Finding, outlineOf(g[0].Result))
	if st.came[key] {
		return true, nil
	}
	keys, err := st.keysOf(ctx, g.place())
	return keys[key], err
}

// keysOf are the keys of what is told at a place.
func (st *blindStanding) keysOf(ctx context.Context, at place) (map[matchKey]bool, error) {
	if keys, asked := st.keys[at]; asked || len(st.told[at]) == 0 {
		return keys, nil
	}
	outlines, err := storedOutlines(ctx, st.store, st.told[at])
	if err != nil {
		return nil, err
	}
	keys := make(map[matchKey]bool, len(outlines))
	for _, f := range st.told[at] {
		keys[numberKey(f, outlines[f.ID])] = true
	}
	st.keys[at] = keys
	return keys, nil
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
