package policies

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listPolicies": {Summary: "List policies", Text: "All policies of the deployment, by id."},
	"listPolicyRules": {
		Summary: "List the rules of a policy",
		Text:    "A policy with its rules, by id. Pass `cursor` to get the next page; it is absent on the last one.",
	},
	"updatePolicy": {
		Summary: "Set the mode of a rule",
		Text: "Decides what the findings of a rule do to a build, in this policy, from the next build on. Rules are " +
			"taken out of " +
			"a policy on its page or by `redoubt policies`, not by a mode. A token that is bound to projects may not.",
	},
	"createPolicy": {
		Summary: "Create a policy",
		Text: "Makes a policy of a product for some projects or all, without rules. It holds from the next " +
			"build on. A token " +
			"that is bound to projects may not.",
	},
	"deletePolicy": {
		Summary: "Delete a policy",
		Text: "Drops a policy with its list of rules, its conditions and days. The next full scan removes the " +
			"findings of rules " +
			"that no other policy of a project has. The default policy of a product stays. A token that is bound to " +
			"projects may not.",
	},
	"getPolicySettings": {
		Summary: "Get the settings of a policy",
		Text: "Which projects it is for, which paths it leaves out, and whether it blocks on what the primary " +
			"branch has. A " +
			"token that is bound to projects sees of the globs and tags those that fit one of its projects.",
	},
	"setPolicySettings": {
		Summary: "Set the settings of a policy",
		Text: "Replaces name, projects, tags, paths left out and what is blocked on; rules, conditions and days stay. Open " +
			"findings on paths that it now leaves out become removed. A token that is bound to projects may not.",
	},
	"previewPolicy": {
		Summary: "Preview a change of a policy",
		Text: "What other settings, or deleting it, would change, by what is open on the branches of its " +
			"projects that were " +
			"scanned in the last 30 days: the gate judges each as if its scan ran again. " +
			"At most 300 branches and 100,000 findings are read. Nothing is changed. A token that is bound to projects may not.",
	},
	"addPolicyRules": {
		Summary: "Add rules to a policy",
		Text: "Takes a file of Semgrep rules in, all or none: everything that is " +
			"wrong with it is told at once. Another text under an id that is there is its next version. " +
			"Whether patterns parse is not checked here, as `redoubt policies add-rules` has a scanner do. A token that is " +
			"bound to projects may not.",
	},
	"listServedRules": {
		Summary: "List the served rules of a policy",
		Text:    "The rules that the policy serves to scanners, by id. A token that is bound to projects may not.",
	},
	"getPolicyRule": {
		Summary: "Get a rule of a policy",
		Text:    "A rule, with the texts that it has or had. A token that is bound to projects may not.",
	},
	"removePolicyRule": {
		Summary: "Remove a rule from a policy",
		Text: "Scanners are given it no more by this policy; where no other one of a project has it, the next full " +
			"scan removes " +
			"its findings. Its texts stay. A token that is bound to projects may not.",
	},
	"getDueDays": {
		Summary: "Get the due days of a policy",
		Text: "How many days people have to fix the findings that the policy is " +
			"for, by severity. Of several policies of a project and product, the one that gives a finding the fewest counts.",
	},
	"setDueDays": {
		Summary: "Set the due days of a policy",
		Text: "Replaces how many days people have. Due dates are counted anew at once: none is stored. A token " +
			"that is bound to " +
			"projects may not.",
	},
	"listPolicyConditions": {
		Summary: "List the conditions of a policy",
		Text:    "What a policy does about findings of its product that match a condition, whatever their rule.",
	},
	"createPolicyCondition": {
		Summary: "Add a condition to a policy",
		Text: "Adds a condition to a policy. A finding matches if it meets all members, of which one or more is " +
			"set; findings " +
			"without severity or confidence meet no threshold. " +
			"The mode of a finding is the strictest of its rule and the conditions that it matches. " +
			"`reachable`, `epss`, `exploited`, `malicious`, `fixable` and `direct` are rejected for code and secrets. " +
			"`projects` and `branches` are at most 100 globs each, of 1 to 512 characters without control characters; `tags` " +
			"at most 10 of 64 characters. " +
			"It holds from the next build on. A token that is bound to projects may not.",
	},
	"deletePolicyCondition": {
		Summary: "Delete a condition of a policy",
		Text:    "Removes a condition from a policy. A token that is bound to projects may not.",
	},
}
