package api

// SecretsQuery contains the parameters for listing secrets.
type SecretsQuery struct {
	Cursor          string   `query:"cursor" doc:"Cursor of the previous response."`
	Limit           int64    `query:"limit" minimum:"0" maximum:"3000" default:"100" doc:"Secrets per page; 0 means the default."`
	Since           string   `query:"since" format:"date-time" doc:"Only secrets relevant since this time or later."`
	ValidationState []string `query:"validationState,explode" enum:"VALIDATION_STATE_CONFIRMED_VALID,VALIDATION_STATE_CONFIRMED_INVALID,VALIDATION_STATE_VALIDATION_ERROR,VALIDATION_STATE_NO_VALIDATOR" doc:"Only secrets in these validation states."`
	Status          []string `query:"status,explode" enum:"FINDING_STATUS_OPEN,FINDING_STATUS_IGNORED,FINDING_STATUS_FIXED" doc:"Only secrets with these statuses."`
	Severity        []string `query:"severity,explode" enum:"SEVERITY_LOW,SEVERITY_MEDIUM,SEVERITY_HIGH,SEVERITY_CRITICAL" doc:"Only these severities."`
	Repo            []string `query:"repo,explode" doc:"Only these projects, by name, case-insensitive."`
}

// ListSecretsResponse is one page of secrets.
type ListSecretsResponse struct {
	Findings []Secret `json:"findings" doc:"Secrets, by id."`
	Cursor   string   `json:"cursor" doc:"Cursor of the next page; empty on the last page."`
}

// Secret is a credential found in a repository. The credential itself is not stored.
type Secret struct {
	ID              string           `json:"id" pattern:"^[0-9]+$" doc:"Id of the finding." example:"1300"`
	Type            string           `json:"type" doc:"Kind of credential; empty if unknown." example:"AWS"`
	FindingPath     string           `json:"findingPath" doc:"Path and line." example:"src/ai.py:232"`
	FindingPathURL  string           `json:"findingPathUrl" doc:"Link to the line; empty if the repository's URL is unknown."`
	Repository      SecretRepository `json:"repository" doc:"The project."`
	Ref             string           `json:"ref" doc:"Full name of the ref." example:"refs/heads/main"`
	RefURL          string           `json:"refUrl" doc:"Link to the ref; empty if the repository's URL is unknown."`
	RuleHashID      string           `json:"ruleHashId" doc:"Name of the rule."`
	Severity        string           `json:"severity" enum:"SEVERITY_LOW,SEVERITY_MEDIUM,SEVERITY_HIGH,SEVERITY_CRITICAL" doc:"Severity."`
	Confidence      string           `json:"confidence" enum:"CONFIDENCE_LOW,CONFIDENCE_MEDIUM,CONFIDENCE_HIGH" doc:"Confidence of the rule."`
	ValidationState string           `json:"validationState" enum:"VALIDATION_STATE_CONFIRMED_VALID,VALIDATION_STATE_CONFIRMED_INVALID,VALIDATION_STATE_VALIDATION_ERROR,VALIDATION_STATE_NO_VALIDATOR" doc:"Validation state of the credential."`
	Status          string           `json:"status" enum:"FINDING_STATUS_OPEN,FINDING_STATUS_IGNORED,FINDING_STATUS_FIXED" doc:"State and triage combined; reviewing and fixing are returned as open."`
	Mode            string           `json:"mode" enum:"MODE_MONITOR,MODE_COMMENT,MODE_BLOCK" doc:"Effect on a build."`
	CreatedAt       Time             `json:"createdAt" doc:"When the finding was first seen on its ref."`
	UpdatedAt       Time             `json:"updatedAt" doc:"Time of the last change of state or triage."`
	ExternalTicket  *ExternalTicket  `json:"externalTicket" doc:"Linked ticket, or null."`
	HistoricalInfo  *HistoricalInfo  `json:"historicalInfo,omitempty" doc:"Location in the history; absent if the secret is in the current tree."`
	ReviewComments  []ReviewComment  `json:"reviewComments" doc:"Comments on change requests."`
}

// SecretRepository identifies the project of a secret.
type SecretRepository struct {
	Name       string `json:"name" doc:"Name of the project." example:"acme/payments"`
	URL        string `json:"url" doc:"URL of the repository; empty if unknown."`
	Visibility string `json:"visibility" enum:"REPOSITORY_VISIBILITY_PUBLIC,REPOSITORY_VISIBILITY_PRIVATE,REPOSITORY_VISIBILITY_UNKNOWN" doc:"Visibility of the repository."`
	SCMType    string `json:"scmType" enum:"SCM_TYPE_GITHUB,SCM_TYPE_GITLAB,SCM_TYPE_BITBUCKET,SCM_TYPE_AZURE_DEVOPS,SCM_TYPE_UNKNOWN" doc:"Kind of host."`
}

// HistoricalInfo identifies the commit of a secret that was found in the history.
type HistoricalInfo struct {
	GitCommit string `json:"gitCommit" doc:"Commit with the secret; empty if unknown."`
}
