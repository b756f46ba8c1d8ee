package model

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// SourceAdvisories is the source of findings that are derived from advisories and current
// inventories, without a scan (docs/reference/advisories.md).
const SourceAdvisories = "advisories"

// Match is an affected package in a current lockfile. There is one match per lockfile, package and
// vulnerability, regardless of the number of affected versions (docs/reference/advisories.md).
type Match struct {
	Group  int64   // of the vulnerability; stored and never reused
	Former []int64 // groups that were merged into it
	IDs    []string
	// Package contains the ecosystem and the name in a normalized spelling.
	Package string

	Dependency Vulnerable // lowest affected version in the lockfile
	Severity   Severity
	Rule       *Rule
	Message    string
	ScanID     int64  // scan that reported the lockfile
	Commit     string // of the lockfile; empty if unknown
}

// Subject identifies what a supply-chain finding on a ref is about.
type Subject struct {
	FindingID     int64
	LineageID     int64
	Source        string
	Rule          string
	State         State
	ChangedAt     time.Time // of the state; zero if it never changed
	Lockfile      string
	Ecosystem     string
	Package       string
	Version       string
	Vulnerability string // as named by its source
	Group         int64  // for findings derived from advisories; otherwise 0
}

// Advised contains the matches of the requested packages on a ref of a project.
type Advised struct {
	ProjectID int64
	Ref       string
	Matches   []Match // sorted by lockfile, package and group
	Lockfiles []string
	// News is whether only packages with new information in the advisories were requested. It is
	// false for requests about all packages of a deployment, project or scan.
	News bool
	// Twins contains, for each of Matches, the equivalent findings of scanners in any state, oldest
	// first.
	Twins [][]Subject
	// InLockfile contains the requested findings that were derived from advisories, and whether the
	// version that they show is still in its lockfile. If it is, a missing match does not mean a
	// fix.
	InLockfile map[int64]bool
	// Withdrawn contains the findings of InLockfile whose advisories were all withdrawn.
	Withdrawn map[int64]bool
}

// Followed is the result of updating a ref after changes of advisories.
type Followed struct {
	Done    bool // false if it must be continued in the next round
	Changed int  // number of findings
}

// KEV is an entry of the catalog of known exploited vulnerabilities.
type KEV struct {
	CVE        string
	Added      time.Time
	Due        time.Time // zero if not set
	Ransomware bool      // known to be used by ransomware
	Name       string
	Action     string
}

// EPSSScore is the EPSS score of a CVE.
type EPSSScore struct {
	CVE string
	EPSS
}

// Advisory is a stored OSV record. Advisories are global, not per deployment.
type Advisory struct {
	ID        int64    // assigned in ascending order
	Name      string   // ID of the record, such as GHSA-jfh8-c2jp-5v3q
	Names     []string // ID and aliases in upper case
	Packages  []string // affected packages, as named by the matcher
	Digest    Digest   // of the original record
	Modified  time.Time
	Withdrawn bool
	Group     int64
	Facts     []byte // JSON: data for matching
	Text      []byte // JSON: texts for display; nil if not requested
}

// AdvisoryMember is a record as a member of a group.
type AdvisoryMember struct {
	ID    int64
	Names []string
	Group int64 // 0 if it is not in a group yet
}

// AdvisoryGroup is a vulnerability: a group of records that are aliases of each other.
type AdvisoryGroup struct {
	ID      int64
	Former  []int64 // groups that were merged into it
	Records []Advisory
}

// AdvisorySummary is the summary of a group of records for lists.
type AdvisorySummary struct {
	Group     int64
	Shown     string   // display name
	Names     []string // all names in upper case
	Packages  []string // affected packages, as named by the matcher
	Summary   string   // one line; empty if no record has a summary
	Severity  Severity // 0 if not rated; its findings count as medium
	Score     float64  // CVSS base score; 0 if unknown
	Malicious bool
	Withdrawn bool
	Modified  time.Time // of its newest record
}

// Holding is the content of a current lockfile on a ref.
type Holding struct {
	Lockfile     string
	ScanID       int64 // scan that reported it
	Commit       string
	Dependencies []MatchDependency
}

// MatchDependency contains the fields of a Dependency that matching needs. It is small, because a
// lockfile may have a million entries.
type MatchDependency struct {
	Ecosystem, Name, Version string
	Transitivity             Transitivity
	Line                     int // in the lockfile, 1-based; 0 if unknown
}

// AdvisorySource is a source of advisories and its state.
type AdvisorySource struct {
	Location     string // URL, file or directory; stored in the form of Shown
	Kind         string // osv, epss or kev
	ETag         string
	LastModified string
	CheckedAt    time.Time // last time it was found unchanged; zero if never
	LoadedAt     time.Time
	NewestAt     time.Time // of its newest content; zero if unknown
	Records      int
	Refused      int
	Error        string // of the last attempt; empty after success
}

// addressScheme matches the beginning of a URL, with or without credentials.
var addressScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// IsAddress reports whether the location is a URL, not a file or directory.
func (s AdvisorySource) IsAddress() bool { return addressScheme.MatchString(s.Location) }

// Shown returns the location without credentials: URLs lose their user, password, query and
// fragment.
func (s AdvisorySource) Shown() string {
	if !s.IsAddress() {
		return s.Location
	}
	u, err := url.Parse(s.Location)
	if err != nil {
		return addressScheme.FindString(s.Location) + "(invalid address)"
	}
	u.User, u.RawQuery, u.ForceQuery, u.Fragment, u.RawFragment = nil, "", false, "", ""
	return u.String()
}

// AdvisoryStatus contains statistics of the stored advisories.
type AdvisoryStatus struct {
	Version   int64 // increases with each change of advisories
	ChangedAt time.Time
	Records   int
	Withdrawn int
	Packages  int
	Scores    int // number of EPSS scores
	Exploited int // number of KEV entries
	Sources   []AdvisorySource
}

// AdvisoryProgress is the progress of a deployment in processing changes of advisories.
type AdvisoryProgress struct {
	Version int64      // processed on all refs
	Target  int64      // version in progress; equal to Version if there is none
	After   ProjectRef // last processed ref
	Scores  int64      // version of the EPSS scores
}

// ProjectRef is a ref of a project.
type ProjectRef struct {
	ProjectID int64
	Ref       string
}

// Compare orders refs by project, then by name.
func (p ProjectRef) Compare(other ProjectRef) int {
	return cmp.Or(cmp.Compare(p.ProjectID, other.ProjectID), strings.Compare(p.Ref, other.Ref))
}

// Impact is a finding of a vulnerability with its location, age and remediation.
type Impact struct {
	FindingID    int64
	ProjectID    int64
	Project      string
	ProjectURL   string
	Ref          string
	Source       string
	State        State
	Triage       TriageState
	Severity     Severity
	Transitivity Transitivity
	Since        time.Time
	Lockfile     string
	Line         int    // in the lockfile; 0 if unknown
	LineURL      string // URL of the line at the scanned commit; empty if unknown
	Ecosystem    string
	Package      string
	Version      string
	Fixes        []Fix
}
