package scans

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(words, slices.Concat(scanRoutes()))
}

// scanRoutes are the routes of scans and imports.
func scanRoutes() []core.Route {
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/scans/search", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"searchScans", "scans", core.View(searchScans),
		),
		core.Op(httpx.Row(http.MethodGet, core.ByID+"/scan/{scanId}", httpx.WebAPI, model.RoleViewer, httpx.Reads,
			httpx.ByProject), "getScan", "scans", core.View(getScan)),
		core.Op(
			httpx.Row(http.MethodGet, core.ByID+"/scans/{scanId}/snippets", httpx.Upload, model.RoleViewer,
				httpx.Reads, httpx.ByProject),
			"listSnippets", "scans", core.Extension(core.View(listSnippets)),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/scans/{scanId}/snippets", httpx.Upload, model.RoleTriager,
				httpx.Writes, httpx.ByProject),
			"putSnippets", "scans", core.Extension(core.Update(putSnippets)),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.ByID+"/imports", httpx.Upload, model.RoleTriager, httpx.Writes, httpx.ByName),
			"importReports", "scans", core.Extension(core.TakingFiles(importBody(), core.Keyed(core.Plain(importReports)))),
		),
	}
}
