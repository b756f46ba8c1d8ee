package web

import "slices"

// projectsRoutes returns the table of the pages about projects, scans and dependencies.
func projectsRoutes() []route {
	advisories := &known{}
	return slices.Concat(startRoutes(), []route{
		{row(get, org+"/overview", roleViewer, reads), overview},
		{row(get, org+"/projects", roleViewer, reads), listProjects},
		{row(get, org+"/projects/{id}", roleViewer, reads), showProject},
		{row(post, org+"/projects/{id}", roleAdmin, writes), formed(updateProject)},
		{row(get, org+"/projects/{id}/delete", roleAdmin, reads), proven(askDeleteProject)},
		{row(post, org+"/projects/{id}/delete", roleAdmin, writes), proven(deleteProject)},
		{row(post, org+"/projects/{id}/scan", roleTriager, writes), scanNow},
		{row(get, org+"/scans", roleViewer, reads), listScans},
		{row(get, org+"/scans/{id}", roleViewer, reads), showScan},
		{row(get, org+"/supply-chain/dependencies", roleViewer, reads), listDependencies},
		{row(get, org+"/advisories", roleViewer, reads), advisories.listAdvisories},
		{row(get, org+"/advisories/{advisory}", roleViewer, reads), advisories.showAdvisory},
		{row(get, org+"/sbom", roleViewer, reads), listSBOMs},
		{row(post, org+"/sbom", roleViewer, reads), formed(requestSBOM)},
		{row(get, org+"/sbom/{token}/download", roleViewer, reads), downloadSBOM},
	})
}

// startRoutes are the rows about the first start, and about uploads.
func startRoutes() []route {
	const start = org + startPath
	return []route{
		{row(get, start, roleViewer, reads), openStart},
		{row(get, start+"/steps", roleViewer, reads), startSteps},
		{row(post, start+"/token", roleTriager, writes), proven(formed(createStartToken))},
		{row(get, start+"/block", roleAdmin, reads), askFirstBlock},
		{row(post, start+"/block", roleAdmin, writes), proven(formed(firstBlock))},
		{row(post, start+"/block-nothing", roleAdmin, writes), blockNothing},
		{row(post, start+"/leave", roleAdmin, writes), leaveStart},
		{row(get, org+uploadPath, roleTriager, reads), upload},
		{row(post, org+uploadPath, roleTriager, writes), takeUpload},
		{row(get, org+uploadPath+"/{key}", roleTriager, reads), uploaded},
	}
}
