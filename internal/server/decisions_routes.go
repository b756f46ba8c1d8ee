package server

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// decisionsTable returns the operations of this package.
func decisionsTable() []Route {
	return describe(decisionsWords, slices.Concat(exceptionRoutes()))
}

// exceptionRoutes are the rows about exceptions.
func exceptionRoutes() []Route {
	const one = bySlug + "/exceptions/{exceptionId}"
	return []Route{
		op(
			httpx.Row(http.MethodGet, bySlug+"/exceptions", httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.Filtered),
			"listExceptions", "policies", beyond(view(listExceptions)),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/exceptions", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"createException", "policies", beyond(keyed(plain(createException))),
		),
		op(
			httpx.Row(http.MethodGet, one, httpx.WebAPI, model.RoleViewer, httpx.Reads, httpx.ByProject),
			"getException", "policies", beyond(view(getException)),
		),
		op(
			httpx.Row(http.MethodDelete, one, httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"deleteException", "policies", beyond(update(deleteException)),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/exceptions/requests", httpx.WebAPI, model.RoleViewer, httpx.Writes, httpx.ByProject).Asking(),
			"requestException", "policies", beyond(update(requestException)),
		),
		op(
			httpx.Row(http.MethodPost, bySlug+"/exceptions/documents", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.Refused),
			"importDocuments", "policies", beyond(takingFiles(documentsBody(), keyed(plain(importDocuments)))),
		),
		op(
			httpx.Row(http.MethodPost, one+"/approve", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"approveException", "policies", beyond(update(approveException)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/refuse", httpx.WebAPI, model.RoleTriager, httpx.Writes, httpx.ByProject),
			"refuseException", "policies", beyond(update(refuseException)),
		),
		op(
			httpx.Row(http.MethodPost, one+"/withdraw", httpx.WebAPI, model.RoleViewer, httpx.Writes, httpx.ByProject).Asking(),
			"withdrawException", "policies", beyond(update(withdrawException)),
		),
	}
}
