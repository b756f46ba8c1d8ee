package api

// SecretsQuery contains the parameters for listing secrets.
type SecretsQuery struct {
	Cursor          string   `query:"cursor" doc:"Cursor of the previous answer."`
	Limit           int64    `query:"limit" minimum:"0" maximum:"3000" default:"100" doc:"Secrets in one answer; 0 takes the default."`
	Since           string   `query:"since" format:"date-time" doc:"Only secrets relevant since this time or later."`
	ValidationState []string `query:"validationState,explode" enum:"VALIDATION_STATE_CONFIRMED_VALID,VALIDATION_STATE_CONFIRMED_INVALID,VALIDATION_STATE_VALIDATION_ERROR,VALIDATION_STATE_NO_VALIDATOR" doc:"Only secrets in these validation states."`
	Status          []string `query:"status,explode" enum:"FINDING_STATUS_OPEN,FINDING_STATUS_IGNORED,FINDING_STATUS_FIXED" doc:"Only secrets with these statuses."`
	Severity        []string `query:"severity,explode" enum:"SEVERITY_LOW,SEVERITY_MEDIUM,SEVERITY_HIGH,SEVERITY_CRITICAL" doc:"Only these severities."`
	Repo            []string `query:"repo,explode" doc:"Only these projects, by name, in any case."`
}

// ListSecretsResponse is one page of secrets.
type ListSecretsResponse struct {
	Findings []Secret `json:"findings" doc:"Secrets, by id."`
	Cursor   string   `json:"cursor" doc:"Pass it to get the next page; empty on the last one."`
}

// Secret is a credential found in a repository. The credential itself is not stored.
type Secret struct {
	ID              string           `json:"id" pattern:"^[0-9]+$" doc:"Id of the finding." example:"1300"`
	Type            string           `json:"type" doc:"Kind of credential; empty when not told." example:"AWS"`
	FindingPath     string           `json:"findingPath" doc:"Path and line." example:"src/ai.py:232"`
	FindingPathURL  string           `json:"findingPathUrl" doc:"Link to the line; empty when the repository's address is not known."`
	Repository      SecretRepository `json:"repository" doc:"The project."`
	Ref             string           `json:"ref" doc:"Ref it is on, in full." example:"refs/heads/main"`
	RefURL          string           `json:"refUrl" doc:"Link to the ref; empty when the repository's address is not known."`
	RuleHashID      string           `json:"ruleHashId" doc:"Name of the rule."`
	Severity        string           `json:"severity" enum:"SEVERITY_LOW,SEVERITY_MEDIUM,SEVERITY_HIGH,SEVERITY_CRITICAL" doc:"How much harm it may do."`
	Confidence      string           `json:"confidence" enum:"CONFIDENCE_LOW,CONFIDENCE_MEDIUM,CONFIDENCE_HIGH" doc:"How sure the rule is."`
	ValidationState string           `json:"validationState" enum:"VALIDATION_STATE_CONFIRMED_VALID,VALIDATION_STATE_CONFIRMED_INVALID,VALIDATION_STATE_VALIDATION_ERROR,VALIDATION_STATE_NO_VALIDATOR" doc:"Whether it works."`
	Status          string           `json:"status" enum:"FINDING_STATUS_OPEN,FINDING_STATUS_IGNORED,FINDING_STATUS_FIXED" doc:"State and triage together; reviewing and fixing show as open."`
	Mode            string           `json:"mode" enum:"MODE_MONITOR,MODE_COMMENT,MODE_BLOCK" doc:"What it does to a build."`
	CreatedAt       Time             `json:"createdAt" doc:"When it was first seen on its ref."`
	UpdatedAt       Time             `json:"updatedAt" doc:"When its state or triage last changed."`
	ExternalTicket  *ExternalTicket  `json:"externalTicket" doc:"Ticket about it, or null."`
	HistoricalInfo  *HistoricalInfo  `json:"historicalInfo,omitempty" doc:"Where in history it is; absent when it is in the tree."`
	ReviewComments  []ReviewComment  `json:"reviewComments" doc:"Comments about it on change requests."`
}

// SecretRepository identifies the project of a secret.
type SecretRepository struct {
	Name       string `json:"name" doc:"Name of the project." example:"acme/payments"`
	URL        string `json:"url" doc:"Address of the repository; empty when not known."`
	Visibility string `json:"visibility" enum:"REPOSITORY_VISIBILITY_PUBLIC,REPOSITORY_VISIBILITY_PRIVATE,REPOSITORY_VISIBILITY_UNKNOWN" doc:"Who can see it."`
	SCMType    string `json:"scmType" enum:"SCM_TYPE_GITHUB,SCM_TYPE_GITLAB,SCM_TYPE_BITBUCKET,SCM_TYPE_AZURE_DEVOPS,SCM_TYPE_UNKNOWN" doc:"Its host."`
}

// HistoricalInfo identifies the commit of a secret that was found in the history.
type HistoricalInfo struct {
	GitCommit string `json:"gitCommit" doc:"Commit that has it; empty when not told."`
}
