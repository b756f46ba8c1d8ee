package projects

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(words, slices.Concat(deploymentRoutes(), projectRoutes()))
}

// deploymentRoutes are the routes of the deployment, the token and the server.
func deploymentRoutes() []core.Route {
	return []core.Route{
		core.Op(httpx.Row(http.MethodGet, "/api/v1/ping", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound), "ping",
			"deployments", core.Plain(ping)),
		core.Op(
			httpx.Row(http.MethodGet, "/api/v1/deployments", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound),
			"listDeployments", "deployments", core.Plain(listDeployments),
		),
		core.Op(
			httpx.Row(http.MethodGet, "/api/v2/deployments", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound),
			"listDeploymentsV2", "deployments", core.Plain(listDeployments),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound), "getDeployment",
			"deployments", core.Plain(getDeployment),
		),
		core.Op(httpx.Row(http.MethodGet, "/api/agent/ping", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound),
			"pingAgent", "deployments", core.Plain(ping)),
		core.Op(
			httpx.Row(http.MethodGet, "/api/health-check", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound),
			"checkHealth", "deployments", core.Plain(checkHealth),
		),
		core.Op(httpx.Row(http.MethodGet, "/api/v1/me", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound), "getMe",
			"deployments", core.View(getMe)),
	}
}

// projectRoutes are the routes of projects and their refs.
func projectRoutes() []core.Route {
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/projects", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listProjects", "projects", core.Listed(listProjects),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/projects", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"createProject", "projects", core.Extension(core.Tagged(core.Update(createProject))),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/projects/{projectName}", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.ByName),
			"getProject", "projects", core.Tagged(core.View(getProject)),
		),
		core.Op(
			httpx.Row(http.MethodPatch, core.BySlug+"/projects/{projectName}", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.ByName),
			"updateProject", "projects", core.Tagged(core.Update(updateProject)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, core.BySlug+"/projects/{projectName}", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.ByName),
			"deleteProject", "projects", core.Update(deleteProject),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/project-renames", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.ByName),
			"renameProject", "projects", core.Extension(core.Tagged(core.Update(renameProject))),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/project-merges", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"mergeProject", "projects", core.Extension(core.Update(mergeProject)),
		),
		core.Op(
			httpx.Row(http.MethodPatch, core.BySlug+"/projects/{projectName}/managed-scan", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.ByName),
			"toggleManagedScan", "projects", core.Tagged(core.Update(toggleManagedScan)),
		),
		core.Op(
			httpx.Row(http.MethodPut, core.BySlug+"/projects/{projectName}/tags", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.ByName),
			"addProjectTags", "projects", core.Tagged(core.Update(addProjectTags)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, core.BySlug+"/projects/{projectName}/tags", httpx.WebAPI, model.RoleAdmin,
				httpx.Writes, httpx.ByName),
			"removeProjectTags", "projects", core.Tagged(core.Update(removeProjectTags)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, core.BySlug+"/refs", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"deleteRef", "projects", core.Extension(core.Update(deleteRef)),
		),
	}
}
