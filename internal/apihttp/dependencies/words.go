package dependencies

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listDependencies": {
		Summary: "List dependencies",
		Text: "What is in force on the primary branches, one row for each project, " +
			"lockfile, package and version, by id. Members of the filter are and-ed, entries of `packageFilters` or-ed. " +
			"Pass `cursor` to get the next page while `hasMore`; with other filters it is refused.",
	},
	"listDependencyRepositories": {
		Summary: "List projects with dependencies",
		Text: "The projects whose primary branch has dependencies that pass the filter, and how many, by id. " +
			"Pass `cursor` to " +
			"get the next page while `hasMore`; with other filters it is refused.",
	},
	"listLockfiles": {
		Summary: "List lockfiles of a project",
		Text:    "The lockfiles of a project's primary branch with dependencies that pass the filter, and how many.",
	},
	"createSBOMExport": {
		Summary: "Start an SBOM export",
		Text:    "Stores the job and answers at once. Ask for its status with the task token.",
	},
	"getSBOMExport": {
		Summary: "Get the status of an SBOM export",
		Text:    "Once it is complete, `downloadUrl` serves the document.",
	},
	"downloadSBOM": {
		Summary: "Download an SBOM",
		Text: "Serves the document with its own media type. The address is signed and needs no token; it comes " +
			"from the status " +
			"of the export, with its `expires` and `signature`: one that is altered or over is a 403.",
	},
	"getAdvisory": {
		Summary: "Get an advisory",
		Text:    "What the advisories that were loaded know of a vulnerability, by any of its ids in any case.",
	},
	"getAdvisoryImpact": {
		Summary: "Get the impact of an advisory",
		Text: "Who has a vulnerability, where, since when and what to upgrade to: its findings, whoever found them, " +
			"on every ref. " +
			"Pass `cursor` to get the next page; it is absent on the last one.",
	},
}
