package dependencies

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listDependencies": {
		Summary: "List dependencies",
		Text: "Current dependencies of the primary branches, by id: one entry for each project, lockfile, package " +
			"and version. Members of the filter are combined with AND, entries of `packageFilters` with OR. Pass " +
			"`cursor` to get the next page while `hasMore`; with other filters it is rejected.",
	},
	"listDependencyRepositories": {
		Summary: "List projects with dependencies",
		Text: "Projects whose primary branch has dependencies that match the filter, with their number, by id. Pass " +
			"`cursor` to get the next page while `hasMore`; with other filters it is rejected.",
	},
	"listLockfiles": {
		Summary: "List lockfiles of a project",
		Text:    "Lockfiles of a project's primary branch with dependencies that match the filter, with their number.",
	},
	"createSBOMExport": {
		Summary: "Start an SBOM export",
		Text:    "Queues the export and returns at once. Get its status with the task token.",
	},
	"getSBOMExport": {
		Summary: "Get the status of an SBOM export",
		Text:    "When the export is complete, `downloadUrl` is the address of the document.",
	},
	"downloadSBOM": {
		Summary: "Download an SBOM",
		Text: "Returns the document with its own media type. The URL comes from the status of the export, with " +
			"`expires` and `signature`, and needs no token. An altered or expired URL is a 403.",
	},
	"getAdvisory": {
		Summary: "Get an advisory",
		Text:    "Loaded advisory data of a vulnerability, by any of its ids, case-insensitive.",
	},
	"getAdvisoryImpact": {
		Summary: "Get the impact of an advisory",
		Text: "Findings of a vulnerability from all sources and on every ref, with their project, location, date and " +
			"recommended version. Pass `cursor` to get the next page; it is absent on the last page.",
	},
}
