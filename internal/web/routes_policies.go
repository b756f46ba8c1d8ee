package web

// policiesRoutes are the rows about policies.
func policiesRoutes() []route {
	const one = org + "/policies/{id}"
	return []route{
		{row(get, org+"/policies", roleViewer, reads), listPolicies},
		{row(get, org+"/policies/new", roleAdmin, reads), proven(askNewPolicy)},
		{row(post, org+"/policies/new/preview", roleAdmin, reads), formed(previewPolicy)},
		{row(post, org+"/policies/new", roleAdmin, writes), proven(formed(createPolicy))},
		{row(get, one, roleViewer, reads), showPolicy},
		{row(get, one+"/settings", roleAdmin, reads), proven(askPolicySettings)},
		{row(post, one+"/settings/preview", roleAdmin, reads), formed(previewPolicy)},
		{row(post, one+"/settings", roleAdmin, writes), proven(formed(savePolicySettings))},
		{row(get, one+"/delete", roleAdmin, reads), askDeletePolicy},
		{row(post, one+"/delete", roleAdmin, writes), proven(deletePolicy)},
		{row(get, one+"/add-rules", roleAdmin, reads), askAddRules},
		{row(post, one+"/add-rules", roleAdmin, writes), proven(addRules)},
		{row(get, one+"/rules/{rule}", roleViewer, reads), showPolicyRule},
		{row(post, one+"/rules/{rule}/remove", roleAdmin, writes), proven(removePolicyRule)},
		{row(post, one+"/rules", roleAdmin, writes), proven(formed(setRuleMode))},
		{row(get, one+"/modes", roleAdmin, reads), askModes},
		{row(post, one+"/modes", roleAdmin, writes), proven(formed(setModes))},
		{row(post, one+"/due", roleAdmin, writes), proven(formed(setDueDays))},
		{row(post, one+"/conditions", roleAdmin, writes), proven(formed(addCondition))},
		{row(post, one+"/conditions/{condition}/remove", roleAdmin, writes), proven(removeCondition)},
	}
}
