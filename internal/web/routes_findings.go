package web

import "github.com/redoubt/redoubt/internal/model"

// findingsRoutes returns the table of the pages about findings.
func findingsRoutes() []route {
	return []route{
		{row(get, org+"/news", viewer, reads), showNews},
		{row(get, org+"/mine", viewer, reads), listMine},
		{row(get, org+searchPath, viewer, reads), searchEverything},
		{row(get, org+"/findings", viewer, reads), listFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities", viewer, reads), listFindings(model.SCA)},
		{row(get, org+"/secrets", viewer, reads), listFindings(model.Secrets)},
		{row(get, org+"/findings/export", viewer, reads), exportFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities/export", viewer, reads), exportFindings(model.SCA)},
		{row(get, org+"/secrets/export", viewer, reads), exportFindings(model.Secrets)},
		{row(get, org+"/findings/{id}", viewer, reads), showFinding},
		{row(post, org+"/findings/{id}/comments", viewer, writes), formed(addComment)},
		{row(post, org+"/findings/{id}/comments/{comment}/withdraw", viewer, writes), formed(withdrawComment)},
		{row(post, org+"/findings/{id}/ticket", triager, writes), formed(changeTicket)},
		{row(post, org+"/triage/preview", triager, reads), formed(previewTriage)},
		{row(post, org+"/triage", triager, writes), formed(decideFindings)},
		{row(post, org+"/triage/undo", triager, writes), formed(undo)},
		{row(post, org+"/tickets", triager, writes), formed(makeTickets)},
		{row(post, org+"/saved-views", viewer, writes), addView},
		{row(post, org+"/saved-views/{id}", viewer, writes), changeView},
		{row(post, org+"/saved-views/{id}/remove", viewer, writes), formed(removeView)},
		{row(get, org+"/scans/{id}/blocking", viewer, reads), showBlocking},
	}
}
