package dependencies

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
	return core.Describe(words, slices.Concat(dependencyRoutes()))
}

// dependencyRoutes are the routes of dependencies, SBOMs and advisories.
func dependencyRoutes() []core.Route {
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/dependencies", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listDependencies", "dependencies", core.View(listDependencies),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/dependencies/repositories", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Filtered),
			"listDependencyRepositories", "dependencies", core.View(listDependencyRepositories),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/dependencies/repositories/{repositoryId}/lockfiles", httpx.WebAPI,
				model.RoleViewer, httpx.Reads, httpx.ByProject),
			"listLockfiles", "dependencies", core.View(listLockfiles),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/sbom/export", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"createSBOMExport", "dependencies", core.Keyed(core.Plain(createSBOMExport)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/sbom/export/{taskToken}", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Filtered),
			"getSBOMExport", "dependencies", core.View(getSBOMExport),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/sbom/export/{taskToken}/download", httpx.Anyone, model.RoleNone,
				httpx.Reads, httpx.Unbound),
			"downloadSBOM", "dependencies",
			core.AnsweringFile(documentMediaTypes, core.Streamed[api.DownloadQuery, core.Document](downloadSBOM)),
		),

		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/advisories/{advisoryId}", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Unbound),
			"getAdvisory", "dependencies", core.Extension(core.View(getAdvisory)),
		),
		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/advisories/{advisoryId}/impact", httpx.WebAPI, model.RoleViewer,
				httpx.Reads, httpx.Filtered),
			"getAdvisoryImpact", "dependencies", core.Extension(core.View(getAdvisoryImpact)),
		),
	}
}
