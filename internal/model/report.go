package model

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"math"
	"time"
)

// Report is the result of a scanner run, independent of its file format. Secrets are already
// redacted (docs/reference/secrets.md).
type Report struct {
	Tool        string // lower case, such as semgrep or gitleaks
	ToolVersion string
	Category    string // distinguishes several streams of a tool; usually empty
	// Image is the name of the scanned container image without tag and digest. Each image is a
	// separate stream of the tool and the location of its findings.
	Image     string
	Products  Products
	StartedAt time.Time // zero if unknown
	TotalTime time.Duration
	Commit    string // empty if unknown
	Failed    bool   // the tool reports a failed run, which closes no findings

	// RulesRun contains the rules that ran, or nil if unknown.
	RulesRun []string
	// Searched and Skipped contain paths in the repository. Searched is nil if unknown.
	Searched []string
	Skipped  []string
	// Partial contains files that were parsed partially. They were covered outside of their spans.
	// They are distinct and not in Skipped.
	Partial []PartialFile
	// Unresolved contains lockfiles, and manifests without one, that the scanner did not read.
	// Their dependencies and findings about these are left unchanged. It has no effect on code and
	// secrets in these files.
	Unresolved []string
	// Gaps describes further gaps in coverage, if the report contains reasons.
	Gaps []ScanGap
	// HidesMuted means that results suppressed in the code may be missing. Then a missing result
	// does not mean that it is no longer suppressed.
	HidesMuted bool

	Rules       []*Rule // all described rules, including those without results
	Results     []Result
	Inventories []Inventory
	// SkippedVulnerabilities is the number of ignored vulnerabilities in an SBOM from Redoubt,
	// which is only used as an inventory.
	SkippedVulnerabilities int `json:"-"`
	Clean                  int `json:"-"` // items without findings, if the report lists them
	// VEX contains VEX documents. A document without a name contains the statements of an SBOM.
	VEX []VEXDocument
	Refusals
}

// OnlyVEX reports whether the report contains only VEX documents. It returns false for nil.
func (r *Report) OnlyVEX() bool { return r != nil && r.Tool == ToolVEX }

// AllRefused returns a message with the first refusal if the report has items but all were
// rejected, and "" otherwise. Such a report must not be treated as a scan without findings.
// Lockfiles are exempt: they remain valid if entries without a version are rejected.
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

// ToolLockfile is the tool name of reports from lockfiles.
const ToolLockfile = "lockfile"

// ToolVEX is the tool name of reports from VEX documents.
const ToolVEX = "vex"

// PartialFile is a file in which a scanner could not parse some lines. In these lines, only results
// of rules that do not parse (PlainLanguage) are complete.
type PartialFile struct {
	Path  string
	Spans []Span
}

// Span is an inclusive range of lines.
type Span struct{ First, Last int }

// WholeFile is the span of a file if the unparsed lines are unknown.
var WholeFile = Span{0, math.MaxInt32}

// Contains reports whether the line is in the span.
func (s Span) Contains(line int) bool { return s.First <= line && line <= s.Last }

// Location is the location of a result in a file. Lines and columns are 1-based, with 0 for
// unknown.
type Location struct {
	Line      int
	Column    int
	EndLine   int
	EndColumn int // exclusive
}

// Redacted replaces a secret in the code or message of a result.
const Redacted = "[REDACTED]"

// Result is a match reported by a scanner.
type Result struct {
	Item     string // position in the report for refusals, such as results[17]
	Rule     *Rule
	Path     string // relative to the repository, with slashes; does not leave it
	Location Location
	Message  string // metavariables expanded; template text for secrets

	MatchBasedID string // from the scanner, if it is a real one
	SyntacticID  string
	Fingerprint  string // another stable ID from the scanner, if any
	CodeHash     string // hex, from the scanner; may be empty
	CodeKey      Digest // keyed hash that replaces CodeHash if Code contained a secret
	CodeNumber   int    // ordinal among equal code of the rule in the file, from 1, as reported; 0 if unknown
	PatternHash  string // hex, from the scanner; may be empty
	StartHash    string // hex hash of the first line, from the scanner; may be empty
	EndHash      string // hex hash of the last line
	Code         string // the matched lines; empty for secrets and if unknown

	Severity   Severity
	Confidence Confidence
	Muted      bool // suppressed in the code
	// MutedOutside means that it is suppressed by a list or a decision outside of the code. This is
	// accepted only from senders with the triager role.
	MutedOutside bool
	Blocking     bool // the scanner would fail the build
	// Binds means that the rule has metavariables, so equivalent matches may differ in their code.
	Binds bool

	Secret     *SecretMatch // secrets only
	Dependency *Vulnerable  // supply chain only
	DataFlow   []FlowStep   // from source to sink; empty if unknown
}

// SecretMatch contains the storable data of a secret (docs/reference/secrets.md).
type SecretMatch struct {
	// Hash is a keyed hash that distinguishes the secret from others in its file. It is computed
	// from the secret, or from its line for Semgrep, whose uploads do not contain it. It is zero if
	// the report contained the secret in redacted form.
	Hash       Digest
	Value      Digest // keyed hash of the secret if it is known and Hash is computed from the line
	Validation ValidationState
	Commit     string // set if found in the history
}

// Vulnerable is the dependency of a supply-chain result.
type Vulnerable struct {
	Ecosystem     string
	Package       string
	Version       string
	Transitivity  Transitivity
	Lockfile      string
	Line          int // in the lockfile; 0 if unknown
	Vulnerability string
	Reachability  Reachability
	Condition     string // condition of reachability; usually empty
	Malicious     bool
	Unrated       bool // the severity is unknown and counts as medium
	Fixes         []Fix
	InCode        bool // the result's path is code that uses the package, not the lockfile
	EPSS          *EPSS
	Group         int64 // of advisories; 0 for results of scanners
}

// CodeDigest returns the stored digest of a scanner's hexadecimal hash of code.
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

// Lockfile returns the lockfile of a supply-chain result.
func (r *Result) Lockfile() string { return cmp.Or(r.Dependency.Lockfile, r.Path) }

// Subject returns the subject of a supply-chain result, or nil for other results.
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

// Fix is a package version that is no longer vulnerable.
type Fix struct {
	Package string `json:"package"`
	Version string `json:"version"`
}

// FlowStep is a step of tainted data.
type FlowStep struct {
	Path    string `json:"path"`
	Line    int    `json:"line"`
	Column  int    `json:"column"`
	Content string `json:"content,omitempty"`
}

// Refusal describes a rejected item of a report.
type Refusal struct {
	Item   string // position in the report, such as results[17]
	Reason string
}

// MaxRefused is the maximum number of refusals that are stored and reported individually. Reports
// of a few megabytes may contain a million.
const MaxRefused = 100

// Refusals contains the rejected items of a report. The zero value is empty.
type Refusals struct {
	Refused     []Refusal // in order, the first MaxRefused
	MoreRefused int       `json:",omitempty"` // number of further refusals
}

// Refuse adds rejected items.
func (r *Refusals) Refuse(items ...Refusal) {
	n := min(max(MaxRefused-len(r.Refused), 0), len(items))
	r.Refused = append(r.Refused, items[:n]...)
	r.MoreRefused += len(items) - n
}

// RefuseAll adds the refusals of another part of the report.
func (r *Refusals) RefuseAll(others Refusals) {
	r.Refuse(others.Refused...)
	r.MoreRefused += others.MoreRefused
}

// CountRefused returns the total number of refusals.
func (r *Refusals) CountRefused() int { return len(r.Refused) + r.MoreRefused }
