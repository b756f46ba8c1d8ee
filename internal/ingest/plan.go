package ingest

import (
	"slices"
	"strconv"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/weblink"
)

// Stored is the stored state of the findings that a report may change.
type Stored struct {
	// Findings are all occurrences of the (project, ref, source), in any state.
	Findings []model.Finding
	// Known contains the lineages of reported identities that have no row here.
	Known map[model.Identity]model.Lineage
	// Lineages contains the lineages of rows that may return or be paired.
	Lineages map[int64]model.Lineage
	// Bodies contains the bodies and evidence of rows that a less detailed sighting may match, by
	// id.
	Bodies map[int64]model.FindingWrite

	pairs      []pair // of live findings and sightings, by the alignment
	coexisting coexisting
}

// Facts contains the input of a plan other than the rows and the report.
type Facts struct {
	ProjectID int64
	Ref       string
	Primary   string // the project's primary branch
	Source    string
	ScanID    int64
	Scope     Scope
	At        time.Time // of the findings' changes: the transaction's clock, or back-dated
	Now       time.Time // of the history: the transaction's clock
	RuleIDs   map[*model.Rule]int64
	Links     weblink.Links
	Release   bool // sightings lose their results once they are encoded
	Unwritten bool // the changes are not stored, only used to identify the report's findings
}

// Changes are the differences that an applied scan writes. New findings have no id yet, and no
// lineage if they start one.
type Changes struct {
	Added    []model.FindingWrite
	Lineages []model.Lineage // one for each of Added, then of Updated, without a lineage, in that order
	Updated  []model.FindingWrite
	Links    []model.IdentityLink
	Merges   []model.LineageMerge
	Triage   []model.TriageEvent
	Events   []model.FindingEvent
	// Precedents are events of Added, which get their finding ids later.
	Precedents []newPrecedent
	// Copied are events that may refer to findings in Added.
	Copied []copied

	Items     []Item // of Updated; those of Added follow once they have ids
	Unchanged int
	Reported  []int64 // unmuted findings in the report
	// MuteDecisions maps each proposed mute to whether it applies.
	MuteDecisions map[model.Identity]bool
	// StoredAs maps reported identities to the stored ones if they differ.
	StoredAs map[model.Identity]model.KnownAs
	// Copies are the findings that would leave their lineage, if nothing is written.
	Copies []model.Identity
}

// Plan decides the life of findings (docs/explanation/life-of-a-finding.md). It determines which
// sightings are new, unchanged, returned or moved, and which stored findings close. It is pure:
// equal arguments produce equal changes in the same order.
func Plan(stored Stored, report []Sighting, facts Facts) (Changes, error) {
	p := planner{
		Facts:      facts,
		reopened:   map[int64]bool{},
		proposed:   map[int64]*Sighting{},
		lineages:   newJoiner(stored),
		bodies:     stored.Bodies,
		coexisting: stored.coexisting,
		reports:    true,
	}
	p.run(stored, report)
	return p.changes, p.err
}

func (p *planner) run(stored Stored, report []Sighting) {
	p.rows = make(map[model.Identity]*model.Finding, len(stored.Findings))
	for i := range stored.Findings {
		p.rows[stored.Findings[i].Identity] = &stored.Findings[i]
	}
	seen, paired := make(map[int64]bool, len(report)), make(map[*Sighting]bool, len(report))
	matchAll := func(pairs []pair) {
		for _, k := range pairs {
			seen[k.row.ID], paired[k.sighting] = true, true
			p.matchExisting(k)
		}
	}
	sightings := pointers(report)
	matchAll(stored.pairs)
	unseen := slices.DeleteFunc(sightings, func(s *Sighting) bool { return paired[s] })
	matchAll(p.recognise(stored.Findings, seen, unseen))
	unseen = slices.DeleteFunc(unseen, func(s *Sighting) bool { return paired[s] })
	var missing []*model.Finding
	for i := range stored.Findings {
		if row := &stored.Findings[i]; live(row.State) && !seen[row.ID] {
			missing = append(missing, row)
		}
	}
	p.closeAbsent(missing, unseen)
	if p.Release {
		release(report)
	}
	p.finish(stored.Findings)
}

// planner collects changes. Its err is the first encoding error.
type planner struct {
	Facts
	changes     Changes
	lineages    joiner
	transferred map[int64]bool // findings that a scanner's finding hands over in this commit
	bodies      map[int64]model.FindingWrite
	coexisting  coexisting
	rows        map[model.Identity]*model.Finding // all stored findings of the source on the ref
	fresh       int64                             // number of identities created by freshIdentity
	added       []*Sighting                       // of changes.Added
	reopened    map[int64]bool                    // findings that returned
	proposed    map[int64]*Sighting               // sightings of findings that only a proposal mutes
	reports     bool                              // sightings of a scanner may identify a finding in several forms
	err         error
}

// matchExisting updates a known finding from its sighting. They match by identity, by lineage, or
// by alignment.
func (p *planner) matchExisting(known pair) {
	row, s := known.row, known.sighting
	next := p.updatedRow(row, s)
	if s.Proposed {
		next.State, p.proposed[row.ID] = p.proposedState(row, s.Finding.Identity), s
		p.recordMute(s, next.State)
	}
	w := model.FindingWrite{}
	if detailLevel(&s.Finding) < detailLevel(row) {
		w = p.retainDetails(row, &next, s)
	}
	change := ItemUnchanged
	switch {
	case !live(row.State):
		change = ItemReturned
		next.RelevantSince, next.StateUpdatedAt = p.At, p.At
		p.addEvent(row.ID, model.EventReturned, nil)
		if next.State == model.Unresolved && !p.transferred[row.ID] {
			p.reopened[row.ID] = true
		}
	case row.Path != next.Path, otherRule(row, &next):
		change = ItemMoved
		p.addEvent(row.ID, model.EventMoved, moveDetail{From: row.Path, FromLine: row.Line, To: next.Path, ToLine: next.Line})
	case row.Content != next.Content || row.RuleID != next.RuleID || row.State != next.State ||
		row.Severity != next.Severity:
		change = ItemChanged
	}
	if live(row.State) && row.State != next.State {
		next.StateUpdatedAt = p.At
	}
	p.recordMuting(row, &next)
	p.link(row, s)
	switch {
	case !p.Unwritten:
		p.recordStoredAs(s, &next)
	case s.codeless, row.CodeHash == (model.Digest{}) && s.Finding.Package == "":
		p.recordStoredAs(s, row)
	} // otherwise its code is known and the identity is compared by code
	if next.State == model.Unresolved {
		p.changes.Reported = append(p.changes.Reported, row.ID)
	}
	if next == *row {
		p.changes.Unchanged++
		return
	}
	if w.Body == nil {
		// The body contains the content and the identity.
		w = p.findingWrite(next, s, row.Content != next.Content || row.Identity != next.Identity)
	}
	w.Finding = next
	p.addUpdate(w, change)
}

// link adds the reported identity of a finding to its lineage, unless the identity's lineage has a
// separate finding somewhere. It does so even then on the primary branch, or if the sighting is
// less detailed than the finding. Identities of results without code are never added, because they
// do not recur.
func (p *planner) link(row *model.Finding, s *Sighting) {
	sighting, id := &s.Finding, s.Finding.Identity
	if id == row.Identity || s.codeless || p.rows[id] != nil {
		return
	}
	if other := p.lineages.of(id); other != 0 && p.coexistOnRef(row.LineageID, other) {
		if p.Ref != p.Primary && detailLevel(sighting) >= detailLevel(row) {
			return
		}
	} else if p.lineages.join(row.LineageID, id) {
		return
	}
	p.changes.Links = append(p.changes.Links, model.IdentityLink{Identity: id, LineageID: row.LineageID})
}

// recordMuting adds an event if a finding was muted or unmuted in the code.
func (p *planner) recordMuting(row, next *model.Finding) {
	switch {
	case next.State == model.Muted && row.State != model.Muted:
		p.addEvent(row.ID, model.EventMuted, nil)
	case next.State == model.Unresolved && row.State == model.Muted:
		p.addEvent(row.ID, model.EventUnmuted, nil)
	}
}

// updatedRow returns the row with the fields that the scanner determines, copied from the sighting.
func (p *planner) updatedRow(row *model.Finding, s *Sighting) model.Finding {
	next := s.Finding
	next.ID, next.ProjectID, next.Ref, next.Source = row.ID, row.ProjectID, row.Ref, row.Source
	next.LineageID, next.FirstScanID = row.LineageID, row.FirstScanID
	next.CreatedAt, next.RelevantSince, next.StateUpdatedAt = row.CreatedAt, row.RelevantSince, row.StateUpdatedAt
	next.RuleID = p.RuleIDs[s.Result.Rule]
	next.Content = linkedContent(p.linksOf(s), s.Finding.Content)
	if v := s.Result.Dependency; v != nil && v.Unrated && next.Content == row.Content {
		next.Severity = row.Severity // may come from the advisories: see Store.Supplement
	}
	next.SeenByFull = row.SeenByFull || p.Scope.Full
	if next.Package == "" {
		next.Coverage = p.Scope.coverageNow(row, &next)
	}
	if row.ID != 0 && (s.codeless || p.rows[next.Identity] != nil) { // another finding has that identity
		next.Identity = row.Identity
	}
	if next.PatternHash == (model.Digest{}) && next.Identity == row.Identity {
		next.PatternHash = row.PatternHash // unchanged, but missing in the report
	}
	if next.EdgeHash == (model.Digest{}) && next.Identity == row.Identity {
		next.EdgeHash = row.EdgeHash
	}
	return next
}

// closeAbsent closes findings that the scan no longer reports, and adds unmatched sightings as new
// findings.
func (p *planner) closeAbsent(missing []*model.Finding, unseen []*Sighting) {
	var closing, staying []*model.Finding
	for _, row := range missing {
		switch p.Scope.absentState(row) {
		case model.Fixed:
			closing = append(closing, row)
		case model.StateRemoved:
			p.closeFinding(row, model.StateRemoved, model.EventRemoved, ItemRemoved)
		default:
			staying = append(staying, row)
		}
	}
	p.markMissed(staying)
	for _, row := range closing {
		p.closeFinding(row, model.Fixed, model.EventFixed, ItemClosed)
	}
	decided := newPrecedents(closing, func(lineage int64) model.Triage { return p.lineages.lineages[lineage].Triage })
	p.changes.Added = make([]model.FindingWrite, 0, len(unseen))
	p.added = unseen
	for _, s := range unseen {
		p.addFinding(s)
		p.addPrecedent(decided)
		if p.Release {
			s.Result.Message, s.Result.Code, s.Result.DataFlow = "", "", nil
		}
	}
}

// closeFinding changes a live finding to a closed state.
func (p *planner) closeFinding(row *model.Finding, state model.State, kind model.FindingEventKind, change ItemChange) {
	next := *row
	next.State, next.StateUpdatedAt = state, p.At
	p.addEvent(row.ID, kind, nil)
	p.addUpdate(model.FindingWrite{Finding: next}, change)
}

// moveDetail contains the old and new location of a moved finding. Equal paths mean that its rule's
// text changed, or that the rule is loaded from another folder.
type moveDetail struct {
	From     string `json:"from"`
	FromLine int    `json:"from_line"`
	To       string `json:"to"`
	ToLine   int    `json:"to_line"`
}

// addFinding adds an occurrence, in the lineage of its identity if there is one.
func (p *planner) addFinding(s *Sighting) {
	next := p.updatedRow(&model.Finding{
		ProjectID: p.ProjectID, Ref: p.Ref, Source: p.Source, FirstScanID: p.ScanID,
		CreatedAt: p.At, RelevantSince: p.At, LineageID: p.lineages.of(s.Finding.Identity),
	}, s)
	if s.codeless && next.LineageID == 0 || p.rows[next.Identity] != nil {
		next.Identity, next.LineageID = p.freshIdentity(next.Identity.Kind), 0
		p.recordStoredAs(s, &next)
	}
	if s.Proposed {
		next.State = p.proposedState(&model.Finding{LineageID: next.LineageID}, s.Finding.Identity)
		p.recordMute(s, next.State)
	}
	p.changes.Added = append(p.changes.Added, p.findingWrite(next, s, true))
}

func newLineage(projectID int64, r *model.Result) model.Lineage {
	l := model.Lineage{ProjectID: projectID, Triage: model.Triage{State: model.TriageUntriaged}}
	if r.Dependency != nil {
		l.Annotations.EPSS = r.Dependency.EPSS
	}
	return l
}

func (p *planner) addUpdate(w model.FindingWrite, change ItemChange) {
	p.changes.Updated = append(p.changes.Updated, w)
	if change == ItemUnchanged {
		p.changes.Unchanged++
		return
	}
	p.changes.Items = append(p.changes.Items, itemOf(&w.Finding, change))
}

// findingWrite encodes the body and evidence if they changed.
func (p *planner) findingWrite(f model.Finding, s *Sighting, body bool) model.FindingWrite {
	w := model.FindingWrite{Finding: f}
	if body && p.err == nil {
		w.Body, w.Evidence, p.err = encodeBody(s, p.linksOf(s))
	}
	if s != nil {
		w.Subject = s.Result.Subject()
	}
	return w
}

func (p *planner) addEvent(findingID int64, kind model.FindingEventKind, detail any) {
	e := model.FindingEvent{FindingID: findingID, ScanID: p.ScanID, Kind: kind}
	if detail != nil && p.err == nil {
		e.Detail, p.err = toJSON(detail)
	}
	p.changes.Events = append(p.changes.Events, e)
}

// finish writes the lineages that were joined, split or reopened, and updates the lineage ids of
// findings and links.
func (p *planner) finish(rows []model.Finding) {
	for _, list := range [][]model.FindingWrite{p.changes.Updated, p.changes.Added} {
		for i := range list {
			list[i].LineageID = p.lineages.root(list[i].LineageID)
		}
	}
	for i := range p.changes.Links {
		p.changes.Links[i].LineageID = p.lineages.root(p.changes.Links[i].LineageID)
	}
	p.splitLineages(rows)
	p.startLineages()
	for i := range p.changes.Updated {
		if w := &p.changes.Updated[i]; w.LineageID != 0 && p.reopened[w.ID] {
			p.lineages.reopen(w.LineageID)
		}
	}
	p.changes.Merges = p.lineages.merges()
	by := model.Actor{Kind: "scan", ID: strconv.FormatInt(p.ScanID, 10), Name: p.Source}
	if p.ScanID == 0 {
		by = model.Actor{Kind: "system", Name: p.Source}
	}
	p.changes.Triage = p.lineages.triage(p.Now, by)
}

// linksOf returns the links into the commit of a sighting.
func (f Facts) linksOf(s *Sighting) weblink.Links {
	if s.links != nil {
		return *s.links
	}
	return f.Links
}

// release clears the results of sightings, except for the EPSS scores that new lineages start with.
// In large uploads this frees memory for the writes.
func release(sightings []Sighting) {
	none := &model.Result{}
	for i := range sightings {
		s := &sightings[i]
		if d := s.Result.Dependency; d != nil && d.EPSS != nil {
			s.Result = &model.Result{Dependency: &model.Vulnerable{EPSS: d.EPSS}}
		} else {
			s.Result = none
		}
	}
}
