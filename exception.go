package redoubt

import (
	"cmp"
	"fmt"
	"slices"
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

// maxTarget is the longest name of a rule or vulnerability, in bytes.
const maxTarget = 512

// Check names everything that is wrong with an exception that is to be made at a
// time as a *InvalidError, or returns nil.
func (e *Exception) Check(now time.Time) error {
	var bad InvalidError
	fault := func(location, format string, args ...any) {
		bad.Fields = append(bad.Fields, FieldError{Location: location, Message: fmt.Sprintf(format, args...)})
	}
	if e.Target == "" || len(e.Target) > maxTarget || !utf8.ValidString(e.Target) || strings.ContainsFunc(e.Target, func(r rune) bool { return r <= 0x20 || r == 0x7f }) {
		fault("target", "%.80q will not do: name a rule, or a vulnerability as CVE-2021-44228, in at most %d bytes without spaces", e.Target, maxTarget)
	}
	if n := utf8.RuneCountInString(e.Reason); strings.TrimSpace(e.Reason) == "" || n > MaxNote || !utf8.ValidString(e.Reason) || strings.ContainsRune(e.Reason, 0) {
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
func (e *Exception) Within(globs ProjectGlobs) bool {
	outside := func(glob string) bool {
		return !slices.Contains(globs, glob) && (strings.Contains(glob, "*") || !globs.Allows(glob))
	}
	return len(globs) == 0 || len(e.Projects) > 0 && !slices.ContainsFunc(e.Projects, outside)
}

// Active reports whether the exception holds at a time.
func (e *Exception) Active(now time.Time) bool { return e.Until.IsZero() || now.Before(e.Until) }

// actorException is the kind of actor that an exception is.
const actorException = "exception"

// Actor is the exception as the one who decides about findings.
func (e *Exception) Actor() Actor {
	return Actor{Kind: actorException, ID: strconv.FormatInt(e.ID, 10)}
}

// Excused is a lineage as exceptions see it.
type Excused struct {
	Lineage Lineage
	Project Project // its name decides
	Places  []*ExcusedPlace
}

// ExcusedPlace is an occurrence of a lineage.
type ExcusedPlace struct {
	Ref   string
	Rule  string
	Names []string // of its vulnerability, all of them, in upper case
	Paths []string // where it shows, and its lockfile
	State State

	Ecosystem, Package, Version string // of what is vulnerable; empty in code
	Claims                      []VEXClaim
}

func (e *Exception) covers(project Project, place *ExcusedPlace) bool {
	return (place.Rule == e.Target || slices.Contains(place.Names, strings.ToUpper(e.Target))) &&
		(len(e.Paths) == 0 || slices.ContainsFunc(place.Paths, e.Paths.Match)) && PolicyScope{Projects: e.Projects}.Covers(project)
}

// Exceptions are all of a deployment, by id.
type Exceptions []Exception

// Judge decides about a lineage at a time: what its triage should be, and
// whether that is another than it has. A lineage is ignored while exceptions
// cover all places where it lives, so that none hides what moved elsewhere; the
// one that ignored it first keeps it. Where none covers it, what VEX documents
// say of it counts. Where those say nothing either, what one of them decided is
// reopened. What a person decided stays.
func (list Exceptions) Judge(c *Excused, now time.Time) (TriageEvent, bool) {
	before := c.Lineage.Triage
	undecided := before.State == TriageUntriaged || before.State == 0
	if !before.Automatic && !undecided {
		return TriageEvent{}, false
	}
	ours := before.By.Kind == actorException || before.By.Kind == actorVEX
	by, claim := list.covering(c, now), claimed(c)
	var after Triage
	var note string
	switch {
	case before.State == TriageIgnored && !ours: // another worker's
		return TriageEvent{}, false
	case len(by) > 0:
		if before.State == TriageIgnored && slices.ContainsFunc(by, func(e *Exception) bool { return e.Actor() == before.By }) {
			return TriageEvent{}, false
		}
		note = by[0].Reason
		after = Triage{State: TriageIgnored, Reason: by[0].TriageReason, Comment: by[0].Reason, By: by[0].Actor()}
	case claim != nil:
		t := claim.Statement.Triage()
		note = claim.note()
		after = Triage{State: t.State, Reason: t.Reason, Comment: t.Comment, By: claim.Document.Actor()}
	case !ours || before.over():
		return TriageEvent{}, false
	case before.By.Kind == actorVEX:
		note = "The VEX statement holds no more."
		after = Triage{State: TriageReopened, By: before.By}
	default:
		note = "The exception holds no more."
		after = Triage{State: TriageReopened, Comment: before.Comment, By: before.By}
	}
	after.Automatic, after.At, after.Assignee = true, before.At, before.Assignee
	if after == before {
		return TriageEvent{}, false
	}
	after.At = now
	return TriageEvent{LineageID: c.Lineage.ID, At: now, By: after.By, Before: before, After: after, Note: note}, true
}

// over reports whether a triage is what an exception or a VEX statement leaves
// behind: reopened, and by a statement without a word.
func (t Triage) over() bool {
	return t.State == TriageReopened && (t.By.Kind == actorException || t.Comment == "")
}

// covering lists the exceptions that cover a place of a lineage, by id; none
// where one of its places is not covered.
func (list Exceptions) covering(c *Excused, now time.Time) (by []*Exception) {
	for _, place := range c.living() {
		covered := false
		for j := range list {
			if e := &list[j]; e.Active(now) && e.covers(c.Project, place) {
				covered = true
				by = append(by, e)
			}
		}
		if !covered {
			return nil
		}
	}
	slices.SortFunc(by, func(a, b *Exception) int { return int(a.ID - b.ID) })
	return by
}

// living lists the places that count: those where it lives, or all where it
// lives nowhere.
func (c *Excused) living() (places []*ExcusedPlace) {
	lives := slices.ContainsFunc(c.Places, (*ExcusedPlace).lives)
	for _, place := range c.Places {
		if !lives || place.lives() {
			places = append(places, place)
		}
	}
	return places
}

func (p *ExcusedPlace) lives() bool { return p.State == Unresolved || p.State == Muted }
