package api

// SearchIssuesRequest contains the parameters for listing findings in the format of the hosted
// service's assistants. Unknown members are rejected, so that a misspelled filter does not widen
// the selection.
type SearchIssuesRequest struct {
	_            struct{}    `additionalProperties:"false"`
	DeploymentID ID          `json:"deploymentId,omitempty" doc:"Same as in the path."`
	IssueType    string      `json:"issueType,omitempty" enum:"ISSUE_TYPE_SAST,ISSUE_TYPE_SCA" default:"ISSUE_TYPE_SAST" doc:"Code or supply-chain findings."`
	Filter       IssueFilter `json:"filter,omitzero" doc:"Filter; default: all findings."`
	Limit        int64       `json:"limit,omitempty" minimum:"1" maximum:"1000" default:"100" doc:"Maximum number of findings."`
}

// IssueFilter selects findings that match all members. The values of one member are alternatives.
type IssueFilter struct {
	_               struct{} `additionalProperties:"false"`
	Status          []string `json:"status,omitempty" enum:"ISSUE_TAB_OPEN,ISSUE_TAB_CLOSED,ISSUE_TAB_IGNORED,ISSUE_TAB_REVIEWING,ISSUE_TAB_FIXING" doc:"Statuses, named as the tabs of the hosted service; CLOSED is fixed."`
	RepositoryNames []string `json:"repositoryNames,omitempty" maxItems:"1000" doc:"Projects by name, case-insensitive."`
	Severities      []string `json:"severities,omitempty" enum:"SEVERITY_CRITICAL,SEVERITY_HIGH,SEVERITY_MEDIUM,SEVERITY_LOW" doc:"Severities."`
	Confidences     []string `json:"confidences,omitempty" enum:"CONFIDENCE_HIGH,CONFIDENCE_MEDIUM,CONFIDENCE_LOW" doc:"Confidence of the rule; ignored for supply-chain findings."`
	AIVerdicts      []string `json:"aiVerdicts,omitempty" enum:"VERDICT_TRUE_POSITIVE,VERDICT_FALSE_POSITIVE" doc:"Verdict of the assistant; ignored for supply-chain findings."`
	Refs            []string `json:"refs,omitempty" maxItems:"20" doc:"Branches or other refs, full or short."`
	OnPrimaryBranch bool     `json:"on_primary_branch,omitempty" doc:"Only findings on the primary branch of their project."`
}

// SearchIssuesResponse contains findings, newest first.
type SearchIssuesResponse struct {
	Issues  []IssueEntry `json:"issues" doc:"Findings by relevant_since and id, descending."`
	Total   int64        `json:"total" doc:"Number of findings that match the filter (Redoubt extension)." example:"250"`
	HasMore bool         `json:"hasMore" doc:"Whether there are more findings than limit (Redoubt extension)."`
}

// IssueEntry contains one finding.
type IssueEntry struct {
	Issue Issue `json:"issue" doc:"The finding."`
}

// Issue is a finding in the format of the hosted service's assistants.
type Issue struct {
	ID             int64           `json:"id" doc:"Id of the finding." example:"1234"`
	IssueType      string          `json:"issueType" enum:"ISSUE_TYPE_SAST,ISSUE_TYPE_SCA" doc:"Code or supply chain." example:"ISSUE_TYPE_SAST"`
	CreatedAt      Time            `json:"createdAt" doc:"When the finding was first seen on its ref." example:"2024-05-28T06:38:54.962941Z"`
	RelevantSince  Time            `json:"relevantSince" doc:"When the finding was first seen or last reopened." example:"2024-05-28T06:38:54.962941Z"`
	Ref            string          `json:"ref" doc:"Full name of the branch or other ref." example:"refs/heads/main"`
	SyntacticID    string          `json:"syntacticId" doc:"Scanner fingerprint of the code."`
	MatchBasedID   string          `json:"matchBasedId" doc:"Scanner fingerprint that is stable when lines move."`
	Status         string          `json:"status" enum:"ISSUE_TAB_OPEN,ISSUE_TAB_CLOSED,ISSUE_TAB_IGNORED,ISSUE_TAB_REVIEWING,ISSUE_TAB_FIXING" doc:"Status: state and triage combined." example:"ISSUE_TAB_OPEN"`
	TriageState    string          `json:"triageState" enum:"untriaged,ignored,reviewing,fixing,reopened" doc:"Triage state." example:"untriaged"`
	TriageReason   string          `json:"triageReason,omitempty" doc:"Triage reason; absent if not ignored." example:"false_positive"`
	Repository     IssueRepository `json:"repository" doc:"The project."`
	FirstSeenScan  IssueScan       `json:"firstSeenScan" doc:"Scan that found it."`
	LineOfCodeURL  string          `json:"lineOfCodeUrl" doc:"Link to the line at the code host, or to the finding in Redoubt." example:"https://redoubt.example.com/orgs/acme/findings/1234"`
	FilePath       string          `json:"filePath" doc:"Path in the repository." example:"src/app.py"`
	Line           int64           `json:"line" doc:"First line." example:"10"`
	Column         int64           `json:"column" doc:"First column." example:"5"`
	EndLine        int64           `json:"endLine" doc:"Last line." example:"10"`
	EndColumn      int64           `json:"endColumn" doc:"Column after the last one." example:"20"`
	Severity       string          `json:"severity" enum:"SEVERITY_CRITICAL,SEVERITY_HIGH,SEVERITY_MEDIUM,SEVERITY_LOW" doc:"Severity." example:"SEVERITY_HIGH"`
	Confidence     string          `json:"confidence" enum:"CONFIDENCE_HIGH,CONFIDENCE_MEDIUM,CONFIDENCE_LOW" doc:"Confidence of the rule." example:"CONFIDENCE_HIGH"`
	Message        string          `json:"message" doc:"Message of the rule for this match; written by the scanner."`
	RulePath       string          `json:"rulePath" doc:"Name of the rule." example:"python.lang.security.audit.eval-detected"`
	ExternalTicket *ExternalTicket `json:"externalTicket,omitempty" doc:"Linked ticket; absent if there is none."`
}

// IssueRepository identifies the project of a finding.
type IssueRepository struct {
	ID         int64        `json:"id" doc:"Id of the project." example:"17"`
	Name       string       `json:"name" doc:"Name of the project." example:"acme/payments"`
	PrimaryRef IssuePrimary `json:"primaryRef" doc:"Primary branch of the project."`
}

// IssuePrimary identifies the primary branch of a project.
type IssuePrimary struct {
	Ref string `json:"ref" doc:"Full name of the branch." example:"refs/heads/main"`
}

// IssueScan identifies a scan.
type IssueScan struct {
	ID int64 `json:"id" doc:"Id of the scan." example:"42"`
}
