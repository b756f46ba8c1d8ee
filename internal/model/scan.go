package model

import "time"

// ScanTimeout is the time after which a running scan counts as never finished
// (docs/reference/scans.md).
const ScanTimeout = time.Hour

// Products is a set of issue types.
type Products uint8

// With returns the set with a product added.
func (p Products) With(t IssueType) Products { return p | 1<<t }

// Has reports whether the product is in the set.
func (p Products) Has(t IssueType) bool { return p&(1<<t) != 0 }

// Names returns the wire names in the order sast, sca, secrets. The result is not nil.
func (p Products) Names() []string {
	out := []string{}
	for _, t := range []IssueType{SAST, SCA, Secrets} {
		if p.Has(t) {
			out = append(out, t.String())
		}
	}
	return out
}

// ScanStatus is the status of a scan.
type ScanStatus uint8

// Statuses of a scan. ScanNeverFinished is not stored but derived by StatusAt.
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

// ParseScanStatus parses a wire name.
func ParseScanStatus(s string) (ScanStatus, bool) { return scanStatuses.parse(s) }

// ScanOutcome is the effect of a completed scan on the findings of its ref.
type ScanOutcome uint8

// Outcomes of a scan (docs/reference/scans.md).
const (
	ScanPending    ScanOutcome = iota // not decided yet
	ScanApplied                       // applied to the findings
	ScanLate                          // started before a newer scan that was applied: recorded only
	ScanSuperseded                    // repeated scan of a commit that was followed by others: recorded only
)

// String returns the wire name, which is empty for ScanPending.
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

// Recorded reports whether the scan was recorded without effect on findings.
func (o ScanOutcome) Recorded() bool { return o == ScanLate || o == ScanSuperseded }

// FindingCounts contains the number of distinct unmuted occurrences by product
// (docs/reference/scans.md).
type FindingCounts struct {
	Code        int
	Secrets     int
	SupplyChain int
}

// Total returns the sum of all products.
func (c FindingCounts) Total() int { return c.Code + c.Secrets + c.SupplyChain }

// Scan is an upload by a source.
type Scan struct {
	ID          int64
	ProjectID   int64
	Ref         string // full name
	Commit      string
	Source      string
	StartedAt   time.Time
	CompletedAt time.Time // zero while running
	ExitCode    int       // undefined while running; 0 and 1 are success
	Full        bool
	Products    Products
	Status      ScanStatus // as stored; see StatusAt
	Outcome     ScanOutcome
	Counts      FindingCounts
	Muted       int           // reported findings that are suppressed in the code; not included in Counts
	TotalTime   time.Duration // of the scanner; negative if unknown
	Digest      Digest        // of the upload, to detect duplicates; zero after expiry
	Error       string        // for display
	// Unread contains the lockfiles that the scanner could not read. The scan has no effect on them
	// (docs/reference/lockfiles.md).
	Unread []string
	RunID  int64 // managed run of the scan; 0 if none
}

// StatusAt returns the status at the given time. A scan that is running for longer than ScanTimeout
// counts as never finished (docs/reference/scans.md).
func (s Scan) StatusAt(now time.Time) ScanStatus {
	if s.Status == ScanRunning && now.Sub(s.StartedAt) > ScanTimeout {
		return ScanNeverFinished
	}
	return s.Status
}

// ScanFilter selects scans. Zero fields do not filter.
type ScanFilter struct {
	Ref       string
	ProjectID int64
	AnyOf     []int64 // projects; empty for all
	Full      *bool
	Products  []IssueType  // at least one is enabled
	Statuses  []ScanStatus // one of them, at the current time
	Since     time.Time    // exclusive, on the start
	MinTime   *float64     // seconds, inclusive
	MaxTime   *float64     // seconds, inclusive
	Projects  ProjectGlobs // visible projects of the caller
}

// ScanAccount contains details of a scan: the reported findings, the gaps in coverage and the
// failed gate.
type ScanAccount struct {
	ScanID int64
	// Reported contains the distinct IDs of reported findings that are not suppressed in the code,
	// in ascending order. It is empty if the scan was only recorded.
	Reported []int64
	Gaps     []ScanGap // the first MaxScanGaps
	AllGaps  int       // total number of gaps
	// Gate is the reason for which the build failed, or nil.
	Gate *ScanGate
}

// MaxScanGaps is the maximum number of stored gaps per scan.
const MaxScanGaps = 2000

// Kinds of gaps.
const (
	GapPath     = "path"     // a skipped file or directory
	GapTimeout  = "timeout"  // a file for which a rule exceeded the time limit
	GapFailed   = "failed"   // a file that could not be parsed
	GapLockfile = "lockfile" // a lockfile that could not be read
	GapParse    = "parse"    // a language that the scanner could not parse completely, without a location
	GapRule     = "rule"     // a rule that failed or was disabled
	GapItem     = "item"     // a rejected item of the report
)

// ScanGap is an incompletely scanned path or rule. The scan closes no findings there
// (docs/explanation/life-of-a-finding.md), except for GapParse, which has no location.
type ScanGap struct {
	Kind string `json:"kind"`           // one of the kinds above
	What string `json:"what"`           // a path, or the name of a rule
	Rule string `json:"rule,omitempty"` // rule that was not applied to a path; empty for all
	Why  string `json:"why,omitempty"`  // reason from the scanner; may be empty
}

// ScanGate is the result of policies for a scan that failed its build (docs/reference/policies.md).
type ScanGate struct {
	Reason   string    `json:"reason"` // message that the build received
	Blocking []Blocked `json:"blocking"`
}

// Blocked is a blocking finding at the time of the build.
type Blocked struct {
	FindingID int64     `json:"finding_id"` // 0 if the scan was only recorded and no other scan reported it
	IssueType IssueType `json:"issue_type"`
	Severity  Severity  `json:"severity"`
	Rule      string    `json:"rule"`
	Path      string    `json:"path"`
	Line      int       `json:"line"`
	PolicyID  int64     `json:"policy_id"` // policy that blocked; 0 if unknown
	Condition string    `json:"condition"` // condition of that policy; empty if its rule is in mode block
	Known     bool      `json:"known"`     // on the primary branch too: the policy blocks all
}

// AgentScan is the state of a scan that a scanner reports in several steps.
type AgentScan struct {
	UniqueID  string // ID of the scan from the scanner
	ScanID    int64  // 0 for a dry run, which stores no scan
	StartedAt time.Time
	Begun     []byte // JSON: data from the start of the scan
	Report    []byte // JSON of a Report without secrets; nil before it is received and after it is applied
	Done      []byte // JSON of the completion; nil before it is received and after it is applied
	Answer    []byte // JSON of the response to the completion; nil until it is applied
}

// ScanStage is the progress of a running scan.
type ScanStage uint8

// Stages of a running scan.
const (
	StageBegun    ScanStage = iota // the scanner has received its configuration
	StageResults                   // the results have been received
	StageApplying                  // the complete results are being applied
)

// ServedRule is a rule of a policy with the text that scanners receive.
type ServedRule struct {
	PolicyRule
	Version int    // of the text, from 1
	Text    []byte // JSON in the scanner's rule language
	Checked bool   // whether the scanner has parsed the text
	Starter bool   // included with the server
}

// FailedStep is the step at which a run of a scanner failed.
type FailedStep string

// Steps that can fail.
const (
	FailedSignIn  FailedStep = "unauthenticated" // missing, unknown, expired or revoked token
	FailedScope   FailedStep = "forbidden"       // insufficient token scope
	FailedScan    FailedStep = "error"           // the scanner aborted its scan
	FailedOpen    FailedStep = "failure"         // the scanner hides its error from the build
	FailedStorage FailedStep = "not_stored"      // the received results could not be stored
)

// FailedAttempt is a failed run of a scanner. The build does not necessarily show the failure.
type FailedAttempt struct {
	// DeploymentID is 0 if it is unknown because there was no valid token.
	DeploymentID int64
	Name         string // ID of the run from the scanner, or a generated one
	At           time.Time
	Step         FailedStep // the first failed step
	ExitCode     int        // 0 if unknown
	Cause        string     // for display; contains no secrets
	ScanID       int64      // 0 if no scan was started
	TokenID      string     // public ID; empty without a known token
	Repository   string     // as reported by the scanner
	Ref          string     // full name; empty if unknown
	Agent        string     // name and version of the scanner
	Address      string     // of the sender
}
