package decisions

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Routes returns the operations of this package.
func Routes() []core.Route {
	return core.Describe(words, slices.Concat(exceptionRoutes()))
}

// exceptionRoutes are the routes of exceptions.
func exceptionRoutes() []core.Route {
	const one = core.BySlug + "/exceptions/{exceptionId}"
	return []core.Route{
		core.Op(
			httpx.Row(http.MethodGet, core.BySlug+"/exceptions", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listExceptions", "policies", core.Extension(core.View(listExceptions)),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/exceptions", httpx.WebAPI, model.RoleTriager,
				httpx.Writes, httpx.ByProject),
			"createException", "policies", core.Extension(core.Keyed(core.Plain(createException))),
		),
		core.Op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getException", "policies", core.Extension(core.View(getException)),
		),
		core.Op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"deleteException", "policies", core.Extension(core.Update(deleteException)),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/exceptions/requests", httpx.WebAPI, model.RoleViewer, httpx.Writes,
				httpx.ByProject).AsRequest(),
			"requestException", "policies", core.Extension(core.Update(requestException)),
		),
		core.Op(
			httpx.Row(http.MethodPost, core.BySlug+"/exceptions/documents", httpx.WebAPI, model.RoleTriager,
				httpx.Writes, httpx.Refused),
			"importDocuments", "policies",
			core.Extension(core.TakingFiles(documentsBody(), core.Keyed(core.Plain(importDocuments)))),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/approve", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"approveException", "policies", core.Extension(core.Update(approveException)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/refuse", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"refuseException", "policies", core.Extension(core.Update(refuseException)),
		),
		core.Op(
			httpx.Row(http.MethodPost, one+"/withdraw", httpx.WebAPI, model.RoleViewer, httpx.Writes,
				httpx.ByProject).AsRequest(),
			"withdrawException", "policies", core.Extension(core.Update(withdrawException)),
		),
	}
}
