package managed

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(words, slices.Concat(connectionRoutes(), runRoutes()))
}

// connectionRoutes are the routes of connections to code hosts.
func connectionRoutes() []core.Route {
	const connections, one = core.BySlug + "/connections", core.BySlug + "/connections/{connectionId}"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, connections, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listConnections", "managed", core.Extension(core.View(listConnections)),
		),
		core.Op(
			httpx.Row(http.MethodPost, connections, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"createConnection", "managed", core.Extension(core.Keyed(core.Plain(createConnection))),
		),
		core.Op(httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused), "getConnection",
			"managed", core.Extension(core.View(getConnection))),
		core.Op(
			httpx.Row(http.MethodPatch, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"updateConnection", "managed", core.Extension(core.Keyed(core.Plain(updateConnection))),
		),
		core.Op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"deleteConnection", "managed", core.Extension(core.Keyed(core.Plain(deleteConnection))),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/test", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"testConnection", "managed", core.Extension(core.Keyed(core.Plain(testConnection))),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/webhooks", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"makeWebhooks", "managed", core.Extension(core.Keyed(core.Plain(makeWebhooks))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/repositories", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listRepositories", "managed", core.Extension(core.View(listRepositories)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/repositories/follow", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"followRepositories", "managed", core.Extension(core.Update(followRepositories)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/repositories/unfollow", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.Refused),
			"unfollowRepositories", "managed", core.Extension(core.Update(unfollowRepositories)),
		),
		core.Op(
			httpx.Row(http.MethodGet, one+"/deliveries", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listDeliveries", "managed", core.Extension(core.View(listDeliveries)),
		),
	}
}

// runRoutes are the routes of managed runs and runners.
func runRoutes() []core.Route {
	const runs, run = core.BySlug + "/runs", core.BySlug + "/runs/{runId}"
	return []core.Route{
		core.Op(httpx.Row(http.MethodGet, runs, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered), "listRuns",
			"managed", core.Extension(core.View(listRuns))),
		core.Op(httpx.Row(http.MethodPost, runs, httpx.Upload, model.RoleTriager, httpx.Writes, httpx.ByName), "startRun",
			"managed", core.Extension(core.Update(startRun))),
		core.Op(httpx.Row(http.MethodGet, run, httpx.Upload, model.RoleViewer, httpx.Reads, httpx.ByProject), "getRun",
			"managed", core.Extension(core.View(getRun))),
		core.Op(
			httpx.Row(http.MethodGet, run+"/log", httpx.Upload, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getRunLog", "managed", core.Extension(core.View(getRunLog)),
		),
		core.Op(
			httpx.Row(http.MethodPost, run+"/cancel", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"cancelRun", "managed", core.Extension(core.Update(cancelRun)),
		),
		core.Op(
			httpx.Row(http.MethodPost, run+"/retry", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"retryRun", "managed", core.Extension(core.Update(retryRun)),
		),

		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/runners", httpx.WebAPI, model.RoleAdmin, httpx.Reads, httpx.Refused),
			"listRunners", "managed", core.Extension(core.View(listRunners)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, core.BySlug+"/runners/{runnerId}", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.Refused),
			"revokeRunner", "managed", core.Extension(core.Update(revokeRunner)),
		),
	}
}
