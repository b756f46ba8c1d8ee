// Package web serves the pages. Each area (findings, projects, policies, decisions, account, managed) has a package
// below this one with its handlers and its table of routes; New joins the tables.
package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/account"
	"github.com/redoubt/redoubt/internal/web/component"
	"github.com/redoubt/redoubt/internal/web/decisions"
	"github.com/redoubt/redoubt/internal/web/findings"
	"github.com/redoubt/redoubt/internal/web/managed"
	"github.com/redoubt/redoubt/internal/web/policies"
	"github.com/redoubt/redoubt/internal/web/projects"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Short names for the rows of the table.
const (
	get    = http.MethodGet
	org    = ui.Org
	viewer = model.RoleViewer
	reads  = httpx.Reads
)

// What callers need of package ui.
type (
	// Config has what the pages need.
	Config = ui.Config
	// SignIn signs people in.
	SignIn = ui.SignIn
	// Uploads accepts uploads of reports.
	Uploads = ui.Uploads
	// Viewer is the person who looks at a page.
	Viewer = ui.Viewer
)

// ErrNotSignedIn leads to the sign-in page and from there back.
var ErrNotSignedIn = ui.ErrNotSignedIn

// New returns the pages. It starts nothing: serve their Handler.
func New(c Config) (*ui.Pages, error) {
	return ui.New(c, routes(), component.Templates, account.Templates, decisions.Templates, findings.Templates,
		managed.Templates, policies.Templates, projects.Templates)
}

// Routes returns what the table says of every page.
func Routes() (rows []httpx.Route) {
	for _, r := range routes() {
		rows = append(rows, r.Route)
	}
	return rows
}

// routes returns the table: every page there is.
func routes() []ui.Route {
	return slices.Concat([]ui.Route{
		ui.Row(get, "/{$}", viewer, reads, home),
		ui.Row(get, org, viewer, reads, home),
	}, account.Routes(), decisions.Routes(), findings.Routes(), managed.Routes(), policies.Routes(), projects.Routes())
}

// home leads to the overview.
func home(req *ui.Request) error {
	req.Redirect(req.To("/overview"))
	return nil
}

// FindingFilter reads the query of a findings page as findings.Filter does.
func FindingFilter(t model.IssueType, query string, now time.Time) (f model.FindingFilter, selects bool, err error) {
	return findings.Filter(t, query, now)
}

// FindingQuery reads the query of a findings page as findings.Query does.
func FindingQuery(t model.IssueType, query string, now time.Time) (index.PageQuery, error) {
	return findings.Query(t, query, now)
}
