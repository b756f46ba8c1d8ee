package findings

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(
		words, slices.Concat(findingRoutes(), oneFindingRoutes(), savedViewRoutes(), commentRoutes(), ticketRoutes()),
	)
}

// findingRoutes are the routes of findings.
func findingRoutes() []core.Route {
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listFindings", "findings", core.Conditional(core.Streamed[findingsInput, api.ListFindingsResponse](listFindings)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings/export", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Filtered),
			"exportFindings", "findings",
			core.Extension(core.AnsweringFile(exportMediaTypes(), core.Streamed[exportInput, core.Document](exportFindings))),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings/counts", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Filtered),
			"countFindings", "findings", core.Extension(core.Plain(countFindings)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings/changes", httpx.WebAPI, model.RoleViewer, httpx.Reads,
				httpx.Refused), "listFindingChanges",
			"findings", core.Extension(core.MayConflict(core.Streamed[changesInput, api.FindingChangesResponse](listChanges))),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/search", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"search", "findings", core.Extension(core.View(search)),
		),
	}
}

// oneFindingRoutes are the routes of single findings, triage and secrets.
func oneFindingRoutes() []core.Route {
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings/{findingId}", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.ByProject),
			"getFinding", "findings", core.Extension(core.Tagged(core.Streamed[core.None, api.FindingResponse](getFinding))),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings/{findingId}/evidence", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.ByProject),
			"getEvidence", "findings", core.Extension(core.View(getEvidence)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/findings/{findingId}/history", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.ByProject),
			"getFindingHistory", "findings", core.Extension(core.View(getFindingHistory)),
		),
		core.Op(
			httpx.Row(http.MethodPatch, core.BySlug+"/findings/{findingId}", httpx.WebAPI, model.RoleTriager, httpx.Writes,
				httpx.ByProject), "annotateFinding",
			"findings", core.Extension(
				core.Tagged(core.Keyed(core.NeedingBody(core.Streamed[annotateInput, api.FindingResponse](annotateFinding)))),
			),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/triage", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Filtered),
			"triageFindings", "findings", core.Defaulting("TriageRequest", "include_historical", core.Update(triageFindings)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/secrets", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listSecrets", "findings", core.Listed(listSecrets),
		),

		core.Op(
			httpx.Row(http.MethodPost, "/api/agent/deployments/{deploymentId}/issues/v2", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Filtered),
			"searchIssues", "findings", core.View(searchIssues),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/ssc-vulns", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listVulns", "findings", core.View(listVulns),
		),
	}
}

// savedViewRoutes are the routes of saved views.
func savedViewRoutes() []core.Route {
	const views, one = core.BySlug + "/saved-views", core.BySlug + "/saved-views/{savedViewId}"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, views, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"listSavedViews", "findings", core.Extension(core.View(listSavedViews)),
		),
		core.Op(
			httpx.Row(http.MethodPost, views, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"createSavedView", "findings", core.Extension(core.Tagged(core.Update(createSavedView))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"getSavedView", "findings", core.Extension(core.Tagged(core.View(getSavedView))),
		),
		core.Op(
			httpx.Row(http.MethodPatch, one, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"updateSavedView", "findings", core.Extension(core.Tagged(core.Update(updateSavedView))),
		),
		core.Op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"deleteSavedView", "findings", core.Extension(core.Tagged(core.Update(deleteSavedView))),
		),
	}
}

// commentRoutes are the routes of comments.
func commentRoutes() []core.Route {
	const comments = core.BySlug + "/findings/{findingId}/comments"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, comments, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"listFindingComments", "findings", core.Extension(core.View(listFindingComments)),
		),
		core.Op(
			httpx.Row(http.MethodPost, comments, httpx.WebAPI, model.RoleViewer, httpx.Writes, httpx.ByProject).AsRequest(),
			"addFindingComment", "findings", core.Extension(storedByID(addFindingComment)),
		),
		core.Op(
			httpx.Row(http.MethodPost, comments+"/{commentId}/withdraw", httpx.WebAPI, model.RoleViewer, httpx.Writes,
				httpx.ByProject).AsRequest(),
			"withdrawFindingComment", "findings", core.Extension(storedByID(withdrawFindingComment)),
		),
	}
}

// ticketRoutes are the routes of tickets.
func ticketRoutes() []core.Route {
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/tickets", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Filtered),
			"createTickets", "findings", core.NeedingBody(core.Keyed(core.Plain(createTickets))),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/tickets/link", httpx.WebAPI, model.RoleTriager,
				httpx.Writes, httpx.ByProject),
			"linkTicket", "findings", core.Update(linkTicket),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/tickets/unlink", httpx.WebAPI, model.RoleTriager,
				httpx.Writes, httpx.ByProject),
			"unlinkTicket", "findings", core.Update(unlinkTicket),
		),
		core.Op(
			httpx.Row(http.MethodDelete, core.ByID+"/ticketing/v2/tickets/{ticketId}", httpx.WebAPI, model.RoleTriager,
				httpx.Writes, httpx.ByProject),
			"deleteTicket", "findings", core.Update(deleteTicket),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/tickets", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listTickets", "findings", core.Extension(core.View(listTickets)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/tickets/{ticketId}", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.ByProject),
			"getTicket", "findings", core.Extension(core.View(getTicket)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/ticket-settings", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"getTicketSettings", "findings", core.Extension(core.View(getTicketSettings)),
		),
		core.Op(
			httpx.Row(http.MethodPut, core.BySlug+"/ticket-settings", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.Refused),
			"setTicketSettings", "findings", core.Extension(core.Update(setTicketSettings)),
		),
	}
}
