package api

// AddPolicyRulesRequest adds rules to a policy: those of a text, a rule of another policy, or the
// starter rules. Unknown members are rejected.
type AddPolicyRulesRequest struct {
	_        struct{} `additionalProperties:"false"`
	PolicyID string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Text     string   `json:"text,omitempty" maxLength:"1000000" doc:"Rules file in the scanner's language, as YAML or JSON."`
	Checked  bool     `json:"checked,omitempty" doc:"Whether the scanner has parsed the text."`
	Rule     string   `json:"rule,omitempty" maxLength:"1024" doc:"Instead of a text: path of a rule of another policy. A rule known only from reports is listed in the policy."`
	Starter  bool     `json:"starter,omitempty" doc:"Instead of a text: the product's rules that are included with the server."`
	Mode     string   `json:"mode,omitempty" enum:"monitor,comment,block" doc:"Effect of their findings on a build; default: unchanged for existing rules, monitor for new ones." example:"monitor"`
}

// AddPolicyRulesResponse contains the added rules.
type AddPolicyRulesResponse struct {
	Policy Policy      `json:"policy" doc:"The policy."`
	Rules  []AddedRule `json:"rules" doc:"The rules, in the order of the file."`
}

// AddedRule is a rule that was added to a policy.
type AddedRule struct {
	ID      string `json:"id" pattern:"^[0-9]+$" doc:"Id of the rule in the policy." example:"99"`
	Path    string `json:"path" doc:"Dotted path of the rule." example:"shop-no-raw-price"`
	Mode    string `json:"mode" enum:"monitor,comment,block" doc:"Effect of its findings on a build." example:"monitor"`
	Version int64  `json:"version" doc:"Version of its text, from 1; 0 for a rule known only from reports." example:"1"`
}

// ServedRulesQuery contains the parameters for listing the rules that a policy serves.
type ServedRulesQuery struct {
	Texts bool `query:"texts" doc:"Include the texts of the rules."`
}

// ListServedRulesResponse contains the rules that a policy serves to scanners.
type ListServedRulesResponse struct {
	Policy Policy       `json:"policy" doc:"The policy."`
	Rules  []ServedRule `json:"rules" doc:"Its served rules, by id."`
}

// ServedRule is a rule that is served to scanners.
type ServedRule struct {
	ID      string `json:"id" pattern:"^[0-9]+$" doc:"Id of the rule in the policy." example:"99"`
	Path    string `json:"path" doc:"Dotted path of the rule." example:"shop-no-raw-price"`
	Mode    string `json:"mode" enum:"monitor,comment,block" doc:"Effect of its findings on a build." example:"monitor"`
	Version int64  `json:"version" doc:"Version of the text, from 1." example:"1"`
	Checked bool   `json:"checked" doc:"Whether the scanner has parsed the text."`
	Starter bool   `json:"starter" doc:"Whether the rule is included with the server."`
	Text    string `json:"text,omitempty" doc:"The rule as JSON, with texts=true."`
}

// PolicyRuleResponse contains a rule of a policy, with its texts.
type PolicyRuleResponse struct {
	Policy   Policy        `json:"policy" doc:"The policy."`
	Rule     PolicyRule    `json:"rule" doc:"The rule."`
	Served   bool          `json:"served" doc:"Whether the rule is served to scanners."`
	Versions []RuleVersion `json:"versions" doc:"Current and previous texts, newest first; empty for a rule known only from reports."`
}

// RuleVersion is a current or previous text of a rule.
type RuleVersion struct {
	Version int64  `json:"version" doc:"Version number, from 1." example:"1"`
	Text    string `json:"text" doc:"A file with the rule, as YAML."`
	Checked bool   `json:"checked" doc:"Whether the scanner has parsed the text."`
	Starter bool   `json:"starter" doc:"Whether the rule is included with the server."`
	AddedAt Time   `json:"added_at" doc:"Time of addition."`
	AddedBy string `json:"added_by" doc:"User who added it."`
}
