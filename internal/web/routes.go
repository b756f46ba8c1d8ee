package web

import "github.com/redoubt/redoubt"

// anyone is the least role of pages for people who are not signed in.
const anyone redoubt.Role = 0

// route is one page, or one thing to do: a row of the table.
type route struct {
	method  string
	pattern string // of http.ServeMux; {deployment} is a slug, an id, or - for the viewer's own
	least   redoubt.Role
	handle  func(*visit) error
}

const (
	get  = "GET"
	post = "POST"

	org = "/orgs/{deployment}"

	viewer  = redoubt.RoleViewer
	triager = redoubt.RoleTriager
	admin   = redoubt.RoleAdmin
)

// routes returns the table: every page there is.
func routes() []route {
	return append(accountRoutes(), []route{
		{get, "/{$}", viewer, (*visit).home},
		{get, org, viewer, (*visit).home},
		{get, org + "/overview", viewer, (*visit).overview},
		{get, org + "/news", viewer, (*visit).showNews},
		{get, org + "/mine", viewer, (*visit).listMine},

		{get, org + "/findings", viewer, listFindings(redoubt.SAST)},
		{get, org + "/supply-chain/vulnerabilities", viewer, listFindings(redoubt.SCA)},
		{get, org + "/secrets", viewer, listFindings(redoubt.Secrets)},
		{get, org + "/findings/{id}", viewer, (*visit).showFinding},
		{post, org + "/triage/preview", triager, (*visit).previewTriage},
		{post, org + "/triage", triager, (*visit).decide},
		{post, org + "/triage/undo", triager, (*visit).undo},

		{get, org + "/projects", viewer, (*visit).listProjects},
		{get, org + "/projects/{id}", viewer, (*visit).showProject},
		{post, org + "/projects/{id}", admin, (*visit).updateProject},
		{get, org + "/scans", viewer, (*visit).listScans},
		{get, org + "/scans/{id}", viewer, (*visit).showScan},
		{get, org + "/scans/{id}/blocking", viewer, (*visit).showBlocking},
		{get, org + "/supply-chain/dependencies", viewer, (*visit).listDependencies},
		{get, org + "/advisories", viewer, (*visit).listAdvisories},
		{get, org + "/advisories/{id}", viewer, (*visit).showAdvisory},
		{get, org + "/sbom", viewer, (*visit).listSBOMs},
		{post, org + "/sbom", viewer, (*visit).requestSBOM},
		{get, org + "/sbom/{token}/download", viewer, (*visit).downloadSBOM},
		{get, org + "/policies", viewer, (*visit).listPolicies},
		{get, org + "/policies/{id}", viewer, (*visit).showPolicy},
		{post, org + "/policies/{id}/rules", admin, (*visit).setRuleMode},
		{post, org + "/policies/{id}/conditions", admin, (*visit).addCondition},
		{post, org + "/policies/{id}/conditions/{condition}/remove", admin, (*visit).removeCondition},
		{get, org + "/exceptions", viewer, (*visit).listExceptions},
		{post, org + "/exceptions", triager, (*visit).addException},
		{get, org + "/exceptions/{id}", viewer, (*visit).showException},
		{post, org + "/exceptions/{id}/remove", triager, (*visit).removeException},
	}...)
}
