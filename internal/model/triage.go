package model

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// MaxNote is the longest triage note, in characters (docs/reference/triage.md).
const MaxNote = 3000

// MaxTriage is the most findings that one bulk triage selects, before their
// occurrences on other refs are added (the contract).
const MaxTriage = 3000

// TriageState is what people decided about a finding.
type TriageState uint8

// Triage states. Any of the last four may be set from any state.
const (
	TriageUntriaged TriageState = iota + 1
	TriageIgnored
	TriageReviewing
	TriageFixing
	TriageReopened
)

var triageStates = enumNames[TriageState]{"", "untriaged", "ignored", "reviewing", "fixing", "reopened"}

// String returns the wire name.
func (s TriageState) String() string { return triageStates.name(s) }

// ParseTriageState reads a wire name.
func ParseTriageState(s string) (TriageState, bool) { return triageStates.parse(s) }

// TriageReason says why a finding was ignored.
type TriageReason uint8

// Triage reasons of the contract.
const (
	AcceptableRisk TriageReason = iota + 1
	FalsePositive
	NoTime
	NoTriageReason
)

var triageReasons = enumNames[TriageReason]{"", "acceptable_risk", "false_positive", "no_time", "no_triage_reason"}

// String returns the wire name.
func (r TriageReason) String() string { return triageReasons.name(r) }

// ParseTriageReason reads a wire name.
func ParseTriageReason(s string) (TriageReason, bool) { return triageReasons.parse(s) }

// Triage is the decision that stands on a lineage.
type Triage struct {
	State     TriageState
	Reason    TriageReason // set only while ignored
	Comment   string
	At        time.Time // zero when never triaged
	By        Actor
	Automatic bool // made by a worker; a person's decision beats it
	// Until is when the decision ends and the finding is reopened; zero: never.
	Until time.Time `json:",omitzero"`
	// Assignee is the name of the user whose finding it is; empty: nobody's. It
	// is beside the decision and outlives it.
	Assignee string `json:",omitempty"`
}

// DecidedByPerson reports whether a person set the state, also to reopened: no worker changes it.
func (t Triage) DecidedByPerson() bool {
	return !t.Automatic && t.State != 0 && t.State != TriageUntriaged
}

// HandledByPerson reports whether a person ignores, reviews or fixes the finding.
func (t Triage) HandledByPerson() bool { return t.DecidedByPerson() && t.State != TriageReopened }

// Line holds all members of a triage, for hashes that must differ where one of them does.
func (t Triage) Line() string {
	return fmt.Sprintf("%d %d %q %d %q %t %d %q",
		t.State, t.Reason, t.Comment, t.At.UnixMicro(), t.By, t.Automatic, t.Until.UnixMicro(), t.Assignee)
}

// AssigneeNobody and AssigneeMe stand for names where people are filtered by:
// no user can be called so.
const (
	AssigneeNobody = "@nobody"
	AssigneeMe     = "@me"
)

// EndOfDay reads the last day of something, from 0001-01-01 to 9999-12-30, and returns
// when it is over: the end of that day in UTC, whatever the zone of the one who asks. Of
// the days around these one would be over at the zero time, which is never, and the other
// in a year that no answer can name.
func EndOfDay(day string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, day)
	end := t.AddDate(0, 0, 1)
	return end, err == nil && t.Year() > 0 && end.Year() <= 9999
}

// LastDay is the day in UTC that ends at a time, as 2027-01-31: what EndOfDay
// reads. It is empty for the zero time.
func LastDay(end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return end.Add(-time.Microsecond).UTC().Format(time.DateOnly)
}

// Expire reports that the triage's time is over, and the event that reopens the
// finding: with its comment and assignee, and open to what workers decide.
func (l *Lineage) Expire(now time.Time) (TriageEvent, bool) {
	before := l.Triage
	if before.Until.IsZero() || now.Before(before.Until) {
		return TriageEvent{}, false
	}
	by := Actor{Kind: "system", Name: "end of a decision"}
	after := Triage{
		State: TriageReopened, Comment: before.Comment, At: now, By: by, Automatic: true, Assignee: before.Assignee,
	}
	note := before.State.String() + " until " + LastDay(before.Until) + " (UTC) is over"
	return TriageEvent{LineageID: l.ID, At: now, By: by, Before: before, After: after, Note: note}, true
}

// Lineage is one finding through all its refs, moves and changed rule texts:
// the identities that are one thing. Triage and annotations hang here, so every
// ref shows them and a new occurrence inherits them (docs/explanation/identity.md).
type Lineage struct {
	ID          int64
	ProjectID   int64
	Triage      Triage
	Annotations Annotations
	Stops       ClockPauses // read by what feeds an index alone
}

// TriageEvent is one line of the trail, which nothing rewrites.
type TriageEvent struct {
	ID        int64
	LineageID int64
	At        time.Time
	By        Actor
	Before    Triage
	After     Triage
	Note      string
}

// Annotations are what no scanner brings (docs/reference/findings.md). A nil or empty member
// was never written.
type Annotations struct {
	Assistant          *Assistant        `json:"assistant,omitempty"`
	ExternalTicket     *ExternalTicket   `json:"external_ticket,omitempty"`
	ReviewComments     []ReviewComment   `json:"review_comments,omitempty"`
	ClickToFixPRs      []ClickToFixPR    `json:"click_to_fix_prs,omitempty"`
	ClickToFixFailures []ClickToFixError `json:"click_to_fix_failures,omitempty"`
	EPSS               *EPSS             `json:"epss_score,omitempty"`
	Exploited          bool              `json:"known_exploited,omitempty"` // in the KEV catalogue
	Reachability       Reachability      `json:"reachability,omitempty"`    // shown where the scanner knows none
}

// Verdict is the assistant's opinion of a finding.
type Verdict uint8

// Verdicts.
const (
	TruePositive Verdict = iota + 1
	VerdictFalsePositive
)

var verdicts = enumNames[Verdict]{"", "true_positive", "false_positive"}

// String returns the wire name.
func (v Verdict) String() string { return verdicts.name(v) }

// ParseVerdict reads a wire name.
func ParseVerdict(s string) (Verdict, bool) { return verdicts.parse(s) }

// Assistant gathers what a helper said of a finding. Members keep the names of
// the contract; an absent one is left out.
type Assistant struct {
	Autofix *struct {
		Explanation *string `json:"explanation"`
		FixCode     string  `json:"fix_code"`
	} `json:"autofix,omitempty"`
	Autotriage *struct {
		Reason  string `json:"reason"`
		Verdict string `json:"verdict" enum:"true_positive,false_positive"`
	} `json:"autotriage,omitempty"`
	Component *struct {
		Risk string `json:"risk"`
		Tag  string `json:"tag"`
	} `json:"component,omitempty"`
	Guidance *struct {
		Instructions *string `json:"instructions"`
		Summary      string  `json:"summary"`
	} `json:"guidance,omitempty"`
	RuleExplanation *struct {
		Explanation string `json:"explanation"`
		Summary     string `json:"summary"`
	} `json:"rule_explanation,omitempty"`
}

// ExternalTicket links a finding to an issue tracker.
type ExternalTicket struct {
	ExternalSlug   string  `json:"externalSlug"`
	ID             int64   `json:"id"`
	LinkedIssueIDs []int64 `json:"linkedIssueIds"`
	URL            string  `json:"url"`
}

// ReviewComment links a finding to a comment on a change request.
type ReviewComment struct {
	ExternalDiscussionID string `json:"externalDiscussionId"`
	ExternalNoteID       int64  `json:"externalNoteId"`
}

// ClickToFixPR is a change request that was opened to fix a finding.
type ClickToFixPR struct {
	CreatedAt time.Time `json:"created_at"`
	URL       string    `json:"url"`
	State     string    `json:"state" enum:"open,merged"`
}

// ClickToFixError is a failed try to open one.
type ClickToFixError struct {
	CreatedAt time.Time `json:"created_at"`
	Reason    string    `json:"reason"`
}

// EPSS is the published probability that a vulnerability will be exploited,
// and its rank among all others; both from 0 to 1.
type EPSS struct {
	Percentile float64 `json:"percentile"`
	Score      float64 `json:"score"`
}

// HasPRState reports whether one of the change requests is in the given state.
func (a Annotations) HasPRState(state string) bool {
	return slices.ContainsFunc(a.ClickToFixPRs, func(pr ClickToFixPR) bool { return pr.State == state })
}

// FindingComment is what somebody wrote about a finding, for people. It decides nothing, and
// hangs on the lineage, as decisions do (docs/reference/triage.md).
type FindingComment struct {
	ID          int64
	LineageID   int64
	Text        string // empty once it was withdrawn
	WrittenAt   time.Time
	WrittenBy   Actor
	AuthorID    int64 // user who wrote it; 0: no user did
	WithdrawnAt time.Time
	WithdrawnBy Actor
	Mentions    []Mentioned
}

// Withdrawn reports whether the text is gone.
func (c FindingComment) Withdrawn() bool { return !c.WithdrawnAt.IsZero() }

// Mentioned is a user whom a comment names.
type Mentioned struct {
	UserID int64
	Name   string // to sign in with
}

// Bounds of comments.
const (
	MaxCommentsOf    = 500 // of one finding, withdrawn ones counted
	MaxCommentsOfOne = 300 // of one person in 24 hours, or of one token that is no user's
	MaxMentions      = 20  // people that one comment names; further names are text
	// maxMentionEnds is how many characters at the end of a name are tried one by one as what
	// ends a sentence.
	maxMentionEnds = 3
)

// CommentText is what somebody writes about a finding, without what terminals would obey. One
// that is empty, too long or no text is a *InvalidError.
func CommentText(said string) (string, error) {
	text := strings.TrimSpace(Note(said))
	if n := utf8.RuneCountInString(text); n == 0 || n > MaxNote || !utf8.ValidString(said) ||
		strings.ContainsRune(said, 0) {
		return text, Invalid("text", "write 1 to %d characters", MaxNote)
	}
	return text, nil
}

// Mention is where a text names somebody, as @ana.
type Mention struct {
	Start, End int    // bytes, from the @ on
	Name       string // as users have it
}

var mentionPattern = regexp.MustCompile(`@[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}`)

// Mentions finds who of some people a text names, in its order. A name may end a sentence:
// of @ana. the point is no part. What is inside a word, as an address of mail, names nobody.
func Mentions(text string, known func(name string) bool) (found []Mention) {
	for _, at := range mentionPattern.FindAllStringIndex(text, -1) {
		for _, name := range mentionedNames(text, at) {
			if known(name) {
				found = append(found, Mention{at[0], at[0] + 1 + len(name), name})
				break
			}
		}
	}
	return found
}

// MentionedNames are the names that a text may mean, each once: six at most of each @, so
// that of a comment a few thousand are looked up, at once.
func MentionedNames(text string) (names []string) {
	seen := map[string]bool{}
	for _, at := range mentionPattern.FindAllStringIndex(text, -1) {
		for _, name := range mentionedNames(text, at) {
			if !seen[name] {
				seen[name], names = true, append(names, name)
			}
		}
	}
	return names
}

// mentionedNames are what a match may mean, the longest first: it may end with what ends a
// sentence. Of a long end its points are tried as one, and all of it.
func mentionedNames(text string, at []int) (names []string) {
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	if unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("._@+-/", before) {
		return nil
	}
	whole := strings.ToLower(text[at[0]+1 : at[1]])
	least := strings.TrimRight(whole, "._@+-")
	for n := range maxMentionEnds + 1 {
		if end := len(whole) - n; end >= len(least) {
			names = append(names, whole[:end])
		}
	}
	for _, name := range []string{strings.TrimRight(whole, "."), least} {
		if len(name) < len(names[len(names)-1]) {
			names = append(names, name)
		}
	}
	return names
}

// Bounds of the code that is kept around a finding.
const (
	SnippetAround   = 2   // lines before a finding, and behind it
	MaxSnippetLines = 24  // all in all; the first of a longer finding
	MaxSnippetLine  = 400 // bytes of a line
)

// Snippet is code around a finding as it was when a scan saw it there.
type Snippet struct {
	FindingID int64
	ScanID    int64
	Commit    string // empty when not known
	Path      string // of the finding then
	Line      int    // the finding's first, from 1
	EndLine   int    // its last
	First     int    // number of Lines[0]
	Lines     []string
}

// SnippetPlace is where a finding is, of which code may be wanted.
type SnippetPlace struct {
	FindingID int64
	Path      string
	Line      int  // from 1
	EndLine   int  // at least Line
	Column    int  // from 1; 0 when not known
	Secret    bool // a secret is there: nothing of its lines may be kept
	Strings   bool // its rule is about secrets in code: strings may not be kept
}

// Covers reports whether a line is one of the finding's.
func (p SnippetPlace) Covers(line int) bool { return line >= p.Line && line <= p.EndLine }

// SavedView is a list of findings that people come back to: what it selects, its order and
// its columns, under a name. It is one person's, or the deployment's.
type SavedView struct {
	ID        int64
	Name      string
	IssueType IssueType
	// OwnerID is the user whose it is, whom alone it shows to; 0: the deployment's.
	OwnerID int64
	// Query is that of the findings page, as severities=high&sort=due, in the one spelling
	// that the page has for it.
	Query     string
	CreatedAt time.Time
	CreatedBy Actor
	// Default is whether the page of its issue type opens with it, for who asks.
	Default bool
}

// Shared reports whether it is the deployment's.
func (v SavedView) Shared() bool { return v.OwnerID == 0 }

// Bounds of saved views.
const (
	MaxSavedViews      = 100 // of one person
	MaxSharedViews     = 200 // of a deployment
	MaxSavedViewName   = 100 // characters
	MaxSavedViewQuery  = 2000
	maxSavedViewValues = 100 // words of a query
)

// CheckSavedView says what is wrong with a view that somebody asks for, but for what its
// query means.
func CheckSavedView(v SavedView) error {
	n := utf8.RuneCountInString(v.Name)
	switch {
	case strings.TrimSpace(v.Name) == "" || n > MaxSavedViewName || HasControls(v.Name):
		return Invalid("name", "give the view a name of %d characters at most", MaxSavedViewName)
	case v.IssueType.String() == "":
		return Invalid("issue_type", "the issue type is one of sast, sca and secrets")
	case len(v.Query) > MaxSavedViewQuery || HasControls(v.Query):
		return Invalid("query", "the query is one of %d bytes at most", MaxSavedViewQuery)
	case strings.Count(v.Query, "&") >= maxSavedViewValues:
		return Invalid("query", "the query has %d words at most", maxSavedViewValues)
	}
	return nil
}
