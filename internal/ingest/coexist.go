package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// coexisting contains the live findings, on all refs, of lineages that a plan may join or split.
type coexisting struct {
	live map[int64][]model.Finding
	// linked contains the lineages of identities that contend for one lineage.
	linked map[model.Identity]model.Lineage
}

// coexistOnRef reports whether two lineages, or those joined with them, have separate findings on
// some ref. Both findings must be of the same source and seen by full scans. Such lineages remain
// separate, even if another ref suggests a move. Diff scans are excluded: they do not list removed
// findings, so a finding in a new place may be a move.
func (p *planner) coexistOnRef(x, y int64) bool {
	if p.lineages.root(x) == p.lineages.root(y) {
		return false
	}
	return p.coexisting.together(p.lineages.members(x), p.lineages.members(y), func(f, g model.Finding) bool {
		return f.Source == g.Source
	})
}

// together reports whether some ref has a finding of each of two sets of lineages. Both must have
// been seen by full scans, and match must return true for them. Its time grows with the product of
// both numbers on a ref.
func (b coexisting) together(xs, ys []int64, match func(f, g model.Finding) bool) bool {
	at := map[string][]model.Finding{}
	for _, x := range xs {
		for _, f := range b.live[x] {
			if f.SeenByFull {
				at[f.Ref] = append(at[f.Ref], f)
			}
		}
	}
	for _, y := range ys {
		for _, g := range b.live[y] {
			if g.SeenByFull && slices.ContainsFunc(at[g.Ref], func(f model.Finding) bool { return match(f, g) }) {
				return true
			}
		}
	}
	return false
}

// loadCoexisting reads the live findings, on all refs, of lineages that the plan may join or split.
func (a *application) loadCoexisting(
	ctx context.Context, stored Stored, sightings []Sighting,
) (b coexisting, err error) {
	isProposed := func(s Sighting) bool { return s.Proposed }
	proposed := a.scan.Ref != a.project.Primary() && slices.ContainsFunc(sightings, isProposed)
	lineages, contending := stored.contended(sightings, proposed || !a.scan.Full, proposed)
	if len(lineages) == 0 {
		return b, nil
	}
	if b.live, err = a.s.LiveOfLineages(ctx, a.project.ID, lineages); err != nil {
		return b, err
	}
	b.linked, err = a.s.LineagesOf(ctx, a.project.ID, contending)
	return b, err
}

// contended returns the lineages that a pair may join or that may get several findings on the ref.
// It also returns their identities on the ref. With known it adds lineages of identities that are
// new to the ref, which the primary branch may have elsewhere. With rows it adds the lineages of
// the ref's findings, which may be muted on the primary branch.
func (stored *Stored) contended(
	sightings []Sighting, known, rows bool,
) (lineages []int64, identities []model.Identity) {
	wanted, has := map[int64]bool{}, map[int64][]model.Identity{}
	add := func(lineage int64, id model.Identity, want bool) {
		has[lineage] = append(has[lineage], id)
		wanted[lineage] = wanted[lineage] || want || len(has[lineage]) > 1
	}
	reported := make(map[model.Identity]bool, len(sightings))
	for i := range sightings {
		id := sightings[i].Finding.Identity
		if reported[id] = true; stored.Known[id].ID != 0 {
			add(stored.Known[id].ID, id, known)
		}
	}
	for i := range stored.Findings {
		if row := &stored.Findings[i]; live(row.State) || reported[row.Identity] {
			add(row.LineageID, row.Identity, rows)
		}
	}
	for _, k := range stored.pairs {
		if other := stored.Known[k.sighting.Finding.Identity].ID; other != 0 && other != k.row.LineageID {
			wanted[k.row.LineageID], wanted[other] = true, true
		}
	}
	for _, lineage := range sortedKeys(wanted) {
		if wanted[lineage] && lineage != 0 {
			lineages, identities = append(lineages, lineage), append(identities, has[lineage]...)
		}
	}
	return lineages, identities
}

func sortedKeys(set map[int64]bool) []int64 {
	out := make([]int64, 0, len(set))
	for id := range set {
		out = append(out, id)
	}
	slices.Sort(out)
	return out
}

// entry is a live finding of the ref after the plan, with its indexes in Updated and Added, or -1.
type entry struct {
	identity       model.Identity
	path           string
	supply         bool // about a dependency
	lineage        int64
	row            *model.Finding
	updated, added int
}

// splitLineages ensures that a lineage has one finding of a source on a ref. If a moved file is
// back at its old path, one of the two is a copy without a decision (docs/explanation/identity.md).
// The finding that the primary branch has remains, and otherwise the first one. The others move to
// the lineage of their identity if it has no finding here, and otherwise start a new one.
func (p *planner) splitLineages(rows []model.Finding) {
	entries := p.liveEntries(rows)
	counts := make(map[int64]int, len(entries))
	for _, e := range entries {
		counts[e.lineage]++
	}
	onPrimary := p.onPrimary()
	for _, e := range entries {
		if e.added >= 0 && !p.Scope.Full && e.isCopyOf(onPrimary[e.lineage]) {
			p.part(e, counts)
		}
	}
	crowds, crowded := map[int64][]entry{}, map[int64]bool{}
	for _, e := range entries {
		if e.lineage != 0 && counts[e.lineage] > 1 && (e.added < 0 || p.changes.Added[e.added].LineageID == e.lineage) {
			crowds[e.lineage], crowded[e.lineage] = append(crowds[e.lineage], e), true
		}
	}
	for _, lineage := range sortedKeys(crowded) {
		crowd := crowds[lineage]
		stays := original(crowd, onPrimary[lineage])
		for _, e := range crowd {
			if e != stays && (!e.supply || e.path != stays.path) { // several names of a vulnerability are not copies
				p.part(e, counts)
				p.addCopied(e, stays)
			}
		}
	}
}

// onPrimary returns the primary branch's findings of this source, by lineage. It is empty for a
// scan of the primary branch.
func (p *planner) onPrimary() map[int64][]model.Finding {
	out := map[int64][]model.Finding{}
	for lineage, list := range p.coexisting.live {
		for _, f := range list {
			if f.Ref == p.Primary && f.Source == p.Source && p.Ref != p.Primary {
				out[p.lineages.root(lineage)] = append(out[p.lineages.root(lineage)], f)
			}
		}
	}
	return out
}

// isCopyOf reports whether the primary branch has the lineage only at other places. A diff scan
// does not list removed findings, so this finding counts as a copy.
func (e entry) isCopyOf(primary []model.Finding) bool {
	return len(primary) > 0 &&
		!slices.ContainsFunc(primary, func(f model.Finding) bool { return f.Identity == e.identity || f.Path == e.path })
}

// liveEntries lists the live findings of the ref after the plan: rows in their order, then new
// ones.
func (p *planner) liveEntries(rows []model.Finding) []entry {
	updated := make(map[int64]int, len(p.changes.Updated))
	for i := range p.changes.Updated {
		updated[p.changes.Updated[i].ID] = i
	}
	entries := make([]entry, 0, len(rows)+len(p.changes.Added))
	for i := range rows {
		f, at := &rows[i], -1
		if u, changed := updated[f.ID]; changed {
			f, at = &p.changes.Updated[u].Finding, u
		}
		if live(f.State) {
			entries = append(entries, entry{
				f.Identity, f.Path, f.IssueType == model.SCA, p.lineages.root(f.LineageID), &rows[i], at, -1,
			})
		}
	}
	for i := range p.changes.Added {
		f := &p.changes.Added[i].Finding
		entries = append(entries, entry{f.Identity, f.Path, f.IssueType == model.SCA, f.LineageID, nil, -1, i})
	}
	return entries
}

// original returns the finding that remains in a lineage: the one that the primary branch has, and
// otherwise the first.
func original(crowd []entry, primary []model.Finding) entry {
	for _, e := range crowd {
		if slices.ContainsFunc(primary, func(f model.Finding) bool { return f.Identity == e.identity }) {
			return e
		}
	}
	return crowd[0]
}

func compareFlags(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

// part removes a finding from its lineage.
func (p *planner) part(e entry, counts map[int64]int) {
	to := int64(0)
	counts[e.lineage]--
	if l, known := p.coexisting.linked[e.identity]; known && p.lineages.root(l.ID) != e.lineage &&
		counts[p.lineages.root(l.ID)] == 0 {
		to = p.lineages.root(l.ID)
		counts[to]++
	}
	if p.Unwritten && (to == 0 || e.row != nil) {
		p.changes.Copies = append(p.changes.Copies, e.identity)
	}
	switch {
	case e.added >= 0:
		p.changes.Added[e.added].LineageID = to
	case e.updated >= 0:
		p.changes.Updated[e.updated].LineageID = to
	default:
		next := *e.row
		next.LineageID = to
		p.changes.Updated = append(p.changes.Updated, model.FindingWrite{Finding: next})
	}
	p.reopenCopy(e)
}

// copied is the event of a copied finding. The original is a stored finding, or one of Added by
// index.
type copied struct {
	event model.FindingEvent
	of    int64
	added int
}

// copiedDetail refers to the finding that retains the decision.
type copiedDetail struct {
	FindingID int64 `json:"finding_id"`
}

// addCopied adds an event to a stored finding that left its lineage. It refers to the finding that
// remains. New findings get no event.
func (p *planner) addCopied(e, stays entry) {
	if e.row == nil {
		return
	}
	c := copied{
		event: model.FindingEvent{FindingID: e.row.ID, ScanID: p.ScanID, Kind: model.EventCopied},
		added: stays.added,
	}
	if stays.row != nil {
		c.of = stays.row.ID
	}
	p.changes.Copied = append(p.changes.Copied, c)
}

// copies returns the ids of stored findings that left their lineage as copies.
func (c *Changes) copies() (ids []int64) {
	for _, one := range c.Copied {
		ids = append(ids, one.event.FindingID)
	}
	return ids
}

// copiedEvents returns the events of copies. The argument contains the ids of the added findings.
func (c *Changes) copiedEvents(ids []int64) (out []model.FindingEvent, err error) {
	for _, one := range c.Copied {
		if one.added >= 0 {
			one.of = ids[one.added]
		}
		if one.event.Detail, err = toJSON(copiedDetail{one.of}); err != nil {
			return nil, err
		}
		out = append(out, one.event)
	}
	return out, nil
}

// startLineages creates a lineage for each finding without one.
func (p *planner) startLineages() {
	p.changes.Lineages = slices.Grow(p.changes.Lineages, len(p.changes.Added))
	for i := range p.changes.Added {
		if p.changes.Added[i].LineageID == 0 {
			p.changes.Lineages = append(p.changes.Lineages, newLineage(p.ProjectID, p.added[i].Result))
		}
	}
	for range p.changes.parted() {
		p.changes.Lineages = append(p.changes.Lineages, newLineage(p.ProjectID, &model.Result{}))
	}
}
