package findings

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listFindings": {
		Summary: "List code or supply-chain findings",
		Text: "Findings of one issue type, in pages. They are sorted by `relevant_since` and id, descending, or by " +
			"`sort` or a saved `view`. A page past the end is empty. Values of one parameter are combined with OR, " +
			"parameters with AND. Lists can be repeated, comma-separated, or written `name[]`. A filter of the other " +
			"issue type is an error. Unknown parameters are ignored.",
	},
	"countFindings": {
		Summary: "Count findings",
		Text: "Number of findings that match the filters, in total and by each value of the `group_by` members. All " +
			"numbers are of the same state. A count is the number of listed findings with the value.",
	},
	"listFindingChanges": {
		Summary: "List changed findings",
		Text: "Without `cursor`, all findings of every issue type, by id. With it, the findings that changed since, " +
			"and the ids of removed ones. Clients without a cursor that read the findings otherwise start with " +
			"`updated_since`. To mirror the lists, repeat the call with the last response's cursor, store `changed` " +
			"and delete `removed`. A cursor or time that is too old is a conflict. So is a cursor of changes that " +
			"a restored backup lost. Start over without one. Tokens that are restricted to projects are " +
			"rejected, because removals from their projects cannot be reported.",
	},
	"exportFindings": {
		Summary: "Export findings",
		Text: "All findings that match the filters, streamed in one response. Formats are a table (CSV, XLSX), JSON " +
			"Lines of listed findings with a leading `issue_type`, or SARIF with a run per issue type and " +
			"project. The findings are selected when the export starts. Cells that a spreadsheet would evaluate are " +
			"written as text. If the connection ends early, the export is incomplete.",
	},
	"search": {
		Summary: "Search by name or number",
		Text: "Findings by number; vulnerabilities, projects, packages, rules and saved views by words of their " +
			"names. `limit` applies to each kind, best hits first. Rules (of code and secrets) and packages are " +
			"included if they have findings. A token that is restricted to projects finds these projects and the " +
			"names in their findings, but no saved views. To search the texts of findings, list them.",
	},
	"getFinding": {
		Summary: "Get a finding",
		Text:    "A finding of any issue type by its id. Members of other types are absent.",
	},
	"getEvidence": {
		Summary: "Get the evidence of a finding",
		Text: "Code, data flow, dependency path, outcomes of other findings of the rule, and the finding on other " +
			"refs.",
	},
	"getFindingHistory": {
		Summary: "Get the history of a finding",
		Text: "Events, oldest first: results of scans, decisions with their authors, and comments; also the finding " +
			"on other refs. The history of a removed finding remains available, although no list contains it. Its " +
			"last event has the reason, such as a withdrawn advisory, and merged_into is the finding into which it " +
			"was merged, if any.",
	},
	"annotateFinding": {
		Summary: "Annotate a finding",
		Text: "Sets data that scanners do not report: assistant results, ticket, review comments, fixing change " +
			"requests, exploit probability and reachability. It applies to the finding on all its refs. Absent " +
			"members are unchanged; `null` and empty lists clear.",
	},
	"triageFindings": {
		Summary: "Triage findings in bulk",
		Text: "Sets a state, adds a note, or assigns a user. It applies to the newest matching findings, at most " +
			"`limit`, and to the same findings on all other refs. Ids and filters are combined with AND. A request " +
			"without ids and filters is an error, and so are unknown members. All findings are triaged or none. " +
			"`dry_run` returns the findings that would be triaged and a `selection`. A request with this selection " +
			"applies exactly this change or none.",
	},
	"createTickets": {
		Summary: "Create tickets for findings",
		Text: "Creates tickets in an issue tracker: in the repository of each finding's project, or where the " +
			"request or the deployment's setting says. Findings of one rule in one project share a ticket, unless " +
			"`group_issues` is false. Requests are stored and processed by a job; the response waits some seconds " +
			"for it. A finding has at most one ticket on all its refs: findings with a ticket are skipped.",
	},
	"linkTicket": {
		Summary: "Link findings to a ticket",
		Text: "Links findings, on all their refs, to the ticket at a URL, without a request to the URL. If a " +
			"connection can access the tracker, the ticket's state is updated regularly. A previous ticket is " +
			"replaced.",
	},
	"unlinkTicket": {
		Summary: "Unlink findings from their ticket",
		Text:    "Removes the link. The issue in the tracker is unchanged.",
	},
	"deleteTicket": {
		Summary: "Delete a ticket",
		Text: "Unlinks all findings of a ticket and deletes it. The issue in the tracker is unchanged. If a token " +
			"cannot see all of its findings, the response is a 404.",
	},
	"listTickets": {
		Summary: "List tickets",
		Text: "Linked and requested tickets, by id, in pages. A token that is restricted to projects sees the " +
			"tickets of its projects' findings, with only these findings.",
	},
	"getTicket": {Summary: "Get a ticket", Text: "A ticket by its id, with the state that the tracker last reported."},
	"getTicketSettings": {
		Summary: "Get the ticket settings",
		Text: "Where the deployment's tickets are created: the connection, the project, the issue type and the " +
			"labels.",
	},
	"setTicketSettings": {
		Summary: "Replace the ticket settings",
		Text: "Replaces where the deployment's tickets are created. Absent members are set to their default. After " +
			"an empty body, tickets are created in the repository of each finding's project.",
	},
	"searchIssues": {
		Summary: "Search findings in the assistants' format",
		Text: "The newest code or supply-chain findings that match, in the format of the hosted service's " +
			"assistants. Members of the filter are combined with AND, values of a member with OR. Without `refs` and " +
			"`on_primary_branch`, all refs are searched.",
	},
	"listVulns": {
		Summary: "List supply-chain findings in the older format",
		Text: "Matching supply-chain findings, newest first, for scripts that are older than `issue_type=sca`. Pass " +
			"`cursor` to get the next page while `hasMore`, or increment `page`.",
	},
	"listSecrets": {
		Summary: "List secrets",
		Text:    "Credentials found in repositories, by id. The credential itself is never stored.",
	},
	"listSavedViews": {
		Summary: "List saved views",
		Text: "Saved lists of findings, by name: those of the token's creator and those of the deployment. Tokens " +
			"that are restricted to projects are rejected; they can list findings with the id of a view as `view`.",
	},
	"createSavedView": {
		Summary: "Create a saved view",
		Text: "Stores the query of a findings page under a name: filters, order, groups and columns. A view of the " +
			"same owner with the same name, case-insensitive, is a conflict. So is a view over the limits: 100 per " +
			"user, 200 shared.",
	},
	"getSavedView": {
		Summary: "Get a saved view",
		Text:    "A view by its id: a view of the token's creator or a shared view.",
	},
	"updateSavedView": {
		Summary: "Update a saved view",
		Text: "Changes the members that are sent, of a view of the token's creator or of a shared view. `default` " +
			"applies only to the token's creator.",
	},
	"deleteSavedView": {
		Summary: "Delete a saved view",
		Text:    "Deletes a view. Pages for which it was the default open with all open findings again.",
	},
	"listFindingComments": {
		Summary: "List the comments on a finding",
		Text: "Comments by users on a finding, on all its refs, oldest first, in pages. Pass `cursor` to get the " +
			"next page; it is absent on the last page. Withdrawn comments are listed without their text.",
	},
	"addFindingComment": {
		Summary: "Comment on a finding",
		Text: "Adds a plain-text comment to a finding on all its refs, without a decision. Viewers can comment. " +
			"Mentioned users of the deployment, as @ben, at most 20, are notified; other names are text. The limits " +
			"are 500 comments per finding and 300 per user in 24 hours; a comment over a limit is a conflict.",
	},
	"withdrawFindingComment": {
		Summary: "Withdraw a comment on a finding",
		Text: "Deletes the text and the mentions of a comment; its entry remains. The token's creator can withdraw " +
			"their own comments, an administrator any. A withdrawn comment is a conflict.",
	},
}
