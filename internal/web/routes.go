package web

import (
	"net/url"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// anyone is the least role of pages for people who are not signed in.
const anyone = model.RoleNone

// route is one page, or one thing to do: a row of the table. {deployment} in a
// pattern is a slug, an id, or - for the viewer's own.
type route struct {
	httpx.Route
	handle func(*request) error
}

// formed reads the form of a request for a handler.
func formed(handle func(*request, url.Values) error) func(*request) error {
	return func(req *request) error {
		form, err := req.form()
		if err != nil {
			return err
		}
		return handle(req, form)
	}
}

// row says of a page what all tables say of their rows. No page takes a token.
func row(method, pattern string, least model.Role, writes bool) httpx.Route {
	if least == anyone {
		return httpx.Row(method, pattern, httpx.Anyone, least, writes, httpx.Unbound)
	}
	return httpx.Row(method, pattern, httpx.Person, least, writes, httpx.Unbound)
}

// Routes returns what the table says of every page.
func Routes() (rows []httpx.Route) {
	for _, r := range routes() {
		rows = append(rows, r.Route)
	}
	return rows
}

const (
	get  = "GET"
	post = "POST"

	org = "/orgs/{deployment}"

	viewer  = model.RoleViewer
	triager = model.RoleTriager
	admin   = model.RoleAdmin

	reads  = httpx.Reads
	writes = httpx.Writes
)

// routes returns the table: every page there is.
func routes() []route {
	return append(slices.Concat(accountRoutes(), managedRoutes(), notificationRoutes(), exceptionRoutes(), letInRoutes(),
		startRoutes(), policyRoutes()), []route{
		{row(get, "/{$}", viewer, reads), (*request).home},
		{row(get, org, viewer, reads), (*request).home},
		{row(get, org+"/overview", viewer, reads), (*request).overview},
		{row(get, org+"/news", viewer, reads), (*request).showNews},
		{row(get, org+"/mine", viewer, reads), (*request).listMine},
		{row(get, org+searchPath, viewer, reads), (*request).searchEverything},

		{row(get, org+"/findings", viewer, reads), listFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities", viewer, reads), listFindings(model.SCA)},
		{row(get, org+"/secrets", viewer, reads), listFindings(model.Secrets)},
		{row(get, org+"/findings/export", viewer, reads), exportFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities/export", viewer, reads), exportFindings(model.SCA)},
		{row(get, org+"/secrets/export", viewer, reads), exportFindings(model.Secrets)},
		{row(get, org+"/findings/{id}", viewer, reads), (*request).showFinding},
		{row(post, org+"/findings/{id}/comments", viewer, writes), formed((*request).addComment)},
		{row(post, org+"/findings/{id}/comments/{comment}/withdraw", viewer, writes), formed((*request).withdrawComment)},
		{row(post, org+"/findings/{id}/ticket", triager, writes), formed((*request).changeTicket)},
		{row(post, org+"/triage/preview", triager, reads), formed((*request).previewTriage)},
		{row(post, org+"/triage", triager, writes), formed((*request).decide)},
		{row(post, org+"/triage/undo", triager, writes), formed((*request).undo)},
		{row(post, org+"/tickets", triager, writes), formed((*request).makeTickets)},

		{row(post, org+"/saved-views", viewer, writes), (*request).addView},
		{row(post, org+"/saved-views/{id}", viewer, writes), (*request).changeView},
		{row(post, org+"/saved-views/{id}/remove", viewer, writes), formed((*request).removeView)},

		{row(get, org+"/projects", viewer, reads), (*request).listProjects},
		{row(get, org+"/projects/{id}", viewer, reads), (*request).showProject},
		{row(post, org+"/projects/{id}", admin, writes), formed((*request).updateProject)},
		{row(get, org+"/projects/{id}/delete", admin, reads), proven((*request).askDeleteProject)},
		{row(post, org+"/projects/{id}/delete", admin, writes), proven((*request).deleteProject)},
		{row(post, org+"/projects/{id}/scan", triager, writes), (*request).scanNow},
		{row(get, org+"/runs", viewer, reads), (*request).listRuns},
		{row(get, org+"/runs/{id}", viewer, reads), (*request).showRun},
		{row(post, org+"/runs/{id}/cancel", triager, writes), (*request).cancelRun},
		{row(post, org+"/runs/{id}/retry", triager, writes), (*request).retryRun},
		{row(get, org+"/scans", viewer, reads), (*request).listScans},
		{row(get, org+"/scans/{id}", viewer, reads), (*request).showScan},
		{row(get, org+"/scans/{id}/blocking", viewer, reads), (*request).showBlocking},
		{row(get, org+"/supply-chain/dependencies", viewer, reads), (*request).listDependencies},
		{row(get, org+"/advisories", viewer, reads), (*request).listAdvisories},
		{row(get, org+"/advisories/{advisory}", viewer, reads), (*request).showAdvisory},
		{row(get, org+"/sbom", viewer, reads), (*request).listSBOMs},
		{row(post, org+"/sbom", viewer, reads), formed((*request).requestSBOM)},
		{row(get, org+"/sbom/{token}/download", viewer, reads), (*request).downloadSBOM},
	}...)
}

// policyRoutes are the rows about policies.
func policyRoutes() []route {
	const one = org + "/policies/{id}"
	return []route{
		{row(get, org+"/policies", viewer, reads), (*request).listPolicies},
		{row(get, org+"/policies/new", admin, reads), proven((*request).askNewPolicy)},
		{row(post, org+"/policies/new/preview", admin, reads), formed((*request).previewPolicy)},
		{row(post, org+"/policies/new", admin, writes), proven(formed((*request).createPolicy))},
		{row(get, one, viewer, reads), (*request).showPolicy},
		{row(get, one+"/settings", admin, reads), proven((*request).askPolicySettings)},
		{row(post, one+"/settings/preview", admin, reads), formed((*request).previewPolicy)},
		{row(post, one+"/settings", admin, writes), proven(formed((*request).savePolicySettings))},
		{row(get, one+"/delete", admin, reads), (*request).askDeletePolicy},
		{row(post, one+"/delete", admin, writes), proven((*request).deletePolicy)},
		{row(get, one+"/add-rules", admin, reads), (*request).askAddRules},
		{row(post, one+"/add-rules", admin, writes), proven((*request).addRules)},
		{row(get, one+"/rules/{rule}", viewer, reads), (*request).showPolicyRule},
		{row(post, one+"/rules/{rule}/remove", admin, writes), proven((*request).removePolicyRule)},
		{row(post, one+"/rules", admin, writes), proven(formed((*request).setRuleMode))},
		{row(get, one+"/modes", admin, reads), (*request).askModes},
		{row(post, one+"/modes", admin, writes), proven(formed((*request).setModes))},
		{row(post, one+"/due", admin, writes), proven(formed((*request).setDueDays))},
		{row(post, one+"/conditions", admin, writes), proven(formed((*request).addCondition))},
		{row(post, one+"/conditions/{condition}/remove", admin, writes), proven((*request).removeCondition)},
	}
}

// exceptionRoutes are the rows about what is accepted, and what people ask to have accepted.
func exceptionRoutes() []route {
	return []route{
		{row(get, org+"/exceptions", viewer, reads), (*request).listExceptions},
		{row(post, org+"/exceptions", triager, writes), formed((*request).addException)},
		{row(get, org+"/exceptions/{id}", viewer, reads), (*request).showException},
		{row(post, org+"/exceptions/{id}/remove", triager, writes), (*request).removeException},
		{row(post, org+"/exceptions/requests", viewer, writes), formed((*request).askException)},
		{row(post, org+"/exceptions/{id}", triager, writes), formed((*request).decideException)},
		{row(post, org+"/exceptions/{id}/withdraw", viewer, writes), (*request).withdrawException},
		{row(post, org+"/exceptions/{id}/undo", triager, writes), (*request).undoException},
	}
}
