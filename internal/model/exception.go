package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ExceptionState is the state of an exception.
type ExceptionState uint8

// States. The numbers are stored and must not change.
const (
	ExceptionRequested ExceptionState = iota + 1 // undecided and without effect
	ExceptionActive                              // ignores covered findings until it ends
	ExceptionRefused                             // rejected; Answer contains the reason
	ExceptionWithdrawn                           // withdrawn by the requester
	ExceptionEnded                               // expired, removed, or without remaining findings
)

var exceptionStates = enumNames[ExceptionState]{"", "requested", "active", "refused", "withdrawn", "ended"}

// String returns the wire name.
func (s ExceptionState) String() string { return exceptionStates.name(s) }

// ParseExceptionState parses a wire name.
func ParseExceptionState(s string) (ExceptionState, bool) { return exceptionStates.parse(s) }

// ExceptionKind is the kind of an exception's subject.
type ExceptionKind uint8

// Kinds. The numbers are stored and must not change.
const (
	ExceptionOfTarget   ExceptionKind = iota + 1 // a rule or a vulnerability
	ExceptionOfFindings                          // listed findings
	ExceptionOfDocument                          // the statements of a VEX document
)

var exceptionKinds = enumNames[ExceptionKind]{"", "target", "findings", "document"}

// String returns the wire name.
func (k ExceptionKind) String() string { return exceptionKinds.name(k) }

// ParseExceptionKind parses a wire name.
func ParseExceptionKind(s string) (ExceptionKind, bool) { return exceptionKinds.parse(s) }

// Exception accepts findings until a date. They are those of a rule or a vulnerability in some
// projects and paths, or listed findings of a project. An active exception ignores them with its
// own triage decision. When it ends, they are open again (docs/reference/triage.md).
type Exception struct {
	ID    int64
	State ExceptionState

	Target   string       // rule name, or any ID of a vulnerability; empty if findings are listed
	Paths    PathGlobs    // for a target: globs for the finding's path or lockfile; empty for all paths
	Projects ProjectGlobs // for a target: case-insensitive globs; empty for all projects

	ProjectID int64   // of the listed findings or the document; otherwise 0
	Lineages  []int64 // listed lineages

	// Document is the VEX document without its statements, or nil. For a document, Target is its
	// name, and State is whether it is proposed or active.
	Document   *VEXDocument
	Statements int   // number of statements in the document
	Bytes      int64 // size of the statements as JSON

	Reason       string // for display
	TriageReason TriageReason
	Until        time.Time // exclusive end; zero for no end
	Wish         time.Time // requested end; equal to Until while it is requested
	CreatedAt    time.Time
	CreatedBy    Actor
	CreatorID    int64 // ID of the requesting user; 0 if none

	DecidedAt time.Time // time of the last state change; zero while it is requested
	DecidedBy Actor
	Answer    string // comment on the decision; may be empty
}

// Limits of requested exceptions.
const (
	MaxRequestFindings   = 100 // per exception
	MaxOpenRequestsOfOne = 50  // per user, host account, or token without a user
	MaxOpenRequests      = 500 // per deployment
	MaxPastExceptions    = 10_000
)

// MaxExceptions is the maximum number of active exceptions per deployment.
const MaxExceptions = 10_000

// MaxExceptionBytes limits the total size of a deployment's active exceptions in bytes, because
// every upload reads all of them.
const MaxExceptionBytes = 32 << 20

// Length returns the size of the exception in bytes.
func (e *Exception) Length() int {
	n := len(e.Target) + len(e.Reason)
	for _, list := range [][]string{e.Paths, e.Projects} {
		for _, glob := range list {
			n += len(glob)
		}
	}
	return n
}

// maxTarget is the maximum length of the name of a rule or vulnerability, in characters.
const maxTarget = 512

// Check returns all errors of a new exception as an *InvalidError, or nil. It removes control
// characters from the reason.
func (e *Exception) Check(now time.Time) error {
	var bad InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if e.ProjectID == 0 && (e.Target == "" || utf8.RuneCountInString(e.Target) > maxTarget ||
		HasControls(e.Target) || strings.TrimSpace(e.Target) != e.Target) {
		fault("target", "invalid target %.80q: name a rule, or a vulnerability such as CVE-2021-44228, "+
			"in at most %d characters without surrounding spaces", e.Target, maxTarget)
	}
	var err error
	if e.Reason, err = exceptionText("reason", e.Reason, true); err != nil {
		fault("reason", "enter a text of 1 to %d characters", MaxNote)
	}
	if e.TriageReason.String() == "" {
		fault("triage_reason", "must be one of %s", strings.Join(triageReasons[1:], ", "))
	}
	if CheckExceptionEnd(e.Until, now) != nil {
		fault("until", "is in the past (UTC)")
	}
	checkGlobs(e.Projects, func(format string, args ...any) { fault("projects", format, args...) })
	checkGlobs(e.Paths, func(format string, args ...any) { fault("paths", format, args...) })
	if err := e.Paths.Check(); err != nil {
		fault("paths", "%v", err)
	}
	if len(bad.Fields) > 0 {
		return &bad
	}
	return nil
}

// CheckExceptionEnd validates the end of an exception and returns an *InvalidError. The zero time
// means no end.
func CheckExceptionEnd(until, now time.Time) error {
	if !until.IsZero() && !until.After(now) {
		return Invalid("until", "is in the past (UTC)")
	}
	return nil
}

// ExceptionEnd parses the last day of an exception like EndOfDay. An empty text means no end. It
// returns an *InvalidError for other invalid texts.
func ExceptionEnd(day string) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	end, ok := EndOfDay(day)
	if !ok {
		return end, Invalid("until", "invalid date %.20q: use YYYY-MM-DD", day)
	}
	return end, nil
}

// ExceptionAnswer returns the comment on a decision without control characters. A rejection
// requires a comment.
func ExceptionAnswer(text string, needed bool) (string, error) {
	return exceptionText("answer", text, needed)
}

func exceptionText(location, input string, needed bool) (string, error) {
	text := strings.TrimSpace(Note(input))
	n := utf8.RuneCountInString(text)
	if needed && n == 0 || n > MaxNote || !utf8.ValidString(input) || strings.ContainsRune(input, 0) {
		return text, Invalid(location, "enter a text of 1 to %d characters", MaxNote)
	}
	return text, nil
}

// ParseUntil parses the end of an exception. It is a day in UTC such as 2027-01-31, which means the
// end of that day, or an instant such as 2027-01-31T12:00:00Z.
func ParseUntil(text string) (time.Time, error) {
	if end, ok := EndOfDay(text); ok {
		return end, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() > 9999 {
		return at, fmt.Errorf("invalid date %.80q: use YYYY-MM-DD or 2027-01-31T12:00:00Z", text)
	}
	return at.UTC(), nil
}

// UntilText returns the end in the format of ParseUntil, or "forever".
func (e *Exception) UntilText() string {
	switch {
	case e.Until.IsZero():
		return "forever"
	case e.Until.Equal(e.Until.Truncate(24 * time.Hour)):
		return e.Until.UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return e.Until.UTC().Format(time.RFC3339)
}

// Where describes the projects and paths of an exception of a target, for display.
func (e *Exception) Where() string {
	text := cmp.Or(strings.Join(e.Projects, " "), "all projects")
	if len(e.Paths) > 0 {
		text += " at " + strings.Join(e.Paths, " ")
	}
	return text
}

// Within reports whether the exception covers only projects that the globs allow: it names such
// projects or repeats the globs.
func (e *Exception) Within(globs ProjectGlobs) bool { return globs.Contain(e.Projects) }

// Active reports whether the exception is active at a time.
func (e *Exception) Active(now time.Time) bool { return e.StateAt(now) == ExceptionActive }

// StateAt returns the state at a time. An active exception past its end counts as ended, even if
// this is not stored yet.
func (e *Exception) StateAt(now time.Time) ExceptionState {
	if e.State == ExceptionActive && !e.Until.IsZero() && !now.Before(e.Until) {
		return ExceptionEnded
	}
	return e.State
}

// OfFindings reports whether the exception lists findings.
func (e *Exception) OfFindings() bool { return e.Kind() == ExceptionOfFindings }

// Kind returns the kind of the exception's subject.
func (e *Exception) Kind() ExceptionKind {
	switch {
	case e.Document != nil:
		return ExceptionOfDocument
	case e.ProjectID != 0:
		return ExceptionOfFindings
	}
	return ExceptionOfTarget
}

// ActorException and ActorVEX are the actor kinds of decisions by exceptions and VEX documents.
const (
	ActorException = "exception"
	ActorVEX       = "vex"
)

// Actor returns the actor of the exception's triage decisions.
func (e *Exception) Actor() Actor {
	if e.Document != nil {
		return e.Document.Actor()
	}
	return Actor{Kind: ActorException, ID: strconv.FormatInt(e.ID, 10)}
}

// ExceptionCase is a lineage with the data that determines whether exceptions or VEX statements
// cover it. The store reads it, and internal/exceptions evaluates it.
type ExceptionCase struct {
	Lineage     Lineage
	Project     Project
	Occurrences []*ExceptionOccurrence
	NamedBy     []int64 // IDs of active exceptions that list the lineage, ascending
}

// ExceptionOccurrence is one occurrence of a lineage.
type ExceptionOccurrence struct {
	Ref   string
	Rule  string
	Names []string // all names of its vulnerability in upper case
	Paths []string // paths of the finding and of its lockfile
	State State

	Ecosystem, Package, Version string     // vulnerable package; empty for code
	Claims                      []VEXClaim // all claims about its vulnerability, for any product
}

// VEXClaim is a statement with its document.
type VEXClaim struct {
	Document  *VEXDocument
	Statement *VEXStatement
}

// ExceptionScope selects the lineages that a change may affect: those that match one of the
// criteria, within the bounds.
type ExceptionScope struct {
	Rules        []string // names of rules
	Names        []string // names of vulnerabilities in upper case; each includes all of its aliases
	Dependencies bool     // lineages with a vulnerability, if there are VEX documents
	Named        bool     // lineages listed by active exceptions
	Exempted     bool     // lineages last decided by an exception or a VEX document
	Actors       []Actor  // restricts Exempted to decisions of these actors

	Lineages []int64 // bound: lineages; nil for all
	Projects []int64 // bound: projects; nil for all
}

// ExceptionMark is the state up to which exceptions and VEX documents have been applied to a
// deployment's findings.
type ExceptionMark struct {
	Version     int64     // of the deployment
	TriageEvent int64     // newest event of the triage history
	Advisories  int64     // version of the advisories
	At          time.Time // zero if never
}

// ExceptionChanges contains the changes since a mark, except for uploads.
type ExceptionChanges struct {
	Since, Now ExceptionMark
	Unknown    bool     // the changes are unknown: anything may have changed
	Projects   []int64  // projects that changed or lost a ref
	Lineages   []int64  // lineages whose triage changed
	Names      []string // vulnerabilities whose aliases changed
}

// Moved reports whether anything was written since the mark.
func (c *ExceptionChanges) Moved() bool {
	since := c.Since
	since.At = c.Now.At
	return since != c.Now
}
