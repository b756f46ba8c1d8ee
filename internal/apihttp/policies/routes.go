package policies

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(words, slices.Concat(policyRoutes(), policyRuleRoutes()))
}

// policyRoutes are the routes of policies.
func policyRoutes() []core.Route {
	const one = core.ByID + "/policies/{policyId}"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/policies", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listPolicies", "policies", core.Listed(listPolicies),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/policies", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createPolicy", "policies", core.Extension(core.Tagged(core.Update(createPolicy))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered), "listPolicyRules",
			"policies", core.Listed(listPolicyRules),
		),
		core.Op(httpx.Row(http.MethodPut, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused), "updatePolicy",
			"policies", core.Update(updatePolicy)),
		core.Op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deletePolicy", "policies", core.Extension(core.Tagged(core.Update(deletePolicy))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/settings", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"getPolicySettings", "policies", core.Extension(core.Tagged(core.View(getPolicySettings))),
		),
		core.Op(
			httpx.Row(http.MethodPut, one+"/settings", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"setPolicySettings", "policies", core.Extension(core.Tagged(core.Update(setPolicySettings))),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/preview", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"previewPolicy", "policies", core.Extension(core.View(previewPolicy)),
		),
	}
}

// policyRuleRoutes are the routes of a policy's rules, due days and conditions.
func policyRuleRoutes() []core.Route {
	const one = core.ByID + "/policies/{policyId}"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodPost, one+"/rules", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"addPolicyRules", "policies", core.Extension(core.Update(addPolicyRules)),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/served-rules", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"listServedRules", "policies", core.Extension(core.View(listServedRules)),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/rules/{policyRuleId}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"getPolicyRule", "policies", core.Extension(core.View(getPolicyRule)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, one+"/rules/{policyRuleId}", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.Refused),
			"removePolicyRule", "policies", core.Extension(core.Update(removePolicyRule)),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/due-days", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"getDueDays", "policies", core.Extension(core.View(getDueDays)),
		),
		core.Op(
			httpx.Row(http.MethodPut, one+"/due-days", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"setDueDays", "policies", core.Extension(core.Update(setDueDays)),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/conditions", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listPolicyConditions", "policies", core.Extension(core.View(listPolicyConditions)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/conditions", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createPolicyCondition", "policies", core.Extension(core.Update(createPolicyCondition)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, one+"/conditions/{conditionId}", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.Refused),
			"deletePolicyCondition", "policies", core.Extension(core.Update(deletePolicyCondition)),
		),
	}
}
