package lifetest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

// Upload is a report and what its sender says of it.
type Upload struct {
	Ref, Commit, Category string
	Full, DeclaredFull    bool
	// OutOfPolicy tells rules and paths that a full scan removes; nil: none.
	OutOfPolicy func(rule, path string) bool
	// Begun is when the scan that this ends began; zero for imports, which are
	// all that can repeat the latest upload.
	Begun  time.Time
	Report *redoubt.Report
}

// Model is what stands about a project.
type Model struct {
	Streams  map[string]*Stream  // by ref and source
	Lineages map[string]*Lineage // by identity; a finding may be of another one
	Primary  string              // the primary branch, in full; empty: none was scanned in full
	born     int
}

// Stream is what one source says of one ref.
type Stream struct {
	Ref, Source string
	Findings    []*Finding
	lastFull    time.Time // start of the newest applied full scan
	lastDiff    time.Time // and of the newest applied diff scan
	commits     []string  // applied, in order
}

// Finding is one occurrence.
type Finding struct {
	Serial   int // counts up, as ids do
	Identity string
	Lineage  *Lineage
	Sighting
	Created, Since, Changed time.Time
	SeenByFull              bool
}

// Lineage is what several identities share.
type Lineage struct {
	Born     int
	Triage   redoubt.TriageState
	Human    bool
	Until    time.Time // when the decision ends; zero: never
	Assignee string
	from     int      // the lineage, by birth, that the triage was made on
	assigned int      // and the assignee
	into     *Lineage // that it is part of since it was joined
}

// Answer is what an upload does.
type Answer struct {
	Outcome  redoubt.ScanOutcome
	Distinct int // sightings

	Fresh, Returned, Moved, Closed, Removed, Idle int

	Events []string // serial and kind
	// Happened says by serial what the scan meant for each finding of its
	// stream, in the words of docs/life-of-a-finding.md.
	Happened map[int]string
}

// New returns a project about which nothing is known.
func New() *Model { return &Model{Streams: map[string]*Stream{}, Lineages: map[string]*Lineage{}} }

// Apply takes an upload in.
func (m *Model) Apply(u Upload, now time.Time) (a Answer) {
	s := m.stream(u)
	seen, order := sightings(u)
	a.Distinct, a.Happened = len(order), map[int]string{}
	started := u.Report.StartedAt
	if started.IsZero() || started.After(now) {
		started = now
	}
	if !u.Begun.IsZero() {
		started = u.Begun
	}
	switch commit := slices.Index(s.commits, u.Commit); {
	case u.Commit != "" && commit >= 0 && slices.ContainsFunc(s.commits[commit:], func(c string) bool { return c != "" && c != u.Commit }):
		a.Outcome = redoubt.ScanSuperseded
		return a
	case started.Before(s.lastFull), !u.Full && started.Before(s.lastDiff):
		a.Outcome = redoubt.ScanLate
		return a
	}
	a.Outcome = redoubt.ScanApplied
	s.commits = append(s.commits, u.Commit)
	last := &s.lastDiff
	if u.Full {
		last = &s.lastFull
	}
	if started.After(*last) {
		*last = started
	}
	m.live(s, u, now, seen, order, &a)
	if m.Primary == "" && u.Full && !u.Report.Failed && strings.HasPrefix(s.Ref, "refs/heads/") {
		m.Primary = s.Ref
	}
	m.End(now)
	return a
}

func (m *Model) stream(u Upload) *Stream {
	source, ref := sourceOf(u), redoubt.FullRef(u.Ref)
	if m.Streams[ref+" "+source] == nil {
		m.Streams[ref+" "+source] = &Stream{Ref: ref, Source: source}
	}
	return m.Streams[ref+" "+source]
}

func sourceOf(u Upload) string {
	tool := strings.ToLower(u.Report.Tool)
	if strings.Contains(tool, "grep") {
		tool = "semgrep"
	}
	if u.Category != "" {
		tool += ":" + u.Category
	}
	return tool
}

// live is the life of the findings of a stream through one applied scan.
func (m *Model) live(s *Stream, u Upload, now time.Time, seen map[string]Sighting, order []string, a *Answer) {
	before := m.remember()
	seen, order = m.continueBlind(s, u, seen, order)
	is := map[*Finding]string{} // the identity under which each is seen
	decided := map[*Finding]bool{}
	for _, f := range s.Findings {
		l := f.Lineage
		decided[f] = l.Human && (l.Triage == redoubt.TriageIgnored || l.Triage == redoubt.TriageReviewing || l.Triage == redoubt.TriageFixing)
	}
	var fresh []string
	for _, id := range order {
		at := slices.IndexFunc(s.Findings, func(f *Finding) bool { return f.Identity == id })
		if at < 0 {
			fresh = append(fresh, id)
		} else {
			is[s.Findings[at]] = id
		}
	}
	fresh = m.recognise(s, u, seen, fresh, is)
	var closing []*Finding
	for _, f := range s.Findings {
		if is[f] == "" && alive(f) && closes(u, f) {
			closing = append(closing, f)
		}
	}
	moved := map[*Finding]bool{}
	take := func(pairs map[*Finding]paired) {
		for f, pair := range pairs {
			is[f], moved[f] = pair.identity, pair.moved
			fresh = slices.DeleteFunc(fresh, func(id string) bool { return id == pair.identity })
		}
	}
	take(m.pairs(closing, fresh, seen, ways(u), cameTo(u, is, seen), u))
	var staying []*Finding
	for _, f := range s.Findings {
		if is[f] == "" && alive(f) && u.Full && !u.Report.Failed && !closes(u, f) && !out(u, f) && told(u, f) && !ran(u, f) {
			staying = append(staying, f)
		}
	}
	take(m.pairs(staying, fresh, seen, []way{{true, false, sameRuleOfAFolder}}, nil, u))
	var back []*Finding
	for _, f := range s.Findings {
		if is[f] == "" {
			m.absent(f, u, now, slices.Contains(closing, f), a)
			continue
		}
		if !alive(f) {
			back = append(back, f)
		}
		m.again(s, f, before, u, now, is[f], seen[is[f]], moved[f], a)
	}
	for _, id := range fresh {
		f := m.add(s, u, now, id, seen[id], a)
		if slices.ContainsFunc(closing, func(old *Finding) bool { return is[old] == "" && decided[old] && precedes(old, f) }) {
			a.event(f, redoubt.EventPrecedent)
		}
		a.Fresh++
	}
	m.split(s, u, before, a)
	m.reopen(back)
	a.Idle = a.Distinct - a.Fresh - a.Returned - a.Moved
}

// cameTo are the sightings of findings that were not counted where they are seen.
func cameTo(u Upload, is map[*Finding]string, seen map[string]Sighting) (came []Sighting) {
	for f, id := range is {
		if !f.counted(u) || !place(f.Sighting, seen[id]) || f.State != seen[id].State {
			came = append(came, seen[id])
		}
	}
	return came
}

func alive(f *Finding) bool { return f.State == redoubt.Unresolved || f.State == redoubt.Muted }

// absent is what becomes of a finding that the scan did not see.
func (m *Model) absent(f *Finding, u Upload, now time.Time, closed bool, a *Answer) {
	switch {
	case !alive(f):
		a.Happened[f.Serial] = "passed over"
	case closed:
		f.State, f.Changed = redoubt.Fixed, now
		a.happened(f, "closed", redoubt.EventFixed)
		a.Closed++
	case out(u, f):
		f.State, f.Changed = redoubt.StateRemoved, now
		a.happened(f, "out of scope", redoubt.EventRemoved)
		a.Removed++
	default:
		a.Happened[f.Serial] = "passed over"
		if f.Package == "" && mayHaveLooked(u, f) && (f.State != redoubt.Muted || !u.Report.HidesMuted) {
			f.Coverage = "missed"
		}
	}
}

func (a *Answer) happened(f *Finding, what string, kind redoubt.FindingEventKind) {
	a.Happened[f.Serial] = what
	a.event(f, kind)
}

func (a *Answer) event(f *Finding, kind redoubt.FindingEventKind) {
	a.Events = append(a.Events, fmt.Sprint(f.Serial, " ", kind))
}

// again makes a finding what a sighting says. One that tells less lets it keep
// its identity and hashes.
func (m *Model) again(of *Stream, f *Finding, then memory, u Upload, now time.Time, id string, s Sighting, moved bool, a *Answer) {
	before, was := f.State, f.Sighting
	less := s.Tells < was.Tells
	returned := !alive(f)
	if !u.Full && f.SeenByFull { // of which full scans tell the coverage
		s.Coverage = was.Coverage
		if returned {
			s.Coverage = "missed"
		}
	}
	f.Sighting, f.SeenByFull = s, f.SeenByFull || u.Full
	f.ByFull = f.SeenByFull
	if s.Pattern == "" && id == f.Identity || less {
		f.Pattern = was.Pattern
	}
	if s.Edges == "" && id == f.Identity || less {
		f.Edges = was.Edges
	}
	if less {
		f.Code, f.Tells, f.Alike = was.Code, was.Tells, was.Alike
	}
	switch {
	case returned:
		f.Since = now
		a.event(f, redoubt.EventReturned)
		a.Returned++
	case moved && s.Tells == was.Tells && (s.Tells == 2 || s.Rule != was.Rule) || s.Path != was.Path:
		a.event(f, redoubt.EventMoved)
		a.Moved++
	}
	if before != f.State {
		f.Changed = now
	}
	a.Happened[f.Serial] = seenAs(f)
	if f.State == redoubt.Muted && before != redoubt.Muted {
		a.event(f, redoubt.EventMuted)
	}
	if f.State == redoubt.Unresolved && before == redoubt.Muted {
		a.event(f, redoubt.EventUnmuted)
	}
	other := then.lineages[id]
	switch {
	case id == f.Identity:
	case other == nil || other.now() == then.of[f].now() || !then.apart(other, then.of[f]):
		m.join(f, id)
	case of.Ref == m.primary() || less:
		m.Lineages[id] = f.Lineage
	}
	if !less {
		f.Identity = id
	}
}

func (m *Model) add(s *Stream, u Upload, now time.Time, id string, seen Sighting, a *Answer) *Finding {
	m.born++
	if m.Lineages[id] == nil {
		m.Lineages[id] = &Lineage{Born: m.born, from: m.born, assigned: m.born, Triage: redoubt.TriageUntriaged}
	}
	f := &Finding{
		Serial: m.born, Identity: id, Lineage: m.Lineages[id], Sighting: seen, Created: now, Since: now, SeenByFull: u.Full,
	}
	s.Findings = append(s.Findings, f)
	a.Happened[f.Serial] = seenAs(f)
	return f
}

// precedes: of one place, and of one pattern where both tell it.
func precedes(old, f *Finding) bool {
	return place(old.Sighting, f.Sighting) && (old.Pattern == "" || f.Pattern == "" || old.Pattern == f.Pattern)
}

func seenAs(f *Finding) string {
	if f.State == redoubt.Muted {
		return "seen muted"
	}
	return "seen"
}

// DeleteRef takes a ref, in full, out of the scope, and forgets its commits.
func (m *Model) DeleteRef(ref string, now time.Time) {
	for _, s := range m.Streams {
		if s.Ref != ref {
			continue
		}
		s.commits = nil
		for _, f := range s.Findings {
			if f.State != redoubt.StateRemoved {
				f.State, f.Changed = redoubt.StateRemoved, now
			}
		}
	}
}
