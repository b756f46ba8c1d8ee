package policy

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

// Findings contains the reported findings of a scan with the facts that policies use.
type Findings struct {
	Ref     string // full name
	Primary bool   // the ref is the primary branch
	First   bool   // the scan is the first full scan of the primary branch
	Outcome model.ScanOutcome
	List    []Sighting
}

// Outcome is the result of evaluating a policy.
type Outcome struct {
	Verdict
	Policy EffectivePolicy // for the ref
	Judged []Sighting      // the findings except those on excluded paths
}

// Verdict is the result of the gate.
type Verdict struct {
	Blocking []Sighting
	// Noted contains findings that match a non-blocking condition: comment shows them, monitor
	// records them.
	Noted  []Sighting
	Reason string // message; empty if nothing blocks
}

// Evaluate determines the findings that fail a build. A finding must match a blocking rule or
// condition and not be ignored. Findings that the primary branch has do not block, and neither do
// those of the first scan of the primary branch, except with BlockAll.
//
// A scan of the primary branch that was only recorded does not fail a build, because a newer scan
// covers the branch. A recorded scan of another branch is evaluated for its commit. The branch
// could be reset to this commit and merged, and a wrong clock can make the newest scan appear late.
func Evaluate(f Findings, p EffectivePolicy) Outcome {
	p = p.On(f.Ref)
	out := Outcome{Policy: p}
	passes := f.Primary && f.Outcome.Recorded()
	for _, s := range f.List {
		if s.stored && p.Excluded(s.Finding.IssueType, s.Finding.Path) {
			continue
		}
		out.Judged = append(out.Judged, s)
		if passes {
			continue
		}
		switch p.modeOf(&s, !s.Known && !f.First) {
		case model.ModeBlock:
			out.Blocking = append(out.Blocking, s)
		case model.ModeComment, model.ModeMonitor:
			out.Noted = append(out.Noted, s)
		}
	}
	if len(out.Blocking) == 0 {
		return out
	}
	out.Reason = reason(out.Blocking)
	if f.Outcome.Recorded() {
		out.Reason = Recorded(f.Outcome) + " " + out.Reason
	}
	return out
}

// modeOf returns the mode of a finding at the gate, and stores its policy and condition in the
// sighting. It returns 0 if no blocking rule and no condition apply.
func (e EffectivePolicy) modeOf(s *Sighting, fresh bool) model.PolicyMode {
	stance := e.RuleMode(s.Finding.RuleName)
	if stance.Mode == model.ModeBlock && counts(s) && (fresh || stance.BlockAll) {
		s.PolicyID = stance.PolicyID
		return model.ModeBlock
	}
	return e.condition(s, fresh)
}

// Recorded returns a message about why a scan was only recorded, or "" if it was applied.
func Recorded(outcome model.ScanOutcome) string {
	switch outcome {
	case model.ScanLate:
		return "A later scan of this branch was already applied. This scan is recorded and changes no finding."
	case model.ScanSuperseded:
		return "Newer commits of this branch were scanned, as in a re-run of an old pipeline. This scan is " +
			"recorded and changes no finding."
	}
	return ""
}

// Record returns the verdict for storage with its scan, or nil if nothing blocks.
func (v Verdict) Record() *model.ScanGate {
	if len(v.Blocking) == 0 {
		return nil
	}
	gate := &model.ScanGate{Reason: v.Reason}
	for i := range v.Blocking {
		s := &v.Blocking[i]
		f := &s.Finding
		gate.Blocking = append(gate.Blocking, model.Blocked{
			FindingID: f.ID, IssueType: f.IssueType, Severity: f.Severity, Rule: f.RuleName, Path: f.Path, Line: f.Line,
			PolicyID: s.PolicyID, Condition: s.Condition, Known: s.Known,
		})
	}
	return gate
}

// Reevaluate evaluates the current policies as if a stored scan were repeated with the same
// results.
func Reevaluate(ctx context.Context, s GateStorage, project model.Project, scan model.Scan,
	reported []model.Finding,
) (Outcome, error) {
	effective, err := LoadEffectivePolicy(ctx, s, project)
	if err != nil {
		return Outcome{}, err
	}
	f, err := StoredFindings(ctx, s, project, scan, reported, effective)
	if err != nil {
		return Outcome{}, err
	}
	return Evaluate(f, effective), nil
}

// StoredFindings returns the findings of a stored scan with their facts, as if it were repeated
// with the same results. policies are those to be evaluated. For a scan that was only recorded,
// reported must include the findings of advisories for its lockfiles.
func StoredFindings(ctx context.Context, s GateStorage, project model.Project, scan model.Scan,
	reported []model.Finding, policies ...EffectivePolicy,
) (Findings, error) {
	var own, advised []Sighting
	for _, f := range reported {
		f.State = model.Unresolved // the state that the scan reported
		one := Sighting{Finding: f, stored: true}
		if f.Source == model.SourceAdvisories {
			advised = append(advised, one)
		} else {
			own = append(own, one)
		}
	}
	judge, err := newJudge(ctx, s, project, scan, own, policies...)
	if err != nil {
		return Findings{}, err
	}
	judge.Advise(advised)
	return judge.findings(ctx, scan.Outcome)
}
