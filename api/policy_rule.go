package api

// AddPolicyRulesRequest adds rules to a policy: those of a text, a rule of another policy, or the
// starter rules. Unknown members are rejected.
type AddPolicyRulesRequest struct {
	_        struct{} `additionalProperties:"false"`
	PolicyID string   `json:"policyId,omitempty" doc:"The policy, as in the path."`
	Text     string   `json:"text,omitempty" maxLength:"1000000" doc:"A file of rules in the scanner's language, as YAML or JSON."`
	Checked  bool     `json:"checked,omitempty" doc:"The scanner has parsed the text."`
	Rule     string   `json:"rule,omitempty" maxLength:"1024" doc:"In place of a text: path of a rule that another policy has. Where only reports name it, the policy lists it."`
	Starter  bool     `json:"starter,omitempty" doc:"In place of a text: the rules of the product that come with the server."`
	Mode     string   `json:"mode,omitempty" enum:"monitor,comment,block" doc:"What their findings are to do to a build; left out, rules that are there keep theirs and new ones are in monitor." example:"monitor"`
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
	Mode    string `json:"mode" enum:"monitor,comment,block" doc:"What its findings do to a build." example:"monitor"`
	Version int64  `json:"version" doc:"Version of its text, from 1; 0 of a rule that only reports name." example:"1"`
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
	Mode    string `json:"mode" enum:"monitor,comment,block" doc:"What its findings do to a build." example:"monitor"`
	Version int64  `json:"version" doc:"Version of its text, from 1." example:"1"`
	Checked bool   `json:"checked" doc:"Whether the scanner itself has parsed it."`
	Starter bool   `json:"starter" doc:"Whether it came with the server."`
	Text    string `json:"text,omitempty" doc:"The rule as JSON, with texts=true."`
}

// PolicyRuleResponse contains a rule of a policy, with its texts.
type PolicyRuleResponse struct {
	Policy   Policy        `json:"policy" doc:"The policy."`
	Rule     PolicyRule    `json:"rule" doc:"The rule."`
	Served   bool          `json:"served" doc:"Whether scanners are given it."`
	Versions []RuleVersion `json:"versions" doc:"Texts that it has or had, the newest first; none of a rule that is known from reports alone."`
}

// RuleVersion is a current or previous text of a rule.
type RuleVersion struct {
	Version int64  `json:"version" doc:"From 1." example:"1"`
	Text    string `json:"text" doc:"A file with the rule, as YAML."`
	Checked bool   `json:"checked" doc:"Whether the scanner itself has parsed it."`
	Starter bool   `json:"starter" doc:"Whether it came with the server."`
	AddedAt Time   `json:"added_at" doc:"When it was added."`
	AddedBy string `json:"added_by" doc:"Who added it."`
}
