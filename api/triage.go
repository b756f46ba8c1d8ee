package api

// TriageRequest changes the triage state of many findings. With ids and filters, a finding must
// match both; one of the two is required. Unknown members are rejected, so that a misspelled filter
// does not widen the selection.
type TriageRequest struct {
	_              struct{} `additionalProperties:"false"`
	DeploymentSlug ID       `json:"deploymentSlug,omitempty" doc:"Same as in the path."`
	IssueType      string   `json:"issue_type" enum:"sast,sca,secrets" doc:"Type of the findings." example:"sast"`
	IssueIDs       []Int    `json:"issue_ids,omitempty" doc:"Ids of the findings; unknown ones are skipped." example:"[1234]"`
	Limit          int64    `json:"limit,omitempty" minimum:"1" maximum:"3000" default:"3000" doc:"Maximum number of selected findings, newest first. The same findings on other refs are not counted."`

	NewTriageState  string `json:"new_triage_state,omitempty" enum:"ignored,reviewing,fixing,reopened" doc:"New triage state. One of new_triage_state, new_note and new_assignee is required." example:"ignored"`
	NewTriageReason string `json:"new_triage_reason,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Reason, only with ignored."`
	NewNote         string `json:"new_note,omitempty" maxLength:"3000" doc:"Note for the findings."`

	NewTriageUntil string  `json:"new_triage_until,omitempty" format:"date" doc:"Last day of the decision (UTC), after which the findings are reopened. Not with reopened (Redoubt extension)." example:"2027-01-31"`
	NewAssignee    *string `json:"new_assignee,omitempty" maxLength:"100" doc:"Name of the user to assign; empty: unassign; absent: unchanged (Redoubt extension)." example:"ada"`

	DryRun    bool   `json:"dry_run,omitempty" doc:"Change nothing: return the selected findings and their selection (Redoubt extension)."`
	Selection string `json:"selection,omitempty" pattern:"^([0-9a-f]{64})?$" patternDescription:"the selection of a dry run" doc:"Value of selection from a dry run of the same request. If the selected findings or decisions about them have changed since, the request fails with 409 Conflict (Redoubt extension)."`

	TriageFilter
}

// TriageFilter selects findings that match all members. The values of one member are alternatives.
type TriageFilter struct {
	Assignees            []string         `json:"assignees,omitempty" doc:"Names of users; @nobody for unassigned findings (Redoubt extension)." example:"[\"ada\"]"`
	AutotriageVerdict    string           `json:"autotriage_verdict,omitempty" enum:"true_positive,false_positive" doc:"Verdict of the assistant."`
	Categories           []string         `json:"categories,omitempty" doc:"Categories."`
	ComponentTags        []string         `json:"component_tags,omitempty" doc:"Tags of the component."`
	Confidence           List[Confidence] `json:"confidence,omitempty" doc:"A confidence or a list."`
	Dependencies         []string         `json:"dependencies,omitempty" doc:"Supply chain only: names of dependencies."`
	Due                  []string         `json:"due,omitempty" enum:"overdue,7d,30d,later,none" doc:"Overdue, due within 7 or 30 days from today (UTC), due later, or without a due date (Redoubt extension)."`
	EPSSProbability      []string         `json:"epss_probability,omitempty" enum:"high,medium,low,none" doc:"Supply chain only: high from 0.5, medium from 0.1, low below, none without a score."`
	Exposures            []string         `json:"exposures,omitempty" enum:"reachable,always_reachable,conditionally_reachable,unreachable,unknown" doc:"Supply chain only: reachabilities."`
	IncludeHistorical    *bool            `json:"include_historical,omitempty" doc:"Secrets only: include those found only in history; default: true."`
	Policies             []string         `json:"policies,omitempty" enum:"rule-board-audit,rule-board-pr-comments,rule-board-block" doc:"Ids of the rules' current modes."`
	PolicyMode           []string         `json:"policy_mode,omitempty" enum:"monitor,comment,block" doc:"Current modes of the findings, from their rule or a condition."`
	ProOnly              *bool            `json:"pro_only,omitempty" doc:"Code only: findings that need advanced analysis, or all others."`
	ProjectTags          []string         `json:"project_tags,omitempty" doc:"Tags of the projects, case-insensitive."`
	Ref                  string           `json:"ref,omitempty" maxLength:"512" doc:"Ref, full or short; _default: all refs."`
	Repos                []string         `json:"repos,omitempty" doc:"Projects by name, case-insensitive."`
	RepositoryVisibility []string         `json:"repository_visibility,omitempty" enum:"public,private,unknown" doc:"Secrets only: visibility of the repository."`
	Rules                []string         `json:"rules,omitempty" doc:"Rules by name."`
	Ruleset              []string         `json:"ruleset,omitempty" doc:"Rulesets by name."`
	SecretTypes          []string         `json:"secret_types,omitempty" doc:"Secrets only: kinds of credential."`
	Severities           []string         `json:"severities,omitempty" enum:"low,medium,high,critical" doc:"Severities."`
	Since                ID               `json:"since,omitempty" doc:"Epoch seconds; relevant since then or later."`
	Status               List[Status]     `json:"status,omitempty" doc:"A status or a list."`
	Transitivities       []string         `json:"transitivities,omitempty" enum:"direct,transitive,unknown" doc:"Supply chain only: kinds of dependency."`
	TriageReasons        []string         `json:"triage_reasons,omitempty" enum:"acceptable_risk,false_positive,no_time,no_triage_reason" doc:"Reasons of ignored findings."`
	ValidationState      []string         `json:"validation_state,omitempty" enum:"valid,invalid,confirmed_valid,confirmed_invalid,validation_error,no_validator" doc:"Secrets only: validation state of the credential."`
}

// Status is the status of a finding, for example open.
type Status string

// Confidence is the confidence of a finding, for example high.
type Confidence string

// TriageResponse lists the findings that were triaged.
type TriageResponse struct {
	NumTriaged    int64   `json:"num_triaged" doc:"Number of triaged findings." example:"2"`
	TriagedIssues []int64 `json:"triaged_issues" doc:"Ids of the findings, ascending." example:"[1234,1240]"`
	Selection     string  `json:"selection,omitempty" doc:"Hash of these findings and the decisions about them; only for a dry run (Redoubt extension)."`
}
