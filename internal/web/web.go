// Package web serves the HTML pages. Each area (findings, projects, policies, decisions, account,
// managed) is a package below this one, with its handlers and its route table. New joins the
// tables.
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

// Short names for the rows of the route table.
const (
	get    = http.MethodGet
	org    = ui.Org
	viewer = model.RoleViewer
	reads  = httpx.Reads
)

// Types of package ui that callers use.
type (
	// Config configures the pages.
	Config = ui.Config
	// SignIn authenticates the users of the pages.
	SignIn = ui.SignIn
	// Uploads imports uploaded reports.
	Uploads = ui.Uploads
	// Viewer is the signed-in user who requests a page.
	Viewer = ui.Viewer
)

// ErrNotSignedIn is returned when a request has no session. The browser is redirected to the
// sign-in page and back.
var ErrNotSignedIn = ui.ErrNotSignedIn

// New returns the pages. It starts no goroutines: serve the Handler of the result.
func New(c Config) (*ui.Pages, error) {
	return ui.New(c, routes(), component.Templates, account.Templates, decisions.Templates, findings.Templates,
		managed.Templates, policies.Templates, projects.Templates)
}

// Routes returns the route of every page.
func Routes() (rows []httpx.Route) {
	for _, r := range routes() {
		rows = append(rows, r.Route)
	}
	return rows
}

func routes() []ui.Route {
	return slices.Concat([]ui.Route{
		ui.Row(get, "/{$}", viewer, reads, home),
		ui.Row(get, org, viewer, reads, home),
	}, account.Routes(), decisions.Routes(), findings.Routes(), managed.Routes(), policies.Routes(), projects.Routes())
}

func home(req *ui.Request) error {
	req.Redirect(req.To("/overview"))
	return nil
}

// FindingFilter parses the query of a findings page as findings.Filter does.
func FindingFilter(t model.IssueType, query string, now time.Time) (f model.FindingFilter, selects bool, err error) {
	return findings.Filter(t, query, now)
}

// FindingQuery parses the query of a findings page as findings.Query does.
func FindingQuery(t model.IssueType, query string, now time.Time) (index.PageQuery, error) {
	return findings.Query(t, query, now)
}
