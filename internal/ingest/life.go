package ingest

import "github.com/redoubt/redoubt/internal/model"

// Scope describes the coverage of a scan, which determines the findings it may close
// (docs/explanation/life-of-a-finding.md).
type Scope struct {
	Full bool
	// Declared asserts that a report without searched paths covers all of its source.
	Declared bool
	Failed   bool // closes nothing

	hidesMuted bool

	rules, searched, skipped map[string]bool         // nil if the report has no such list
	partial                  map[string][]model.Span // of searched files: lines that only the rules in plain could read
	plain                    map[string]bool         // rules that parse nothing
	unresolved               map[string]bool         // lockfiles and manifests: dependencies are unknown, code is not
	outOfPolicy              func(rule, path string) bool
	// unread contains the places of refused results. Findings there were seen, so they do not
	// change.
	unread map[scannedFile]bool
	// judge replaces all other criteria if the reason for each absence is known.
	judge func(*model.Finding) model.State
}

// scannedFile is a file and the rule that scanned it.
type scannedFile struct{ rule, path string }

// scopeOf returns the scope of an upload. Reported rules count as run, and paths with results as
// searched, regardless of the report's lists.
func scopeOf(u *Upload, sightings []Sighting) Scope {
	s := Scope{
		Full: u.Full, Declared: u.DeclaredFull, Failed: u.Report.Failed, outOfPolicy: u.OutOfPolicy,
		rules: set(u.Report.RulesRun), searched: set(u.Report.Searched),
		skipped: set(u.Report.Skipped), unresolved: set(u.Report.Unresolved),
		unread: map[scannedFile]bool{}, hidesMuted: u.Report.HidesMuted, plain: u.plain,
	}
	for i := range u.Report.Results {
		if r := &u.Report.Results[i]; r.Rule != nil && refusal(r) != "" {
			s.unread[scannedFile{r.Rule.Name, r.Path}] = true
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
	s.addPartial(u.Report.Partial)
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

// absentState returns the new state of a live finding that the scan did not report: Fixed,
// StateRemoved, or its current state.
//
// A skipped path closes nothing even if it is also among the searched ones, because scanners also
// list files there that they failed to scan.
func (s Scope) absentState(f *model.Finding) model.State {
	switch {
	case s.judge != nil:
		return s.judge(f)
	case s.Failed:
		return f.State
	case s.Full && s.outOfPolicy != nil && s.outOfPolicy(f.RuleName, f.Path):
		return model.StateRemoved
	case !s.Full && f.SeenByFull, s.unread[scannedFile{f.RuleName, f.Path}]:
		return f.State
	case f.State == model.Muted && s.hidesMuted && !s.isGone(f.Path):
		return f.State
	case s.ruleRan(f.RuleName) && s.lookedFor(f):
		return model.Fixed
	}
	return f.State
}

// coverage returns how much of a file the scan could read for a rule.
func (s Scope) coverage(rule, path string) model.Coverage {
	if s.Failed || s.skipped[path] || s.partial[path] != nil || s.unread[scannedFile{rule, path}] {
		return model.CoveragePartial
	}
	return model.CoverageFull
}

// coverageNow returns the coverage of a finding that the scan reports. For findings seen by full
// scans, only full scans update it. If a diff scan reports a closed one, the last full scan missed
// it.
func (s Scope) coverageNow(was, now *model.Finding) model.Coverage {
	switch {
	case s.Full || !was.SeenByFull:
		return s.coverage(now.RuleName, now.Path)
	case live(was.State):
		return was.Coverage
	}
	return model.CoverageMissed
}

// counted reports whether the last scan of the same kind, full or diff, saw a finding with the same
// coverage. Findings ever seen by a full scan are never counted for diff scans, because the base of
// the diff may contain them.
func (s Scope) counted(f *model.Finding) bool {
	return live(f.State) && f.Coverage == s.coverage(f.RuleName, f.Path) && f.SeenByFull == s.Full
}

// misses reports whether the scan may have looked for a live finding that it neither reported nor
// closes. Muted findings that a report omits are not missed.
func (s Scope) misses(f *model.Finding) bool {
	switch {
	case s.judge != nil, f.Package != "", !s.Full && f.SeenByFull, f.State == model.Muted && s.hidesMuted:
		return false
	}
	return (s.rules == nil || s.rules[f.RuleName]) &&
		(s.Failed || s.searched == nil || s.searched[f.Path] || s.skipped[f.Path])
}

// ruleRan reports whether the rule ran. A report with searched paths and no rules is assumed to
// have run all rules.
func (s Scope) ruleRan(rule string) bool {
	if s.rules == nil {
		return s.Declared || s.searched != nil
	}
	return s.rules[rule]
}

// lookedFor reports whether the finding's path was searched or removed, and its line could be
// parsed. For dependency findings, the file must have been read for dependencies.
func (s Scope) lookedFor(f *model.Finding) bool {
	return s.wasSearched(f.Path) && !s.unparsed(f) && (f.IssueType != model.SCA || !s.unresolved[f.Path])
}

// wasSearched reports whether the path was searched or removed.
func (s Scope) wasSearched(path string) bool { return s.searched != nil && !s.skipped[path] }

// isGone reports whether the path was removed: it is neither searched nor skipped.
func (s Scope) isGone(path string) bool { return s.wasSearched(path) && !s.searched[path] }

func live(state model.State) bool { return state == model.Unresolved || state == model.Muted }

// markMissed marks live findings that the scan missed in searched places. Results without code then
// do not continue them (docs/explanation/identity.md).
func (p *planner) markMissed(staying []*model.Finding) {
	for _, row := range staying {
		if row.Coverage != model.CoverageMissed && p.Scope.misses(row) {
			next := *row
			next.Coverage = model.CoverageMissed
			p.changes.Updated = append(p.changes.Updated, model.FindingWrite{Finding: next})
		}
	}
}
