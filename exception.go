package redoubt

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// Exception says that what a rule or a vulnerability finds is accepted, in some
// projects and paths, until a day. It ignores findings by a triage of its own,
// which a person's beats, and reopens them when it ends (semantics §5).
type Exception struct {
	ID           int64
	Target       string       // a rule's name, or a vulnerability's id under any of its names
	Paths        PathGlobs    // one must fit the finding's path or its lockfile; empty is every path
	Projects     ProjectGlobs // one must fit, whatever the case; empty is every project
	Reason       string       // for people
	TriageReason TriageReason // that the triage carries
	Until        time.Time    // the first instant without it; zero is for ever
	CreatedAt    time.Time
	CreatedBy    string
}

// MaxExceptions is how many exceptions a deployment may have, expired ones too.
const MaxExceptions = 10_000

// MaxExceptionBytes is how much the exceptions of a deployment may say together, in
// bytes: every upload reads all of them.
const MaxExceptionBytes = 32 << 20

// Bytes is what an exception says, in bytes.
func (e *Exception) Bytes() int {
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
	said := e.Reason
	e.Reason = Note(said)
	var bad InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if e.Target == "" || utf8.RuneCountInString(e.Target) > maxTarget || HasControls(e.Target) || strings.Contains(e.Target, " ") {
		fault("target", "%.80q will not do: name a rule, or a vulnerability as CVE-2021-44228, in at most %d characters without spaces", e.Target, maxTarget)
	}
	if n := utf8.RuneCountInString(e.Reason); strings.TrimSpace(e.Reason) == "" || n > MaxNote || !utf8.ValidString(said) || strings.ContainsRune(said, 0) {
		fault("reason", "say why, in 1 to %d characters", MaxNote)
	}
	if e.TriageReason.String() == "" {
		fault("triage_reason", "is one of acceptable_risk, false_positive, no_time, no_triage_reason")
	}
	if !e.Until.IsZero() && !e.Until.After(now) {
		fault("until", "is over already")
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

// ParseUntil reads when an exception ends: a day in UTC, whose end it is, as
// 2027-01-31, or an instant, as 2027-01-31T12:00:00Z.
func ParseUntil(text string) (time.Time, error) {
	if day, err := time.Parse(time.DateOnly, text); err == nil {
		return day.AddDate(0, 0, 1), nil
	}
	at, err := time.Parse(time.RFC3339, text)
	if err != nil {
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

// Where says in which projects and paths the exception holds, for people.
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
func (e *Exception) Active(now time.Time) bool { return e.Until.IsZero() || now.Before(e.Until) }

// ActorException and ActorVEX are the kinds of actor that decide as exceptions and
// as VEX documents.
const (
	ActorException = "exception"
	ActorVEX       = "vex"
)

// Actor is the exception as the one who decides about findings.
func (e *Exception) Actor() Actor {
	return Actor{Kind: ActorException, ID: strconv.FormatInt(e.ID, 10)}
}
