package managed

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listConnections": {
		Summary: "List connections",
		Text:    "The accounts on code hosts, by id, and whether they work. A token that is bound to projects may not.",
	},
	"createConnection": {
		Summary: "Create a connection",
		Text: "Connects a code host, once it has said who the connection is there and what it sees. What the host " +
			"refuses is a " +
			"400 that says so, and nothing is kept. " +
			"The credential is sealed and never told. A token that is bound to projects may not.",
	},
	"getConnection": {Summary: "Get a connection", Text: "A connection by its id."},
	"updateConnection": {
		Summary: "Update a connection",
		Text: "Changes the members that are sent. Another credential is shown to the host first. What the " +
			"connection follows " +
			"then becomes projects at once. Kind and address stay.",
	},
	"deleteConnection": {
		Summary: "Delete a connection",
		Text: "Forgets a connection with its credential, its repositories and what the host told. Webhooks that " +
			"were made from " +
			"here and tell this server are taken back where the host can be asked; those that tell another address stay. " +
			"Projects, findings and scans stay.",
	},
	"testConnection": {
		Summary: "Test a connection",
		Text: "Asks the host now who the connection is and what it sees. What went wrong is the `problem` of the " +
			"answer, which " +
			"is a 200 all the same.",
	},
	"makeWebhooks": {
		Summary: "Make webhooks",
		Text: "Has the host tell this server of pushes, change requests and comments: makes a webhook at each " +
			"repository that is " +
			"a project and has none from here, makes those anew that are silent, are switched off, tell only a part or " +
			"another address, and removes those that nobody knows of. The account must administer those. What the host " +
			"refuses is the `problem` of the answer, which is a 200 all the same; such an answer is not kept under an " +
			"`Idempotency-Key`. The address that hosts call is that of `--public-url`, whatever this request came to; a " +
			"server without one answers 409 and asks no host.",
	},
	"listRepositories": {
		Summary: "List repositories of a connection",
		Text: "What a connection sees on its host, by name, in pages, and which projects that is. Pass `cursor` to " +
			"get the next " +
			"page; it is absent on the last one.",
	},
	"followRepositories": {
		Summary: "Follow repositories",
		Text: "Makes projects of repositories, by names or globs, also of those that were left out before. None " +
			"that fits is a " +
			"404. What is archived or gone is passed over.",
	},
	"unfollowRepositories": {
		Summary: "Unfollow repositories",
		Text: "Parts repositories from their projects, by names or globs, and leaves them out of what the " +
			"connection follows. " +
			"The projects stay, with all that was found. None that fits is a 404.",
	},
	"listDeliveries": {
		Summary: "List webhook deliveries",
		Text: "What a host told by webhooks whose signature held, the newest first, " +
			"and what came of it, in pages. Pass `cursor` to get the next page; it is absent on the last one.",
	},
	"listRuns": {
		Summary: "List managed runs",
		Text: "Managed scans from their queue to their end, the newest first, in pages. Pass `cursor` to get the " +
			"next page; it " +
			"is absent on the last one. A token that is bound to projects sees those of its projects.",
	},
	"startRun": {
		Summary: "Scan a project now",
		Text: "Queues a full scan, or answers the one that waits for the same already. Where no connection has the " +
			"repository it " +
			"is a conflict that says so. " +
			"A runner takes it when one is free: `managed_scan_status` of the project says whether there is any.",
	},
	"getRun": {Summary: "Get a managed run", Text: "A managed run by its id."},
	"getRunLog": {
		Summary: "Read the log of a managed run",
		Text: "What the runner said of the newest attempt, from an offset on. Ask again from `next_offset` " +
			"until `ended` to " +
			"follow it; where `attempt` of the run became another, begin again at 0. Secrets are blanked; 512 KiB are kept.",
	},
	"cancelRun": {
		Summary: "Cancel a managed run",
		Text:    "Ends a run that waits or is under way; its runner stops within seconds. One that has ended is a conflict.",
	},
	"retryRun": {
		Summary: "Retry a managed run",
		Text: "Queues what a run did that ended, anew; of a full one, the newest commit. One that has not ended " +
			"is a conflict.",
	},
	"listRunners": {
		Summary: "List runners",
		Text:    "Who asked for managed runs, and what they work on. A token that is bound to projects may not.",
	},
	"revokeRunner": {
		Summary: "Revoke a runner",
		Text: "Puts the token of a runner out of force and forgets all runners that call with it. What they work on waits " +
			"for another one.",
	},
}
