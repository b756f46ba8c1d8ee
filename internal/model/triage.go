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

// MaxNote is the maximum length of a triage note in characters (docs/reference/triage.md).
const MaxNote = 3000

// MaxTriage is the maximum number of findings selected by one bulk triage, without their
// occurrences on other refs, by the contract.
const MaxTriage = 3000

// TriageState is the state of a triage decision.
type TriageState uint8

// Triage states. All except TriageUntriaged can be set, from any state.
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

// ParseTriageState parses a wire name.
func ParseTriageState(s string) (TriageState, bool) { return triageStates.parse(s) }

// TriageReason is the reason for ignoring a finding.
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

// ParseTriageReason parses a wire name.
func ParseTriageReason(s string) (TriageReason, bool) { return triageReasons.parse(s) }

// Triage is the current decision about a lineage.
type Triage struct {
	State     TriageState
	Reason    TriageReason // set only while ignored
	Comment   string
	At        time.Time // zero if never triaged
	By        Actor
	Automatic bool // set by a worker; decisions of users take precedence
	// Until is when the decision expires and the finding is reopened. Zero means never.
	Until time.Time `json:",omitzero"`
	// Assignee is the name of the assigned user, or empty. It is independent of the decision.
	Assignee string `json:",omitempty"`
}

// DecidedByPerson reports whether a user set the state, including reopened. Workers do not change
// it.
func (t Triage) DecidedByPerson() bool {
	return !t.Automatic && t.State != 0 && t.State != TriageUntriaged
}

// HandledByPerson reports whether a user ignored, reviews or fixes the finding.
func (t Triage) HandledByPerson() bool { return t.DecidedByPerson() && t.State != TriageReopened }

// Line returns all fields as text, for hashes that depend on each of them.
func (t Triage) Line() string {
	return fmt.Sprintf("%d %d %q %d %q %t %d %q",
		t.State, t.Reason, t.Comment, t.At.UnixMicro(), t.By, t.Automatic, t.Until.UnixMicro(), t.Assignee)
}

// AssigneeNone and AssigneeMe replace names in filters by assignee. They are not valid user
// names.
const (
	AssigneeNone = "@nobody"
	AssigneeMe   = "@me"
)

// EndOfDay parses a last day from 0001-01-01 to 9999-12-30 and returns the end of that day in UTC.
// It excludes the previous day, whose end is the zero time, which means never. It also excludes the
// next day, whose end is in a year beyond 9999.
func EndOfDay(day string) (time.Time, bool) {
	t, err := time.Parse(time.DateOnly, day)
	end := t.AddDate(0, 0, 1)
	return end, err == nil && t.Year() > 0 && end.Year() <= 9999
}

// LastDay returns the day in UTC that ends at a time, in the format of EndOfDay. It is empty for
// the zero time.
func LastDay(end time.Time) string {
	if end.IsZero() {
		return ""
	}
	return end.Add(-time.Microsecond).UTC().Format(time.DateOnly)
}

// Expire reports whether the decision has expired, and returns the event that reopens the finding.
// The event retains the comment and the assignee, and permits decisions of workers.
func (l *Lineage) Expire(now time.Time) (TriageEvent, bool) {
	before := l.Triage
	if before.Until.IsZero() || now.Before(before.Until) {
		return TriageEvent{}, false
	}
	by := Actor{Kind: "system", Name: "end of a decision"}
	after := Triage{
		State: TriageReopened, Comment: before.Comment, At: now, By: by, Automatic: true, Assignee: before.Assignee,
	}
	note := before.State.String() + " until " + LastDay(before.Until) + " (UTC) expired"
	return TriageEvent{LineageID: l.ID, At: now, By: by, Before: before, After: after, Note: note}, true
}

// Lineage is a finding across refs, moves and rule versions. It groups identities of the same
// problem. Triage and annotations belong to the lineage, so that they apply to all refs and new
// occurrences (docs/explanation/identity.md).
type Lineage struct {
	ID          int64
	ProjectID   int64
	Triage      Triage
	Annotations Annotations
	Stops       ClockPauses // set only in feeds of an index
}

// TriageEvent is an immutable entry of the triage history.
type TriageEvent struct {
	ID        int64
	LineageID int64
	At        time.Time
	By        Actor
	Before    Triage
	After     Triage
	Note      string
}

// Annotations contains data that is not from scanners (docs/reference/findings.md). A nil or empty
// field was never set.
type Annotations struct {
	Assistant          *Assistant        `json:"assistant,omitempty"`
	ExternalTicket     *ExternalTicket   `json:"external_ticket,omitempty"`
	ReviewComments     []ReviewComment   `json:"review_comments,omitempty"`
	ClickToFixPRs      []ClickToFixPR    `json:"click_to_fix_prs,omitempty"`
	ClickToFixFailures []ClickToFixError `json:"click_to_fix_failures,omitempty"`
	EPSS               *EPSS             `json:"epss_score,omitempty"`
	Exploited          bool              `json:"known_exploited,omitempty"` // in the KEV catalog
	Reachability       Reachability      `json:"reachability,omitempty"`    // used if the scanner reports none
}

// Verdict is the assistant's verdict on a finding.
type Verdict uint8

// Verdicts.
const (
	TruePositive Verdict = iota + 1
	VerdictFalsePositive
)

var verdicts = enumNames[Verdict]{"", "true_positive", "false_positive"}

// String returns the wire name.
func (v Verdict) String() string { return verdicts.name(v) }

// ParseVerdict parses a wire name.
func ParseVerdict(s string) (Verdict, bool) { return verdicts.parse(s) }

// Assistant contains an assistant's data about a finding. Fields have the names of the contract,
// and missing ones are omitted.
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

// ClickToFixPR is a change request that was created to fix a finding.
type ClickToFixPR struct {
	CreatedAt time.Time `json:"created_at"`
	URL       string    `json:"url"`
	State     string    `json:"state" enum:"open,merged"`
}

// ClickToFixError is a failed attempt to create one.
type ClickToFixError struct {
	CreatedAt time.Time `json:"created_at"`
	Reason    string    `json:"reason"`
}

// EPSS is the estimated probability that a vulnerability will be exploited, and its percentile.
// Both are from 0 to 1.
type EPSS struct {
	Percentile float64 `json:"percentile"`
	Score      float64 `json:"score"`
}

// HasPRState reports whether one of the change requests is in the given state.
func (a Annotations) HasPRState(state string) bool {
	return slices.ContainsFunc(a.ClickToFixPRs, func(pr ClickToFixPR) bool { return pr.State == state })
}

// FindingComment is a comment on a finding. It belongs to the lineage and has no effect on triage
// (docs/reference/triage.md).
type FindingComment struct {
	ID          int64
	LineageID   int64
	Text        string // empty after it was withdrawn
	WrittenAt   time.Time
	WrittenBy   Actor
	AuthorID    int64 // user ID of the author; 0 if none
	WithdrawnAt time.Time
	WithdrawnBy Actor
	Mentions    []Mentioned
}

// Withdrawn reports whether the comment was withdrawn.
func (c FindingComment) Withdrawn() bool { return !c.WithdrawnAt.IsZero() }

// Mentioned is a user mentioned in a comment.
type Mentioned struct {
	UserID int64
	Name   string // login name
}

// Limits of comments.
const (
	MaxCommentsOf    = 500 // per finding, including withdrawn comments
	MaxCommentsOfOne = 300 // per user in 24 hours, or per token without a user
	MaxMentions      = 20  // users per comment; further names have no effect
	// maxMentionEnds is the number of characters at the end of a name that are individually tried
	// as punctuation.
	maxMentionEnds = 3
)

// CommentText returns the text of a comment without control characters. It returns an *InvalidError
// if the text is empty, too long or invalid.
func CommentText(input string) (string, error) {
	text := strings.TrimSpace(Note(input))
	if n := utf8.RuneCountInString(text); n == 0 || n > MaxNote || !utf8.ValidString(input) ||
		strings.ContainsRune(input, 0) {
		return text, Invalid("text", "write 1 to %d characters", MaxNote)
	}
	return text, nil
}

// Mention is a mention in a text, such as @ana.
type Mention struct {
	Start, End int    // byte offsets, including the @
	Name       string // normalized user name
}

var mentionPattern = regexp.MustCompile(`@[A-Za-z0-9][A-Za-z0-9._@+-]{0,99}`)

// Mentions returns the mentions of known users in a text, in order. A name may be followed by
// punctuation, such as in "@ana.". Names within words, such as email addresses, are ignored.
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

// MentionedNames returns the distinct names that a text may mention, at most six per @. So a
// comment has at most a few thousand candidates, which are looked up together.
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

// mentionedNames returns the candidates of a match, longest first, because the match may end with
// punctuation. Up to maxMentionEnds characters are removed one by one, then all trailing dots, then
// all trailing punctuation.
func mentionedNames(text string, at []int) (names []string) {
	before, _ := utf8.DecodeLastRuneInString(text[:at[0]])
	if unicode.IsLetter(before) || unicode.IsDigit(before) || strings.ContainsRune("._@+-/", before) {
		return nil
	}
	mention := strings.ToLower(text[at[0]+1 : at[1]])
	least := strings.TrimRight(mention, "._@+-")
	for n := range maxMentionEnds + 1 {
		if end := len(mention) - n; end >= len(least) {
			names = append(names, mention[:end])
		}
	}
	for _, name := range []string{strings.TrimRight(mention, "."), least} {
		if len(name) < len(names[len(names)-1]) {
			names = append(names, name)
		}
	}
	return names
}

// Limits of stored code around a finding.
const (
	SnippetAround   = 2   // lines before and after a finding
	MaxSnippetLines = 24  // total; the first lines of a longer finding
	MaxSnippetLine  = 400 // bytes per line
)

// Snippet is the code around a finding at the time of a scan.
type Snippet struct {
	FindingID int64
	ScanID    int64
	Commit    string // empty if unknown
	Path      string // of the finding at that time
	Line      int    // first line of the finding, from 1
	EndLine   int    // last line of the finding
	First     int    // number of Lines[0]
	Lines     []string
}

// SnippetLocation is the location of a finding for which a snippet may be stored.
type SnippetLocation struct {
	FindingID int64
	Path      string
	Line      int  // from 1
	EndLine   int  // at least Line
	Column    int  // from 1; 0 if unknown
	Secret    bool // contains a secret: its lines must not be stored
	Strings   bool // its rule finds secrets in code: strings must not be stored
}

// Covers reports whether a line belongs to the finding.
func (p SnippetLocation) Covers(line int) bool { return line >= p.Line && line <= p.EndLine }

// SavedView is a named list of findings with a selection, an order and columns. It belongs to a
// user or to the deployment.
type SavedView struct {
	ID        int64
	Name      string
	IssueType IssueType
	// OwnerID is the user who owns the view and is the only one to see it, or 0 for the deployment.
	OwnerID int64
	// Query is the canonical query of the findings page, such as severities=high&sort=due.
	Query     string
	CreatedAt time.Time
	CreatedBy Actor
	// Default is whether the requester's page of the issue type opens with the view.
	Default bool
}

// Shared reports whether the view belongs to the deployment.
func (v SavedView) Shared() bool { return v.OwnerID == 0 }

// Limits of saved views.
const (
	MaxSavedViews      = 100 // per user
	MaxSharedViews     = 200 // per deployment
	MaxSavedViewName   = 100 // characters
	MaxSavedViewQuery  = 2000
	maxSavedViewValues = 100 // values in a query
)

// CheckSavedView validates a requested view except for the meaning of its query.
func CheckSavedView(v SavedView) error {
	n := utf8.RuneCountInString(v.Name)
	switch {
	case strings.TrimSpace(v.Name) == "" || n > MaxSavedViewName || HasControls(v.Name):
		return Invalid("name", "enter a name of at most %d characters", MaxSavedViewName)
	case v.IssueType.String() == "":
		return Invalid("issue_type", "the issue type must be sast, sca or secrets")
	case len(v.Query) > MaxSavedViewQuery || HasControls(v.Query):
		return Invalid("query", "the query must have at most %d bytes", MaxSavedViewQuery)
	case strings.Count(v.Query, "&") >= maxSavedViewValues:
		return Invalid("query", "the query must have at most %d words", maxSavedViewValues)
	}
	return nil
}
