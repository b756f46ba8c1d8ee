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
		{row(get, "/{$}", viewer, reads), home},
		{row(get, org, viewer, reads), home},
		{row(get, org+"/overview", viewer, reads), overview},
		{row(get, org+"/news", viewer, reads), showNews},
		{row(get, org+"/mine", viewer, reads), listMine},
		{row(get, org+searchPath, viewer, reads), searchEverything},

		{row(get, org+"/findings", viewer, reads), listFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities", viewer, reads), listFindings(model.SCA)},
		{row(get, org+"/secrets", viewer, reads), listFindings(model.Secrets)},
		{row(get, org+"/findings/export", viewer, reads), exportFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities/export", viewer, reads), exportFindings(model.SCA)},
		{row(get, org+"/secrets/export", viewer, reads), exportFindings(model.Secrets)},
		{row(get, org+"/findings/{id}", viewer, reads), showFinding},
		{row(post, org+"/findings/{id}/comments", viewer, writes), formed(addComment)},
		{row(post, org+"/findings/{id}/comments/{comment}/withdraw", viewer, writes), formed(withdrawComment)},
		{row(post, org+"/findings/{id}/ticket", triager, writes), formed(changeTicket)},
		{row(post, org+"/triage/preview", triager, reads), formed(previewTriage)},
		{row(post, org+"/triage", triager, writes), formed(decideFindings)},
		{row(post, org+"/triage/undo", triager, writes), formed(undo)},
		{row(post, org+"/tickets", triager, writes), formed(makeTickets)},

		{row(post, org+"/saved-views", viewer, writes), addView},
		{row(post, org+"/saved-views/{id}", viewer, writes), changeView},
		{row(post, org+"/saved-views/{id}/remove", viewer, writes), formed(removeView)},

		{row(get, org+"/projects", viewer, reads), listProjects},
		{row(get, org+"/projects/{id}", viewer, reads), showProject},
		{row(post, org+"/projects/{id}", admin, writes), formed(updateProject)},
		{row(get, org+"/projects/{id}/delete", admin, reads), proven(askDeleteProject)},
		{row(post, org+"/projects/{id}/delete", admin, writes), proven(deleteProject)},
		{row(post, org+"/projects/{id}/scan", triager, writes), scanNow},
		{row(get, org+"/runs", viewer, reads), listRuns},
		{row(get, org+"/runs/{id}", viewer, reads), showRun},
		{row(post, org+"/runs/{id}/cancel", triager, writes), cancelRun},
		{row(post, org+"/runs/{id}/retry", triager, writes), retryRun},
		{row(get, org+"/scans", viewer, reads), listScans},
		{row(get, org+"/scans/{id}", viewer, reads), showScan},
		{row(get, org+"/scans/{id}/blocking", viewer, reads), showBlocking},
		{row(get, org+"/supply-chain/dependencies", viewer, reads), listDependencies},
		{row(get, org+"/advisories", viewer, reads), listAdvisories},
		{row(get, org+"/advisories/{advisory}", viewer, reads), showAdvisory},
		{row(get, org+"/sbom", viewer, reads), listSBOMs},
		{row(post, org+"/sbom", viewer, reads), formed(requestSBOM)},
		{row(get, org+"/sbom/{token}/download", viewer, reads), downloadSBOM},
	}...)
}

// policyRoutes are the rows about policies.
func policyRoutes() []route {
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

// exceptionRoutes are the rows about what is accepted, and what people ask to have accepted.
func exceptionRoutes() []route {
	return []route{
		{row(get, org+"/exceptions", viewer, reads), listExceptions},
		{row(post, org+"/exceptions", triager, writes), formed(addException)},
		{row(get, org+"/exceptions/{id}", viewer, reads), showException},
		{row(post, org+"/exceptions/{id}/remove", triager, writes), removeException},
		{row(post, org+"/exceptions/requests", viewer, writes), formed(askException)},
		{row(post, org+"/exceptions/{id}", triager, writes), formed(decideException)},
		{row(post, org+"/exceptions/{id}/withdraw", viewer, writes), withdrawException},
		{row(post, org+"/exceptions/{id}/undo", triager, writes), undoException},
	}
}
