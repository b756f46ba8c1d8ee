package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
)

// beside is what is known of lineages that a plan may join or have to part: the
// live findings that they have on all refs.
type beside struct {
	live map[int64][]model.Finding
	// linked holds the lineages of identities that contend for one.
	linked map[model.Identity]model.Lineage
}

// coexistOnRef reports whether two lineages, or what was joined to them by now, stand side by
// side somewhere: on one ref, by one source, both seen by scans of all. They are two then,
// whatever a move on another ref looks like. A diff scan does not tell what is gone, so
// that what it saw in a new place may be what it moved from the old one.
func (p *planner) coexistOnRef(x, y int64) bool {
	if p.lineages.root(x) == p.lineages.root(y) {
		return false
	}
	return p.beside.together(p.lineages.members(x), p.lineages.members(y), func(f, g model.Finding) bool {
		return f.Source == g.Source
	})
}

// together reports whether one ref has findings of which one is in one of the first
// lineages, the other in one of the second, both were seen by scans of all, and
// something holds. It takes as long as both have findings.
func (b beside) together(xs, ys []int64, holds func(f, g model.Finding) bool) bool {
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
			if g.SeenByFull && slices.ContainsFunc(at[g.Ref], func(f model.Finding) bool { return holds(f, g) }) {
				return true
			}
		}
	}
	return false
}

// loadBeside reads what stands on all refs of the lineages that the plan may join, or of
// which the ref may come to have several findings.
func (a *application) loadBeside(ctx context.Context, stored Stored, sightings []Sighting) (b beside, err error) {
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

// contended returns the lineages that a pair may join or that may come to have several
// findings on the ref, and the identities that they have there. With known it also returns
// those of identities that are new to the ref, which the primary branch may have elsewhere;
// with rows those of its findings, which may be muted on the primary branch.
func (stored *Stored) contended(
	sightings []Sighting, known, rows bool,
) (lineages []int64, identities []model.Identity) {
	wanted, has := map[int64]bool{}, map[int64][]model.Identity{}
	hold := func(lineage int64, id model.Identity, want bool) {
		has[lineage] = append(has[lineage], id)
		wanted[lineage] = wanted[lineage] || want || len(has[lineage]) > 1
	}
	reported := make(map[model.Identity]bool, len(sightings))
	for i := range sightings {
		id := sightings[i].Finding.Identity
		if reported[id] = true; stored.Known[id].ID != 0 {
			hold(stored.Known[id].ID, id, known)
		}
	}
	for i := range stored.Findings {
		if row := &stored.Findings[i]; live(row.State) || reported[row.Identity] {
			hold(row.LineageID, row.Identity, rows)
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

// entry is a live finding of the ref as the plan leaves it, by its place among
// Updated and Added; -1 where it is in neither.
type entry struct {
	identity       model.Identity
	path           string
	supply         bool // it is about a dependency
	lineage        int64
	row            *model.Finding
	updated, added int
}

// splitLineages sees to it that a lineage has one finding of a source on a ref: where a
// file that moved is there again at its old place, one of the two is a copy, which nobody
// decided on (docs/explanation/identity.md). What the primary branch has stays, else what was there first.
// The others go to the lineage that holds their identity, if that is not here, else to one
// of their own.
func (p *planner) splitLineages(rows []model.Finding) {
	entries := p.liveEntries(rows)
	here := make(map[int64]int, len(entries))
	for _, e := range entries {
		here[e.lineage]++
	}
	onPrimary := p.onPrimary()
	for _, e := range entries {
		if e.added >= 0 && !p.Scope.Full && e.isCopyOf(onPrimary[e.lineage]) {
			p.part(e, here)
		}
	}
	crowds, crowded := map[int64][]entry{}, map[int64]bool{}
	for _, e := range entries {
		if e.lineage != 0 && here[e.lineage] > 1 && (e.added < 0 || p.changes.Added[e.added].LineageID == e.lineage) {
			crowds[e.lineage], crowded[e.lineage] = append(crowds[e.lineage], e), true
		}
	}
	for _, lineage := range sortedKeys(crowded) {
		crowd := crowds[lineage]
		stays := original(crowd, onPrimary[lineage])
		for _, e := range crowd {
			if e != stays && (!e.supply || e.path != stays.path) { // several names of a vulnerability are no copies
				p.part(e, here)
				p.addCopied(e, stays)
			}
		}
	}
}

// onPrimary has what the primary branch has of lineages, by this source; nothing
// for a scan of that itself.
func (p *planner) onPrimary() map[int64][]model.Finding {
	out := map[int64][]model.Finding{}
	for lineage, list := range p.beside.live {
		for _, f := range list {
			if f.Ref == p.Primary && f.Source == p.Source && p.Ref != p.Primary {
				out[p.lineages.root(lineage)] = append(out[p.lineages.root(lineage)], f)
			}
		}
	}
	return out
}

// isCopyOf reports whether the primary branch has the lineage elsewhere and not
// here. That is a copy, as far as a diff scan knows, which does not tell that
// anything is gone.
func (e entry) isCopyOf(primary []model.Finding) bool {
	return len(primary) > 0 &&
		!slices.ContainsFunc(primary, func(f model.Finding) bool { return f.Identity == e.identity || f.Path == e.path })
}

// liveEntries lists what is live on the ref once the plan is carried out: rows in
// their order, then what is new.
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

// original is the finding of a lineage that stays: what the primary branch has, else the
// first.
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

// part takes a finding out of its lineage.
func (p *planner) part(e entry, here map[int64]int) {
	to := int64(0)
	here[e.lineage]--
	if l, known := p.beside.linked[e.identity]; known && p.lineages.root(l.ID) != e.lineage &&
		here[p.lineages.root(l.ID)] == 0 {
		to = p.lineages.root(l.ID)
		here[to]++
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

// copied is the event of a finding that proves to be a copy, of a stored finding or,
// by its place, one of Added.
type copied struct {
	event model.FindingEvent
	of    int64
	added int
}

// copiedDetail names the finding that keeps what was decided.
type copiedDetail struct {
	FindingID int64 `json:"finding_id"`
}

// addCopied tells in the history of a stored finding that it left its lineage, and
// to which finding that is left. What is new has nothing to leave.
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

// copies are the stored findings that left their lineage as copies.
func (c *Changes) copies() (ids []int64) {
	for _, one := range c.Copied {
		ids = append(ids, one.event.FindingID)
	}
	return ids
}

// copiedEvents are the events of copies, once what is added has its ids.
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

// startLineages has a lineage begin for each finding that is in none.
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
