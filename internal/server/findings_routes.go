package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// findingsTable returns the operations of this package.
func findingsTable() []Route {
	return describe(findingsWords, slices.Concat(findingRoutes(), savedViewRoutes(), commentRoutes(), ticketRoutes()))
}

// findingRoutes are the rows about findings.
func findingRoutes() []Route {
	return []Route{
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listFindings", "findings", conditional(streamed[findingsInput, api.ListFindingsResponse](listFindings)),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings/export", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"exportFindings", "findings", beyond(answeringFile(exportMediaTypes(), streamed[exportInput, document](exportFindings))),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings/counts", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"countFindings", "findings", beyond(plain(countFindings)),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings/changes", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused), "listFindingChanges",
			"findings", beyond(mayConflict(streamed[changesInput, api.FindingChangesResponse](listChanges))),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/search", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"search", "findings", beyond(view(search)),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings/{findingId}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getFinding", "findings", beyond(tagged(streamed[none, api.FindingResponse](getFinding))),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings/{findingId}/evidence", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getEvidence", "findings", beyond(view(getEvidence)),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/findings/{findingId}/history", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getFindingHistory", "findings", beyond(view(getFindingHistory)),
		),
		op(
			httpx.Row(http.MethodPatch, bySlug+"/findings/{findingId}", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject), "annotateFinding",
			"findings", beyond(tagged(keyed(streamed[annotateInput, api.FindingResponse](annotateFinding)))),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/triage", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Filtered),
			"triageFindings", "findings", update(triageFindings),
		),
		op(
			httpx.Row(http.MethodGet, byID+"/secrets", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listSecrets", "findings", listed(listSecrets),
		),

		op(
			httpx.Row(http.MethodPost, "/api/agent/deployments/{deploymentId}/issues/v2", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"searchIssues", "findings", view(searchIssues),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/ssc-vulns", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listVulns", "findings", view(listVulns),
		),
	}
}

// savedViewRoutes are the rows about lists of findings that people come back to.
func savedViewRoutes() []Route {
	const views, one = bySlug + "/saved-views", bySlug + "/saved-views/{savedViewId}"
	return []Route{
		op(
			httpx.Row(http.MethodGet, views, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"listSavedViews", "findings", beyond(view(listSavedViews)),
		),
		op(
			httpx.Row(http.MethodPost, views, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"createSavedView", "findings", beyond(tagged(update(createSavedView))),
		),
		op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Refused),
			"getSavedView", "findings", beyond(tagged(view(getSavedView))),
		),
		op(
			httpx.Row(http.MethodPatch, one, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"updateSavedView", "findings", beyond(tagged(update(updateSavedView))),
		),
		op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"deleteSavedView", "findings", beyond(tagged(update(deleteSavedView))),
		),
	}
}

// commentRoutes are the rows about what people write about findings.
func commentRoutes() []Route {
	const comments = bySlug + "/findings/{findingId}/comments"
	return []Route{
		op(
			httpx.Row(http.MethodGet, comments, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"listFindingComments", "findings", beyond(view(listFindingComments)),
		),
		op(
			httpx.Row(http.MethodPost, comments, httpx.WebAPI, model.RoleViewer, httpx.Writes, httpx.ByProject).Asking(),
			"addFindingComment", "findings", beyond(storedByID(addFindingComment)),
		),
		op(
			httpx.Row(http.MethodPost, comments+"/{commentId}/withdraw", httpx.WebAPI, model.RoleViewer, httpx.Writes, httpx.ByProject).Asking(),
			"withdrawFindingComment", "findings", beyond(storedByID(withdrawFindingComment)),
		),
	}
}

// ticketRoutes are the rows about tickets.
func ticketRoutes() []Route {
	return []Route{
		op(
			httpx.Row(http.MethodPost, bySlug+"/tickets", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Filtered),
			"createTickets", "findings", keyed(plain(createTickets)),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/tickets/link", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"linkTicket", "findings", update(linkTicket),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/tickets/unlink", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"unlinkTicket", "findings", update(unlinkTicket),
		),
		op(
			httpx.Row(http.MethodDelete, byID+"/ticketing/v2/tickets/{ticketId}", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"deleteTicket", "findings", update(deleteTicket),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/tickets", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listTickets", "findings", beyond(view(listTickets)),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/tickets/{ticketId}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getTicket", "findings", beyond(view(getTicket)),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/ticket-settings", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"getTicketSettings", "findings", beyond(view(getTicketSettings)),
		),
		op(
			httpx.Row(http.MethodPut, bySlug+"/ticket-settings", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"setTicketSettings", "findings", beyond(update(setTicketSettings)),
		),
	}
}
