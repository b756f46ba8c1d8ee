package api

// AnnotateRequest changes the annotations of a finding on all its refs. Absent members are left
// unchanged; null and empty lists clear.
type AnnotateRequest struct {
	_                  struct{}             `additionalProperties:"false"`
	DeploymentSlug     ID                   `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	Assistant          *Assistant           `json:"assistant,omitempty" doc:"What an assistant says of it; its members are replaced one by one, null takes all away. Code findings show it; the tag of its component and its verdict are filtered on."`
	ExternalTicket     *ExternalTicket      `json:"external_ticket,omitempty" doc:"Links it to the ticket at the address, as the operation for linking does; null unlinks it. externalSlug is its name where no tracker tells one; id and linkedIssueIds are answered, and not taken."`
	ReviewComments     *[]ReviewComment     `json:"review_comments,omitempty" nullable:"true" maxItems:"100" doc:"Replaces the comments about it on change requests; null takes them away."`
	ClickToFixPRs      *[]ClickToFixPR      `json:"click_to_fix_prs,omitempty" nullable:"true" maxItems:"100" doc:"Replaces the change requests that fix it; null takes them away."`
	ClickToFixFailures *[]ClickToFixFailure `json:"click_to_fix_failures,omitempty" nullable:"true" maxItems:"100" doc:"Replaces the failed tries to open one; null takes them away."`
	EPSSScore          *EPSSScore           `json:"epss_score,omitempty" doc:"Supply chain only: probability of exploitation; null takes it away."`
	Reachability       string               `json:"reachability,omitempty" nullable:"true" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Supply chain only: shown where the scanner knows none; unknown and null take it away."`
}

// Assistant contains the results that an AI assistant recorded for a finding. Absent members were
// never recorded.
type Assistant struct {
	_               struct{}         `nullable:"true"`
	Autofix         *Autofix         `json:"autofix,omitempty" doc:"A proposed change."`
	Autotriage      *Autotriage      `json:"autotriage,omitempty" doc:"An opinion whether it is real."`
	Component       *Component       `json:"component,omitempty" doc:"What the code around it is for."`
	Guidance        *Guidance        `json:"guidance,omitempty" doc:"How to mend it."`
	RuleExplanation *RuleExplanation `json:"rule_explanation,omitempty" doc:"What the rule is about."`
}

// Autofix is a proposed code change.
type Autofix struct {
	Explanation *string `json:"explanation" required:"false" maxLength:"20000" doc:"Why it mends the finding."`
	FixCode     string  `json:"fix_code" maxLength:"100000" doc:"The changed code."`
}

// Autotriage is an opinion on whether a finding is a true positive.
type Autotriage struct {
	Reason  string `json:"reason" required:"false" maxLength:"20000" doc:"Why."`
	Verdict string `json:"verdict" enum:"true_positive,false_positive" doc:"The opinion."`
}

// Component describes the purpose of the code around a finding.
type Component struct {
	Risk string `json:"risk" required:"false" maxLength:"64" doc:"How much it matters, as low, neutral or high." example:"high"`
	Tag  string `json:"tag" maxLength:"200" doc:"What it is for." example:"user authentication"`
}

// Guidance contains instructions for fixing a finding.
type Guidance struct {
	Instructions *string `json:"instructions" required:"false" maxLength:"100000" doc:"Step by step."`
	Summary      string  `json:"summary" maxLength:"20000" doc:"In short."`
}

// RuleExplanation explains a rule.
type RuleExplanation struct {
	Explanation string `json:"explanation" required:"false" maxLength:"100000" doc:"At length."`
	Summary     string `json:"summary" maxLength:"20000" doc:"In short."`
}

// ExternalTicket links a finding to a ticket in an issue tracker.
type ExternalTicket struct {
	_              struct{} `nullable:"true"`
	ExternalSlug   string   `json:"externalSlug" maxLength:"200" doc:"The ticket's own name." example:"SEC-123"`
	ID             int64    `json:"id" required:"false" doc:"Id of the ticket here." example:"7"`
	LinkedIssueIDs []int64  `json:"linkedIssueIds,omitzero" required:"false" maxItems:"3000" doc:"Findings that the ticket is about." example:"[1234]"`
	URL            string   `json:"url" maxLength:"2048" doc:"Address of the ticket: an absolute http or https URL without a user or password." example:"https://tracker.example.com/browse/SEC-123"`
}

// ReviewComment links a finding to a comment on a change request.
type ReviewComment struct {
	ExternalDiscussionID string `json:"externalDiscussionId" maxLength:"200" doc:"Id of the discussion at the host."`
	ExternalNoteID       int64  `json:"externalNoteId" doc:"Id of the comment at the host."`
}

// ClickToFixPR is a change request that was opened to fix a finding.
type ClickToFixPR struct {
	CreatedAt Time   `json:"created_at" doc:"When it was opened."`
	URL       string `json:"url" maxLength:"2048" doc:"Its address: an absolute http or https URL."`
	State     string `json:"state" required:"false" enum:"open,merged" default:"open" doc:"Whether it is merged (an extension)." example:"open"`
}

// ClickToFixFailure is a failed attempt to open a change request.
type ClickToFixFailure struct {
	CreatedAt Time   `json:"created_at" doc:"When it was tried."`
	Reason    string `json:"reason" maxLength:"2048" doc:"Why it failed."`
}
