package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// projectsTable returns the operations of this package.
func projectsTable() []Route {
	return describe(projectsWords, slices.Concat(deploymentRoutes(), projectRoutes()))
}

// deploymentRoutes are the rows about the deployment, the token and the server.
func deploymentRoutes() []Route {
	return []Route{
		op(httpx.Row(http.MethodGet, "/api/v1/ping", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound), "ping", "deployments", plain(ping)),
		op(
			httpx.Row(http.MethodGet, "/api/v1/deployments", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound),
			"listDeployments", "deployments", plain(listDeployments),
		),
		op(
			httpx.Row(http.MethodGet, "/api/v2/deployments", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound),
			"listDeploymentsV2", "deployments", plain(listDeployments),
		),
		op(
			httpx.Row(http.MethodGet, bySlug, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound), "getDeployment", "deployments", plain(getDeployment),
		),
		op(httpx.Row(http.MethodGet, "/api/agent/ping", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound), "pingAgent", "deployments", plain(ping)),
		op(
			httpx.Row(http.MethodGet, "/api/health-check", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound),
			"checkHealth", "deployments", plain(checkHealth),
		),
		op(httpx.Row(http.MethodGet, "/api/v1/me", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound), "getMe", "deployments", view(getMe)),
	}
}

// projectRoutes are the rows about projects and their refs.
func projectRoutes() []Route {
	return []Route{
		op(
			httpx.Row(http.MethodGet, bySlug+"/projects", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listProjects", "projects", listed(listProjects),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/projects", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"createProject", "projects", beyond(tagged(update(createProject))),
		),
		op(
			httpx.Row(http.MethodGet, bySlug+"/projects/{projectName}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByName),
			"getProject", "projects", tagged(view(getProject)),
		),
		op(
			httpx.Row(http.MethodPatch, bySlug+"/projects/{projectName}", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"updateProject", "projects", tagged(update(updateProject)),
		),
		op(
			httpx.Row(http.MethodDelete, bySlug+"/projects/{projectName}", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"deleteProject", "projects", update(deleteProject),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/project-renames", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"renameProject", "projects", beyond(tagged(update(renameProject))),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/project-merges", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"mergeProject", "projects", beyond(update(mergeProject)),
		),
		op(
			httpx.Row(http.MethodPatch, bySlug+"/projects/{projectName}/managed-scan", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"toggleManagedScan", "projects", tagged(update(toggleManagedScan)),
		),
		op(
			httpx.Row(http.MethodPut, bySlug+"/projects/{projectName}/tags", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"addProjectTags", "projects", tagged(update(addProjectTags)),
		),
		op(
			httpx.Row(http.MethodDelete, bySlug+"/projects/{projectName}/tags", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"removeProjectTags", "projects", tagged(update(removeProjectTags)),
		),
		op(
			httpx.Row(http.MethodDelete, bySlug+"/refs", httpx.WebAPI, model.RoleAdmin, httpx.Writes, httpx.ByName),
			"deleteRef", "projects", beyond(update(deleteRef)),
		),
	}
}
