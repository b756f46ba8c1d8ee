package server

import (
	"net/http"

	"github.com/redoubt/redoubt/api"
)

// Scope is what a token must carry to use a route (semantics §12).
type Scope string

// Scopes of routes.
const (
	Anyone Scope = "none"    // no token at all
	WebAPI Scope = "web_api" // Web API access
	Upload Scope = "ci"      // ci, or Web API access
)

// Route is one operation: a row of the table.
type Route struct {
	Method  string
	Pattern string // of http.ServeMux, and the path template of openapi.json
	Scope   Scope
	Writes  bool // refused to read-only tokens
	ID      string
	Tag     string
	handler handler
}

// reads and writes say which of a route in the table.
const (
	reads  = false
	writes = true
)

const (
	get   = http.MethodGet
	post  = http.MethodPost
	patch = http.MethodPatch
	del   = http.MethodDelete

	byID   = "/api/v1/deployments/{deploymentId}"
	bySlug = "/api/v1/deployments/{deploymentSlug}"
)

// managing are the operations that need the role admin of the user who made the
// token, where one did: they change what others see or lose what scans brought.
var managing = map[string]bool{
	"createProject": true, "updateProject": true, "deleteProject": true, "toggleManagedScan": true, "deleteRef": true,
	"createPolicyCondition": true, "deletePolicyCondition": true,
}

// Routes returns the table: every operation there is. docs.go says the same in
// words.
func Routes() []Route {
	return []Route{
		{get, "/api/v1/ping", Anyone, reads, "ping", "deployments", plain((*call).ping)},
		{get, "/api/v1/deployments", WebAPI, reads, "listDeployments", "deployments", plain((*call).listDeployments)},

		{get, bySlug + "/findings", WebAPI, reads, "listFindings", "findings", streamed[findingsInput, api.ListFindingsResponse]((*call).listFindings)},
		{get, bySlug + "/findings/{findingId}", WebAPI, reads, "getFinding", "findings", tagged(streamed[none, api.FindingResponse]((*call).getFinding))},
		{patch, bySlug + "/findings/{findingId}", WebAPI, writes, "annotateFinding", "findings", tagged(keyed(streamed[annotateInput, api.FindingResponse]((*call).annotateFinding)))},
		{post, bySlug + "/triage", WebAPI, writes, "triageFindings", "findings", update((*call).triageFindings)},
		{get, byID + "/secrets", WebAPI, reads, "listSecrets", "findings", view((*call).listSecrets)},

		{get, bySlug + "/projects", WebAPI, reads, "listProjects", "projects", view((*call).listProjects)},
		{post, bySlug + "/projects", WebAPI, writes, "createProject", "projects", tagged(update((*call).createProject))},
		{get, bySlug + "/projects/{projectName}", WebAPI, reads, "getProject", "projects", tagged(view((*call).getProject))},
		{patch, bySlug + "/projects/{projectName}", WebAPI, writes, "updateProject", "projects", tagged(update((*call).updateProject))},
		{del, bySlug + "/projects/{projectName}", WebAPI, writes, "deleteProject", "projects", update((*call).deleteProject)},
		{patch, bySlug + "/projects/{projectName}/managed-scan", WebAPI, writes, "toggleManagedScan", "projects", tagged(update((*call).toggleManagedScan))},
		{del, bySlug + "/refs", WebAPI, writes, "deleteRef", "projects", update((*call).deleteRef)},

		{post, byID + "/dependencies", WebAPI, reads, "listDependencies", "dependencies", view((*call).listDependencies)},
		{post, byID + "/dependencies/repositories/{repositoryId}/lockfiles", WebAPI, reads, "listLockfiles", "dependencies", view((*call).listLockfiles)},
		{post, byID + "/sbom/export", WebAPI, reads, "createSBOMExport", "dependencies", keyed(plain((*call).createSBOMExport))},
		{get, byID + "/sbom/export/{taskToken}", WebAPI, reads, "getSBOMExport", "dependencies", view((*call).getSBOMExport)},
		{get, byID + "/sbom/export/{taskToken}/download", Anyone, reads, "downloadSBOM", "dependencies", streamed[api.DownloadQuery, document]((*call).downloadSBOM)},

		{get, byID + "/advisories/{advisoryId}", WebAPI, reads, "getAdvisory", "dependencies", view((*call).getAdvisory)},
		{get, byID + "/advisories/{advisoryId}/impact", WebAPI, reads, "getAdvisoryImpact", "dependencies", view((*call).getAdvisoryImpact)},

		{post, byID + "/scans/search", WebAPI, reads, "searchScans", "scans", view((*call).searchScans)},
		{get, byID + "/scans/{scanId}/snippets", Upload, reads, "listSnippets", "scans", view((*call).listSnippets)},
		{post, byID + "/scans/{scanId}/snippets", Upload, writes, "putSnippets", "scans", update((*call).putSnippets)},
		{post, byID + "/imports", Upload, writes, "importReports", "scans", keyed(plain((*call).importReports))},

		{get, byID + "/policies", WebAPI, reads, "listPolicies", "policies", view((*call).listPolicies)},
		{get, byID + "/policies/{policyId}", WebAPI, reads, "listPolicyRules", "policies", view((*call).listPolicyRules)},
		{get, byID + "/policies/{policyId}/conditions", WebAPI, reads, "listPolicyConditions", "policies", view((*call).listPolicyConditions)},
		{post, byID + "/policies/{policyId}/conditions", WebAPI, writes, "createPolicyCondition", "policies", update((*call).createPolicyCondition)},
		{del, byID + "/policies/{policyId}/conditions/{conditionId}", WebAPI, writes, "deletePolicyCondition", "policies", update((*call).deletePolicyCondition)},

		{get, bySlug + "/exceptions", WebAPI, reads, "listExceptions", "policies", view((*call).listExceptions)},
		{post, bySlug + "/exceptions", WebAPI, writes, "createException", "policies", update((*call).createException)},
		{get, bySlug + "/exceptions/{exceptionId}", WebAPI, reads, "getException", "policies", view((*call).getException)},
		{del, bySlug + "/exceptions/{exceptionId}", WebAPI, writes, "deleteException", "policies", update((*call).deleteException)},
	}
}
