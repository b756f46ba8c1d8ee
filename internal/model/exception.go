package model

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// ExceptionState is how far an exception is.
type ExceptionState uint8

// States. The numbers are stored: never give one another meaning.
const (
	ExceptionRequested ExceptionState = iota + 1 // waits for a decision and changes nothing
	ExceptionActive                              // ignores what it covers, until it ends
	ExceptionRefused                             // Answer says why
	ExceptionWithdrawn                           // by the person who asked
	ExceptionEnded                               // expired or removed, or nothing was left to ask for
)

var exceptionStates = enumNames[ExceptionState]{"", "requested", "active", "refused", "withdrawn", "ended"}

// String returns the wire name.
func (s ExceptionState) String() string { return exceptionStates.name(s) }

// ParseExceptionState reads a wire name.
func ParseExceptionState(s string) (ExceptionState, bool) { return exceptionStates.parse(s) }

// ExceptionKind is what an exception is about.
type ExceptionKind uint8

// Kinds. The numbers are stored: never give one another meaning.
const (
	ExceptionOfTarget   ExceptionKind = iota + 1 // a rule or a vulnerability
	ExceptionOfFindings                          // findings that it names
	ExceptionOfDocument                          // what a VEX document says
)

var exceptionKinds = enumNames[ExceptionKind]{"", "target", "findings", "document"}

// String returns the wire name.
func (k ExceptionKind) String() string { return exceptionKinds.name(k) }

// ParseExceptionKind reads a wire name.
func ParseExceptionKind(s string) (ExceptionKind, bool) { return exceptionKinds.parse(s) }

// Exception says that findings are accepted until a day: what a rule or a vulnerability finds in
// some projects and paths, or some findings of one project. While it is active it ignores them by
// a triage of its own, and when it ends they are open again (docs/reference/triage.md).
type Exception struct {
	ID    int64
	State ExceptionState

	Target   string       // a rule's name, or a vulnerability's id under any of its names; empty where it names findings
	Paths    PathGlobs    // of a target: one must fit the finding's path or its lockfile; empty is every path
	Projects ProjectGlobs // of a target: one must fit, whatever the case; empty is every project

	ProjectID int64   // of the findings that it names, or that a document is for; else 0
	Lineages  []int64 // that it names

	// Document is the VEX document that it is, without its statements; nil: it is none. Then
	// Target is the name of the document, and State says whether it is proposed or counts.
	Document   *VEXDocument
	Statements int   // of the document
	Bytes      int64 // of these, as JSON

	Reason       string // for people
	TriageReason TriageReason
	Until        time.Time // the first instant without it; zero is for ever
	Wish         time.Time // the end that was asked for; Until while it is requested
	CreatedAt    time.Time
	CreatedBy    Actor
	CreatorID    int64 // user who asked; 0: no user did

	DecidedAt time.Time // when it got its state; zero while requested
	DecidedBy Actor
	Answer    string // of the person who decided; empty: nothing was said
}

// Bounds of exceptions that are asked for.
const (
	MaxRequestFindings   = 100 // of one exception
	MaxOpenRequestsOfOne = 50  // of one person, here or at a host, or of one token that is no user's
	MaxOpenRequests      = 500 // of a deployment
	MaxPastExceptions    = 10_000
)

// MaxExceptions is how many active exceptions a deployment may have.
const MaxExceptions = 10_000

// MaxExceptionBytes is how much the active exceptions of a deployment may say together, in
// bytes: every upload reads all of them.
const MaxExceptionBytes = 32 << 20

// Length is what an exception says, in bytes.
func (e *Exception) Length() int {
	n := len(e.Target) + len(e.Reason)
	for _, list := range [][]string{e.Paths, e.Projects} {
		for _, glob := range list {
			n += len(glob)
		}
	}
	return n
}

// maxTarget is the longest name of a rule or vulnerability, in characters.
const maxTarget = 512

// Check names everything that is wrong with an exception that is to be made at a
// time as a *InvalidError, or returns nil. The reason loses what terminals would obey.
func (e *Exception) Check(now time.Time) error {
	var bad InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if e.ProjectID == 0 && (e.Target == "" || utf8.RuneCountInString(e.Target) > maxTarget ||
		HasControls(e.Target) || strings.TrimSpace(e.Target) != e.Target) {
		fault("target", "%.80q will not do: name a rule, or a vulnerability as CVE-2021-44228, "+
			"in at most %d characters, with no space at either end", e.Target, maxTarget)
	}
	var err error
	if e.Reason, err = exceptionText("reason", e.Reason, true); err != nil {
		fault("reason", "say why, in 1 to %d characters", MaxNote)
	}
	if e.TriageReason.String() == "" {
		fault("triage_reason", "is one of %s", strings.Join(triageReasons[1:], ", "))
	}
	if CheckExceptionEnd(e.Until, now) != nil {
		fault("until", "is over already (in UTC)")
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

// CheckExceptionEnd says what is wrong with when an exception is to end, as a *InvalidError;
// the zero time is never.
func CheckExceptionEnd(until, now time.Time) error {
	if !until.IsZero() && !until.After(now) {
		return Invalid("until", "is over already (in UTC)")
	}
	return nil
}

// ExceptionEnd reads the last day of an exception, as EndOfDay; an empty one is no end. Another
// text is a *InvalidError.
func ExceptionEnd(day string) (time.Time, error) {
	if day == "" {
		return time.Time{}, nil
	}
	end, ok := EndOfDay(day)
	if !ok {
		return end, Invalid("until", "%.20q is no day: write it as 2027-01-31", day)
	}
	return end, nil
}

// ExceptionAnswer returns the answer to a request without what terminals would obey. A refusal
// needs one.
func ExceptionAnswer(text string, needed bool) (string, error) {
	return exceptionText("answer", text, needed)
}

func exceptionText(location, said string, needed bool) (string, error) {
	text := strings.TrimSpace(Note(said))
	n := utf8.RuneCountInString(text)
	if needed && n == 0 || n > MaxNote || !utf8.ValidString(said) || strings.ContainsRune(said, 0) {
		return text, Invalid(location, "say why, in 1 to %d characters", MaxNote)
	}
	return text, nil
}

// ParseUntil reads when an exception ends: a day in UTC, whose end it is, as
// 2027-01-31, or an instant, as 2027-01-31T12:00:00Z.
func ParseUntil(text string) (time.Time, error) {
	if end, ok := EndOfDay(text); ok {
		return end, nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.UTC().Year() > 9999 {
		return at, fmt.Errorf("%.80q is no day: write it as 2027-01-31, or as 2027-01-31T12:00:00Z", text)
	}
	return at.UTC(), nil
}

// UntilText is when the exception ends, as ParseUntil reads it, or forever.
func (e *Exception) UntilText() string {
	switch {
	case e.Until.IsZero():
		return "forever"
	case e.Until.Equal(e.Until.Truncate(24 * time.Hour)):
		return e.Until.UTC().AddDate(0, 0, -1).Format(time.DateOnly)
	}
	return e.Until.UTC().Format(time.RFC3339)
}

// Where says in which projects and paths the exception of a target holds, for people.
func (e *Exception) Where() string {
	text := cmp.Or(strings.Join(e.Projects, " "), "all projects")
	if len(e.Paths) > 0 {
		text += " at " + strings.Join(e.Paths, " ")
	}
	return text
}

// Within reports whether the exception is of no project beside those that the
// globs allow: it names projects, or repeats the globs.
func (e *Exception) Within(globs ProjectGlobs) bool { return globs.Contain(e.Projects) }

// Active reports whether the exception holds at a time.
func (e *Exception) Active(now time.Time) bool { return e.StateAt(now) == ExceptionActive }

// StateAt is the state at a time: an active exception whose time is over has ended, also where
// that is not noted yet.
func (e *Exception) StateAt(now time.Time) ExceptionState {
	if e.State == ExceptionActive && !e.Until.IsZero() && !now.Before(e.Until) {
		return ExceptionEnded
	}
	return e.State
}

// OfFindings reports whether the exception names findings, and no rule or vulnerability.
func (e *Exception) OfFindings() bool { return e.Kind() == ExceptionOfFindings }

// Kind is what the exception is about.
func (e *Exception) Kind() ExceptionKind {
	switch {
	case e.Document != nil:
		return ExceptionOfDocument
	case e.ProjectID != 0:
		return ExceptionOfFindings
	}
	return ExceptionOfTarget
}

// ActorException and ActorVEX are the kinds of actor that decide as exceptions and
// as VEX documents.
const (
	ActorException = "exception"
	ActorVEX       = "vex"
)

// Actor is the exception as the one who decides about findings.
func (e *Exception) Actor() Actor {
	if e.Document != nil {
		return e.Document.Actor()
	}
	return Actor{Kind: ActorException, ID: strconv.FormatInt(e.ID, 10)}
}

// ExceptionCase is a lineage with all that decides whether exceptions or VEX
// statements cover it. The store reads it, internal/exceptions judges it.
type ExceptionCase struct {
	Lineage     Lineage
	Project     Project
	Occurrences []*ExceptionOccurrence
	NamedBy     []int64 // active exceptions that name the lineage, ascending
}

// ExceptionOccurrence is one occurrence of a lineage.
type ExceptionOccurrence struct {
	Ref   string
	Rule  string
	Names []string // of its vulnerability, all of them, in upper case
	Paths []string // where it shows, and its lockfile
	State State

	Ecosystem, Package, Version string     // of what is vulnerable; empty in code
	Claims                      []VEXClaim // of its vulnerability, whatever they are for
}

// VEXClaim is a statement and the document that makes it.
type VEXClaim struct {
	Document  *VEXDocument
	Statement *VEXStatement
}

// ExceptionScope selects the lineages that a change may concern: those of one of
// its members, within its bounds.
type ExceptionScope struct {
	Rules        []string // names of rules that find them
	Names        []string // of their vulnerability, in upper case; each stands for all of its aliases
	Dependencies bool     // that are about a vulnerability, if any VEX document is held
	Named        bool     // that active exceptions name
	Exempted     bool     // that an exception or a VEX document decided about last
	Actors       []Actor  // of Exempted those that one of these decided about

	Lineages []int64 // a bound: only of these; nil is none
	Projects []int64 // a bound: only of these projects; nil is none
}

// ExceptionMark is how far a deployment's findings are known to be as its
// exceptions and VEX documents say.
type ExceptionMark struct {
	Version     int64     // of the deployment
	TriageEvent int64     // the newest of the trail
	Advisories  int64     // version of the advisories
	At          time.Time // zero: never
}

// ExceptionChanges is what happened since a mark that no upload shows.
type ExceptionChanges struct {
	Since, Now ExceptionMark
	Unknown    bool     // it is not known any more: anything may have changed
	Projects   []int64  // that changed or lost a ref
	Lineages   []int64  // whose triage changed
	Names      []string // of vulnerabilities that have other aliases
}

// Moved reports whether anything at all was written since the mark.
func (c *ExceptionChanges) Moved() bool {
	since := c.Since
	since.At = c.Now.At
	return since != c.Now
}
