package web

// policiesRoutes are the rows about policies.
func policiesRoutes() []route {
	const one = org + "/policies/{id}"
	return []route{
		{row(get, org+"/policies", viewer, reads), listPolicies},
		{row(get, org+"/policies/new", admin, reads), proven(askNewPolicy)},
		{row(post, org+"/policies/new/preview", admin, reads), formed(previewPolicy)},
		{row(post, org+"/policies/new", admin, writes), proven(formed(createPolicy))},
		{row(get, one, viewer, reads), showPolicy},
		{row(get, one+"/settings", admin, reads), proven(askPolicySettings)},
		{row(post, one+"/settings/preview", admin, reads), formed(previewPolicy)},
		{row(post, one+"/settings", admin, writes), proven(formed(savePolicySettings))},
		{row(get, one+"/delete", admin, reads), askDeletePolicy},
		{row(post, one+"/delete", admin, writes), proven(deletePolicy)},
		{row(get, one+"/add-rules", admin, reads), askAddRules},
		{row(post, one+"/add-rules", admin, writes), proven(addRules)},
		{row(get, one+"/rules/{rule}", viewer, reads), showPolicyRule},
		{row(post, one+"/rules/{rule}/remove", admin, writes), proven(removePolicyRule)},
		{row(post, one+"/rules", admin, writes), proven(formed(setRuleMode))},
		{row(get, one+"/modes", admin, reads), askModes},
		{row(post, one+"/modes", admin, writes), proven(formed(setModes))},
		{row(post, one+"/due", admin, writes), proven(formed(setDueDays))},
		{row(post, one+"/conditions", admin, writes), proven(formed(addCondition))},
		{row(post, one+"/conditions/{condition}/remove", admin, writes), proven(removeCondition)},
	}
}
