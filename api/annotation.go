package api

// AnnotateRequest changes the annotations of a finding on all its refs. Absent members are left
// unchanged; null and empty lists clear.
type AnnotateRequest struct {
	_                  struct{}             `additionalProperties:"false"`
	DeploymentSlug     ID                   `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	Assistant          *Assistant           `json:"assistant,omitempty" doc:"Results of an AI assistant. Each member replaces the stored one; null deletes all. Code findings return them; the component's tag and the verdict are filters."`
	ExternalTicket     *ExternalTicket      `json:"external_ticket,omitempty" doc:"Links the finding to the ticket at this URL, as linkTicket does; null unlinks it. externalSlug is used if no tracker provides a name; id and linkedIssueIds are read-only."`
	ReviewComments     *[]ReviewComment     `json:"review_comments,omitempty" nullable:"true" maxItems:"100" doc:"Replaces the comments on change requests; null deletes them."`
	ClickToFixPRs      *[]ClickToFixPR      `json:"click_to_fix_prs,omitempty" nullable:"true" maxItems:"100" doc:"Replaces the change requests that fix the finding; null deletes them."`
	ClickToFixFailures *[]ClickToFixFailure `json:"click_to_fix_failures,omitempty" nullable:"true" maxItems:"100" doc:"Replaces the failed attempts to open a change request; null deletes them."`
	EPSSScore          *EPSSScore           `json:"epss_score,omitempty" doc:"Supply chain only: probability of exploitation; null deletes it."`
	Reachability       string               `json:"reachability,omitempty" nullable:"true" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Supply chain only: used if the scanner reports none; unknown and null delete it."`
}

// Assistant contains the results that an AI assistant recorded for a finding. Absent members were
// never recorded.
type Assistant struct {
	_               struct{}         `nullable:"true"`
	Autofix         *Autofix         `json:"autofix,omitempty" doc:"Proposed code change."`
	Autotriage      *Autotriage      `json:"autotriage,omitempty" doc:"Opinion on whether the finding is a true positive."`
	Component       *Component       `json:"component,omitempty" doc:"Purpose of the surrounding code."`
	Guidance        *Guidance        `json:"guidance,omitempty" doc:"Instructions for a fix."`
	RuleExplanation *RuleExplanation `json:"rule_explanation,omitempty" doc:"Explanation of the rule."`
}

// Autofix is a proposed code change.
type Autofix struct {
	Explanation *string `json:"explanation" required:"false" maxLength:"20000" doc:"Explanation of the fix."`
	FixCode     string  `json:"fix_code" maxLength:"100000" doc:"Changed code."`
}

// Autotriage is an opinion on whether a finding is a true positive.
type Autotriage struct {
	Reason  string `json:"reason" required:"false" maxLength:"20000" doc:"Reason."`
	Verdict string `json:"verdict" enum:"true_positive,false_positive" doc:"Verdict."`
}

// Component describes the purpose of the code around a finding.
type Component struct {
	Risk string `json:"risk" required:"false" maxLength:"64" doc:"Risk of the component, for example low, neutral or high." example:"high"`
	Tag  string `json:"tag" maxLength:"200" doc:"Purpose of the component." example:"user authentication"`
}

// Guidance contains instructions for fixing a finding.
type Guidance struct {
	Instructions *string `json:"instructions" required:"false" maxLength:"100000" doc:"Step-by-step instructions."`
	Summary      string  `json:"summary" maxLength:"20000" doc:"Short summary."`
}

// RuleExplanation explains a rule.
type RuleExplanation struct {
	Explanation string `json:"explanation" required:"false" maxLength:"100000" doc:"Full explanation."`
	Summary     string `json:"summary" maxLength:"20000" doc:"Short summary."`
}

// ExternalTicket links a finding to a ticket in an issue tracker.
type ExternalTicket struct {
	_              struct{} `nullable:"true"`
	ExternalSlug   string   `json:"externalSlug" maxLength:"200" doc:"Name of the ticket in its tracker." example:"SEC-123"`
	ID             int64    `json:"id" required:"false" doc:"Id of the ticket in Redoubt." example:"7"`
	LinkedIssueIDs []int64  `json:"linkedIssueIds,omitzero" required:"false" maxItems:"3000" doc:"Ids of the findings linked to the ticket." example:"[1234]"`
	URL            string   `json:"url" maxLength:"2048" doc:"URL of the ticket: absolute, http or https, without a user or password." example:"https://tracker.example.com/browse/SEC-123"`
}

// ReviewComment links a finding to a comment on a change request.
type ReviewComment struct {
	ExternalDiscussionID string `json:"externalDiscussionId" maxLength:"200" doc:"Id of the discussion at the code host."`
	ExternalNoteID       int64  `json:"externalNoteId" doc:"Id of the comment at the code host."`
}

// ClickToFixPR is a change request that was opened to fix a finding.
type ClickToFixPR struct {
	CreatedAt Time   `json:"created_at" doc:"Time of opening."`
	URL       string `json:"url" maxLength:"2048" doc:"URL of the change request: absolute, http or https."`
	State     string `json:"state" required:"false" enum:"open,merged" default:"open" doc:"State of the change request (Redoubt extension)." example:"open"`
}

// ClickToFixFailure is a failed attempt to open a change request.
type ClickToFixFailure struct {
	CreatedAt Time   `json:"created_at" doc:"Time of the attempt."`
	Reason    string `json:"reason" maxLength:"2048" doc:"Reason of the failure."`
}
