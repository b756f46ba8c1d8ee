package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// dependenciesTable returns the operations of this package.
func dependenciesTable() []Route {
	return describe(dependenciesWords, slices.Concat(dependencyRoutes()))
}

// dependencyRoutes are the rows about dependencies, SBOMs and advisories.
func dependencyRoutes() []Route {
	return []Route{
		op(
			httpx.Row(http.MethodPost, byID+"/dependencies", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listDependencies", "dependencies", view(listDependencies),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/dependencies/repositories", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listDependencyRepositories", "dependencies", view(listDependencyRepositories),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/dependencies/repositories/{repositoryId}/lockfiles", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"listLockfiles", "dependencies", view(listLockfiles),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/sbom/export", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"createSBOMExport", "dependencies", keyed(plain(createSBOMExport)),
		),
		op(
			httpx.Row(http.MethodGet, byID+"/sbom/export/{taskToken}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"getSBOMExport", "dependencies", view(getSBOMExport),
		),
		op(
			httpx.Row(http.MethodGet, byID+"/sbom/export/{taskToken}/download", httpx.Anyone, model.RoleNone, httpx.Reads, httpx.Unbound),
			"downloadSBOM", "dependencies", answeringFile(documentMediaTypes, streamed[api.DownloadQuery, document](downloadSBOM)),
		),

		op(
			httpx.Row(http.MethodGet, byID+"/advisories/{advisoryId}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Unbound),
			"getAdvisory", "dependencies", beyond(view(getAdvisory)),
		),
		op(
			httpx.Row(http.MethodGet, byID+"/advisories/{advisoryId}/impact", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"getAdvisoryImpact", "dependencies", beyond(view(getAdvisoryImpact)),
		),
	}
}
