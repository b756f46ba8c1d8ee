package policies

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listPolicies": {Summary: "List policies", Text: "All policies of the deployment, by id."},
	"listPolicyRules": {
		Summary: "List the rules of a policy",
		Text:    "A policy with its rules, by id. Pass `cursor` to get the next page; it is absent on the last page.",
	},
	"updatePolicy": {
		Summary: "Set the mode of a rule",
		Text: "Sets the effect of a rule's findings on builds in this policy, from the next build. No mode removes a " +
			"rule: use the policy's page or `redoubt policies`. Tokens that are restricted to projects are rejected.",
	},
	"createPolicy": {
		Summary: "Create a policy",
		Text: "Creates a policy of a product without rules, for some or all projects. It applies from the next " +
			"build. Tokens that are restricted to projects are rejected.",
	},
	"deletePolicy": {
		Summary: "Delete a policy",
		Text: "Deletes a policy with its list of rules, its conditions and due days. The next full scan removes the " +
			"findings of rules that no other policy of a project has. The default policy of a product cannot be " +
			"deleted. Tokens that are restricted to projects are rejected.",
	},
	"getPolicySettings": {
		Summary: "Get the settings of a policy",
		Text: "Projects and excluded paths of the policy, and whether it also blocks on findings of the primary " +
			"branch. A token that is restricted to projects sees only the globs and tags that match one of its " +
			"projects.",
	},
	"setPolicySettings": {
		Summary: "Set the settings of a policy",
		Text: "Replaces the name, projects, tags, branches, excluded paths and blocking scope. Rules, conditions and " +
			"due days are unchanged. Open findings on newly excluded paths become removed. Tokens that are " +
			"restricted to projects are rejected.",
	},
	"previewPolicy": {
		Summary: "Preview a change of a policy",
		Text: "Effect of new settings, or of deleting the policy, without a change. It is computed from open " +
			"findings on branches of its projects that were scanned in the last 30 days. The gate evaluates each as " +
			"if its scan ran again. At most 300 branches and 100,000 findings are read. Tokens that are restricted " +
			"to projects are rejected.",
	},
	"addPolicyRules": {
		Summary: "Add rules to a policy",
		Text: "Imports a file of Semgrep rules, all or none; all errors are returned at once. A new text of an " +
			"existing id becomes its next version. Patterns are not parsed here, unlike in `redoubt policies " +
			"add-rules`, which runs a scanner. Tokens that are restricted to projects are rejected.",
	},
	"listServedRules": {
		Summary: "List the served rules of a policy",
		Text:    "Rules served to scanners, by id. Tokens that are restricted to projects are rejected.",
	},
	"getPolicyRule": {
		Summary: "Get a rule of a policy",
		Text:    "A rule, with its current and previous texts. Tokens that are restricted to projects are rejected.",
	},
	"removePolicyRule": {
		Summary: "Remove a rule from a policy",
		Text: "The policy no longer serves the rule to scanners. If no other policy of a project has it, the next " +
			"full scan removes its findings. Its texts remain. Tokens that are restricted to projects are rejected.",
	},
	"getDueDays": {
		Summary: "Get the due days of a policy",
		Text: "Days to fix the policy's findings, by severity. If several policies apply to a project and product, " +
			"the fewest days count for each finding.",
	},
	"setDueDays": {
		Summary: "Set the due days of a policy",
		Text: "Replaces the due days. Due dates change at once, because they are computed and not stored. Tokens " +
			"that are restricted to projects are rejected.",
	},
	"listPolicyConditions": {
		Summary: "List the conditions of a policy",
		Text:    "Conditions of a policy, with their effect on matching findings of any rule of its product.",
	},
	"createPolicyCondition": {
		Summary: "Add a condition to a policy",
		Text: "Adds a condition to a policy. At least one member is required, and a finding matches if it meets all " +
			"of them. Findings without severity or confidence meet no threshold. The mode of a finding is the " +
			"strictest of its rule and its matching conditions. `reachable`, `epss`, `exploited`, `malicious`, " +
			"`fixable` and `direct` are rejected for code and secrets. `projects` and `branches` are at most 100 " +
			"globs each, of 1 to 512 characters without control characters; `tags` at most 10 of 64 characters. It " +
			"applies from the next build. Tokens that are restricted to projects are rejected.",
	},
	"deletePolicyCondition": {
		Summary: "Delete a condition of a policy",
		Text:    "Removes a condition from a policy. Tokens that are restricted to projects are rejected.",
	},
}
