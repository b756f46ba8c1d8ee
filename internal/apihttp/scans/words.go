package scans

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"searchScans": {
		Summary: "Search scans",
		Text:    "Scans by `started_at`, descending. Pass `cursor` to get the next page; it is absent on the last one. Beta.",
	},
	"getScan": {
		Summary: "Get a scan",
		Text:    "A scan by its id, with what it looked at. Its ids are numbers, unlike those of the search.",
	},
	"listSnippets": {
		Summary: "List where code is wanted",
		Text: "Where the findings of a scan are, so that the build that has the checkout can send the code " +
			"around them, and " +
			"where secrets are, which must not be in it.",
	},
	"putSnippets": {
		Summary: "Send code around findings",
		Text: "Keeps the lines around findings of a scan in the place of what was kept of them. What looks " +
			"like a secret is " +
			"taken out before anything is written, though the sender should have done so. " +
			"Findings that are no longer where the sender saw them are skipped. Refused where the deployment keeps no code.",
	},
	"importReports": {
		Summary: "Import reports",
		Text: "Takes the reports of scanners and lockfiles in: as a multipart form with its " +
			"fields before its files, or as a raw body with query parameters; either may be gzip. " +
			"The format is detected. All files count or none; a broken item is refused and loses nothing else, " +
			"unless `strict` " +
			"or unless all are. A format that is not read is a 400.",
	},
}
