package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// policiesTable returns the operations of this package.
func policiesTable() []Route {
	return describe(policiesWords, slices.Concat(policyRoutes(), policyRuleRoutes()))
}

// policyRoutes are the rows about policies.
func policyRoutes() []Route {
	const one = byID + "/policies/{policyId}"
	return []Route{
		op(
			httpx.Row(http.MethodGet, byID+"/policies", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listPolicies", "policies", listed(listPolicies),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/policies", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createPolicy", "policies", beyond(tagged(update(createPolicy))),
		),
		op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered), "listPolicyRules", "policies", listed(listPolicyRules),
		),
		op(httpx.Row(http.MethodPut, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused), "updatePolicy", "policies", update(updatePolicy)),
		op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deletePolicy", "policies", beyond(tagged(update(deletePolicy))),
		),
		op(
			httpx.Row(http.MethodGet, one+"/settings", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"getPolicySettings", "policies", beyond(tagged(view(getPolicySettings))),
		),
		op(
			httpx.Row(http.MethodPut, one+"/settings", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"setPolicySettings", "policies", beyond(tagged(update(setPolicySettings))),
		),
		op(
			httpx.Row(http.MethodPost, one+"/preview", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"previewPolicy", "policies", beyond(view(previewPolicy)),
		),
	}
}

// policyRuleRoutes are the rows about the rules, due days and conditions of a policy.
func policyRuleRoutes() []Route {
	const one = byID + "/policies/{policyId}"
	return []Route{
		op(
			httpx.Row(http.MethodPost, one+"/rules", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"addPolicyRules", "policies", beyond(update(addPolicyRules)),
		),
		op(
			httpx.Row(http.MethodGet, one+"/served-rules", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"listServedRules", "policies", beyond(view(listServedRules)),
		),
		op(
			httpx.Row(http.MethodGet, one+"/rules/{policyRuleId}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"getPolicyRule", "policies", beyond(view(getPolicyRule)),
		),
		op(
			httpx.Row(http.MethodDelete, one+"/rules/{policyRuleId}", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"removePolicyRule", "policies", beyond(update(removePolicyRule)),
		),
		op(
			httpx.Row(http.MethodGet, one+"/due-days", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"getDueDays", "policies", beyond(view(getDueDays)),
		),
		op(
			httpx.Row(http.MethodPut, one+"/due-days", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"setDueDays", "policies", beyond(update(setDueDays)),
		),
		op(
			httpx.Row(http.MethodGet, one+"/conditions", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listPolicyConditions", "policies", beyond(view(listPolicyConditions)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/conditions", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createPolicyCondition", "policies", beyond(update(createPolicyCondition)),
		),
		op(
			httpx.Row(http.MethodDelete, one+"/conditions/{conditionId}", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deletePolicyCondition", "policies", beyond(update(deletePolicyCondition)),
		),
	}
}
