package model

import (
	"cmp"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// SourceAdvisories is the source of the findings that follow from advisories
// and the inventory in force, without a scan (docs/reference/advisories.md).
const SourceAdvisories = "advisories"

// Match says that a lockfile in force holds an affected version of a package:
// one for each lockfile, package and vulnerability, however many of its
// versions are there (docs/reference/advisories.md).
type Match struct {
	Group  int64   // of the vulnerability; stored, never another's
	Former []int64 // groups that became part of it
	IDs    []string
	// Package is ecosystem and name in the spelling in which all spellings of
	// one package are equal.
	Package string

	Dependency Vulnerable // the lowest affected version there
	Severity   Severity
	Rule       *Rule
	Message    string
	ScanID     int64  // that brought the lockfile
	Commit     string // of the lockfile; empty when unknown
}

// Subject is what a supply-chain finding on a ref is about.
type Subject struct {
	FindingID     int64
	LineageID     int64
	Source        string
	Rule          string
	State         State
	ChangedAt     time.Time // of its state; zero before any change
	Lockfile      string
	Ecosystem     string
	Package       string
	Version       string
	Vulnerability string // as its source names it
	Group         int64  // of advisories' own findings; else 0
}

// Advised is what the advisories say of a ref of a project: all that holds of
// the packages that were asked about.
type Advised struct {
	ProjectID int64
	Ref       string
	Matches   []Match // by lockfile, package and group
	Lockfiles []string
	// News is whether only packages were asked about that the advisories tell something new
	// of; not where a deployment, a project or a scan asks about all that it has.
	News bool
	// Twins are the findings of scanners that say the same as the match at the
	// same place of Matches, in any state, oldest first.
	Twins [][]Subject
	// Held has the advisories' own findings that were asked about, and whether
	// the very version that they show is still in its lockfile: then nobody
	// fixed anything where there is no match any more.
	Held map[int64]bool
	// Withdrawn are those of Held whose advisories have all been taken back.
	Withdrawn map[int64]bool
}

// Followed is what became of a ref that was to follow the advisories.
type Followed struct {
	Done    bool // false where it waits for the next round
	Changed int  // findings
}

// KEV is an entry of the catalogue of vulnerabilities known to be exploited.
type KEV struct {
	CVE        string
	Added      time.Time
	Due        time.Time // zero when none is set
	Ransomware bool      // known to be used by ransomware
	Name       string
	Action     string
}

// EPSSScore is the score of a CVE.
type EPSSScore struct {
	CVE string
	EPSS
}

// Advisory is an OSV record as it is stored. It is global: no tenant has its own.
type Advisory struct {
	ID        int64    // counts up: the lower, the older here
	Name      string   // its own id, as GHSA-jfh8-c2jp-5v3q
	Names     []string // own id and aliases, in upper case
	Packages  []string // affected, as the matcher names them
	Digest    Digest   // of the record as it came
	Modified  time.Time
	Withdrawn bool
	Group     int64
	Facts     []byte // what decides; JSON
	Text      []byte // what people read; JSON. Nil where it was not asked for
}

// AdvisoryMember is a record as a member of a group.
type AdvisoryMember struct {
	ID    int64
	Names []string
	Group int64 // 0 where it is in none yet
}

// AdvisoryGroup is a vulnerability: the records that alias each other.
type AdvisoryGroup struct {
	ID      int64
	Former  []int64 // groups that became part of it
	Records []Advisory
}

// AdvisorySummary is what lists show of a vulnerability: a group of records.
type AdvisorySummary struct {
	Group     int64
	Shown     string   // what it is called
	Names     []string // all, in upper case
	Packages  []string // affected, as the matcher names them
	Summary   string   // a line; empty when no database wrote one
	Severity  Severity // 0 where no database rates it: its findings count as medium
	Score     float64  // CVSS base score; 0 when none is known
	Malicious bool
	Withdrawn bool
	Modified  time.Time // of its newest record
}

// Holding is a lockfile in force on a ref, and what it holds.
type Holding struct {
	Lockfile     string
	ScanID       int64 // of the scan that says so
	Commit       string
	Dependencies []HeldDependency
}

// HeldDependency is what matching compares of a Dependency. A lockfile may hold a
// million, so it has no more.
type HeldDependency struct {
	Ecosystem, Name, Version string
	Transitivity             Transitivity
	Line                     int // of the lockfile, 1-based; 0 when unknown
}

// AdvisorySource is where advisories came from, and how old they are.
type AdvisorySource struct {
	Location     string // an address, or a file or folder; stored ones are as Shown
	Kind         string // osv, epss or kev
	ETag         string
	LastModified string
	CheckedAt    time.Time // last found to be as it was loaded; zero when never
	LoadedAt     time.Time
	NewestAt     time.Time // of what it holds; zero when not told
	Records      int
	Refused      int
	Error        string // of the last try; empty when it went well
}

// addressScheme is the beginning of an address of a source, with or without a password.
var addressScheme = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9+.-]*://`)

// IsAddress reports whether the location is an address, not a file or folder.
func (s AdvisorySource) IsAddress() bool { return addressScheme.MatchString(s.Location) }

// Shown returns the location without credentials: an address without user, password,
// query and fragment.
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

// AdvisoryStatus sums up what is stored.
type AdvisoryStatus struct {
	Version   int64 // grows whenever advisories changed
	ChangedAt time.Time
	Records   int
	Withdrawn int
	Packages  int
	Scores    int // of EPSS
	Exploited int // entries of the catalogue
	Sources   []AdvisorySource
}

// AdvisoryProgress is how far a deployment has followed the advisories.
type AdvisoryProgress struct {
	Version int64      // followed on all refs
	Target  int64      // under way; Version when none is
	After   ProjectRef // the last ref that is done
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

// Impact is a finding of a vulnerability: who has it, where, since when, and
// what to upgrade to.
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
	Line         int    // of the lockfile; 0 when not known
	LineURL      string // of that line at the commit that was scanned; empty when not known
	Ecosystem    string
	Package      string
	Version      string
	Fixes        []Fix
}
