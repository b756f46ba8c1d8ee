package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Report is what one scanner run says, freed of its file format. Secrets in it
// are redacted already (docs/reference/secrets.md).
type Report struct {
	Tool        string // as semgrep, gitleaks; lower case
	ToolVersion string
	Category    string // a stream of its own of the same tool; mostly empty
	// Image names the container image that the report is about, without tag and digest. An
	// image is a stream of its own of the tool, and the place of what is found in it.
	Image     string
	Products  Products
	StartedAt time.Time // zero when the report does not tell
	TotalTime time.Duration
	Commit    string // when the report tells
	Failed    bool   // the tool says that its run failed: closes nothing

	// RulesRun names the rules that ran, nil when the report does not tell.
	RulesRun []string
	// Searched and Skipped are paths in the repository; Searched is nil when
	// the report does not tell where it looked.
	Searched []string
	Skipped  []string
	// Partial are files that could be parsed only in part, each once and none of
	// Skipped. Outside of their spans they were looked at.
	Partial []PartialFile
	// Unresolved names lockfiles, and manifests without one, that the scanner
	// could not or did not read as such. That says nothing of code and secrets in
	// them: dependencies there and findings about them stay as they are.
	Unresolved []string
	// Gaps says more of what was not looked at, where the report tells why.
	Gaps []ScanGap
	// HidesMuted says that what is muted in the code may be missing from the
	// results, so that its absence means nothing.
	HidesMuted bool

	Rules       []*Rule // all that the report describes, those without results too
	Results     []Result
	Inventories []Inventory
	// SkippedVulnerabilities counts those of an SBOM that Redoubt wrote: it is inventory.
	SkippedVulnerabilities int `json:"-"`
	Clean                  int `json:"-"` // items that were read and report nothing, where the report lists such
	// VEX are documents, and without a name what an SBOM says beside its
	// components.
	VEX []VEXDocument
	Refusals
}

// OnlyVEX reports whether the report says nothing but what documents do: it was
// made by no scan. One that is not there says nothing.
func (r *Report) OnlyVEX() bool { return r != nil && r.Tool == ToolVEX }

// AllRefused returns an empty string, or for a report that has items of which none could
// be read a sentence that says so, with the first. Such a report says nothing, and must
// not pass for one of a scan that found nothing. Lockfiles are never such a report: what
// they list without a version is refused, and they are stated all the same.
func (r *Report) AllRefused() string {
	if r.CountRefused() == 0 || len(r.Results)+r.Clean > 0 || r.Tool == ToolLockfile {
		return ""
	}
	for _, i := range r.Inventories {
		if len(i.Dependencies) > 0 {
			return ""
		}
	}
	for _, d := range r.VEX {
		if len(d.Statements) > 0 {
			return ""
		}
	}
	return fmt.Sprintf("none of its %d items could be read; the first, %s: %s",
		r.CountRefused(), r.Refused[0].Item, r.Refused[0].Reason)
}

// ToolLockfile stands for the tool of reports that are lockfiles.
const ToolLockfile = "lockfile"

// ToolVEX stands for the tool of reports that are VEX documents.
const ToolVEX = "vex"

// PartialFile is a file that a scanner parsed but for some lines. What it found there, and
// did not, says nothing; of rules that parse nothing (PlainLanguage) it says all.
type PartialFile struct {
	Path  string
	Spans []Span
}

// Span is a range of lines, both ends included.
type Span struct{ First, Last int }

// WholeFile is the span of a file if the report does not say which lines were parsed.
var WholeFile = Span{0, math.MaxInt32}

// Holds reports whether the line is one of the span.
func (s Span) Holds(line int) bool { return s.First <= line && line <= s.Last }

// Location is where in a file a result is. Lines and columns are 1-based; zero
// is unknown.
type Location struct {
	Line      int
	Column    int
	EndLine   int
	EndColumn int // exclusive
}

// Redacted stands where a secret was in the code or the message of a result.
const Redacted = "[REDACTED]"

// Result is one match that a scanner reports.
type Result struct {
	Item     string // where in the file, as results[17], for refusals
	Rule     *Rule
	Path     string // in the repository, with slashes, never leaving it
	Location Location
	Message  string // metavariables expanded; the template's text for secrets

	MatchBasedID string // the scanner's own, when real
	SyntacticID  string
	Fingerprint  string // another stable id of the scanner's; empty when none
	CodeHash     string // hex, the scanner's; empty when none
	CodeKey      Digest // keyed hash in place of CodeHash where Code held a secret
	CodeNumber   int    // among equal code of the rule in the file, from 1, as the scanner counts; 0 when not told
	PatternHash  string // hex, the scanner's; empty when none
	StartHash    string // hex, the scanner's hash of the first line; empty when none
	EndHash      string // hex, of the last line
	Code         string // the matched lines; empty for secrets and when unknown

	Severity   Severity
	Confidence Confidence
	Muted      bool // silenced in the code
	// MutedOutside is of what is muted, and not by a comment in the code: by a list
	// beside it or a decision elsewhere, which counts where its sender may triage.
	MutedOutside bool
	Blocking     bool // the scanner would fail the build on it
	// Binds says that the rule has metavariables, so that what matches may change
	// in form and be the same still.
	Binds bool

	Secret     *SecretMatch // secrets only
	Dependency *Vulnerable  // supply chain only
	DataFlow   []FlowStep   // from source to sink; empty when not told
}

// SecretMatch is what may be kept of a secret (docs/reference/secrets.md).
type SecretMatch struct {
	// Hash is keyed and tells the secret from others in its file: that of the
	// secret itself or, of Semgrep, whose uploads do not hold it, of its line.
	// It is zero when the report held the secret redacted.
	Hash       Digest
	Value      Digest // keyed hash of the secret itself, where Hash is another and the report holds it
	Validation ValidationState
	Commit     string // set when found in history
}

// Vulnerable is the dependency that a supply-chain result is about.
type Vulnerable struct {
	Ecosystem     string
	Package       string
	Version       string
	Transitivity  Transitivity
	Lockfile      string
	Line          int // of the lockfile; 0 when unknown
	Vulnerability string
	Reachability  Reachability
	Condition     string // under which it is reachable; mostly empty
	Malicious     bool
	Unrated       bool // nobody told how severe it is: medium stands in
	Fixes         []Fix
	InCode        bool // the result's path is code that uses the package, not the lockfile
	EPSS          *EPSS
	Group         int64 // of advisories; 0 from scanners
}

// CodeDigest is what is kept of a scanner's hash of code, which is hex.
func CodeDigest(hash string) Digest {
	if hash == "" {
		return Digest{}
	}
	const domain = "code"
	text := append([]byte{byte(len(domain))}, domain...)
	text = append(binary.AppendUvarint(text, uint64(len(hash))), hash...)
	sum := sha256.Sum256(text)
	return Digest(sum[:len(Digest{})])
}

// Lockfile is the one that a supply-chain result is about.
func (r *Result) Lockfile() string { return cmp.Or(r.Dependency.Lockfile, r.Path) }

// Subject is what a result is about, where it is a dependency; else nil.
func (r *Result) Subject() *Subject {
	v := r.Dependency
	if v == nil {
		return nil
	}
	return &Subject{
		Lockfile: r.Lockfile(), Ecosystem: v.Ecosystem, Package: v.Package, Version: v.Version,
		Vulnerability: v.Vulnerability, Group: v.Group,
	}
}

// Fix is a version of a package that is no longer vulnerable.
type Fix struct {
	Package string `json:"package"`
	Version string `json:"version"`
}

// FlowStep is one place that tainted data passes.
type FlowStep struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Content string `json:"content,omitempty"`
}

// Refusal names one item of a report that could not be taken, and why.
type Refusal struct {
	Item   string // where in the file, as results[17]
	Reason string
}

// MaxRefused bounds how many refusals are kept and told one by one: a report of a
// few megabytes may hold a million, and people read the first.
const MaxRefused = 100

// Refusals are the items of a report that could not be taken. The zero value is
// of none.
type Refusals struct {
	Refused     []Refusal // in their order, the first MaxRefused
	MoreRefused int       `json:",omitempty"` // how many there are beyond these
}

// Refuse adds items.
func (r *Refusals) Refuse(items ...Refusal) {
	room := min(max(MaxRefused-len(r.Refused), 0), len(items))
	r.Refused = append(r.Refused, items[:room]...)
	r.MoreRefused += len(items) - room
}

// RefuseAll adds what another part of the report refused.
func (r *Refusals) RefuseAll(others Refusals) {
	r.Refuse(others.Refused...)
	r.MoreRefused += others.MoreRefused
}

// CountRefused is how many items were refused, told one by one or not.
func (r *Refusals) CountRefused() int { return len(r.Refused) + r.MoreRefused }
