package api

// ListPoliciesResponse contains all policies.
type ListPoliciesResponse struct {
	Policies []Policy `json:"policies" doc:"Policies, by id."`
}

// Policy is a set of rules for one product.
type Policy struct {
	ID          string `json:"id" pattern:"^[0-9]+$" doc:"Id of the policy." example:"3"`
	IsDefault   bool   `json:"isDefault" doc:"Whether new rules of the product are added to it."`
	Name        string `json:"name" doc:"Name of the policy." example:"Code"`
	ProductType string `json:"productType" enum:"PRODUCT_TYPE_SAST,PRODUCT_TYPE_SCA,PRODUCT_TYPE_SECRETS" doc:"Product of the policy." example:"PRODUCT_TYPE_SAST"`
	Slug        string `json:"slug" doc:"Short name of the policy." example:"code"`
}

// PolicyRulesQuery contains the parameters for listing a policy's rules.
type PolicyRulesQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous response."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"2000" default:"500" doc:"Rules per page; 0 means the default."`
}

// ListPolicyRulesResponse is one page of a policy's rules.
type ListPolicyRulesResponse struct {
	Cursor string       `json:"cursor,omitempty" doc:"Cursor of the next page; absent on the last page."`
	Policy Policy       `json:"policy" doc:"The policy."`
	Rules  []PolicyRule `json:"rules" doc:"Its rules, by id."`
}

// PolicyRule is a rule in a policy.
type PolicyRule struct {
	ID                 string   `json:"id" pattern:"^[0-9]+$" doc:"Id of the rule in the policy." example:"99"`
	Path               string   `json:"path" doc:"Dotted path of the rule." example:"python.lang.security.audit.eval-detected"`
	Category           string   `json:"category" doc:"Category; empty if unknown." example:"security"`
	Confidence         string   `json:"confidence" enum:"CONFIDENCE_LOW,CONFIDENCE_MEDIUM,CONFIDENCE_HIGH" doc:"Confidence of the rule." example:"CONFIDENCE_HIGH"`
	Severity           string   `json:"severity" enum:"SEVERITY_LOW,SEVERITY_MEDIUM,SEVERITY_HIGH,SEVERITY_CRITICAL" doc:"Severity of its findings." example:"SEVERITY_HIGH"`
	PolicyMode         string   `json:"policyMode" enum:"MODE_MONITOR,MODE_COMMENT,MODE_BLOCK" doc:"Effect of its findings on a build." example:"MODE_BLOCK"`
	Source             string   `json:"source" enum:"SOURCE_COMMUNITY,SOURCE_PRO,SOURCE_CUSTOM" doc:"Source of the rule." example:"SOURCE_COMMUNITY"`
	CWECategories      []string `json:"cweCategories" doc:"CWE weaknesses of the rule."`
	OWASPCategories    []string `json:"owaspCategories" doc:"OWASP categories."`
	VulnerabilityClass []string `json:"vulnerabilityClass" doc:"Classes of vulnerability."`
	Languages          []string `json:"languages" doc:"Languages of the rule." example:"[\"python\"]"`
	Technologies       []string `json:"technologies" doc:"Technologies of the rule."`
	Rulesets           []string `json:"rulesets" doc:"Rulesets of the rule."`
	RegistryMaintainer string   `json:"registryMaintainer" doc:"Maintainer; empty if unknown."`
	LastChangeAt       Time     `json:"lastChangeAt" doc:"Time of the last change of the rule in the policy."`
	LastChangeBy       string   `json:"lastChangeBy,omitempty" doc:"User who changed it; absent if unchanged."`
	URL                string   `json:"url" doc:"URL of the documentation; empty if unknown."`
}

// UpdatePolicyRequest sets the mode of a rule in a policy.
type UpdatePolicyRequest struct {
	_            struct{} `additionalProperties:"false"`
	DeploymentID ID       `json:"deploymentId,omitempty" doc:"Same as in the path."`
	PolicyID     string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	RulePath     string   `json:"rulePath" minLength:"1" maxLength:"1024" doc:"Dotted path of the rule, as in the list of the policy's rules." example:"python.lang.security.audit.eval-detected"`
	PolicyMode   string   `json:"policyMode" enum:"MODE_MONITOR,MODE_COMMENT,MODE_BLOCK" doc:"Effect of its findings on a build." example:"MODE_BLOCK"`
}

// UpdatePolicyResponse contains the updated rule of a policy.
type UpdatePolicyResponse struct {
	PolicyID    string     `json:"policyId" pattern:"^[0-9]+$" doc:"Id of the policy." example:"3"`
	UpdatedRule PolicyRule `json:"updatedRule" doc:"The rule, with its mode."`
}

// PolicyCondition defines the mode of findings that match all its members, independent of their
// rule and scanner.
type PolicyCondition struct {
	ID         int64   `json:"id" doc:"Id in the policy." example:"1"`
	IssueType  string  `json:"issue_type" enum:"sast,sca,secrets" doc:"Issue type of the findings: the product of its policy." example:"sast"`
	Mode       string  `json:"mode" enum:"monitor,comment,block" doc:"Effect on a build: block fails it, comment shows matching findings, monitor records them." example:"block"`
	Text       string  `json:"text" doc:"The condition as a sentence." example:"blocks when severity is high or worse and a fix exists"`
	Severity   *string `json:"severity" nullable:"true" enum:"low,medium,high,critical" doc:"Lowest severity of the finding; null: any."`
	Confidence *string `json:"confidence" nullable:"true" enum:"low,medium,high" doc:"Lowest confidence of the finding; null: any."`
	Reachable  bool    `json:"reachable" doc:"Supply chain only: reachable from code, or dangerous even if not reached."`
	EPSS       float64 `json:"epss" doc:"Supply chain only: lowest EPSS score, from 0 to 1; 0: any."`
	Exploited  bool    `json:"exploited" doc:"Supply chain only: known exploited vulnerabilities (KEV)."`
	Malicious  bool    `json:"malicious" doc:"Supply chain only: malicious packages."`
	Fixable    bool    `json:"fixable" doc:"Supply chain only: vulnerabilities with a fixed version."`
	Direct     bool    `json:"direct" doc:"Supply chain only: direct dependencies."`
	GraceDays  int64   `json:"grace_days" doc:"Minimum age of the finding on the branch, in days." example:"14"`

	Projects []string `json:"projects" doc:"Globs of project names; empty: all projects of the policy."`
	Tags     []string `json:"tags" doc:"Tags of projects; empty: all projects of the policy."`
	Branches []string `json:"branches" doc:"Globs of branch names or full ref names; empty: all refs."`
}

// ListPolicyConditionsResponse contains the conditions of a policy.
type ListPolicyConditionsResponse struct {
	Policy     Policy            `json:"policy" doc:"The policy."`
	Conditions []PolicyCondition `json:"conditions" doc:"Its conditions, by id."`
}

// CreatePolicyConditionRequest creates a condition. A finding matches if it meets all members, of
// which at least one is set. Unknown members are rejected: a misspelled one would widen the
// condition.
type CreatePolicyConditionRequest struct {
	_          struct{} `additionalProperties:"false"`
	PolicyID   string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Mode       string   `json:"mode" enum:"monitor,comment,block" doc:"Effect on a build." example:"block"`
	Severity   string   `json:"severity,omitempty" enum:"low,medium,high,critical" doc:"Lowest severity of the finding." example:"high"`
	Confidence string   `json:"confidence,omitempty" enum:"low,medium,high" doc:"Lowest confidence of the finding."`
	Reachable  bool     `json:"reachable,omitempty" doc:"Supply chain only: reachable from code, or dangerous even if not reached."`
	EPSS       float64  `json:"epss,omitempty" minimum:"0" maximum:"1" doc:"Supply chain only: lowest EPSS score."`
	Exploited  bool     `json:"exploited,omitempty" doc:"Supply chain only: known exploited vulnerabilities (KEV)."`
	Malicious  bool     `json:"malicious,omitempty" doc:"Supply chain only: malicious packages."`
	Fixable    bool     `json:"fixable,omitempty" doc:"Supply chain only: vulnerabilities with a fixed version."`
	Direct     bool     `json:"direct,omitempty" doc:"Supply chain only: direct dependencies."`
	GraceDays  int64    `json:"grace_days,omitempty" minimum:"0" maximum:"3650" doc:"Minimum age of the finding on the branch, in days."`
	Projects   []string `json:"projects,omitempty" doc:"Globs of project names; empty: all projects of the policy."`
	Tags       []string `json:"tags,omitempty" doc:"Tags, of which a project must have one; empty: all projects of the policy."`
	Branches   []string `json:"branches,omitempty" doc:"Globs of branch names, as release/*, or of full ref names, as refs/pull/**; empty: all refs."`
}

// DueDays defines the days for fixing findings, by severity. 0 means that there is no due date; for
// NotRated, that Medium applies.
type DueDays struct {
	Critical       int64 `json:"critical" minimum:"0" maximum:"3650" doc:"Due days of critical findings; 0: no due date." example:"7"`
	High           int64 `json:"high" minimum:"0" maximum:"3650" doc:"Due days of high findings." example:"30"`
	Medium         int64 `json:"medium" minimum:"0" maximum:"3650" doc:"Due days of medium findings." example:"90"`
	Low            int64 `json:"low" minimum:"0" maximum:"3650" doc:"Due days of low findings." example:"0"`
	NotRated       int64 `json:"not_rated" minimum:"0" maximum:"3650" doc:"Supply chain only: due days of vulnerabilities without a severity rating; 0: same as medium." example:"0"`
	KnownExploited int64 `json:"known_exploited" minimum:"0" maximum:"3650" doc:"Supply chain only: due days of known exploited vulnerabilities (KEV), if fewer than those of their severity." example:"0"`
}

// SetDueDaysRequest replaces the due days of a policy. Absent members are set to 0. Unknown members
// are rejected.
type SetDueDaysRequest struct {
	_              struct{} `additionalProperties:"false"`
	PolicyID       string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Critical       int64    `json:"critical,omitempty" minimum:"0" maximum:"3650" doc:"Due days of critical findings; 0: no due date." example:"7"`
	High           int64    `json:"high,omitempty" minimum:"0" maximum:"3650" doc:"Due days of high findings." example:"30"`
	Medium         int64    `json:"medium,omitempty" minimum:"0" maximum:"3650" doc:"Due days of medium findings." example:"90"`
	Low            int64    `json:"low,omitempty" minimum:"0" maximum:"3650" doc:"Due days of low findings."`
	NotRated       int64    `json:"not_rated,omitempty" minimum:"0" maximum:"3650" doc:"Supply chain only: due days of vulnerabilities without a severity rating; 0: same as medium."`
	KnownExploited int64    `json:"known_exploited,omitempty" minimum:"0" maximum:"3650" doc:"Supply chain only: due days of known exploited vulnerabilities (KEV), if fewer than those of their severity."`
}

// DueDaysResponse contains the due days of a policy.
type DueDaysResponse struct {
	Policy  Policy  `json:"policy" doc:"The policy."`
	DueDays DueDays `json:"due_days" doc:"Its days."`
}

// PolicyConditionResponse contains a condition that was created or deleted.
type PolicyConditionResponse struct {
	Policy    Policy          `json:"policy" doc:"The policy."`
	Condition PolicyCondition `json:"condition" doc:"The created condition, or the condition before its deletion."`
}
