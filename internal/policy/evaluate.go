package policy

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
)

// Findings are what a scan reported, with the facts that policies compare.
type Findings struct {
	Ref     string // in full
	Primary bool   // the ref is the primary branch
	First   bool   // the scan is the first full one of the primary branch
	Outcome model.ScanOutcome
	List    []Sighting
}

// Outcome is what a policy does about findings.
type Outcome struct {
	Verdict
	Policy EffectivePolicy // on the ref
	Judged []Sighting      // the findings without those on excluded paths
}

// Verdict is what the gate answers.
type Verdict struct {
	Blocking []Sighting
	// Noted are those that a condition holds for which fails no build: comment
	// shows them, monitor records them.
	Noted  []Sighting
	Reason string // for people; empty when nothing blocks
}

// Evaluate decides which findings fail a build: those of blocking rules, or that match a
// blocking condition (condition.go), that are not ignored and that the primary branch does
// not have. The first scan of the primary branch never blocks. A policy that blocks all
// skips the last two.
//
// A scan of the primary branch that was recorded only fails no build, since a
// newer one has spoken of it. On any other branch it is judged as the commit that
// it is: who sets the branch back to that commit may merge it, and a machine whose
// clock is behind makes late what is the newest.
func Evaluate(f Findings, p EffectivePolicy) Outcome {
	p = p.On(f.Ref)
	out := Outcome{Policy: p}
	passes := f.Primary && f.Outcome.Recorded()
	for _, s := range f.List {
		if s.again && p.Excluded(s.Finding.IssueType, s.Finding.Path) {
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

// modeOf returns the mode that a finding has at the gate, and stores its policy and
// condition in the sighting. It is 0 where neither rule nor condition apply.
func (e EffectivePolicy) modeOf(s *Sighting, fresh bool) model.PolicyMode {
	stance := e.RuleMode(s.Finding.RuleName)
	if stance.Mode == model.ModeBlock && counts(s) && (fresh || stance.BlockAll) {
		s.PolicyID = stance.PolicyID
		return model.ModeBlock
	}
	return e.condition(s, fresh)
}

// Recorded says to people why a scan was recorded only; it is empty for one that
// counts.
func Recorded(outcome model.ScanOutcome) string {
	switch outcome {
	case model.ScanLate:
		return "A scan of this branch that started later counts already, so this one is recorded and changes no finding."
	case model.ScanSuperseded:
		return "The branch had this commit before and others since, as in a re-run of an old pipeline, so this scan is " +
			"recorded and changes no finding."
	}
	return ""
}

// Record is the verdict as it is kept with its scan; nil where nothing blocks.
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

// Reevaluate evaluates the policies of now, as if a stored scan ran again and found the same.
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

// StoredFindings reads the facts about the findings of a stored scan, as if it ran again
// and found the same. The policies are those that are to be evaluated. Of a scan that is
// recorded only, what the advisories said of its lockfiles is among what it reported.
func StoredFindings(ctx context.Context, s GateStorage, project model.Project, scan model.Scan,
	reported []model.Finding, policies ...EffectivePolicy,
) (Findings, error) {
	var own, advised []Sighting
	for _, f := range reported {
		f.State = model.Unresolved // as the scan saw it, and would again
		one := Sighting{Finding: f, again: true}
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
