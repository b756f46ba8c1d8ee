package ui

import (
	"net/http"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Anyone is the least role of pages for people who are not signed in.
const Anyone = model.RoleNone

// Route is one page, or one thing to do: a row of the table. {deployment} in a
// pattern is a slug, an id, or - for the viewer's own.
type Route struct {
	httpx.Route
	handle func(*Request) error
}

// Row is a row of a table: the least role, whether the handler writes, and the handler. No page accepts a token.
func Row(method, pattern string, least model.Role, writes bool, handle func(*Request) error) Route {
	caller := httpx.Person
	if least == Anyone {
		caller = httpx.Anyone
	}
	return Route{httpx.Row(method, pattern, caller, least, writes, httpx.Unbound), handle}
}

// Org is the start of the patterns of pages that belong to a deployment.
const Org = "/orgs/{deployment}"

const (
	get  = http.MethodGet
	post = http.MethodPost
)
