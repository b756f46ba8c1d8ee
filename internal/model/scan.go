package model

import "time"

// ScanTimeout is how long a scan may run before it counts as never finished
// (docs/reference/scans.md).
const ScanTimeout = time.Hour

// Products is a set of issue types.
type Products uint8

// With returns the set with one more product.
func (p Products) With(t IssueType) Products { return p | 1<<t }

// Has reports whether the product is in the set.
func (p Products) Has(t IssueType) bool { return p&(1<<t) != 0 }

// Names returns the wire names in the order sast, sca, secrets; never nil.
func (p Products) Names() []string {
	out := []string{}
	for _, t := range []IssueType{SAST, SCA, Secrets} {
		if p.Has(t) {
			out = append(out, t.String())
		}
	}
	return out
}

// ScanStatus is how far a scan came.
type ScanStatus uint8

// Statuses of a scan. NeverFinished is derived when read.
const (
	ScanRunning ScanStatus = iota + 1
	ScanCompleted
	ScanError
	ScanNeverFinished
)

var scanStatuses = enumNames[ScanStatus]{
	"", "SCAN_STATUS_RUNNING", "SCAN_STATUS_COMPLETED", "SCAN_STATUS_ERROR", "SCAN_STATUS_NEVER_FINISHED",
}

// String returns the wire name.
func (s ScanStatus) String() string { return scanStatuses.name(s) }

// ParseScanStatus reads a wire name.
func ParseScanStatus(s string) (ScanStatus, bool) { return scanStatuses.parse(s) }

// ScanOutcome says what a completed scan did to the findings of its ref.
type ScanOutcome uint8

// Outcomes of a scan (docs/reference/scans.md).
const (
	ScanPending    ScanOutcome = iota // nothing decided yet
	ScanApplied                       // its findings count
	ScanLate                          // started before a newer one that was applied: recorded only
	ScanSuperseded                    // a re-run of a commit that others followed: recorded only
)

// String is the outcome as answers have it, empty where nothing is decided.
func (o ScanOutcome) String() string {
	switch o {
	case ScanApplied:
		return "applied"
	case ScanLate:
		return "late"
	case ScanSuperseded:
		return "superseded"
	}
	return ""
}

// Recorded reports whether the scan was recorded only and changed nothing.
func (o ScanOutcome) Recorded() bool { return o == ScanLate || o == ScanSuperseded }

// FindingCounts counts distinct unmuted occurrences by product (docs/reference/scans.md).
type FindingCounts struct {
	Code        int
	Secrets     int
	SupplyChain int
}

// Total adds them up.
func (c FindingCounts) Total() int { return c.Code + c.Secrets + c.SupplyChain }

// Scan is one upload by one source.
type Scan struct {
	ID          int64
	ProjectID   int64
	Ref         string // in full
	Commit      string
	Source      string
	StartedAt   time.Time
	CompletedAt time.Time // zero while running
	ExitCode    int       // meaningless while running; 0 and 1 are success
	Full        bool
	Products    Products
	Status      ScanStatus // as stored; see StatusAt
	Outcome     ScanOutcome
	Counts      FindingCounts
	Muted       int           // findings that it reports muted in the code, which Counts leaves out
	TotalTime   time.Duration // of the scanner; negative when unknown
	Digest      Digest        // of the upload's bytes, by which it is known again; zero once that is forgotten
	Error       string        // why it failed, for people
	// Unread names the lockfiles that the scanner found and could not read: it
	// says nothing about them (docs/reference/lockfiles.md).
	Unread []string
	RunID  int64 // managed run that it is of; 0: none
}

// StatusAt returns the status at the given time: a scan still running after
// ScanTimeout shows as never finished (docs/reference/scans.md).
func (s Scan) StatusAt(now time.Time) ScanStatus {
	if s.Status == ScanRunning && now.Sub(s.StartedAt) > ScanTimeout {
		return ScanNeverFinished
	}
	return s.Status
}

// ScanFilter selects scans; zero members do not filter.
type ScanFilter struct {
	Ref       string
	ProjectID int64
	AnyOf     []int64 // projects; none are all
	Full      *bool
	Products  []IssueType  // any of them enabled
	Statuses  []ScanStatus // any of them, judged now
	Since     time.Time    // exclusive, on the start
	MinTime   *float64     // seconds, inclusive
	MaxTime   *float64     // seconds, inclusive
	Projects  ProjectGlobs // what the caller may see
}

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
// says nothing, and closes nothing (docs/explanation/life-of-a-finding.md), but for GapParse, which names no place.
type ScanGap struct {
	Kind string `json:"kind"`           // one of the kinds above
	What string `json:"what"`           // a path, or the name of a rule
	Rule string `json:"rule,omitempty"` // that was not done with a path; empty for all
	Why  string `json:"why,omitempty"`  // as the scanner says; empty when it does not
}

// ScanGate is what the policies said to a scan that failed its build
// (docs/reference/policies.md).
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

// AgentScan is a scan that a scanner reports by itself, step by step, as it is
// remembered between the steps.
type AgentScan struct {
	UniqueID  string // the scanner's own name of the scan
	ScanID    int64  // 0 of a dry run, which leaves no scan
	StartedAt time.Time
	Begun     []byte // JSON: what the scanner said at the start
	Report    []byte // JSON of a Report, free of secrets; nil before it came and once it is applied
	Done      []byte // JSON of its completion; nil before it came and once it is applied
	Answer    []byte // JSON: the answer to its completion; nil before it is applied
}

// ScanStage is how far a scan is that runs.
type ScanStage uint8

// Stages of a scan that runs.
const (
	StageBegun    ScanStage = iota // the scanner was told what to look for
	StageResults                   // its results are here
	StageApplying                  // they are complete and being applied
)

// ServedRule is a rule of a policy with the text that scanners get.
type ServedRule struct {
	PolicyRule
	Version int    // of the text, from 1
	Text    []byte // JSON, in the scanner's own rule language
	Checked bool   // whether the scanner itself has parsed the text
	Starter bool   // the text came with the server
}

// FailedStep is how a run of a scanner failed.
type FailedStep string

// Steps that fail.
const (
	FailedSignIn  FailedStep = "unauthenticated" // no, an unknown, an expired or a revoked token
	FailedScope   FailedStep = "forbidden"       // a token that may not do this
	FailedScan    FailedStep = "error"           // the scanner gave its scan up
	FailedOpen    FailedStep = "failure"         // the scanner hides its error from the build
	FailedStorage FailedStep = "not_stored"      // the results came and could not be stored
)

// FailedAttempt is a run of a scanner that failed, which its build may not show.
type FailedAttempt struct {
	// DeploymentID is 0 where no token tells whose the run was.
	DeploymentID int64
	Name         string // the scanner's own name of its run, or one made up
	At           time.Time
	Step         FailedStep // the first that failed
	ExitCode     int        // 0 where the scanner did not tell
	Cause        string     // for people; holds no secrets
	ScanID       int64      // 0 where no scan had begun
	TokenID      string     // public id; empty where no token that is known was sent
	Repository   string     // as the scanner says
	Ref          string     // in full; empty where it is not told
	Agent        string     // the scanner's own name and version
	Address      string     // of the sender
}
