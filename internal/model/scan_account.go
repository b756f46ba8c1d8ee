package model

// ScanAccount is what a scan says of itself beside its row: what it reported,
// what it did not look at, and what it failed its build on.
type ScanAccount struct {
	ScanID int64
	// Reported has the ids of the findings that it reported and that are not
	// muted in the code, ascending, each once. It is empty of a scan that was
	// recorded only.
	Reported []int64
	Gaps     []ScanGap // the first MaxScanGaps of them
	AllGaps  int       // how many there were
	// Gate is why the scan failed its build; nil where it did not.
	Gate *ScanGate
}

// MaxScanGaps bounds how many gaps of a scan are kept.
const MaxScanGaps = 2000

// Kinds of gaps.
const (
	GapPath     = "path"     // a file or folder that was skipped
	GapTimeout  = "timeout"  // a file that took a rule too long
	GapFailed   = "failed"   // a file that could not be read as what it is
	GapLockfile = "lockfile" // a lockfile that could not be read
	GapParse    = "parse"    // a language of which the scanner could not parse all; where, it does not say
	GapRule     = "rule"     // a rule that failed, or that was told not to run
	GapItem     = "item"     // an item of the report that could not be taken
)

// ScanGap is something that a scan did not look at, or not to its end: there it
// says nothing, and closes nothing (semantics §5, §15), but for GapParse, which names no place.
type ScanGap struct {
	Kind string `json:"kind"`           // one of the kinds above
	What string `json:"what"`           // a path, or the name of a rule
	Rule string `json:"rule,omitempty"` // that was not done with a path; empty for all
	Why  string `json:"why,omitempty"`  // as the scanner says; empty when it does not
}

// ScanGate is what the policies said to a scan that failed its build (semantics
// §10).
type ScanGate struct {
	Reason   string    `json:"reason"` // for people, as the build was told
	Blocking []Blocked `json:"blocking"`
}

// Blocked is a finding that a build failed on, as it was then.
type Blocked struct {
	FindingID int64     `json:"finding_id"` // 0 where the scan was recorded only and nothing else saw it
	IssueType IssueType `json:"issue_type"`
	Severity  Severity  `json:"severity"`
	Rule      string    `json:"rule"`
	Path      string    `json:"path"`
	Line      int       `json:"line"`
	PolicyID  int64     `json:"policy_id"` // that made it fail; 0 when not known
	Condition string    `json:"condition"` // of that policy; empty where it has the rule in mode block
	Known     bool      `json:"known"`     // the primary branch had it: the policy blocks all
}
