package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Scopes of routes.
const (
	Anyone = httpx.Anyone
	WebAPI = httpx.WebAPI
	Upload = httpx.Upload
)

// Route is one operation: a row of the table.
type Route struct {
	httpx.Route // Pattern is also the path template of openapi.json
	ID          string
	Tag         string
	handler     handler
}

// The words of the table.
const (
	get   = http.MethodGet
	post  = http.MethodPost
	put   = http.MethodPut
	patch = http.MethodPatch
	del   = http.MethodDelete

	nobody  = model.RoleNone
	viewer  = model.RoleViewer
	triager = model.RoleTriager
	admin   = model.RoleAdmin // for what changes what others see, or loses what scans brought

	reads  = httpx.Reads
	writes = httpx.Writes

	byName    = httpx.ByName
	byProject = httpx.ByProject
	filtered  = httpx.Filtered
	refused   = httpx.Refused
	unbound   = httpx.Unbound

	byID   = "/api/v1/deployments/{deploymentId}"
	bySlug = "/api/v1/deployments/{deploymentSlug}"
)

// Routes returns the table: every operation there is. docs.go says the same in
// words.
func Routes() []Route {
	return slices.Concat(
		deploymentRoutes(), findingRoutes(), projectRoutes(), dependencyRoutes(), scanRoutes(),
		policyRoutes(), policyRuleRoutes(), savedViewRoutes(), commentRoutes(), exceptionRoutes(), ticketRoutes(),
		connectionRoutes(), runRoutes(), notificationRoutes(),
	)
}

// deploymentRoutes are the rows about the deployment, the token and the server.
func deploymentRoutes() []Route {
	return []Route{
		{httpx.Row(get, "/api/v1/ping", Anyone, nobody, reads, unbound), "ping", "deployments", plain(ping)},
		{
			httpx.Row(get, "/api/v1/deployments", WebAPI, viewer, reads, unbound),
			"listDeployments", "deployments", plain(listDeployments),
		},
		{
			httpx.Row(get, "/api/v2/deployments", WebAPI, viewer, reads, unbound),
			"listDeploymentsV2", "deployments", plain(listDeployments),
		},
		{
			httpx.Row(get, bySlug, WebAPI, viewer, reads, unbound), "getDeployment", "deployments", plain(getDeployment),
		},
		{httpx.Row(get, "/api/agent/ping", Anyone, nobody, reads, unbound), "pingAgent", "deployments", plain(ping)},
		{
			httpx.Row(get, "/api/health-check", Anyone, nobody, reads, unbound),
			"checkHealth", "deployments", plain(checkHealth),
		},
		{httpx.Row(get, "/api/v1/me", WebAPI, viewer, reads, unbound), "getMe", "deployments", view(getMe)},
	}
}

// findingRoutes are the rows about findings.
func findingRoutes() []Route {
	return []Route{
		{
			httpx.Row(get, bySlug+"/findings", WebAPI, viewer, reads, filtered),
			"listFindings", "findings", conditional(streamed[findingsInput, api.ListFindingsResponse](listFindings)),
		},
		{
			httpx.Row(get, bySlug+"/findings/export", WebAPI, viewer, reads, filtered),
			"exportFindings", "findings", beyond(streamed[exportInput, document](exportFindings)),
		},
		{
			httpx.Row(get, bySlug+"/findings/counts", WebAPI, viewer, reads, filtered),
			"countFindings", "findings", beyond(plain(countFindings)),
		},
		{
			httpx.Row(get, bySlug+"/findings/changes", WebAPI, viewer, reads, refused), "listFindingChanges",
			"findings", beyond(mayConflict(streamed[changesInput, api.FindingChangesResponse](listChanges))),
		},
		{
			httpx.Row(get, bySlug+"/search", WebAPI, viewer, reads, filtered),
			"search", "findings", beyond(view(search)),
		},
		{
			httpx.Row(get, bySlug+"/findings/{findingId}", WebAPI, viewer, reads, byProject),
			"getFinding", "findings", beyond(tagged(streamed[none, api.FindingResponse](getFinding))),
		},
		{
			httpx.Row(get, bySlug+"/findings/{findingId}/evidence", WebAPI, viewer, reads, byProject),
			"getEvidence", "findings", beyond(view(getEvidence)),
		},
		{
			httpx.Row(get, bySlug+"/findings/{findingId}/history", WebAPI, viewer, reads, byProject),
			"getFindingHistory", "findings", beyond(view(getFindingHistory)),
		},
		{
			httpx.Row(patch, bySlug+"/findings/{findingId}", WebAPI, triager, writes, byProject), "annotateFinding",
			"findings", beyond(tagged(keyed(streamed[annotateInput, api.FindingResponse](annotateFinding)))),
		},
		{
			httpx.Row(post, bySlug+"/triage", WebAPI, triager, writes, filtered),
			"triageFindings", "findings", update(triageFindings),
		},
		{
			httpx.Row(get, byID+"/secrets", WebAPI, viewer, reads, filtered),
			"listSecrets", "findings", listed(listSecrets),
		},

		{
			httpx.Row(post, "/api/agent/deployments/{deploymentId}/issues/v2", WebAPI, viewer, reads, filtered),
			"searchIssues", "findings", view(searchIssues),
		},
		{
			httpx.Row(post, byID+"/ssc-vulns", WebAPI, viewer, reads, filtered),
			"listVulns", "findings", view(listVulns),
		},
	}
}

// projectRoutes are the rows about projects and their refs.
func projectRoutes() []Route {
	return []Route{
		{
			httpx.Row(get, bySlug+"/projects", WebAPI, viewer, reads, filtered),
			"listProjects", "projects", listed(listProjects),
		},
		{
			httpx.Row(post, bySlug+"/projects", WebAPI, admin, writes, byName),
			"createProject", "projects", beyond(tagged(update(createProject))),
		},
		{
			httpx.Row(get, bySlug+"/projects/{projectName}", WebAPI, viewer, reads, byName),
			"getProject", "projects", tagged(view(getProject)),
		},
		{
			httpx.Row(patch, bySlug+"/projects/{projectName}", WebAPI, admin, writes, byName),
			"updateProject", "projects", tagged(update(updateProject)),
		},
		{
			httpx.Row(del, bySlug+"/projects/{projectName}", WebAPI, admin, writes, byName),
			"deleteProject", "projects", update(deleteProject),
		},
		{
			httpx.Row(post, bySlug+"/project-renames", WebAPI, admin, writes, byName),
			"renameProject", "projects", beyond(tagged(update(renameProject))),
		},
		{
			httpx.Row(post, bySlug+"/project-merges", WebAPI, admin, writes, byName),
			"mergeProject", "projects", beyond(update(mergeProject)),
		},
		{
			httpx.Row(patch, bySlug+"/projects/{projectName}/managed-scan", WebAPI, admin, writes, byName),
			"toggleManagedScan", "projects", tagged(update(toggleManagedScan)),
		},
		{
			httpx.Row(put, bySlug+"/projects/{projectName}/tags", WebAPI, admin, writes, byName),
			"addProjectTags", "projects", tagged(update(addProjectTags)),
		},
		{
			httpx.Row(del, bySlug+"/projects/{projectName}/tags", WebAPI, admin, writes, byName),
			"removeProjectTags", "projects", tagged(update(removeProjectTags)),
		},
		{
			httpx.Row(del, bySlug+"/refs", WebAPI, admin, writes, byName),
			"deleteRef", "projects", beyond(update(deleteRef)),
		},
	}
}

// dependencyRoutes are the rows about dependencies, SBOMs and advisories.
func dependencyRoutes() []Route {
	return []Route{
		{
			httpx.Row(post, byID+"/dependencies", WebAPI, viewer, reads, filtered),
			"listDependencies", "dependencies", view(listDependencies),
		},
		{
			httpx.Row(post, byID+"/dependencies/repositories", WebAPI, viewer, reads, filtered),
			"listDependencyRepositories", "dependencies", view(listDependencyRepositories),
		},
		{
			httpx.Row(post, byID+"/dependencies/repositories/{repositoryId}/lockfiles", WebAPI, viewer, reads, byProject),
			"listLockfiles", "dependencies", view(listLockfiles),
		},
		{
			httpx.Row(post, byID+"/sbom/export", WebAPI, viewer, reads, filtered),
			"createSBOMExport", "dependencies", keyed(plain(createSBOMExport)),
		},
		{
			httpx.Row(get, byID+"/sbom/export/{taskToken}", WebAPI, viewer, reads, filtered),
			"getSBOMExport", "dependencies", view(getSBOMExport),
		},
		{
			httpx.Row(get, byID+"/sbom/export/{taskToken}/download", Anyone, nobody, reads, unbound),
			"downloadSBOM", "dependencies", streamed[api.DownloadQuery, document](downloadSBOM),
		},

		{
			httpx.Row(get, byID+"/advisories/{advisoryId}", WebAPI, viewer, reads, unbound),
			"getAdvisory", "dependencies", beyond(view(getAdvisory)),
		},
		{
			httpx.Row(get, byID+"/advisories/{advisoryId}/impact", WebAPI, viewer, reads, filtered),
			"getAdvisoryImpact", "dependencies", beyond(view(getAdvisoryImpact)),
		},
	}
}

// scanRoutes are the rows about scans and imports.
func scanRoutes() []Route {
	return []Route{
		{
			httpx.Row(post, byID+"/scans/search", WebAPI, viewer, reads, filtered),
			"searchScans", "scans", view(searchScans),
		},
		{httpx.Row(get, byID+"/scan/{scanId}", WebAPI, viewer, reads, byProject), "getScan", "scans", view(getScan)},
		{
			httpx.Row(get, byID+"/scans/{scanId}/snippets", Upload, viewer, reads, byProject),
			"listSnippets", "scans", beyond(view(listSnippets)),
		},
		{
			httpx.Row(post, byID+"/scans/{scanId}/snippets", Upload, triager, writes, byProject),
			"putSnippets", "scans", beyond(update(putSnippets)),
		},
		{
			httpx.Row(post, byID+"/imports", Upload, triager, writes, byName),
			"importReports", "scans", beyond(keyed(plain(importReports))),
		},
	}
}

// policyRoutes are the rows about policies.
func policyRoutes() []Route {
	const one = byID + "/policies/{policyId}"
	return []Route{
		{
			httpx.Row(get, byID+"/policies", WebAPI, viewer, reads, filtered),
			"listPolicies", "policies", listed(listPolicies),
		},
		{
			httpx.Row(post, byID+"/policies", WebAPI, admin, writes, refused),
			"createPolicy", "policies", beyond(tagged(update(createPolicy))),
		},
		{
			httpx.Row(get, one, WebAPI, viewer, reads, filtered), "listPolicyRules", "policies", listed(listPolicyRules),
		},
		{httpx.Row(put, one, WebAPI, admin, writes, refused), "updatePolicy", "policies", update(updatePolicy)},
		{
			httpx.Row(del, one, WebAPI, admin, writes, refused),
			"deletePolicy", "policies", beyond(tagged(update(deletePolicy))),
		},
		{
			httpx.Row(get, one+"/settings", WebAPI, viewer, reads, filtered),
			"getPolicySettings", "policies", beyond(tagged(view(getPolicySettings))),
		},
		{
			httpx.Row(put, one+"/settings", WebAPI, admin, writes, refused),
			"setPolicySettings", "policies", beyond(tagged(update(setPolicySettings))),
		},
		{
			httpx.Row(post, one+"/preview", WebAPI, admin, reads, refused),
			"previewPolicy", "policies", beyond(view(previewPolicy)),
		},
	}
}

// policyRuleRoutes are the rows about the rules, due days and conditions of a policy.
func policyRuleRoutes() []Route {
	const one = byID + "/policies/{policyId}"
	return []Route{
		{
			httpx.Row(post, one+"/rules", WebAPI, admin, writes, refused),
			"addPolicyRules", "policies", beyond(update(addPolicyRules)),
		},
		{
			httpx.Row(get, one+"/served-rules", WebAPI, viewer, reads, refused),
			"listServedRules", "policies", beyond(view(listServedRules)),
		},
		{
			httpx.Row(get, one+"/rules/{policyRuleId}", WebAPI, viewer, reads, refused),
			"getPolicyRule", "policies", beyond(view(getPolicyRule)),
		},
		{
			httpx.Row(del, one+"/rules/{policyRuleId}", WebAPI, admin, writes, refused),
			"removePolicyRule", "policies", beyond(update(removePolicyRule)),
		},
		{
			httpx.Row(get, one+"/due-days", WebAPI, viewer, reads, filtered),
			"getDueDays", "policies", beyond(view(getDueDays)),
		},
		{
			httpx.Row(put, one+"/due-days", WebAPI, admin, writes, refused),
			"setDueDays", "policies", beyond(update(setDueDays)),
		},
		{
			httpx.Row(get, one+"/conditions", WebAPI, viewer, reads, filtered),
			"listPolicyConditions", "policies", beyond(view(listPolicyConditions)),
		},
		{
			httpx.Row(post, one+"/conditions", WebAPI, admin, writes, refused),
			"createPolicyCondition", "policies", beyond(update(createPolicyCondition)),
		},
		{
			httpx.Row(del, one+"/conditions/{conditionId}", WebAPI, admin, writes, refused),
			"deletePolicyCondition", "policies", beyond(update(deletePolicyCondition)),
		},
	}
}

// savedViewRoutes are the rows about lists of findings that people come back to.
func savedViewRoutes() []Route {
	const views, one = bySlug + "/saved-views", bySlug + "/saved-views/{savedViewId}"
	return []Route{
		{
			httpx.Row(get, views, WebAPI, viewer, reads, refused),
			"listSavedViews", "findings", beyond(view(listSavedViews)),
		},
		{
			httpx.Row(post, views, WebAPI, triager, writes, refused),
			"createSavedView", "findings", beyond(tagged(update(createSavedView))),
		},
		{
			httpx.Row(get, one, WebAPI, viewer, reads, refused),
			"getSavedView", "findings", beyond(tagged(view(getSavedView))),
		},
		{
			httpx.Row(patch, one, WebAPI, triager, writes, refused),
			"updateSavedView", "findings", beyond(tagged(update(updateSavedView))),
		},
		{
			httpx.Row(del, one, WebAPI, triager, writes, refused),
			"deleteSavedView", "findings", beyond(tagged(update(deleteSavedView))),
		},
	}
}

// commentRoutes are the rows about what people write about findings.
func commentRoutes() []Route {
	const comments = bySlug + "/findings/{findingId}/comments"
	return []Route{
		{
			httpx.Row(get, comments, WebAPI, viewer, reads, byProject),
			"listFindingComments", "findings", beyond(view(listFindingComments)),
		},
		{
			httpx.Row(post, comments, WebAPI, viewer, writes, byProject).Asking(),
			"addFindingComment", "findings", beyond(update(addFindingComment)),
		},
		{
			httpx.Row(post, comments+"/{commentId}/withdraw", WebAPI, viewer, writes, byProject).Asking(),
			"withdrawFindingComment", "findings", beyond(update(withdrawFindingComment)),
		},
	}
}

// exceptionRoutes are the rows about exceptions.
func exceptionRoutes() []Route {
	const one = bySlug + "/exceptions/{exceptionId}"
	return []Route{
		{
			httpx.Row(get, bySlug+"/exceptions", WebAPI, viewer, reads, filtered),
			"listExceptions", "policies", beyond(view(listExceptions)),
		},
		{
			httpx.Row(post, bySlug+"/exceptions", WebAPI, triager, writes, byProject),
			"createException", "policies", beyond(keyed(plain(createException))),
		},
		{
			httpx.Row(get, one, WebAPI, viewer, reads, byProject),
			"getException", "policies", beyond(view(getException)),
		},
		{
			httpx.Row(del, one, WebAPI, triager, writes, byProject),
			"deleteException", "policies", beyond(update(deleteException)),
		},
		{
			httpx.Row(post, bySlug+"/exceptions/requests", WebAPI, viewer, writes, byProject).Asking(),
			"requestException", "policies", beyond(update(requestException)),
		},
		{
			httpx.Row(post, bySlug+"/exceptions/documents", WebAPI, triager, writes, refused),
			"importDocuments", "policies", beyond(keyed(plain(importDocuments))),
		},
		{
			httpx.Row(post, one+"/approve", WebAPI, triager, writes, byProject),
			"approveException", "policies", beyond(update(approveException)),
		},
		{
			httpx.Row(post, one+"/refuse", WebAPI, triager, writes, byProject),
			"refuseException", "policies", beyond(update(refuseException)),
		},
		{
			httpx.Row(post, one+"/withdraw", WebAPI, viewer, writes, byProject).Asking(),
			"withdrawException", "policies", beyond(update(withdrawException)),
		},
	}
}

// ticketRoutes are the rows about tickets.
func ticketRoutes() []Route {
	return []Route{
		{
			httpx.Row(post, bySlug+"/tickets", WebAPI, triager, writes, filtered),
			"createTickets", "findings", keyed(plain(createTickets)),
		},
		{
			httpx.Row(post, byID+"/tickets/link", WebAPI, triager, writes, byProject),
			"linkTicket", "findings", update(linkTicket),
		},
		{
			httpx.Row(post, byID+"/tickets/unlink", WebAPI, triager, writes, byProject),
			"unlinkTicket", "findings", update(unlinkTicket),
		},
		{
			httpx.Row(del, byID+"/ticketing/v2/tickets/{ticketId}", WebAPI, triager, writes, byProject),
			"deleteTicket", "findings", update(deleteTicket),
		},
		{
			httpx.Row(get, bySlug+"/tickets", WebAPI, viewer, reads, filtered),
			"listTickets", "findings", beyond(view(listTickets)),
		},
		{
			httpx.Row(get, bySlug+"/tickets/{ticketId}", WebAPI, viewer, reads, byProject),
			"getTicket", "findings", beyond(view(getTicket)),
		},
		{
			httpx.Row(get, bySlug+"/ticket-settings", WebAPI, admin, reads, refused),
			"getTicketSettings", "findings", beyond(view(getTicketSettings)),
		},
		{
			httpx.Row(put, bySlug+"/ticket-settings", WebAPI, admin, writes, refused),
			"setTicketSettings", "findings", beyond(update(setTicketSettings)),
		},
	}
}

// connectionRoutes are the rows about connections to code hosts.
func connectionRoutes() []Route {
	const connections, one = bySlug + "/connections", bySlug + "/connections/{connectionId}"
	return []Route{
		{
			httpx.Row(get, connections, WebAPI, admin, reads, refused),
			"listConnections", "managed", beyond(view(listConnections)),
		},
		{
			httpx.Row(post, connections, WebAPI, admin, writes, refused),
			"createConnection", "managed", beyond(keyed(plain(createConnection))),
		},
		{httpx.Row(get, one, WebAPI, admin, reads, refused), "getConnection", "managed", beyond(view(getConnection))},
		{
			httpx.Row(patch, one, WebAPI, admin, writes, refused),
			"updateConnection", "managed", beyond(keyed(plain(updateConnection))),
		},
		{
			httpx.Row(del, one, WebAPI, admin, writes, refused),
			"deleteConnection", "managed", beyond(keyed(plain(deleteConnection))),
		},
		{
			httpx.Row(post, one+"/test", WebAPI, admin, writes, refused),
			"testConnection", "managed", beyond(keyed(plain(testConnection))),
		},
		{
			httpx.Row(post, one+"/webhooks", WebAPI, admin, writes, refused),
			"makeWebhooks", "managed", beyond(keyed(plain(makeWebhooks))),
		},
		{
			httpx.Row(get, one+"/repositories", WebAPI, admin, reads, refused),
			"listRepositories", "managed", beyond(view(listRepositories)),
		},
		{
			httpx.Row(post, one+"/repositories/follow", WebAPI, admin, writes, refused),
			"followRepositories", "managed", beyond(update(followRepositories)),
		},
		{
			httpx.Row(post, one+"/repositories/unfollow", WebAPI, admin, writes, refused),
			"unfollowRepositories", "managed", beyond(update(unfollowRepositories)),
		},
		{
			httpx.Row(get, one+"/deliveries", WebAPI, admin, reads, refused),
			"listDeliveries", "managed", beyond(view(listDeliveries)),
		},
	}
}

// runRoutes are the rows about scans by runners, and about the runners.
func runRoutes() []Route {
	const runs, run = bySlug + "/runs", bySlug + "/runs/{runId}"
	return []Route{
		{httpx.Row(get, runs, WebAPI, viewer, reads, filtered), "listRuns", "managed", beyond(view(listRuns))},
		{httpx.Row(post, runs, Upload, triager, writes, byName), "startRun", "managed", beyond(update(startRun))},
		{httpx.Row(get, run, Upload, viewer, reads, byProject), "getRun", "managed", beyond(view(getRun))},
		{
			httpx.Row(get, run+"/log", Upload, viewer, reads, byProject),
			"getRunLog", "managed", beyond(view(getRunLog)),
		},
		{
			httpx.Row(post, run+"/cancel", WebAPI, triager, writes, byProject),
			"cancelRun", "managed", beyond(update(cancelRun)),
		},
		{
			httpx.Row(post, run+"/retry", WebAPI, triager, writes, byProject),
			"retryRun", "managed", beyond(update(retryRun)),
		},

		{
			httpx.Row(get, bySlug+"/runners", WebAPI, admin, reads, refused),
			"listRunners", "managed", beyond(view(listRunners)),
		},
		{
			httpx.Row(del, bySlug+"/runners/{runnerId}", WebAPI, admin, writes, refused),
			"revokeRunner", "managed", beyond(update(revokeRunner)),
		},
	}
}

// notificationRoutes are the rows about who is told of what.
func notificationRoutes() []Route {
	const rules, one = bySlug + "/notification-rules", bySlug + "/notification-rules/{notificationRuleId}"
	return []Route{
		{
			httpx.Row(get, rules, WebAPI, admin, reads, refused),
			"listNotificationRules", "notifications", beyond(view(listNotificationRules)),
		},
		{
			httpx.Row(post, rules, WebAPI, admin, writes, refused),
			"createNotificationRule", "notifications", beyond(keyed(plain(createNotificationRule))),
		},
		{
			httpx.Row(get, one, WebAPI, admin, reads, refused),
			"getNotificationRule", "notifications", beyond(view(getNotificationRule)),
		},
		{
			httpx.Row(patch, one, WebAPI, admin, writes, refused),
			"updateNotificationRule", "notifications", beyond(keyed(plain(updateNotificationRule))),
		},
		{
			httpx.Row(del, one, WebAPI, admin, writes, refused),
			"deleteNotificationRule", "notifications", beyond(update(deleteNotificationRule)),
		},
		{
			httpx.Row(post, one+"/test", WebAPI, admin, writes, refused),
			"testNotificationRule", "notifications", beyond(keyed(plain(testNotificationRule))),
		},
		{
			httpx.Row(post, one+"/rotate", WebAPI, admin, writes, refused),
			"rotateNotificationSecret", "notifications", beyond(keyed(plain(rotateNotificationSecret))),
		},
		{
			httpx.Row(get, one+"/notifications", WebAPI, admin, reads, refused),
			"listNotifications", "notifications", beyond(view(listNotifications)),
		},
		{
			httpx.Row(post, one+"/notifications/{notificationId}/resend", WebAPI, admin, writes, refused),
			"resendNotification", "notifications", beyond(update(resendNotification)),
		},
	}
}
