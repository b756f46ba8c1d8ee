package model

import "time"

// FindingFilter selects findings of one issue type: values of one member are
// or-ed, members and-ed, and an empty member does not filter. It holds the 21
// parameters of the listing and the 24 of bulk triage together, so filters
// exist once; which of them an operation takes, the server checks.
type FindingFilter struct {
	IssueType IssueType
	Since     time.Time // inclusive, on relevant_since
	Ref       string    // in full; empty for all
	Dedup     bool      // one occurrence per lineage (semantics §4)

	Visible      ProjectGlobs // what the caller may see
	Projects     []string     // names, case-insensitive
	ProjectIDs   []int64
	ProjectTags  []string // case-insensitive
	Visibilities []Visibility

	Statuses      []Status
	TriageReasons []TriageReason
	Severities    []Severity
	Confidences   []Confidence
	Modes         []PolicyMode // of the rule now
	Rules         []string
	Rulesets      []string
	Categories    []string
	Verdicts      []Verdict
	ComponentTags []string
	PRStates      []string  // open, merged
	Assignees     []string  // names of users, AssigneeNobody
	EndsBy        time.Time // keeps what has a decision that ends then or before; zero does not filter
	Due           *DueFilter
	DueBefore     time.Time // keeps what is due before that day in UTC; zero does not filter

	Reachabilities []Reachability
	Transitivities []Transitivity
	Malicious      *bool
	Packages       []string
	EPSS           []EPSSBand
	Exploited      *bool // by the catalogue of exploited vulnerabilities (KEV)
	Unrated        *bool // whether nobody rates the vulnerability, so that medium stands in

	ProOnly          *bool
	ExcludeHistoric  bool
	SecretTypes      []string
	ValidationStates []ValidationState

	// IDs restricts to these findings when HasIDs is set; unknown ones are
	// skipped (semantics §6).
	HasIDs bool
	IDs    []int64

	// The pages narrow further. Primary keeps what is on the primary branch of
	// its project. Search keeps what has the text, in any case, in the name of
	// its rule, project or package, in its path, in what its rule says (its own
	// message where that says nothing), or in the name of its vulnerability; and
	// what has one of the vulnerabilities that Named lists, in any case. Except leaves out what any of its lists of
	// values has; its other members say nothing.
	Primary bool
	Search  string
	Named   []string
	Except  *FindingFilter
}

// Target is a selected finding and the lineage that its triage hangs on.
type Target struct {
	FindingID int64
	LineageID int64
}

// SecretFilter selects secrets to list; zero members do not filter. Values of
// one member are or-ed, members and-ed (semantics §16).
type SecretFilter struct {
	Visible          ProjectGlobs // what the caller may see
	ProjectIDs       []int64
	Ref              string    // in full
	Since            time.Time // inclusive, on relevant_since
	Statuses         []Status
	Severities       []Severity
	SecretTypes      []string
	ValidationStates []ValidationState
}
