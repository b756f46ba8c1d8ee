package policy

import (
	"context"
	"slices"

	"github.com/redoubt/redoubt"
)

// Record is the verdict as it is kept with its scan; nil where nothing blocks.
func (v Verdict) Record() *redoubt.ScanGate {
	if len(v.Blocking) == 0 {
		return nil
	}
	gate := &redoubt.ScanGate{Reason: v.Reason}
	for i := range v.Blocking {
		s := &v.Blocking[i]
		f := &s.Finding
		gate.Blocking = append(gate.Blocking, redoubt.Blocked{
			FindingID: f.ID, IssueType: f.IssueType, Severity: f.Severity, Rule: f.RuleName, Path: f.Path, Line: f.Line,
			PolicyID: s.PolicyID, Condition: s.Condition, Known: s.Known,
		})
	}
	return gate
}

// Rerun is what the gate would say to a scan if it ran again now and found the
// same.
type Rerun struct {
	Verdict
	Policy EffectivePolicy // on the scan's ref
	// Judged has what the gate looked at, by the ids of the findings. What no
	// policy would block on anyway is not in it.
	Judged map[int64]Sighting
}

// Reevaluate judges a scan that was applied once more: the findings that it
// reported by the policies, the triage and the primary branch of now, as Judge
// does with a scan that comes in. Of one that is recorded only, what the advisories
// said of its lockfiles is among what it reported.
func Reevaluate(ctx context.Context, s GateStorage, project redoubt.Project, scan redoubt.Scan, reported []redoubt.Finding) (Rerun, error) {
	effective, err := LoadEffectivePolicy(ctx, s, project)
	if err != nil {
		return Rerun{}, err
	}
	out := Rerun{Policy: effective.On(scan.Ref), Judged: map[int64]Sighting{}}
	// Scanners are not served what is excluded by now.
	reported = slices.DeleteFunc(slices.Clone(reported), func(f redoubt.Finding) bool { return effective.Excluded(f.IssueType, f.Path) })
	var sightings, advised []Sighting
	for _, f := range reported {
		f.State = redoubt.Unresolved // as the scan saw it, and would again
		if f.Source == redoubt.SourceAdvisories {
			advised = append(advised, Sighting{Finding: f})
		} else {
			sightings = append(sightings, Sighting{Finding: f})
		}
	}
	judge, err := effective.Judge(ctx, s, project, scan, sightings)
	if err != nil {
		return Rerun{}, err
	}
	judge.Advise(advised)
	judged, err := judge.facts(ctx, scan.Outcome)
	if err != nil {
		return Rerun{}, err
	}
	for i := range judged {
		out.Judged[judged[i].Finding.ID] = judged[i]
	}
	out.Verdict = judge.effective.Gate(judge.first, judged)
	return out, nil
}
