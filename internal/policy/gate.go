package policy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/redoubt/redoubt"
)

// Sighting is a finding that a scan reports, as the gate sees it.
type Sighting struct {
	Finding      redoubt.Finding
	MatchBasedID string // the scanner's own; empty for secrets
	Triage       redoubt.TriageState
	Known        bool // the primary branch had it before the scan
}

// Verdict is what the gate answers.
type Verdict struct {
	Blocking []Sighting
	Reason   string // for people; empty when nothing blocks
}

// Modes returns the mode of each rule that is served; the strictest of several
// wins (decisions §10).
func Modes(rules []redoubt.ServedRule) map[string]redoubt.PolicyMode {
	modes := make(map[string]redoubt.PolicyMode, len(rules))
	for _, r := range rules {
		modes[r.Rule.Name] = max(modes[r.Rule.Name], r.Mode)
	}
	return modes
}

// maxNamed is how many findings a reason names.
const maxNamed = 5

// Gate decides whether a scan fails its build: on findings of blocking rules
// that the primary branch does not have and that nobody ignores. Of
// dependencies, only those that code reaches block, and not what only something
// deep down should upgrade. The first scan of the primary branch never blocks.
func Gate(modes map[string]redoubt.PolicyMode, firstOfPrimary bool, sightings []Sighting) Verdict {
	var v Verdict
	if firstOfPrimary {
		return v
	}
	for _, s := range sightings {
		if modes[s.Finding.RuleName] == redoubt.ModeBlock && !s.Known && s.Triage != redoubt.TriageIgnored &&
			s.Finding.State == redoubt.Unresolved && reached(&s.Finding) {
			v.Blocking = append(v.Blocking, s)
		}
	}
	if len(v.Blocking) == 0 {
		return v
	}
	slices.SortStableFunc(v.Blocking, func(a, b Sighting) int { return int(b.Finding.Severity) - int(a.Finding.Severity) })
	var named []string
	for _, s := range v.Blocking[:min(len(v.Blocking), maxNamed)] {
		named = append(named, fmt.Sprintf("%s at %s:%d", s.Finding.RuleName, s.Finding.Path, s.Finding.Line))
	}
	v.Reason = fmt.Sprintf("Redoubt blocks this build: %d new of blocking rules: %s", len(v.Blocking), strings.Join(named, ", "))
	if more := len(v.Blocking) - len(named); more > 0 {
		v.Reason += fmt.Sprintf(" and %d more", more)
	}
	v.Reason += ". Fix them, or ignore them in Redoubt and scan again."
	return v
}

func reached(f *redoubt.Finding) bool {
	if f.IssueType != redoubt.SCA {
		return true
	}
	deep := f.Reachability == redoubt.AlwaysReachable && f.Transitivity == redoubt.Transitive && !f.Malicious
	return !deep && (f.Reachability == redoubt.Reachable || f.Reachability == redoubt.AlwaysReachable)
}

// PrimaryAfter is the primary branch as it is once the scan is applied: the
// first branch fully scanned becomes it (decisions §7).
func PrimaryAfter(p redoubt.Project, scan redoubt.Scan) string {
	if p.PrimaryBranch == "" && p.DefaultBranch == "" && scan.Full && strings.HasPrefix(scan.Ref, "refs/heads/") {
		return scan.Ref
	}
	return p.Primary()
}
