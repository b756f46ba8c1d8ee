package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// managedTable returns the operations of this package.
func managedTable() []Route {
	return describe(managedWords, slices.Concat(connectionRoutes(), runRoutes()))
}

// connectionRoutes are the rows about connections to code hosts.
func connectionRoutes() []Route {
	const connections, one = bySlug + "/connections", bySlug + "/connections/{connectionId}"
	return []Route{
		op(
			httpx.Row(http.MethodGet, connections, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listConnections", "managed", beyond(view(listConnections)),
		),
		op(
			httpx.Row(http.MethodPost, connections, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createConnection", "managed", beyond(keyed(plain(createConnection))),
		),
		op(httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused), "getConnection", "managed", beyond(view(getConnection))),
		op(
			httpx.Row(http.MethodPatch, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"updateConnection", "managed", beyond(keyed(plain(updateConnection))),
		),
		op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deleteConnection", "managed", beyond(keyed(plain(deleteConnection))),
		),
		op(
			httpx.Row(http.MethodPost, one+"/test", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"testConnection", "managed", beyond(keyed(plain(testConnection))),
		),
		op(
			httpx.Row(http.MethodPost, one+"/webhooks", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"makeWebhooks", "managed", beyond(keyed(plain(makeWebhooks))),
		),
		op(
			httpx.Row(http.MethodGet, one+"/repositories", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listRepositories", "managed", beyond(view(listRepositories)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/repositories/follow", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"followRepositories", "managed", beyond(update(followRepositories)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/repositories/unfollow", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"unfollowRepositories", "managed", beyond(update(unfollowRepositories)),
		),
		op(
			httpx.Row(http.MethodGet, one+"/deliveries", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listDeliveries", "managed", beyond(view(listDeliveries)),
		),
	}
}

// runRoutes are the rows about scans by runners, and about the runners.
func runRoutes() []Route {
	const runs, run = bySlug + "/runs", bySlug + "/runs/{runId}"
	return []Route{
		op(httpx.Row(http.MethodGet, runs, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered), "listRuns", "managed", beyond(view(listRuns))),
		op(httpx.Row(http.MethodPost, runs, httpx.Upload, model.RoleTriager, httpx.Writes, httpx.ByName), "startRun", "managed", beyond(update(startRun))),
		op(httpx.Row(http.MethodGet, run, httpx.Upload, model.RoleViewer, httpx.Reads, httpx.ByProject), "getRun", "managed", beyond(view(getRun))),
		op(
			httpx.Row(http.MethodGet, run+"/log", httpx.Upload, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getRunLog", "managed", beyond(view(getRunLog)),
		),
		op(
			httpx.Row(http.MethodPost, run+"/cancel", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"cancelRun", "managed", beyond(update(cancelRun)),
		),
		op(
			httpx.Row(http.MethodPost, run+"/retry", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"retryRun", "managed", beyond(update(retryRun)),
		),

		op(
			httpx.Row(http.MethodGet, bySlug+"/runners", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listRunners", "managed", beyond(view(listRunners)),
		),
		op(
			httpx.Row(http.MethodDelete, bySlug+"/runners/{runnerId}", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"revokeRunner", "managed", beyond(update(revokeRunner)),
		),
	}
}
