package model

import (
	"crypto/sha256"
	"encoding/binary"
	"strings"
	"time"
)

// State is what the scans say of a finding (docs/explanation/life-of-a-finding.md).
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

// StatusOf derives the status from what scans and people say (docs/reference/findings.md).
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
// of two kinds are two identities (docs/explanation/identity.md).
type IdentityKind uint8

// Kinds of identity, best first.
const (
	IdentityMatchBased IdentityKind = iota + 1 // the scanner's formula group, the code and its number
	IdentityTool                               // another fingerprint of the scanner's
	IdentityOwn                                // ours, version 1: tool, rule, path, code, ordinal
	IdentitySecret                             // rule, path, keyed hash of the secret
	IdentityDependency                         // rule or vulnerability, lockfile, package
)

// Identity tells one finding of a project from all others, whatever the ref.
type Identity struct {
	Kind IdentityKind
	Hash Digest
}

// Coverage says how much of a finding's file the last scan that looked there could read,
// and whether it saw the finding (docs/explanation/identity.md).
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
// are its body (docs/explanation/identity.md).
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

// ScanStream is what one source has said of one ref so far (docs/reference/scans.md).
type ScanStream struct {
	LastScanID    int64     // newest applied scan; 0 when none
	LastDigest    Digest    // of that scan's upload
	LastFullStart time.Time // start of the newest applied full scan; zero when none
	LastDiffStart time.Time // start of the newest applied diff scan; zero when none
	Complete      bool      // an applied full scan did not fail
	// Superseded is true when the commit was applied here before and others
	// were applied since.
	Superseded bool
}

// IdentityLink puts an identity into a lineage.
type IdentityLink struct {
	Identity  Identity
	LineageID int64
}

// FindingWrite is a row to write, with what readers see beside it.
type FindingWrite struct {
	Finding
	Body     []byte   // Body's members
	Evidence []byte   // JSON: code and data flow
	Subject  *Subject // of a supply-chain finding, where a report told it anew
	// Unscanned is of a finding that news of the advisories made: its first scan is that of
	// the lockfile.
	Unscanned bool
}

// Supplement is what the advisories know of a vulnerability, for the finding of a
// scanner that does not tell it.
type Supplement struct {
	Fixes    []Fix
	Severity Severity // zero where no database rates it
}

// Place is where in a project a finding is.
type Place struct {
	FindingID int64
	ProjectID int64
	Path      string
}

// FindingEvent is one line of a finding's history.
type FindingEvent struct {
	FindingID int64
	ScanID    int64 // 0 where no scan did it
	Kind      FindingEventKind
	Detail    string // JSON, or empty
}

// FindingEventKind names what happened to a finding.
type FindingEventKind string

// Kinds of event.
const (
	EventFixed    FindingEventKind = "fixed"
	EventReturned FindingEventKind = "returned"
	EventRemoved  FindingEventKind = "removed"
	EventMoved    FindingEventKind = "moved"
	EventMuted    FindingEventKind = "muted"
	EventUnmuted  FindingEventKind = "unmuted"
	// EventPrecedent names a finding that closed where this one is new, and what
	// people had decided on it.
	EventPrecedent FindingEventKind = "precedent"
	// EventCopied names the finding that this one proved to be a copy of: what was
	// decided on both is about that one alone from then on.
	EventCopied FindingEventKind = "copied"
	// EventMerged names a finding that is part of this one from then on, or the project that
	// it was of, where that was merged and has no findings any more.
	EventMerged FindingEventKind = "merged"
)

// MergedFinding is what the history of a finding tells of one that it took in.
type MergedFinding struct {
	FindingID int64  `json:"finding_id,omitempty"` // 0 where there is none any more: its project was merged
	Project   string `json:"project,omitempty"`    // the name that this had
}

// Precedent is what the history of a finding tells of another one in whose place it
// is, and on which people had decided (docs/explanation/life-of-a-finding.md). It says what the decision was
// then; it decides nothing.
type Precedent struct {
	FindingID int64     `json:"finding_id"`
	State     string    `json:"state"`
	Reason    string    `json:"reason,omitempty"`
	At        time.Time `json:"at,omitzero"` // of the decision
}

// PrecedentOf is what was decided on a finding.
func PrecedentOf(findingID int64, t Triage) Precedent {
	p := Precedent{FindingID: findingID, State: t.State.String(), At: t.At}
	if t.Reason != 0 {
		p.Reason = t.Reason.String()
	}
	return p
}

// InventoryStatement is one lockfile's inventory as a scan tells it.
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

// LineageMerge makes one finding of several lineages of a project, as when a
// file that moved on one ref was first seen under its new path on another
// (docs/explanation/identity.md). Into keeps its id; its annotations are as given. The
// identities, findings and trails of From hang on Into afterwards, and the
// lineages of From are no more.
type LineageMerge struct {
	Into Lineage
	From []int64
}

// FormulaGroup is a match_based_id without the ordinal behind it: rule, path and
// pattern with what its metavariables stand for. The ordinal says only the order
// in the file, and changes when a line is put above (docs/explanation/identity.md).
func FormulaGroup(matchBasedID string) string {
	i := strings.LastIndexByte(matchBasedID, '_')
	if i < 0 || i == len(matchBasedID)-1 || strings.Trim(matchBasedID[i+1:], "0123456789") != "" {
		return matchBasedID
	}
	return matchBasedID[:i]
}

// MatchKey is what the matches of one code in one formula group of a file share;
// their numbers, from 0, tell them apart.
func MatchKey(group string, code Digest) Digest {
	var room [256]byte
	text := appendText(room[:0], "match 2")
	text = append(appendText(text, group), code[:]...)
	sum := sha256.Sum256(text)
	return Digest(sum[:len(Digest{})])
}

// NumberedIdentity is the identity of the n-th, from 0, of what shares a key.
func NumberedIdentity(kind IdentityKind, key Digest, n int64) Identity {
	var room [64]byte
	text := append(appendText(room[:0], "ordinal"), key[:]...)
	sum := sha256.Sum256(binary.AppendVarint(text, n))
	return Identity{Kind: kind, Hash: Digest(sum[:len(Digest{})])}
}

// appendText appends a text after its length, so that no two lists of texts
// give the same bytes.
func appendText(to []byte, text string) []byte {
	return append(binary.AppendUvarint(to, uint64(len(text))), text...)
}

// FindingFilter selects findings of one issue type: values of one member are
// or-ed, members and-ed, and an empty member does not filter. It holds the 21
// parameters of the listing and the 24 of bulk triage together, so filters
// exist once; which of them an operation takes, the server checks.
type FindingFilter struct {
	IssueType IssueType
	Since     time.Time // inclusive, on relevant_since
	Ref       string    // in full; empty for all
	Dedup     bool      // one occurrence per lineage

	Visible      ProjectGlobs // what the caller may see
	Projects     []string     // names, case-insensitive
	ProjectIDs   []int64
	ProjectTags  []string // case-insensitive
	Visibilities []Visibility

	Statuses      []Status
	TriageReasons []TriageReason
	Severities    []Severity
	Confidences   []Confidence
	Modes         []PolicyMode // of the rule now
	Rules         []string
	Rulesets      []string
	Categories    []string
	Verdicts      []Verdict
	ComponentTags []string
	PRStates      []string  // open, merged
	Assignees     []string  // names of users, AssigneeNobody
	EndsBy        time.Time // keeps what has a decision that ends then or before; zero does not filter
	Due           *DueFilter
	DueBefore     time.Time // keeps what is due before that day in UTC; zero does not filter

	Reachabilities []Reachability
	Transitivities []Transitivity
	Malicious      *bool
	Packages       []string
	EPSS           []EPSSBand
	Exploited      *bool // by the catalogue of exploited vulnerabilities (KEV)
	Unrated        *bool // whether nobody rates the vulnerability, so that medium stands in

	ProOnly          *bool
	ExcludeHistoric  bool
	SecretTypes      []string
	ValidationStates []ValidationState

	// IDs restricts to these findings when HasIDs is set; unknown ones are
	// skipped (docs/reference/triage.md).
	HasIDs bool
	IDs    []int64

	// The pages narrow further. Primary keeps what is on the primary branch of
	// its project. Search keeps what has the text, in any case, in the name of
	// its rule, project or package, in its path, in what its rule says (its own
	// message where that says nothing), or in the name of its vulnerability; and
	// what has one of the vulnerabilities that Named lists, in any case. Except leaves out what any of its lists of
	// values has; its other members say nothing.
	Primary bool
	Search  string
	Named   []string
	Except  *FindingFilter
}

// Target is a selected finding and the lineage that its triage hangs on.
type Target struct {
	FindingID int64
	LineageID int64
}

// SecretFilter selects secrets to list; zero members do not filter. Values of
// one member are or-ed, members and-ed (docs/reference/finding-queries.md).
type SecretFilter struct {
	Visible          ProjectGlobs // what the caller may see
	ProjectIDs       []int64
	Ref              string    // in full
	Since            time.Time // inclusive, on relevant_since
	Statuses         []Status
	Severities       []Severity
	SecretTypes      []string
	ValidationStates []ValidationState
}

// Batch is a part of what an index is built from: everything, when read from
// version zero, else what changed since. Rows hold their present content, so
// the same batch twice does no harm.
type Batch struct {
	Projects    []Project
	Rules       []Rule
	Policies    []Policy
	PolicyRules []PolicyRule
	Lineages    []Lineage
	Findings    []IndexedFinding

	DeletedPolicies []int64 // with their lists of rules
	DeletedProjects []int64
	DeletedLineages []int64 // merged into another, or of a deleted project
	DeletedFindings []int64
}

// IndexedFinding is a finding with its body. What only scans compare (source,
// identity, rule name, line, hashes) and nobody reads in a list is left out.
type IndexedFinding struct {
	Finding
	Body []byte // see Body
}

// ChangeSet names what changed after a version: rows that are gone are among them. A row
// may be named more than once.
type ChangeSet struct {
	Version  int64 // at which it was read
	Findings IDRuns
	Lineages IDRuns
	Projects []int64
	Rules    []int64
	Policies bool

	PolicyRules bool // what rules are in policies
}
