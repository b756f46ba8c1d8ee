package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Sighting is a finding reported by a scan, with the facts for the gate.
type Sighting struct {
	Finding      model.Finding
	MatchBasedID string // from the scanner; empty for secrets
	Triage       model.TriageState
	Known        bool // on the primary branch before the scan
	Unrated      bool // by the scanner; advisories may provide a severity
	Supply       model.SupplyFacts
	Condition    string           // matching condition of a policy; empty if a rule fails the build
	Mode         model.PolicyMode // of the condition
	PolicyID     int64            // policy with the condition, or with the rule in mode block
	// Proposed means that a muted finding was muted by existing data and not by this report
	// (docs/reference/uploads.md). An applied scan sets this.
	Proposed bool
	Advised  bool           // from advisories, not from a scanner
	reported model.Identity // reported identity, if it is stored under another one
	copied   bool           // a copy of the finding of its lineage
	stored   bool           // from a stored scan: a new scan would not report it on an excluded path
}

// maxNamed is the maximum number of findings in a reason.
const maxNamed = 5

// counts reports whether a finding can block: it is unresolved, not ignored and, for a dependency,
// reached by code. See reached.
func counts(s *Sighting) bool {
	return s.Finding.State == model.Unresolved && s.Triage != model.TriageIgnored && reached(&s.Finding)
}

// reason returns a message that names the most severe findings. It sorts blocking by severity.
func reason(blocking []Sighting) string {
	slices.SortStableFunc(blocking, func(a, b Sighting) int { return int(b.Finding.Severity) - int(a.Finding.Severity) })
	var named []string
	for _, s := range blocking[:min(len(blocking), maxNamed)] {
		named = append(named, s.name())
	}
	text := fmt.Sprintf("Redoubt blocks this build: %s: %s", tally(blocking), strings.Join(named, ", "))
	if more := len(blocking) - len(named); more > 0 {
		text += fmt.Sprintf(" and %d more", more)
	}
	return text + ". Fix them, or ignore them in Redoubt and scan again."
}

// tally describes the number of new and known findings.
func tally(blocking []Sighting) string {
	old := 0
	for i := range blocking {
		if blocking[i].Known {
			old++
		}
	}
	noun := "findings"
	if len(blocking) == 1 {
		noun = "finding"
	}
	why := kinds(blocking)
	if old == 0 {
		return fmt.Sprintf("%d new %s of %s", len(blocking), noun, why)
	}
	return fmt.Sprintf("%d %s of %s, %d known; the policy blocks known findings too", len(blocking), noun, why, old)
}

func reached(f *model.Finding) bool {
	if f.IssueType != model.SCA {
		return true
	}
	deep := f.Reachability == model.AlwaysReachable && f.Transitivity == model.Transitive && !f.Malicious
	return !deep && (f.Reachability == model.Reachable || f.Reachability == model.AlwaysReachable)
}

// PrimaryAfter returns the primary branch after the scan is applied. The branch of the first full
// scan that is applied and did not fail becomes the primary branch (docs/reference/projects.md).
func PrimaryAfter(p model.Project, scan model.Scan) string {
	if p.PrimaryBranch == "" && p.DefaultBranch == "" && scan.Full && scan.Status != model.ScanError &&
		!scan.Outcome.Recorded() && strings.HasPrefix(scan.Ref, "refs/heads/") {
		return scan.Ref
	}
	return p.Primary()
}
