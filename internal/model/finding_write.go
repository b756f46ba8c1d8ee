package model

import "time"

// ScanStream is what one source has said of one ref so far (semantics §5, order).
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
// is, and on which people had decided (semantics §5). It says what the decision was
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
// (semantics §4, §5). Into keeps its id; its annotations are as given. The
// identities, findings and trails of From hang on Into afterwards, and the
// lineages of From are no more.
type LineageMerge struct {
	Into Lineage
	From []int64
}
