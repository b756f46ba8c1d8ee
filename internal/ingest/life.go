package ingest

import "github.com/redoubt/redoubt/internal/model"

// Scope is where a scan looked: what it may close (docs/explanation/life-of-a-finding.md).
type Scope struct {
	Full bool
	// Declared says that the report asserts all of its source, where it does
	// not tell where it looked.
	Declared bool
	Failed   bool // closes nothing

	hidesMuted bool

	rules, searched, skipped map[string]bool         // nil: not told
	partial                  map[string][]model.Span // of searched files: lines that no rule saw but those of plain
	plain                    map[string]bool         // rules that parse nothing
	unresolved               map[string]bool         // lockfiles and manifests: they hide dependencies, no code
	outOfPolicy              func(rule, path string) bool
	// unread are the places of results that could not be taken: what stands
	// there was seen, so it stays as it is.
	unread map[place]bool
	// judge decides in place of all the others, where it is known finding by
	// finding why it is absent.
	judge func(*model.Finding) model.State
}

// place is a file and the rule that looked at it.
type place struct{ rule, path string }

// scopeOf reads the scope of an upload. A rule that reports ran, and a path with
// a result was searched, whatever the lists say.
func scopeOf(u *Upload, sightings []Sighting) Scope {
	s := Scope{
		Full: u.Full, Declared: u.DeclaredFull, Failed: u.Report.Failed, outOfPolicy: u.OutOfPolicy,
		rules: set(u.Report.RulesRun), searched: set(u.Report.Searched),
		skipped: set(u.Report.Skipped), unresolved: set(u.Report.Unresolved),
		unread: map[place]bool{}, hidesMuted: u.Report.HidesMuted, plain: u.plain,
	}
	for i := range u.Report.Results {
		if r := &u.Report.Results[i]; r.Rule != nil && refusal(r) != "" {
			s.unread[place{r.Rule.Name, r.Path}] = true
		}
	}
	for i := range sightings {
		f := &sightings[i].Finding
		if s.rules != nil {
			s.rules[f.RuleName] = true
		}
		if s.searched != nil {
			s.searched[f.Path] = true
		}
	}
	if s.searched == nil && s.Declared {
		s.searched = map[string]bool{}
		for i := range sightings {
			s.searched[sightings[i].Finding.Path] = true
		}
	}
	s.takePartial(u.Report.Partial)
	return s
}

func set(list []string) map[string]bool {
	if list == nil {
		return nil
	}
	out := make(map[string]bool, len(list))
	for _, s := range list {
		out[s] = true
	}
	return out
}

// absentState decides what becomes of a live finding that the scan did not report:
// Fixed, StateRemoved, or its state as it is.
//
// A skipped path closes nothing even if it is also among the searched ones:
// scanners list a file there on which they gave up.
func (s Scope) absentState(f *model.Finding) model.State {
	switch {
	case s.judge != nil:
		return s.judge(f)
	case s.Failed:
		return f.State
	case s.Full && s.outOfPolicy != nil && s.outOfPolicy(f.RuleName, f.Path):
		return model.StateRemoved
	case !s.Full && f.SeenByFull, s.unread[place{f.RuleName, f.Path}]:
		return f.State
	case f.State == model.Muted && s.hidesMuted && !s.isGone(f.Path):
		return f.State
	case s.ruleRan(f.RuleName) && s.lookedFor(f):
		return model.Fixed
	}
	return f.State
}

// coverage says how much of a file the scan could read for a rule.
func (s Scope) coverage(rule, path string) model.Coverage {
	if s.Failed || s.skipped[path] || s.partial[path] != nil || s.unread[place{rule, path}] {
		return model.CoveragePartial
	}
	return model.CoverageWhole
}

// coverageNow is the coverage of a finding that the scan sees. Of what full scans saw, only
// they tell it: where a diff scan sees what they closed, the last of them did not see it.
func (s Scope) coverageNow(was, now *model.Finding) model.Coverage {
	switch {
	case s.Full || !was.SeenByFull:
		return s.coverage(now.RuleName, now.Path)
	case live(was.State):
		return was.Coverage
	}
	return model.CoverageMissed
}

// counted reports whether the last scan of this kind, full or diff, which looked where a
// finding is saw it, and what is like it, in as much of the file as this one. What a full
// scan ever saw no diff scan counts: its base may have it by now.
func (s Scope) counted(f *model.Finding) bool {
	return live(f.State) && f.Coverage == s.coverage(f.RuleName, f.Path) && f.SeenByFull == s.Full
}

// misses reports whether the scan may have looked for a live finding that it did not
// report and does not close. What a report hides because it is muted it does not miss.
func (s Scope) misses(f *model.Finding) bool {
	switch {
	case s.judge != nil, f.Package != "", !s.Full && f.SeenByFull, f.State == model.Muted && s.hidesMuted:
		return false
	}
	return (s.rules == nil || s.rules[f.RuleName]) &&
		(s.Failed || s.searched == nil || s.searched[f.Path] || s.skipped[f.Path])
}

// ruleRan reports whether the rule ran. A report that tells the paths it
// searched and no rules says that it searched them for all it knows.
func (s Scope) ruleRan(rule string) bool {
	if s.rules == nil {
		return s.Declared || s.searched != nil
	}
	return s.rules[rule]
}

// lookedFor reports whether the finding's path was searched or is gone, and its line could
// be parsed; of a finding about a dependency, whether the file was read for dependencies.
func (s Scope) lookedFor(f *model.Finding) bool {
	return s.wasSearched(f.Path) && !s.unparsed(f) && (f.IssueType != model.SCA || !s.unresolved[f.Path])
}

// wasSearched reports whether the path was searched or is gone.
func (s Scope) wasSearched(path string) bool { return s.searched != nil && !s.skipped[path] }

// isGone reports whether the path is in neither list.
func (s Scope) isGone(path string) bool { return s.wasSearched(path) && !s.searched[path] }

func live(state model.State) bool { return state == model.Unresolved || state == model.Muted }

// markMissed marks live findings that the scan missed where it looked, so that results
// without code do not continue them (docs/explanation/identity.md).
func (p *planner) markMissed(staying []*model.Finding) {
	for _, row := range staying {
		if row.Coverage != model.CoverageMissed && p.Scope.misses(row) {
			next := *row
			next.Coverage = model.CoverageMissed
			p.changes.Updated = append(p.changes.Updated, model.FindingWrite{Finding: next})
		}
	}
}
