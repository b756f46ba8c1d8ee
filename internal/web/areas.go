package web

import (
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
)

// New returns the pages. It starts nothing: serve their Handler.
func New(c Config) (*Pages, error) { return newPages(c, routes()) }

// Routes returns what the table says of every page.
func Routes() (rows []httpx.Route) {
	for _, r := range routes() {
		rows = append(rows, r.Route)
	}
	return rows
}

// routes returns the table: every page there is.
func routes() []route {
	return slices.Concat([]route{
		{row(get, "/{$}", roleViewer, reads), home},
		{row(get, org, roleViewer, reads), home},
	}, accountRoutes(), decisionsRoutes(), findingsRoutes(), managedRoutes(), policiesRoutes(), projectsRoutes())
}

// home leads to the overview.
func home(req *request) error {
	req.redirect(req.to("/overview"))
	return nil
}
