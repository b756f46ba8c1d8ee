package model

import (
	"fmt"
	"slices"
	"time"
)

// MaxNote is the longest triage note, in characters (semantics §6).
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
// ref shows them and a new occurrence inherits them (semantics §4).
type Lineage struct {
	ID          int64
	ProjectID   int64
	Triage      Triage
	Annotations Annotations
	Stops       Stops // read by what feeds an index alone
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

// Annotations are what no scanner brings (semantics §4). A nil or empty member
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
