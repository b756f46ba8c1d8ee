package model

import "time"

// State is what the scans say of a finding (semantics §5).
type State uint8

// States of a finding.
const (
	Unresolved   State = iota + 1 // the last scan that looked saw it
	Fixed                         // a scan looked where it was and no longer saw it
	Muted                         // silenced in the code, as by nosemgrep
	StateRemoved                  // its rule, ref or path left the scope; never listed
)

var states = enumNames[State]{"", "unresolved", "fixed", "muted", "removed"}

// String returns the wire name.
func (s State) String() string { return states.name(s) }

// Status is what the contract shows: the state and the triage together.
type Status uint8

// Statuses of a finding. The zero Status is that of a removed one, which no
// list shows.
const (
	StatusOpen Status = iota + 1
	StatusFixed
	StatusIgnored
	StatusReviewing
	StatusFixing
)

var statuses = enumNames[Status]{"", "open", "fixed", "ignored", "reviewing", "fixing"}

// String returns the wire name.
func (s Status) String() string { return statuses.name(s) }

// ParseStatus reads a wire name.
func ParseStatus(s string) (Status, bool) { return statuses.parse(s) }

// StatusOf derives the status from what scans and people say (semantics §4).
func StatusOf(state State, triage TriageState) Status {
	switch {
	case state == StateRemoved:
		return 0
	case state == Fixed:
		return StatusFixed
	case state == Muted, triage == TriageIgnored:
		return StatusIgnored
	case triage == TriageReviewing:
		return StatusReviewing
	case triage == TriageFixing:
		return StatusFixing
	}
	return StatusOpen
}

// Digest is the first half of a SHA-256: enough to tell things apart, half the
// room. The zero Digest means that there is none.
type Digest [16]byte

// IdentityKind says who vouches for an identity. Kinds never mix: equal hashes
// of two kinds are two identities (semantics §4).
type IdentityKind uint8

// Kinds of identity, best first.
const (
	IdentityMatchBased IdentityKind = iota + 1 // the scanner's formula group, the code and its number
	IdentityTool                               // another fingerprint of the scanner's
	IdentityOwn                                // ours, version 1: tool, rule, path, code, ordinal
	IdentitySecret                             // rule, path, keyed hash of the secret (semantics §16)
	IdentityDependency                         // rule or vulnerability, lockfile, package
)

// Identity tells one finding of a project from all others, whatever the ref.
type Identity struct {
	Kind IdentityKind
	Hash Digest
}

// Coverage says how much of a finding's file the last scan that looked there could read,
// and whether it saw the finding (semantics §4).
type Coverage uint8

// Coverages of a finding.
const (
	CoverageWhole   Coverage = iota // it was seen, in a file that was read as a whole
	CoveragePartial                 // it was seen, in a file that was read in part, or by a run that failed
	CoverageMissed                  // it was not seen, and is not known to be gone either
	CoverageUnknown                 // a version of Redoubt looked last that did not keep it
)

// KnownAs is how a finding is stored that a report told under another identity, which
// the store need not hold.
type KnownAs struct {
	Identity Identity
	CodeHash Digest
}

// Finding is one occurrence: a finding on one ref, as one source sees it. It is
// the narrow row that decides and filters; the members that only readers want
// are its body (semantics §4, §5).
type Finding struct {
	ID        int64 // counts up per deployment, fits uint32
	IssueType IssueType
	ProjectID int64
	Ref       string // in full, as refs/heads/main
	Source    string // tool and category
	Identity  Identity
	LineageID int64
	RuleID    int64
	RuleName  string

	Path        string
	Line        int    // 1-based; 0 when unknown
	CodeHash    Digest // of the matched code; zero when unknown
	PatternHash Digest // of the pattern as it matched; zero when unknown
	// EdgeHash is of formula group, first and last line of a match of several lines; of a finding told of
	// without its code, what those like it share; zero otherwise.
	EdgeHash Digest
	Content  Digest // of all that the scanner said; equal content writes nothing

	State           State
	Severity        Severity
	Confidence      Confidence
	Reachability    Reachability // supply chain only
	Transitivity    Transitivity // supply chain only
	Package         string       // supply chain only
	Malicious       bool         // supply chain only
	ProOnly         bool         // code only
	Historical      bool         // secrets only: found in history, not in the tree
	ValidationState ValidationState
	SecretType      string // secrets only, as "AWS"

	SeenByFull     bool // a full scan of this ref saw it, so no diff scan closes it
	Coverage       Coverage
	CreatedAt      time.Time
	RelevantSince  time.Time // first detection or last return
	StateUpdatedAt time.Time // zero before any change of state
	FirstScanID    int64
}
