package policies

import (
	"net/http"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Short names for the rows of the table.
const (
	get    = http.MethodGet
	post   = http.MethodPost
	org    = ui.Org
	viewer = model.RoleViewer
	admin  = model.RoleAdmin
	reads  = httpx.Reads
	writes = httpx.Writes
)

// Routes returns the routes of policies.
func Routes() []ui.Route {
	const one = org + "/policies/{id}"
	return []ui.Route{
		ui.Row(get, org+"/policies", viewer, reads, listPolicies),
		ui.Row(get, org+"/policies/new", admin, reads, ui.Proven(showNewPolicyForm)),
		ui.Row(post, org+"/policies/new/preview", admin, reads, ui.WithForm(previewPolicy)),
		ui.Row(post, org+"/policies/new", admin, writes, ui.Proven(ui.WithForm(createPolicy))),
		ui.Row(get, one, viewer, reads, showPolicy),
		ui.Row(get, one+"/settings", admin, reads, ui.Proven(editPolicySettings)),
		ui.Row(post, one+"/settings/preview", admin, reads, ui.WithForm(previewPolicy)),
		ui.Row(post, one+"/settings", admin, writes, ui.Proven(ui.WithForm(savePolicySettings))),
		ui.Row(get, one+"/delete", admin, reads, confirmDeletePolicy),
		ui.Row(post, one+"/delete", admin, writes, ui.Proven(deletePolicy)),
		ui.Row(get, one+"/add-rules", admin, reads, showAddRulesForm),
		ui.Row(post, one+"/add-rules", admin, writes, ui.Proven(addRules)),
		ui.Row(get, one+"/rules/{rule}", viewer, reads, showPolicyRule),
		ui.Row(post, one+"/rules/{rule}/remove", admin, writes, ui.Proven(removePolicyRule)),
		ui.Row(post, one+"/rules", admin, writes, ui.Proven(ui.WithForm(setRuleMode))),
		ui.Row(get, one+"/modes", admin, reads, previewModes),
		ui.Row(post, one+"/modes", admin, writes, ui.Proven(ui.WithForm(setModes))),
		ui.Row(post, one+"/due", admin, writes, ui.Proven(ui.WithForm(setDueDays))),
		ui.Row(post, one+"/conditions", admin, writes, ui.Proven(ui.WithForm(addCondition))),
		ui.Row(post, one+"/conditions/{condition}/remove", admin, writes, ui.Proven(removeCondition)),
	}
}
