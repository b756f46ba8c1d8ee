package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// scansTable returns the operations of this package.
func scansTable() []Route {
	return describe(scansWords, slices.Concat(scanRoutes()))
}

// scanRoutes are the rows about scans and imports.
func scanRoutes() []Route {
	return []Route{
		op(
			httpx.Row(http.MethodPost, byID+"/scans/search", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"searchScans", "scans", view(searchScans),
		),
		op(httpx.Row(http.MethodGet, byID+"/scan/{scanId}", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject), "getScan", "scans", view(getScan)),
		op(
			httpx.Row(http.MethodGet, byID+"/scans/{scanId}/snippets", httpx.Upload, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"listSnippets", "scans", beyond(view(listSnippets)),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/scans/{scanId}/snippets", httpx.Upload, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"putSnippets", "scans", beyond(update(putSnippets)),
		),
		op(
			httpx.Row(http.MethodPost, byID+"/imports", httpx.Upload, model.RoleTriager, httpx.Writes, httpx.ByName),
			"importReports", "scans", beyond(takingFiles(importBody(), keyed(plain(importReports)))),
		),
	}
}
