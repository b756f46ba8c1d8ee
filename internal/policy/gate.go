package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// Sighting is a finding that a scan reports, as the gate sees it.
type Sighting struct {
	Finding      model.Finding
	MatchBasedID string // the scanner's own; empty for secrets
	Triage       model.TriageState
	Known        bool // the primary branch had it before the scan
	Unrated      bool // by the scanner, for which the advisories may rate it
	Supply       model.SupplyFacts
	Condition    string           // of a policy, that holds for it; empty where a rule fails the build on it
	Mode         model.PolicyMode // of the condition
	PolicyID     int64            // that has the rule in mode block, or the condition
	// Proposed says that it is muted, if it is, by what was known of it and not by
	// this report (docs/reference/uploads.md): a scan that counts tells.
	Proposed bool
	Advised  bool           // it is the advisories', and no scanner's
	told     model.Identity // by the scan, where it is stored under another one
	copied   bool           // it is a copy of what its lineage is about
	again    bool           // of a stored scan: a new one would not report it on an excluded path
}

// maxNamed is how many findings a reason names.
const maxNamed = 5

// counts holds the conditions that a finding must meet to block at all. Of
// dependencies, only those that code reaches do, and not what only something
// deep down should upgrade.
func counts(s *Sighting) bool {
	return s.Finding.State == model.Unresolved && s.Triage != model.TriageIgnored && reached(&s.Finding)
}

// reason names the worst first, which it sorts to the front.
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

// tally counts what is new, and what is not.
func tally(blocking []Sighting) string {
	old := 0
	for i := range blocking {
		if blocking[i].Known {
			old++
		}
	}
	why := kinds(blocking)
	if old == 0 {
		return fmt.Sprintf("%d new of %s", len(blocking), why)
	}
	return fmt.Sprintf("%d of %s, %d of them known, in a policy that blocks all", len(blocking), why, old)
}

func reached(f *model.Finding) bool {
	if f.IssueType != model.SCA {
		return true
	}
	deep := f.Reachability == model.AlwaysReachable && f.Transitivity == model.Transitive && !f.Malicious
	return !deep && (f.Reachability == model.Reachable || f.Reachability == model.AlwaysReachable)
}

// PrimaryAfter is the primary branch as it is once the scan is applied: the
// first branch fully scanned, by a run that counts and did not fail, becomes it (docs/reference/projects.md).
func PrimaryAfter(p model.Project, scan model.Scan) string {
	if p.PrimaryBranch == "" && p.DefaultBranch == "" && scan.Full && scan.Status != model.ScanError &&
		!scan.Outcome.Recorded() && strings.HasPrefix(scan.Ref, "refs/heads/") {
		return scan.Ref
	}
	return p.Primary()
}
