package ui

import (
	"net/http"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// Anyone is the role of pages that require no session.
const Anyone = model.RoleNone

// Route is a page or an action: a row of the route table. {deployment} in a pattern is a slug, an
// id, or "-" for the viewer's own deployment.
type Route struct {
	httpx.Route
	handle func(*Request) error
}

// Row returns a route with its minimum role and handler. writes reports whether the handler changes
// data. Pages accept no tokens.
func Row(method, pattern string, least model.Role, writes bool, handle func(*Request) error) Route {
	caller := httpx.Person
	if least == Anyone {
		caller = httpx.Anyone
	}
	return Route{httpx.Row(method, pattern, caller, least, writes, httpx.Unbound), handle}
}

// Org is the prefix of the patterns of pages that belong to a deployment.
const Org = "/orgs/{deployment}"

const (
	get  = http.MethodGet
	post = http.MethodPost
)
