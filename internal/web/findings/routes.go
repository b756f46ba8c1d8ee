package findings

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

// Routes returns the routes of the pages about findings.
func Routes() []ui.Route {
	return []ui.Route{
		ui.Row(get, org+"/news", viewer, reads, showNews),
		ui.Row(get, org+"/mine", viewer, reads, listMine),
		ui.Row(get, org+searchPath, viewer, reads, searchEverything),
		ui.Row(get, org+"/findings", viewer, reads, listFindings(model.SAST)),
		ui.Row(get, org+"/supply-chain/vulnerabilities", viewer, reads, listFindings(model.SCA)),
		ui.Row(get, org+"/secrets", viewer, reads, listFindings(model.Secrets)),
		ui.Row(get, org+"/findings/export", viewer, reads, exportFindings(model.SAST)),
		ui.Row(get, org+"/supply-chain/vulnerabilities/export", viewer, reads, exportFindings(model.SCA)),
		ui.Row(get, org+"/secrets/export", viewer, reads, exportFindings(model.Secrets)),
		ui.Row(get, org+"/findings/{id}", viewer, reads, showFinding),
		ui.Row(post, org+"/findings/{id}/comments", viewer, writes, ui.WithForm(addComment)),
		ui.Row(post, org+"/findings/{id}/comments/{comment}/withdraw", viewer, writes, ui.WithForm(withdrawComment)),
		ui.Row(post, org+"/findings/{id}/ticket", triager, writes, ui.WithForm(changeTicket)),
		ui.Row(post, org+"/triage/preview", triager, reads, ui.WithForm(previewTriage)),
		ui.Row(post, org+"/triage", triager, writes, ui.WithForm(decideFindings)),
		ui.Row(post, org+"/triage/undo", triager, writes, ui.WithForm(undo)),
		ui.Row(post, org+"/tickets", triager, writes, ui.WithForm(makeTickets)),
		ui.Row(post, org+"/saved-views", viewer, writes, addView),
		ui.Row(post, org+"/saved-views/{id}", viewer, writes, changeView),
		ui.Row(post, org+"/saved-views/{id}/remove", viewer, writes, ui.WithForm(removeView)),
		ui.Row(get, org+"/scans/{id}/blocking", viewer, reads, showBlocking),
	}
}
