package projects

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

// Routes returns the routes of the pages about projects, scans and dependencies.
func Routes() []ui.Route {
	advisories := &known{}
	return slices.Concat(startRoutes(), []ui.Route{
		ui.Row(get, org+"/overview", viewer, reads, overview),
		ui.Row(get, org+"/projects", viewer, reads, listProjects),
		ui.Row(get, org+"/projects/{id}", viewer, reads, showProject),
		ui.Row(post, org+"/projects/{id}", admin, writes, ui.WithForm(updateProject)),
		ui.Row(get, org+"/projects/{id}/delete", admin, reads, ui.Proven(confirmDeleteProject)),
		ui.Row(post, org+"/projects/{id}/delete", admin, writes, ui.Proven(deleteProject)),
		ui.Row(post, org+"/projects/{id}/scan", triager, writes, scanNow),
		ui.Row(get, org+"/scans", viewer, reads, listScans),
		ui.Row(get, org+"/scans/{id}", viewer, reads, showScan),
		ui.Row(get, org+"/supply-chain/dependencies", viewer, reads, listDependencies),
		ui.Row(get, org+"/advisories", viewer, reads, advisories.listAdvisories),
		ui.Row(get, org+"/advisories/{advisory}", viewer, reads, advisories.showAdvisory),
		ui.Row(get, org+"/sbom", viewer, reads, listSBOMs),
		ui.Row(post, org+"/sbom", viewer, reads, ui.WithForm(requestSBOM)),
		ui.Row(get, org+"/sbom/{token}/download", viewer, reads, downloadSBOM),
	})
}

// startRoutes returns the routes of the setup guide and of uploads.
func startRoutes() []ui.Route {
	const start = org + ui.StartPath
	return []ui.Route{
		ui.Row(get, start, viewer, reads, openStart),
		ui.Row(get, start+"/steps", viewer, reads, startSteps),
		ui.Row(post, start+"/token", triager, writes, ui.Proven(ui.WithForm(createStartToken))),
		ui.Row(get, start+"/block", admin, reads, previewFirstBlock),
		ui.Row(post, start+"/block", admin, writes, ui.Proven(ui.WithForm(firstBlock))),
		ui.Row(post, start+"/block-nothing", admin, writes, blockNothing),
		ui.Row(post, start+"/leave", admin, writes, leaveStart),
		ui.Row(get, org+ui.UploadPath, triager, reads, upload),
		ui.Row(post, org+ui.UploadPath, triager, writes, submitUpload),
		ui.Row(get, org+ui.UploadPath+"/{key}", triager, reads, uploaded),
	}
}
