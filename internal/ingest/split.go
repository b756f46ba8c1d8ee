package ingest

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// beside is what is known of lineages that a plan may join or have to part: the
// live findings that they have on all refs.
type beside struct {
	live map[int64][]redoubt.Finding
	// linked holds the lineages of identities that contend for one.
	linked map[redoubt.Identity]redoubt.Lineage
}

// apart reports whether two lineages, or what was joined to them by now, stand side by
// side somewhere: on one ref, by one source, both seen by scans of all. They are two then,
// whatever a move on another ref looks like. A diff scan does not tell what is gone, so
// that what it saw in a new place may be what it moved from the old one.
func (p *planner) apart(x, y int64) bool {
	if p.lineages.root(x) == p.lineages.root(y) {
		return false
	}
	return p.beside.together(p.lineages.members(x), p.lineages.members(y), func(f, g redoubt.Finding) bool { return f.Source == g.Source })
}

// together reports whether one ref has findings of which one is in one of the first
// lineages, the other in one of the second, both were seen by scans of all, and
// something holds. It takes as long as both have findings.
func (b beside) together(xs, ys []int64, holds func(f, g redoubt.Finding) bool) bool {
	at := map[string][]redoubt.Finding{}
	for _, x := range xs {
		for _, f := range b.live[x] {
			if f.SeenByFull {
				at[f.Ref] = append(at[f.Ref], f)
			}
		}
	}
	for _, y := range ys {
		for _, g := range b.live[y] {
			if g.SeenByFull && slices.ContainsFunc(at[g.Ref], func(f redoubt.Finding) bool { return holds(f, g) }) {
				return true
			}
		}
	}
	return false
}

// loadBeside reads what stands beside what the plan may touch: of lineages that
// may come to have several findings on the ref, and of those that a pair may join.
func (a *application) loadBeside(ctx context.Context, stored Stored, sightings []Sighting) (b beside, err error) {
	count := map[int64]int{}
	members := map[int64][]redoubt.Identity{}
	take := func(lineage int64, id redoubt.Identity) {
		count[lineage]++
		members[lineage] = append(members[lineage], id)
	}
	reported := make(map[redoubt.Identity]bool, len(sightings))
	for i := range sightings {
		reported[sightings[i].Finding.Identity] = true
	}
	missing, known, lineages := map[string]bool{}, map[string]bool{}, map[int64]bool{} // rules, without folders
	proposed := map[string]bool{}                                                      // rules
	for i := range sightings {
		f := &sightings[i].Finding
		if sightings[i].Proposed && a.scan.Ref != a.project.Primary() {
			proposed[f.RuleName] = true
			lineages[stored.Known[f.Identity].ID] = true
		}
		if l, ok := stored.Known[f.Identity]; ok {
			take(l.ID, f.Identity)
			if !a.scan.Full { // which may be a copy of what the primary branch has elsewhere
				lineages[l.ID] = true
			}
			known[lastPart(f.RuleName)] = true
		}
	}
	for i := range stored.Findings {
		row := &stored.Findings[i]
		if live(row.State) || reported[row.Identity] {
			take(row.LineageID, row.Identity)
		}
		if rule := lastPart(row.RuleName); live(row.State) && !reported[row.Identity] && known[rule] {
			missing[rule], lineages[row.LineageID] = true, true
		}
		if proposed[row.RuleName] { // which may be muted on the primary branch
			lineages[row.LineageID] = true
		}
	}
	delete(lineages, 0)
	for i := range sightings {
		f := &sightings[i].Finding
		if l, ok := stored.Known[f.Identity]; ok && missing[lastPart(f.RuleName)] {
			lineages[l.ID] = true
		}
	}
	for lineage, n := range count {
		if n > 1 {
			lineages[lineage] = true
		}
	}
	if len(lineages) == 0 {
		return b, nil
	}
	if b.live, err = a.s.LiveOfLineages(ctx, a.project.ID, sortedKeys(lineages)); err != nil {
		return b, err
	}
	var contending []redoubt.Identity
	for lineage := range lineages {
		contending = append(contending, members[lineage]...)
	}
	b.linked, err = a.s.LineagesOf(ctx, a.project.ID, contending)
	return b, err
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
	identity       redoubt.Identity
	path           string
	supply         bool // it is about a dependency
	lineage        int64
	row            *redoubt.Finding
	updated, added int
}

// splitLineages holds that a lineage has one finding on a ref, or as many as the
// primary branch has of it: where a file that moved is there again at its old
// place, one of the two is a copy, which nobody decided on (semantics §5). What
// the primary branch has stays, then what was there first. The others go to the
// lineage that holds their identity, if that is not here, else to one of their own.
func (p *planner) splitLineages(rows []redoubt.Finding) {
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
		for _, e := range excess(crowd, onPrimary[lineage]) {
			p.part(e, here)
			p.addCopied(e, crowd[0])
		}
	}
}

// onPrimary has what the primary branch has of lineages, by this source; nothing
// for a scan of that itself.
func (p *planner) onPrimary() map[int64][]redoubt.Finding {
	out := map[int64][]redoubt.Finding{}
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
func (e entry) isCopyOf(primary []redoubt.Finding) bool {
	return len(primary) > 0 && !slices.ContainsFunc(primary, func(f redoubt.Finding) bool { return f.Identity == e.identity || f.Path == e.path })
}

// liveEntries lists what is live on the ref once the plan is carried out: rows in
// their order, then what is new.
func (p *planner) liveEntries(rows []redoubt.Finding) []entry {
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
			entries = append(entries, entry{f.Identity, f.Path, f.IssueType == redoubt.SCA, p.lineages.root(f.LineageID), &rows[i], at, -1})
		}
	}
	for i := range p.changes.Added {
		f := &p.changes.Added[i].Finding
		entries = append(entries, entry{f.Identity, f.Path, f.IssueType == redoubt.SCA, f.LineageID, nil, -1, i})
	}
	return entries
}

// excess are those of a lineage's findings that it cannot have on a ref, given what
// the primary branch has of it. The crowd it sorts: its first one stays. What several names of a vulnerability say of a
// package in one lockfile is no copy.
func excess(crowd []entry, primary []redoubt.Finding) (out []entry) {
	first := func(e entry) bool {
		return slices.ContainsFunc(primary, func(f redoubt.Finding) bool { return f.Identity == e.identity })
	}
	slices.SortStableFunc(crowd, func(a, b entry) int { return compareFlags(first(b), first(a)) })
	kept := map[string]bool{}
	for i, e := range crowd {
		switch {
		case e.supply && kept[e.path]:
		case i-len(out) < max(1, len(primary)):
			kept[e.path] = true
		default:
			out = append(out, e)
		}
	}
	return out
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
	if l, known := p.beside.linked[e.identity]; known && p.lineages.root(l.ID) != e.lineage && here[p.lineages.root(l.ID)] == 0 {
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
		p.changes.Updated = append(p.changes.Updated, redoubt.FindingWrite{Finding: next})
	}
	p.reopenCopy(e)
}

// copied is the event of a finding that proves to be a copy, of a stored finding or,
// by its place, one of Added.
type copied struct {
	event redoubt.FindingEvent
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
	c := copied{event: redoubt.FindingEvent{FindingID: e.row.ID, ScanID: p.ScanID, Kind: redoubt.EventCopied}, added: stays.added}
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
func (c *Changes) copiedEvents(ids []int64) (out []redoubt.FindingEvent, err error) {
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
		p.changes.Lineages = append(p.changes.Lineages, newLineage(p.ProjectID, &redoubt.Result{}))
	}
}
