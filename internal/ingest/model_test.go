package ingest

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt"
)

// model is decisions §4 and §5 said once more, for one project, as slowly and
// plainly as possible: identities are strings, everything is searched for.
type model struct {
	streams  map[string]*modelStream  // by ref and source
	lineages map[string]*modelLineage // by identity
	born     int
}

type modelStream struct {
	ref, source string
	findings    []*modelFinding
	last        string    // the latest applied upload, in full
	lastFull    time.Time // start of the newest applied full scan
	commits     []string  // applied, in order
}

type modelFinding struct {
	serial   int // counts up, as ids do
	identity string
	lineage  *modelLineage
	modelSighting
	created, since, changed time.Time
	seenByFull              bool
}

type modelSighting struct {
	rule, path, code, pattern string
	line                      int
	state                     redoubt.State
}

type modelLineage struct {
	born   int
	triage redoubt.TriageState
	human  bool
	from   int // the lineage, by birth, that the triage was made on
}

// modelAnswer is what an upload does.
type modelAnswer struct {
	outcome                                       redoubt.ScanOutcome
	repeat                                        bool
	distinct                                      int // sightings
	fresh, returned, moved, closed, removed, idle int
	events                                        []string // serial and kind
}

func newModel() *model {
	return &model{streams: map[string]*modelStream{}, lineages: map[string]*modelLineage{}}
}

func (m *model) apply(u Upload, now time.Time) (a modelAnswer) {
	s := m.stream(u)
	seen, order := modelSightings(u)
	a.distinct = len(order)
	started := u.Report.StartedAt
	if started.IsZero() || started.After(now) {
		started = now
	}
	switch commit := slices.Index(s.commits, u.Commit); {
	case s.last == modelText(u):
		a.repeat, a.outcome = true, redoubt.ScanApplied
		return a
	case u.Commit != "" && commit >= 0 && slices.ContainsFunc(s.commits[commit:], func(c string) bool { return c != "" && c != u.Commit }):
		a.outcome = redoubt.ScanSuperseded
		return a
	case started.Before(s.lastFull):
		a.outcome = redoubt.ScanLate
		return a
	}
	a.outcome = redoubt.ScanApplied
	s.last, s.commits = modelText(u), append(s.commits, u.Commit)
	if u.Full && started.After(s.lastFull) {
		s.lastFull = started
	}
	m.live(s, u, now, seen, order, &a)
	return a
}

func (m *model) stream(u Upload) *modelStream {
	tool := strings.ToLower(u.Report.Tool)
	if strings.Contains(tool, "grep") {
		tool = "semgrep"
	}
	if u.Category != "" {
		tool += ":" + u.Category
	}
	ref := "refs/heads/" + u.Ref
	if m.streams[ref+" "+tool] == nil {
		m.streams[ref+" "+tool] = &modelStream{ref: ref, source: tool}
	}
	return m.streams[ref+" "+tool]
}

// live is the life of the findings of a stream through one applied scan.
func (m *model) live(s *modelStream, u Upload, now time.Time, seen map[string]modelSighting, order []string, a *modelAnswer) {
	var back, closing []*modelFinding
	for _, f := range s.findings {
		alive := f.state == redoubt.Unresolved || f.state == redoubt.Muted
		_, reported := seen[f.identity]
		switch {
		case reported && alive:
			f.take(u, now, f.identity, seen, a)
		case reported:
			f.take(u, now, f.identity, seen, a)
			f.since = now
			a.event(f, "returned")
			a.returned++
			back = append(back, f)
		case alive && u.Report.Failed:
		case alive && u.Full && u.OutOfPolicy != nil && u.OutOfPolicy(f.rule, f.path):
			f.state, f.changed = redoubt.StateRemoved, now
			a.event(f, "removed")
			a.removed++
		case alive && modelLooked(u, f) && (u.Full || !f.seenByFull):
			closing = append(closing, f)
		}
	}
	var fresh []string
	for _, id := range order {
		if !slices.ContainsFunc(s.findings, func(f *modelFinding) bool { return f.identity == id }) {
			fresh = append(fresh, id)
		}
	}
	pairs := modelPairs(u, closing, fresh, seen)
	for _, f := range closing {
		id, paired := pairs[f]
		if !paired {
			f.state, f.changed = redoubt.Fixed, now
			a.event(f, "fixed")
			a.closed++
			continue
		}
		fresh = slices.DeleteFunc(fresh, func(other string) bool { return other == id })
		a.event(f, "moved")
		a.moved++
		f.take(u, now, id, seen, a)
		m.join(f, id)
	}
	for _, id := range fresh {
		m.add(s, u, now, id, seen[id])
		a.fresh++
	}
	m.reopen(back)
	a.idle = a.distinct - a.fresh - a.returned - a.moved
}

func (a *modelAnswer) event(f *modelFinding, kind string) {
	a.events = append(a.events, fmt.Sprint(f.serial, " ", kind))
}

// take makes a finding what a sighting says.
func (f *modelFinding) take(u Upload, now time.Time, id string, seen map[string]modelSighting, a *modelAnswer) {
	before := f.state
	f.identity, f.modelSighting, f.seenByFull = id, seen[id], f.seenByFull || u.Full
	if before != f.state {
		f.changed = now
	}
	if f.state == redoubt.Muted && before != redoubt.Muted {
		a.event(f, "muted")
	}
	if f.state == redoubt.Unresolved && before == redoubt.Muted {
		a.event(f, "unmuted")
	}
}

func (m *model) add(s *modelStream, u Upload, now time.Time, id string, seen modelSighting) {
	m.born++
	if m.lineages[id] == nil {
		m.lineages[id] = &modelLineage{born: m.born, from: m.born, triage: redoubt.TriageUntriaged}
	}
	s.findings = append(s.findings, &modelFinding{
		serial: m.born, identity: id, lineage: m.lineages[id], modelSighting: seen,
		created: now, since: now, seenByFull: u.Full,
	})
}

// deleteRef takes a ref out of the scope, and forgets its commits.
func (m *model) deleteRef(ref string, now time.Time) {
	for _, s := range m.streams {
		if s.ref != ref {
			continue
		}
		s.last, s.commits = "", nil
		for _, f := range s.findings {
			if f.state != redoubt.StateRemoved {
				f.state, f.changed = redoubt.StateRemoved, now
			}
		}
	}
}

// reopen takes what people were at from findings that came back.
func (m *model) reopen(back []*modelFinding) {
	for _, f := range back {
		if l := f.lineage; f.state == redoubt.Unresolved && (l.triage == redoubt.TriageReviewing || l.triage == redoubt.TriageFixing) {
			l.triage, l.human = redoubt.TriageReopened, false
		}
	}
	for _, l := range m.lineages {
		l.from = l.born
	}
}

// join puts an identity into the lineage of a finding, and makes one of the two
// lineages where it has one already.
func (m *model) join(f *modelFinding, id string) {
	other := m.lineages[id]
	if other == nil {
		m.lineages[id] = f.lineage
	}
	if other == nil || other == f.lineage {
		return
	}
	stays, goes := f.lineage, other
	if goes.born < stays.born {
		stays, goes = goes, stays
	}
	better := modelWeight(goes) - modelWeight(stays)
	if better > 0 || better == 0 && goes.from < stays.from {
		stays.triage, stays.human, stays.from = goes.triage, goes.human, goes.from
	}
	for id, l := range m.lineages {
		if l == goes {
			m.lineages[id] = stays
		}
	}
	for _, s := range m.streams {
		for _, f := range s.findings {
			if f.lineage == goes {
				f.lineage = stays
			}
		}
	}
}

func modelWeight(l *modelLineage) int {
	switch {
	case l.triage == redoubt.TriageUntriaged:
		return 0
	case l.human:
		return 2
	}
	return 1
}

// modelLooked: the rule ran, and the path was searched or is gone.
func modelLooked(u Upload, f *modelFinding) bool {
	_, seen := modelRules(u)[f.rule]
	ran := u.Report.RulesRun == nil && (u.DeclaredFull || u.Report.Searched != nil) || u.Report.RulesRun != nil && seen
	told := u.Report.Searched != nil || u.DeclaredFull
	return ran && told && !slices.Contains(u.Report.Skipped, f.path)
}

func modelRules(u Upload) map[string]bool {
	out := map[string]bool{}
	for _, r := range u.Report.RulesRun {
		out[r] = true
	}
	for _, r := range u.Report.Results {
		out[r.Rule.Name] = true
	}
	return out
}

func modelGone(u Upload, path string) bool {
	return !slices.Contains(u.Report.Searched, path) && !slices.Contains(u.Report.Skipped, path) &&
		!slices.ContainsFunc(u.Report.Results, func(r redoubt.Result) bool { return r.Path == path })
}

// modelPairs: what agrees in rule, code and path (its rule's text changed), then
// in a full scan in rule, code and pattern where the path is gone (it moved).
func modelPairs(u Upload, closing []*modelFinding, fresh []string, seen map[string]modelSighting) map[*modelFinding]string {
	pairs := map[*modelFinding]string{}
	used := map[string]bool{}
	pass := func(alike func(a, b modelSighting) bool, from func(f *modelFinding) bool) {
		found := map[*modelFinding]string{}
		for _, f := range closing {
			if f.code == "" || !from(f) || pairs[f] != "" {
				continue
			}
			var olds []*modelFinding
			for _, g := range closing {
				if pairs[g] == "" && from(g) && alike(f.modelSighting, g.modelSighting) {
					olds = append(olds, g)
				}
			}
			var news []string
			for _, id := range fresh {
				if !used[id] && alike(f.modelSighting, seen[id]) {
					news = append(news, id)
				}
			}
			if len(olds) != len(news) {
				continue
			}
			slices.SortFunc(olds, func(a, b *modelFinding) int {
				return cmp.Or(strings.Compare(a.path, b.path), a.line-b.line, a.serial-b.serial)
			})
			slices.SortStableFunc(news, func(a, b string) int {
				return cmp.Or(strings.Compare(seen[a].path, seen[b].path), seen[a].line-seen[b].line)
			})
			found[f] = news[slices.Index(olds, f)]
		}
		for f, id := range found {
			pairs[f], used[id] = id, true
		}
	}
	always := func(*modelFinding) bool { return true }
	pass(func(a, b modelSighting) bool { return a.rule == b.rule && a.code == b.code && a.path == b.path }, always)
	if u.Full {
		gone := func(f *modelFinding) bool { return modelGone(u, f.path) }
		pass(func(a, b modelSighting) bool { return a.rule == b.rule && a.code == b.code && a.pattern == b.pattern }, gone)
	}
	return pairs
}

// modelSightings names what a report sees, by identity, and the identities in
// the order of position.
func modelSightings(u Upload) (map[string]modelSighting, []string) {
	results := slices.Clone(u.Report.Results)
	slices.SortStableFunc(results, func(a, b redoubt.Result) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Location.Line-b.Location.Line, a.Location.Column-b.Location.Column,
			strings.Compare(a.Rule.Name, b.Rule.Name), strings.Compare(a.Message, b.Message), strings.Compare(a.MatchBasedID, b.MatchBasedID))
	})
	seen, order, told := map[string]modelSighting{}, []string{}, map[string]string{}
	for _, r := range results {
		said := r
		said.Muted = false
		id, again := told[modelResult(said)]
		if !again {
			key, numbered := modelIdentity(u, r)
			id = key
			for n := 1; numbered && slices.Contains(order, id); n++ {
				id = fmt.Sprint(key, "#", n)
			}
			told[modelResult(said)] = id
		}
		before, known := seen[id]
		if !known {
			order = append(order, id)
		}
		if !known || before.state == redoubt.Muted && !r.Muted {
			seen[id] = modelSee(r)
		}
	}
	return seen, order
}

func modelSee(r redoubt.Result) modelSighting {
	s := modelSighting{rule: r.Rule.Name, path: r.Path, line: r.Location.Line, state: redoubt.Unresolved, code: r.Code, pattern: r.PatternHash}
	if r.Muted {
		s.state = redoubt.Muted
	}
	switch {
	case r.Secret != nil:
		s.code = strings.Trim(fmt.Sprint(r.Secret.Hash[0]), "0")
	case r.CodeHash != "":
		s.code = "hash " + r.CodeHash
	case r.Dependency != nil:
		s.code = "package " + r.Dependency.Package
	}
	return s
}

// modelIdentity: kinds never mix, so each key starts with its kind. Keys that
// repeat in a report are numbered, but for those whose nature it is to repeat.
func modelIdentity(u Upload, r redoubt.Result) (key string, numbered bool) {
	tool := strings.Fields(newModel().stream(u).source + ":")[0]
	tool, _, _ = strings.Cut(tool, ":")
	place := fmt.Sprint(r.Rule.Name, " ", r.Path, " ")
	switch {
	case r.Secret != nil && r.Secret.Hash != redoubt.Digest{}:
		return fmt.Sprint("secret ", place, r.Secret.Hash), false
	case r.MatchBasedID != "":
		return "match " + r.MatchBasedID, true
	case r.Secret != nil:
		return "redacted " + place, true
	case r.Dependency != nil:
		return fmt.Sprint("dependency ", r.Rule.Name, " ", r.Dependency.Lockfile, " ", r.Dependency.Package), false
	case r.Fingerprint != "":
		return fmt.Sprint("tool ", tool, " ", place, r.Fingerprint), true
	case r.Code != "":
		return fmt.Sprint("own ", tool, " ", place, r.Code), true
	}
	return fmt.Sprint("said ", tool, " ", place, r.Message), true
}

// modelText says everything that an upload means.
func modelText(u Upload) string {
	var results []string
	for _, r := range u.Report.Results {
		results = append(results, modelResult(r))
	}
	slices.Sort(results)
	r := u.Report
	return fmt.Sprint(u.Commit, u.Full, u.DeclaredFull, r.Failed, r.StartedAt.UnixMicro(), r.RulesRun == nil, r.Searched == nil,
		slices.Sorted(slices.Values(r.RulesRun)), slices.Sorted(slices.Values(r.Searched)), slices.Sorted(slices.Values(r.Skipped)), results)
}

func modelResult(r redoubt.Result) string {
	text := fmt.Sprint(r.Rule.Name, r.Path, r.Location, r.Message, r.MatchBasedID, r.Fingerprint, r.CodeHash, r.PatternHash, r.Code, r.Muted)
	if r.Secret != nil {
		text += fmt.Sprint(" secret ", r.Secret.Hash)
	}
	if r.Dependency != nil {
		text += fmt.Sprint(" dependency ", *r.Dependency)
	}
	return text
}
