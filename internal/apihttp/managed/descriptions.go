package managed

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listConnections": {
		Summary: "List connections",
		Text: "Accounts on code hosts, by id, with their last error. Tokens that are restricted to projects are " +
			"rejected.",
	},
	"createConnection": {
		Summary: "Create a connection",
		Text: "Connects a code host after a test that returns the connection's account and its repositories. If the " +
			"host rejects it, the response is a 400 with the reason and nothing is stored. The credential is stored " +
			"encrypted and never returned. Tokens that are restricted to projects are rejected.",
	},
	"getConnection": {Summary: "Get a connection", Text: "A connection by its id."},
	"updateConnection": {
		Summary: "Update a connection",
		Text: "Changes the members that are sent. A new credential is tested with the host first. Repositories that " +
			"newly match the globs become projects at once. Kind and URL cannot be changed.",
	},
	"deleteConnection": {
		Summary: "Delete a connection",
		Text: "Deletes a connection with its credential, its repositories and its deliveries. Webhooks created by " +
			"Redoubt that point to this server are deleted if the host is reachable; those that point to another URL " +
			"remain. Projects, findings and scans remain.",
	},
	"testConnection": {
		Summary: "Test a connection",
		Text: "Reads the connection's account and repositories from the host. The status is 200 even if the test " +
			"fails; `problem` contains the error.",
	},
	"makeWebhooks": {
		Summary: "Create webhooks",
		Text: "Creates a webhook for pushes, change requests and comments at each followed repository that has none " +
			"from Redoubt. Webhooks that are silent, disabled, incomplete or point to another URL are recreated, and " +
			"unknown ones with this server's URL are deleted. The account must administer the repositories. The " +
			"status is 200 even if the host rejects a request; `problem` contains the error. Such a response is not " +
			"stored under an `Idempotency-Key`. The URL of the webhooks is derived from `--public-url`, regardless of " +
			"this request's URL. A server without it returns 409 and sends no request to the host.",
	},
	"listRepositories": {
		Summary: "List repositories of a connection",
		Text: "Repositories that a connection can access, by name, in pages, with their projects. Pass `cursor` to " +
			"get the next page; it is absent on the last page.",
	},
	"followRepositories": {
		Summary: "Follow repositories",
		Text: "Creates projects for repositories, by names or globs, including those that were unfollowed. If none " +
			"matches, the response is a 404. Archived and deleted repositories are skipped.",
	},
	"unfollowRepositories": {
		Summary: "Unfollow repositories",
		Text: "Detaches repositories from their projects, by names or globs, and excludes them from automatic " +
			"following. The projects and their data remain. If none matches, the response is a 404.",
	},
	"listDeliveries": {
		Summary: "List webhook deliveries",
		Text: "Webhook deliveries with a valid signature and their results, newest first, in pages. Pass `cursor` to " +
			"get the next page; it is absent on the last page.",
	},
	"listRuns": {
		Summary: "List managed runs",
		Text: "Queued, active and ended managed scans, newest first, in pages. Pass `cursor` to get the next page; " +
			"it is absent on the last page. A token that is restricted to projects sees the runs of its projects.",
	},
	"startRun": {
		Summary: "Scan a project now",
		Text: "Queues a full scan, or returns the queued run of the same scan. If no connection has the repository, " +
			"the response is a conflict with the remedy. The next free runner performs it: `managed_scan_status` of " +
			"the project shows whether there is a runner.",
	},
	"getRun": {Summary: "Get a managed run", Text: "A managed run by its id."},
	"getRunLog": {
		Summary: "Read the log of a managed run",
		Text: "Log of the newest attempt, from an offset. To follow it, repeat the call with `next_offset` until " +
			"`ended`. If `attempt` of the run changes, start over at 0. Secrets are redacted; 512 KiB are stored.",
	},
	"cancelRun": {
		Summary: "Cancel a managed run",
		Text:    "Cancels a queued or active run; its runner stops within seconds. An ended run is a conflict.",
	},
	"retryRun": {
		Summary: "Retry a managed run",
		Text: "Queues a new run with the parameters of an ended one; a full run uses the newest commit. An active run " +
			"is a conflict.",
	},
	"listRunners": {
		Summary: "List runners",
		Text: "Runners that requested managed runs, with their current run. Tokens that are restricted to projects " +
			"are rejected.",
	},
	"revokeRunner": {
		Summary: "Revoke a runner",
		Text:    "Revokes the token of a runner and deletes all its runners. Their runs wait for another runner.",
	},
}
