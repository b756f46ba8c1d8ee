package decisions

import (
	"net/http"

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
	reads   = httpx.Reads
	writes  = httpx.Writes
)

// Routes returns the routes of exceptions and exception requests.
func Routes() []ui.Route {
	return []ui.Route{
		ui.Row(get, org+"/exceptions", viewer, reads, listExceptions),
		ui.Row(post, org+"/exceptions", triager, writes, ui.WithForm(addException)),
		ui.Row(get, org+"/exceptions/{id}", viewer, reads, showException),
		ui.Row(post, org+"/exceptions/{id}/remove", triager, writes, removeException),
		ui.Row(post, org+"/exceptions/requests", viewer, writes, ui.WithForm(requestException)),
		ui.Row(post, org+"/exceptions/{id}", triager, writes, ui.WithForm(decideException)),
		ui.Row(post, org+"/exceptions/{id}/withdraw", viewer, writes, withdrawException),
		ui.Row(post, org+"/exceptions/{id}/undo", triager, writes, undoException),
	}
}
