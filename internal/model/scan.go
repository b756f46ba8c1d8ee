package model

import "time"

// ScanTimeout is how long a scan may run before it counts as never finished
// (semantics §9).
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

// Outcomes of a scan (semantics §5, order).
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

// FindingCounts counts distinct unmuted occurrences by product (semantics §9).
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
	// says nothing about them (semantics §15).
	Unread []string
	RunID  int64 // managed run that it is of; 0: none
}

// StatusAt returns the status at the given time: a scan still running after
// ScanTimeout shows as never finished (semantics §9).
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
	Since     time.Time    // exclusive, on the start (semantics §9)
	MinTime   *float64     // seconds, inclusive
	MaxTime   *float64     // seconds, inclusive
	Projects  ProjectGlobs // what the caller may see
}
