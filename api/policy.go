package api

// ListPoliciesResponse holds all policies.
type ListPoliciesResponse struct {
	Policies []Policy `json:"policies" doc:"Policies, by id."`
}

// Policy is a set of rules for one product.
type Policy struct {
	ID          string `json:"id" pattern:"^[0-9]+$" doc:"Id of the policy." example:"3"`
	IsDefault   bool   `json:"isDefault" doc:"Whether new rules of the product go into it."`
	Name        string `json:"name" doc:"Name of the policy." example:"Code"`
	ProductType string `json:"productType" enum:"PRODUCT_TYPE_SAST,PRODUCT_TYPE_SCA,PRODUCT_TYPE_SECRETS" doc:"Product that it is for." example:"PRODUCT_TYPE_SAST"`
	Slug        string `json:"slug" doc:"Short name of the policy." example:"code"`
}

// PolicyRulesQuery are the parameters of listing a policy's rules.
type PolicyRulesQuery struct {
	Cursor string `query:"cursor" doc:"Cursor of the previous answer."`
	Limit  int64  `query:"limit" minimum:"0" maximum:"2000" default:"500" doc:"Rules in one answer; 0 takes the default."`
}

// ListPolicyRulesResponse is one page of a policy's rules.
type ListPolicyRulesResponse struct {
	Cursor string       `json:"cursor,omitempty" doc:"Pass it to get the next page; absent on the last one."`
	Policy Policy       `json:"policy" doc:"The policy."`
	Rules  []PolicyRule `json:"rules" doc:"Its rules, by id."`
}

// PolicyRule is a rule in a policy.
type PolicyRule struct {
	ID                 string   `json:"id" pattern:"^[0-9]+$" doc:"Id of the rule in the policy." example:"99"`
	Path               string   `json:"path" doc:"Dotted path of the rule." example:"python.lang.security.audit.eval-detected"`
	Category           string   `json:"category" doc:"Category; empty when not told." example:"security"`
	Confidence         string   `json:"confidence" enum:"CONFIDENCE_LOW,CONFIDENCE_MEDIUM,CONFIDENCE_HIGH" doc:"How sure the rule is." example:"CONFIDENCE_HIGH"`
	Severity           string   `json:"severity" enum:"SEVERITY_LOW,SEVERITY_MEDIUM,SEVERITY_HIGH,SEVERITY_CRITICAL" doc:"How much harm its findings may do." example:"SEVERITY_HIGH"`
	PolicyMode         string   `json:"policyMode" enum:"MODE_MONITOR,MODE_COMMENT,MODE_BLOCK" doc:"What its findings do to a build." example:"MODE_BLOCK"`
	Source             string   `json:"source" enum:"SOURCE_COMMUNITY,SOURCE_PRO,SOURCE_CUSTOM" doc:"Where the rule is from." example:"SOURCE_COMMUNITY"`
	CWECategories      []string `json:"cweCategories" doc:"Weaknesses it looks for."`
	OWASPCategories    []string `json:"owaspCategories" doc:"OWASP categories."`
	VulnerabilityClass []string `json:"vulnerabilityClass" doc:"Classes of vulnerability."`
	Languages          []string `json:"languages" doc:"Languages it looks at." example:"[\"python\"]"`
	Technologies       []string `json:"technologies" doc:"Technologies it is about."`
	Rulesets           []string `json:"rulesets" doc:"Rulesets that it came with."`
	RegistryMaintainer string   `json:"registryMaintainer" doc:"Who keeps it; empty when not known."`
	LastChangeAt       Time     `json:"lastChangeAt" doc:"When its place in the policy last changed."`
	LastChangeBy       string   `json:"lastChangeBy,omitempty" doc:"Who changed it; absent when nobody did."`
	URL                string   `json:"url" doc:"Where the rule is explained; empty when not told."`
}
