package web

import "github.com/redoubt/redoubt"

// anyone is the least role of pages for people who are not signed in.
const anyone redoubt.Role = 0

// route is one page, or one thing to do: a row of the table.
type route struct {
	method  string
	pattern string // of http.ServeMux; {deployment} is a slug, an id, or - for the viewer's own
	least   redoubt.Role
	handle  func(*request) error
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
		{get, "/{$}", viewer, (*request).home},
		{get, org, viewer, (*request).home},
		{get, org + "/overview", viewer, (*request).overview},
		{get, org + "/news", viewer, (*request).showNews},
		{get, org + "/mine", viewer, (*request).listMine},

		{get, org + "/findings", viewer, listFindings(redoubt.SAST)},
		{get, org + "/supply-chain/vulnerabilities", viewer, listFindings(redoubt.SCA)},
		{get, org + "/secrets", viewer, listFindings(redoubt.Secrets)},
		{get, org + "/findings/{id}", viewer, (*request).showFinding},
		{post, org + "/triage/preview", triager, (*request).previewTriage},
		{post, org + "/triage", triager, (*request).decide},
		{post, org + "/triage/undo", triager, (*request).undo},

		{get, org + "/projects", viewer, (*request).listProjects},
		{get, org + "/projects/{id}", viewer, (*request).showProject},
		{post, org + "/projects/{id}", admin, (*request).updateProject},
		{get, org + "/scans", viewer, (*request).listScans},
		{get, org + "/scans/{id}", viewer, (*request).showScan},
		{get, org + "/scans/{id}/blocking", viewer, (*request).showBlocking},
		{get, org + "/supply-chain/dependencies", viewer, (*request).listDependencies},
		{get, org + "/advisories", viewer, (*request).listAdvisories},
		{get, org + "/advisories/{id}", viewer, (*request).showAdvisory},
		{get, org + "/sbom", viewer, (*request).listSBOMs},
		{post, org + "/sbom", viewer, (*request).requestSBOM},
		{get, org + "/sbom/{token}/download", viewer, (*request).downloadSBOM},
		{get, org + "/policies", viewer, (*request).listPolicies},
		{get, org + "/policies/{id}", viewer, (*request).showPolicy},
		{post, org + "/policies/{id}/rules", admin, (*request).setRuleMode},
		{post, org + "/policies/{id}/conditions", admin, (*request).addCondition},
		{post, org + "/policies/{id}/conditions/{condition}/remove", admin, (*request).removeCondition},
		{get, org + "/exceptions", viewer, (*request).listExceptions},
		{post, org + "/exceptions", triager, (*request).addException},
		{get, org + "/exceptions/{id}", viewer, (*request).showException},
		{post, org + "/exceptions/{id}/remove", triager, (*request).removeException},
	}...)
}
