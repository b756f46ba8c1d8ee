package web

import (
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// anyone is the least role of pages for people who are not signed in.
const anyone = model.RoleNone

// route is one page, or one thing to do: a row of the table. {deployment} in a
// pattern is a slug, an id, or - for the viewer's own.
type route struct {
	httpx.Route
	handle func(*request) error
}

// row says of a page what all tables say of their rows. No page takes a token.
func row(method, pattern string, least model.Role, writes bool) httpx.Route {
	if least == anyone {
		return httpx.Row(method, pattern, httpx.Anyone, least, writes, httpx.Unbound)
	}
	return httpx.Row(method, pattern, httpx.Person, least, writes, httpx.Unbound)
}

const (
	get  = "GET"
	post = "POST"

	org = "/orgs/{deployment}"

	roleViewer  = model.RoleViewer
	roleTriager = model.RoleTriager
	roleAdmin   = model.RoleAdmin

	reads  = httpx.Reads
	writes = httpx.Writes
)
