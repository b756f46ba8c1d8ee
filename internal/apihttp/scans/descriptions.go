package scans

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"searchScans": {
		Summary: "Search scans",
		Text: "Scans by `started_at`, descending. Pass `cursor` to get the next page; it is absent on the last page. " +
			"Beta.",
	},
	"getScan": {
		Summary: "Get a scan",
		Text:    "A scan by its id, with its scope. Its ids are numbers, unlike those of the search.",
	},
	"listSnippets": {
		Summary: "List locations that need code",
		Text: "Locations of a scan's findings, for which the build with the checkout can upload code, and of " +
			"secrets, which the code must not include.",
	},
	"putSnippets": {
		Summary: "Upload code around findings",
		Text: "Stores the lines around findings of a scan, in place of the stored ones. Strings that look like " +
			"secrets are removed before storage, although clients should do so too. Findings that moved since the " +
			"scan are skipped. If the deployment stores no code, the request is rejected.",
	},
	"importReports": {
		Summary: "Import reports",
		Text: "Imports scanner reports and lockfiles. The body is a multipart form with its fields before its files, " +
			"or a raw body with query parameters; both can be gzip. The format is detected. All files are imported " +
			"or none. A broken item is rejected on its own, unless `strict` is set or all items are broken. An " +
			"unknown format is a 400.",
	},
}
