package managed

import (
	"net/http"
	"slices"

	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// Short names for the rows of the table.
const (
	get     = http.MethodGet
	post    = http.MethodPost
	org     = ui.Org
	viewer  = model.RoleViewer
	triager = model.RoleTriager
	admin   = model.RoleAdmin
	reads   = httpx.Reads
	writes  = httpx.Writes
)

// Routes returns the routes of the pages about code hosts, managed scans and notifications.
func Routes() []ui.Route {
	return slices.Concat(connectionRoutes(), notificationRoutes(), []ui.Route{
		ui.Row(get, org+"/runs", viewer, reads, listRuns),
		ui.Row(get, org+"/runs/{id}", viewer, reads, showRun),
		ui.Row(post, org+"/runs/{id}/cancel", triager, writes, cancelRun),
		ui.Row(post, org+"/runs/{id}/retry", triager, writes, retryRun),
	})
}

// connectionRoutes returns the routes of code hosts and runners.
func connectionRoutes() []ui.Route {
	return []ui.Route{
		ui.Row(get, org+ui.ConnectionsPath, admin, reads, connections),
		ui.Row(post, org+ui.ConnectionsPath, admin, writes, ui.Proven(ui.WithForm(addConnection))),
		ui.Row(get, org+ui.ConnectionsPath+"/{id}", admin, reads, connection),
		ui.Row(post, org+ui.ConnectionsPath+"/{id}", admin, writes, ui.Proven(ui.WithForm(changeConnection))),
		ui.Row(post, org+ui.ConnectionsPath+"/{id}/test", admin, writes, testConnection),
		ui.Row(post, org+ui.ConnectionsPath+"/{id}/repositories", admin, writes, ui.WithForm(chooseRepositories)),
		ui.Row(post, org+ui.ConnectionsPath+"/{id}/hooks", admin, writes, ui.WithForm(hookConnection)),
		ui.Row(post, org+ui.ConnectionsPath+"/{id}/remove", admin, writes, ui.Proven(removeConnection)),
		ui.Row(get, org+ui.RunnersPath, admin, reads, runners),
		ui.Row(post, org+ui.RunnersPath, admin, writes, ui.Proven(makeRunnerToken)),
		ui.Row(post, org+ui.RunnersPath+"/{id}/revoke", admin, writes, revokeRunner),
	}
}

// notificationRoutes returns the routes of notification rules.
func notificationRoutes() []ui.Route {
	const rules, one = org + ui.NotificationsPath, org + ui.NotificationsPath + "/{id}"
	return []ui.Route{
		ui.Row(get, rules, admin, reads, notifications),
		ui.Row(get, rules+"/new", admin, reads, newNotification),
		ui.Row(post, rules, admin, writes, ui.Proven(ui.WithForm(addNotification))),
		ui.Row(get, one, admin, reads, notification),
		ui.Row(post, one, admin, writes, ui.Proven(ui.WithForm(changeNotification))),
		ui.Row(post, one+"/pause", admin, writes, ui.WithForm(pauseNotification)),
		ui.Row(post, one+"/test", admin, writes, testNotification),
		ui.Row(post, one+"/rotate", admin, writes, ui.Proven(rotateNotification)),
		ui.Row(post, one+"/delete", admin, writes, ui.Proven(deleteNotification)),
		ui.Row(post, one+"/notifications/{notification}/resend", admin, writes, resendNotification),
	}
}
