package model

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
)

// State is the state of a finding according to scans (docs/explanation/life-of-a-finding.md).
type State uint8

// States of a finding.
const (
	Unresolved   State = iota + 1 // reported by the last scan that covered it
	Fixed                         // not reported by a scan that covered its location
	Muted                         // suppressed in the code, for example by nosemgrep
	StateRemoved                  // its rule, ref or path is out of scope; never listed
)

var states = enumNames[State]{"", "unresolved", "fixed", "muted", "removed"}

// String returns the wire name.
func (s State) String() string { return states.name(s) }

// Status is the status in the contract, which combines state and triage.
type Status uint8

// Statuses of a finding. The zero Status is that of a removed finding, which is never listed.
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

// ParseStatus parses a wire name.
func ParseStatus(s string) (Status, bool) { return statuses.parse(s) }

// StatusOf returns the status for a state and a triage state (docs/reference/findings.md).
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

// Digest is the first half of a SHA-256 hash, which suffices to distinguish values. The zero Digest
// means none.
type Digest [16]byte

// IdentityKind is the method by which an identity was computed. Equal hashes of different kinds are
// different identities (docs/reference/identities.md).
type IdentityKind uint8

// Kinds of identity, best first.
const (
	IdentityMatchBased IdentityKind = iota + 1 // the scanner's formula group, the code and its ordinal
	IdentityTool                               // another fingerprint of the scanner
	IdentityOwn                                // computed by Redoubt, version 1: tool, rule, path, code, ordinal
	IdentitySecret                             // rule, path, keyed hash of the secret
	IdentityDependency                         // rule or vulnerability, lockfile, package
)

// Identity identifies a finding within a project, across refs.
type Identity struct {
	Kind IdentityKind
	Hash Digest
}

// Coverage is how completely the last scan that covered a finding's file could read it, and whether
// it reported the finding (docs/explanation/identity.md).
type Coverage uint8

// Coverages of a finding.
const (
	CoverageFull    Coverage = iota // reported, in a completely read file
	CoveragePartial                 // reported, in a partially read file or by a failed run
	CoverageMissed                  // not reported, but possibly not gone
	CoverageUnknown                 // scanned last by a version of Redoubt that did not store this
)

// KnownAs contains the stored identity of a finding that a report identified differently.
type KnownAs struct {
	Identity Identity
	CodeHash Digest
}

// Finding is an occurrence of a finding on one ref, as reported by one source. It contains the
// fields for decisions and filters. Fields that are only displayed are in its body
// (docs/explanation/identity.md).
type Finding struct {
	ID        int64 // sequential per deployment, fits uint32
	IssueType IssueType
	ProjectID int64
	Ref       string // full name, such as refs/heads/main
	Source    string // tool and category
	Identity  Identity
	LineageID int64
	RuleID    int64
	RuleName  string

	Path        string
	Line        int    // 1-based; 0 if unknown
	CodeHash    Digest // of the matched code; zero if unknown
	PatternHash Digest // of the matched pattern; zero if unknown
	// EdgeHash is the hash of the formula group and the first and last lines of a multiline match.
	// For a finding without code, it is the hash of what indistinguishable results share. Otherwise
	// it is zero.
	EdgeHash Digest
	Content  Digest // of all reported data; findings with equal content are not rewritten

	State           State
	Severity        Severity
	Confidence      Confidence
	Reachability    Reachability // supply chain only
	Transitivity    Transitivity // supply chain only
	Package         string       // supply chain only
	Malicious       bool         // supply chain only
	ProOnly         bool         // code only
	Historical      bool         // secrets only: found in the history, not in the tree
	ValidationState ValidationState
	SecretType      string // secrets only, such as "AWS"

	SeenByFull     bool // reported by a full scan of this ref, so diff scans do not close it
	Coverage       Coverage
	CreatedAt      time.Time
	RelevantSince  time.Time // first detection or last reappearance
	StateUpdatedAt time.Time // zero if the state never changed
	FirstScanID    int64
}

// ScanStream is the state of the scans of one source on one ref (docs/reference/scans.md).
type ScanStream struct {
	LastScanID    int64     // newest applied scan; 0 if none
	LastDigest    Digest    // of that scan's upload
	LastFullStart time.Time // start of the newest applied full scan; zero if none
	LastDiffStart time.Time // start of the newest applied diff scan; zero if none
	Complete      bool      // a full scan without failure was applied
	// Superseded is true if the commit was applied here before, followed by other commits.
	Superseded bool
}

// IdentityLink assigns an identity to a lineage.
type IdentityLink struct {
	Identity  Identity
	LineageID int64
}

// FindingWrite is a finding to write with its displayed data.
type FindingWrite struct {
	Finding
	Body     []byte   // members of Body
	Evidence []byte   // JSON: code and data flow
	Subject  *Subject // for a supply-chain finding that a report contained
	// Unscanned is true for a finding that new advisories caused. Its first scan is that of the
	// lockfile.
	Unscanned bool
}

// Supplement contains data of advisories about a vulnerability that the scanner did not report.
type Supplement struct {
	Fixes    []Fix
	Severity Severity // zero if not rated
}

// FindingLocation is the location of a finding.
type FindingLocation struct {
	FindingID int64
	ProjectID int64
	Path      string
}

// FindingEvent is an entry of a finding's history.
type FindingEvent struct {
	FindingID int64
	ScanID    int64 // 0 if not caused by a scan
	Kind      FindingEventKind
	Detail    string // JSON, or empty
}

// FindingEventKind is the kind of a finding's event.
type FindingEventKind string

// Kinds of event.
const (
	EventFixed    FindingEventKind = "fixed"
	EventReturned FindingEventKind = "returned"
	EventRemoved  FindingEventKind = "removed"
	EventMoved    FindingEventKind = "moved"
	EventMuted    FindingEventKind = "muted"
	EventUnmuted  FindingEventKind = "unmuted"
	// EventPrecedent refers to a finding that was closed where this one appeared, with its triage
	// decision.
	EventPrecedent FindingEventKind = "precedent"
	// EventCopied refers to the finding of which this one proved to be a copy. Decisions that were
	// shared then apply to that finding only.
	EventCopied FindingEventKind = "copied"
	// EventMerged refers to a finding that was merged into this one. It refers to the former
	// project of that finding if the project was merged and has no more findings.
	EventMerged FindingEventKind = "merged"
)

// MergedFinding is the detail of an EventMerged event.
type MergedFinding struct {
	FindingID int64  `json:"finding_id,omitempty"` // 0 if it no longer exists because its project was merged
	Project   string `json:"project,omitempty"`    // former name of the project
}

// Precedent is the detail of an EventPrecedent event. It is an earlier finding at the same place
// with its triage decision at that time, and has no effect on triage
// (docs/explanation/life-of-a-finding.md).
type Precedent struct {
	FindingID int64     `json:"finding_id"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"at,omitzero"` // of the decision
}

// PrecedentOf returns the precedent of a finding with a triage decision.
func PrecedentOf(findingID int64, t Triage) Precedent {
	p := Precedent{FindingID: findingID, State: t.State.String(), At: t.At}
	if t.Reason != 0 {
		p.Reason = t.Reason.String()
	}
	return p
}

// InventoryStatement is the inventory of a lockfile as reported by a scan.
type InventoryStatement struct {
	ProjectID int64
	Ref       string
	Source    string
	ScanID    int64
	Commit    string
	At        time.Time // start of the scan
	Digest    Digest
	Inventory Inventory
}

// LineageMerge merges several lineages of a project. For example, a file may have been moved on one
// ref and first seen under its new path on another (docs/explanation/identity.md). Into retains its
// ID and has the given annotations. It receives the identities, findings and histories of From,
// whose lineages are deleted.
type LineageMerge struct {
	Into Lineage
	From []int64
}

// FormulaGroup returns a match_based_id without its ordinal: the rule, the path and the pattern
// with its metavariables. The ordinal is the position in the file and changes when code is inserted
// above (docs/reference/identities.md).
func FormulaGroup(matchBasedID string) string {
	i := strings.LastIndexByte(matchBasedID, '_')
	if i < 0 || i == len(matchBasedID)-1 || strings.Trim(matchBasedID[i+1:], "0123456789") != "" {
		return matchBasedID
	}
	return matchBasedID[:i]
}

// MatchKey returns the shared key of matches with equal code in one formula group of a file. They
// are distinguished by ordinals from 0.
func MatchKey(group string, code Digest) Digest {
	var buf [256]byte
	text := appendText(buf[:0], "match 2")
	text = append(appendText(text, group), code[:]...)
	sum := sha256.Sum256(text)
	return Digest(sum[:len(Digest{})])
}

// NumberedIdentity returns the identity of the n-th finding with a key, counted from 0.
func NumberedIdentity(kind IdentityKind, key Digest, n int64) Identity {
	var buf [64]byte
	text := append(appendText(buf[:0], "ordinal"), key[:]...)
	sum := sha256.Sum256(binary.AppendVarint(text, n))
	return Identity{Kind: kind, Hash: Digest(sum[:len(Digest{})])}
}

// appendText appends a text with a length prefix, so that different lists of texts have different
// encodings.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// FindingFilter selects findings of one issue type. Values of one field are combined with OR,
// fields with AND, and an empty field does not filter. It contains the parameters of listing (21)
// and bulk triage (24). The server checks which of them an operation accepts.
type FindingFilter struct {
	IssueType IssueType
	Since     time.Time // inclusive, on relevant_since
	Ref       string    // full name; empty for all
	Dedup     bool      // one occurrence per lineage

	Visible      ProjectGlobs // visible projects of the caller
	Projects     []string     // case-insensitive names
	ProjectIDs   []int64
	ProjectTags  []string // case-insensitive
	Visibilities []Visibility

	Statuses      []Status
	TriageReasons []TriageReason
	Severities    []Severity
	Confidences   []Confidence
	Modes         []PolicyMode // current modes of the rule
	Rules         []string
	Rulesets      []string
	Categories    []string
	Verdicts      []Verdict
	ComponentTags []string
	PRStates      []string  // open, merged
	Assignees     []string  // names of users, or AssigneeNone
	EndsBy        time.Time // selects decisions that end at or before this time; zero does not filter
	Due           *DueFilter
	DueBefore     time.Time // selects due dates before this day in UTC; zero does not filter

	Reachabilities []Reachability
	Transitivities []Transitivity
	Malicious      *bool
	Packages       []string
	EPSS           []EPSSBand
	Exploited      *bool // according to the catalog of exploited vulnerabilities (KEV)
	Unrated        *bool // whether the vulnerability is unrated and counts as medium

	ProOnly          *bool
	ExcludeHistoric  bool
	SecretTypes      []string
	ValidationStates []ValidationState

	// IDs restricts the result to these findings if HasIDs is set. Unknown IDs are ignored
	// (docs/reference/triage.md).
	HasIDs bool
	IDs    []int64

	// The following filters are used by pages. Primary selects findings on the primary branch of
	// their project. Search selects findings that contain the text, ignoring case. It compares the
	// names of the rule, project, package and vulnerability, the path and the message. The message
	// is that of the rule, or of the finding if the rule has none. Named also selects findings with
	// one of the vulnerabilities, ignoring case. Except excludes findings that match any of its
	// lists of values; its other fields are ignored.
	Primary bool
	Search  string
	Named   []string
	Except  *FindingFilter
}

// Target is a selected finding and its lineage, which is triaged.
type Target struct {
	FindingID int64
	LineageID int64
}

// SecretFilter selects secrets to list. Zero fields do not filter. Values of one field are combined
// with OR, fields with AND (docs/reference/finding-queries.md).
type SecretFilter struct {
	Visible          ProjectGlobs // visible projects of the caller
	ProjectIDs       []int64
	Ref              string    // full name
	Since            time.Time // inclusive, on relevant_since
	Statuses         []Status
	Severities       []Severity
	SecretTypes      []string
	ValidationStates []ValidationState
}

// Batch is a part of the data for an index: everything if read from version zero, otherwise the
// changes since a version. Rows have their current content, so applying a batch twice is harmless.
type Batch struct {
	Projects    []Project
	Rules       []Rule
	Policies    []Policy
	PolicyRules []PolicyRule
	Lineages    []Lineage
	Findings    []IndexedFinding

	DeletedPolicies []int64 // with their policy rules
	DeletedProjects []int64
	DeletedLineages []int64 // merged into another lineage, or of a deleted project
	DeletedFindings []int64
}

// IndexedFinding is a finding with its body. Fields that are used only to compare scans (source,
// identity, rule name, line, hashes) are not set.
type IndexedFinding struct {
	Finding
	Body []byte // see Body
}

// ChangeSet identifies the rows that changed after a version, including deleted rows. It may
// contain duplicates.
type ChangeSet struct {
	Version  int64 // at which it was read
	Findings IDRuns
	Lineages IDRuns
	Projects []int64
	Rules    []int64
	Policies bool

	PolicyRules bool // rules in policies
}
