package web

import "slices"

// projectsRoutes returns the table of the pages about projects, scans and dependencies.
func projectsRoutes() []route {
	advisories := &known{}
	return slices.Concat(startRoutes(), []route{
		{row(get, org+"/overview", viewer, reads), overview},
		{row(get, org+"/projects", viewer, reads), listProjects},
		{row(get, org+"/projects/{id}", viewer, reads), showProject},
		{row(post, org+"/projects/{id}", admin, writes), formed(updateProject)},
		{row(get, org+"/projects/{id}/delete", admin, reads), proven(askDeleteProject)},
		{row(post, org+"/projects/{id}/delete", admin, writes), proven(deleteProject)},
		{row(post, org+"/projects/{id}/scan", triager, writes), scanNow},
		{row(get, org+"/scans", viewer, reads), listScans},
		{row(get, org+"/scans/{id}", viewer, reads), showScan},
		{row(get, org+"/supply-chain/dependencies", viewer, reads), listDependencies},
		{row(get, org+"/advisories", viewer, reads), advisories.listAdvisories},
		{row(get, org+"/advisories/{advisory}", viewer, reads), advisories.showAdvisory},
		{row(get, org+"/sbom", viewer, reads), listSBOMs},
		{row(post, org+"/sbom", viewer, reads), formed(requestSBOM)},
		{row(get, org+"/sbom/{token}/download", viewer, reads), downloadSBOM},
	})
}

// startRoutes are the rows about the first start, and about uploads.
func startRoutes() []route {
	const start = org + startPath
	return []route{
		{row(get, start, viewer, reads), openStart},
		{row(get, start+"/steps", viewer, reads), startSteps},
		{row(post, start+"/token", triager, writes), proven(formed(createStartToken))},
		{row(get, start+"/block", admin, reads), askFirstBlock},
		{row(post, start+"/block", admin, writes), proven(formed(firstBlock))},
		{row(post, start+"/block-nothing", admin, writes), blockNothing},
		{row(post, start+"/leave", admin, writes), leaveStart},
		{row(get, org+uploadPath, triager, reads), upload},
		{row(post, org+uploadPath, triager, writes), takeUpload},
		{row(get, org+uploadPath+"/{key}", triager, reads), uploaded},
	}
}
