package web

import "github.com/redoubt/redoubt/internal/model"

// findingsRoutes returns the table of the pages about findings.
func findingsRoutes() []route {
	return []route{
		{row(get, org+"/news", roleViewer, reads), showNews},
		{row(get, org+"/mine", roleViewer, reads), listMine},
		{row(get, org+searchPath, roleViewer, reads), searchEverything},
		{row(get, org+"/findings", roleViewer, reads), listFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities", roleViewer, reads), listFindings(model.SCA)},
		{row(get, org+"/secrets", roleViewer, reads), listFindings(model.Secrets)},
		{row(get, org+"/findings/export", roleViewer, reads), exportFindings(model.SAST)},
		{row(get, org+"/supply-chain/vulnerabilities/export", roleViewer, reads), exportFindings(model.SCA)},
		{row(get, org+"/secrets/export", roleViewer, reads), exportFindings(model.Secrets)},
		{row(get, org+"/findings/{id}", roleViewer, reads), showFinding},
		{row(post, org+"/findings/{id}/comments", roleViewer, writes), formed(addComment)},
		{row(post, org+"/findings/{id}/comments/{comment}/withdraw", roleViewer, writes), formed(withdrawComment)},
		{row(post, org+"/findings/{id}/ticket", roleTriager, writes), formed(changeTicket)},
		{row(post, org+"/triage/preview", roleTriager, reads), formed(previewTriage)},
		{row(post, org+"/triage", roleTriager, writes), formed(decideFindings)},
		{row(post, org+"/triage/undo", roleTriager, writes), formed(undo)},
		{row(post, org+"/tickets", roleTriager, writes), formed(makeTickets)},
		{row(post, org+"/saved-views", roleViewer, writes), addView},
		{row(post, org+"/saved-views/{id}", roleViewer, writes), changeView},
		{row(post, org+"/saved-views/{id}/remove", roleViewer, writes), formed(removeView)},
		{row(get, org+"/scans/{id}/blocking", roleViewer, reads), showBlocking},
	}
}
