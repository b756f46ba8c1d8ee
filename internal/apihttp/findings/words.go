package findings

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"listFindings": {
		Summary: "List code or supply-chain findings",
		Text: "Findings of one issue type by `relevant_since` and id, " +
			"descending, or as `sort` or a saved `view` says, in pages. A page past the end is empty. " +
			"Values of one parameter are or-ed, parameters and-ed; lists may be repeated, joined by commas, or written " +
			"`name[]`. A filter of the other issue type is an error. Unknown parameters are ignored.",
	},
	"countFindings": {
		Summary: "Count findings",
		Text: "How many findings the filters select, in all and by each value of what " +
			"`group_by` names, in one answer of one state. A count is how many findings of the listing have the value.",
	},
	"listFindingChanges": {
		Summary: "Follow what changes",
		Text: "Without `cursor`, all findings by id, of every issue type; with it, " +
			"those that changed since, and the ids of those that went away. Who has no cursor yet but findings that were read " +
			"some other way begins with `updated_since`. Who calls it again and again with the cursor of the last " +
			"answer, puts " +
			"in what changed and takes out what was removed, has what the lists have. " +
			"A cursor or time that is too old, or a cursor of changes that were lost as a backup was restored, is a conflict: " +
			"begin anew. A token that is bound to projects may not, since it could not be told what left them.",
	},
	"exportFindings": {
		Summary: "Export findings",
		Text: "All findings that the filters select, in one answer that is sent as it is " +
			"made: as a table (CSV, XLSX), as JSON Lines with `issue_type` in front of what the listing answers, or as SARIF " +
			"with a run for each issue type and project. " +
			"What is selected is settled when the export begins. Cells that a spreadsheet would compute are made text. A " +
			"connection that ends early means that the export is not whole.",
	},
	"search": {
		Summary: "Search by name or number",
		Text: "Findings by their number, and vulnerabilities, projects, packages, rules " +
			"and saved views by words of their names; limit of each kind, the best first. Rules, of code and secrets, and " +
			"packages are those that findings have. " +
			"A token that is bound to projects finds these, what their findings have, and no saved views. What " +
			"findings say is " +
			"searched by their list.",
	},
	"getFinding": {
		Summary: "Get one finding",
		Text:    "A finding of any issue type by its id. Members of other types are absent.",
	},
	"getEvidence": {
		Summary: "Get what to judge a finding by",
		Text: "The code, the flow of data, how the package gets in, what became of other findings of the rule, " +
			"and the finding " +
			"on other refs.",
	},
	"getFindingHistory": {
		Summary: "Get what happened to a finding",
		Text: "Its trail, oldest first: when scans found it, lost it, saw it again or at another place, who " +
			"decided what about " +
			"it and what was said; and the finding on other refs. Of a finding that was removed, and is in no list, the trail " +
			"stays: its last event says why, as that the advisory was withdrawn, and merged_into names the finding that it is " +
			"part of now, if it is.",
	},
	"annotateFinding": {
		Summary: "Annotate a finding",
		Text: "Writes what no scanner brings: assistant, ticket, review comments, fixing change requests, exploit " +
			"probability, " +
			"reachability. " +
			"It is written to the finding on all its refs. Absent members stay; `null` and empty lists clear.",
	},
	"triageFindings": {
		Summary: "Triage findings in bulk",
		Text: "Sets a state, adds a note, or assigns to a user the newest findings " +
			"that match, at most `limit`, and to the same findings on all other refs. Ids and filters together mean those " +
			"that match both. " +
			"Neither ids nor any filter is an error, as is any unknown member. All or nothing. `dry_run` tells what would be " +
			"triaged, and its `selection`, sent with the request, has just that done or nothing.",
	},
	"createTickets": {Summary: "Create tickets about findings", Text: "Has tickets made in an issue tracker: in the " +
		"repository of each " +
		"finding's project, or where the deployment's setting or the request says. Findings of one rule in one project get " +
		"one ticket together, unless `group_issues` is false. " +
		"What is asked for is kept, and made by a job; the answer waits some seconds for it. A finding has one ticket at " +
		"most, on all its refs: one that has is skipped."},
	"linkTicket": {
		Summary: "Link findings to a ticket",
		Text: "Links findings, on all their refs, to the ticket at an address, which is not asked. Where a " +
			"connection reaches " +
			"its tracker, its state is read now and then. A ticket that they were linked to before is replaced.",
	},
	"unlinkTicket": {
		Summary: "Unlink findings from their ticket",
		Text:    "Takes the link away. The ticket in its tracker stays as it is.",
	},
	"deleteTicket": {
		Summary: "Forget a ticket",
		Text: "Unlinks all findings of a ticket and forgets it. In its tracker it stays as it is. A token that " +
			"may not see all " +
			"of its findings gets a 404.",
	},
	"listTickets": {
		Summary: "List tickets",
		Text: "Tickets that findings are linked to, or that were asked for, by id, in " +
			"pages. A token that is bound to projects sees those about its projects' findings, with these alone.",
	},
	"getTicket": {Summary: "Get a ticket", Text: "A ticket by its id, with its state as the tracker told last."},
	"getTicketSettings": {
		Summary: "Get the settings of tickets",
		Text: "Where the deployment's tickets are created: by which connection, in which project, with which " +
			"type and labels.",
	},
	"setTicketSettings": {
		Summary: "Set the settings of tickets",
		Text: "Replaces where the deployment's tickets are created. Absent " +
			"members take their default; an empty body has tickets created in the repository of each finding's project.",
	},
	"searchIssues": {
		Summary: "Search findings, as assistants do",
		Text: "The newest code or supply-chain findings that match, in the words of the hosted service's " +
			"assistants. Members of " +
			"the filter are and-ed, values of one or-ed. " +
			"Without `refs` and `on_primary_branch` it is about all refs.",
	},
	"listVulns": {
		Summary: "List supply-chain findings, in the older shape",
		Text: "The supply-chain findings that match, newest first, as scripts read them that are older than " +
			"`issue_type=sca`. " +
			"Pass `cursor` to get the next page while `hasMore`, or count `page` up.",
	},
	"listSecrets": {
		Summary: "List secrets",
		Text:    "Credentials found in repositories, by id. The credential itself is never kept.",
	},
	"listSavedViews": {
		Summary: "List saved views",
		Text: "Lists of findings that people come back to: those of whoever made the token, and those of the " +
			"deployment, by " +
			"name. A token that is bound to projects may not; it may list findings by the `view` whose id it is told.",
	},
	"createSavedView": {
		Summary: "Create a saved view",
		Text: "Keeps the query of a findings page under a name: its filters, order, groups and columns. Another " +
			"view of the same " +
			"owner that has the name, in any case, is a conflict, and so is one view too many: 100 a person, 200 " +
			"that are shared.",
	},
	"getSavedView": {Summary: "Get a saved view", Text: "A view by its id: one's own, or one that is shared."},
	"updateSavedView": {
		Summary: "Update a saved view",
		Text: "Changes the members that are sent, of one's own view or of one that is shared. `default` is about " +
			"whoever made " +
			"the token alone.",
	},
	"deleteSavedView": {
		Summary: "Delete a saved view",
		Text:    "Forgets a view. Pages that opened with it open with what is open again.",
	},
	"listFindingComments": {
		Summary: "List the comments on a finding",
		Text: "What people wrote about a finding, on all its refs, the oldest first, in pages. Pass `cursor` to " +
			"get the next " +
			"page; it is absent on the last one. Those that were withdrawn are listed without their text.",
	},
	"addFindingComment": {
		Summary: "Comment on a finding",
		Text: "Writes a comment, as plain text, on a finding and so on all its refs. Viewers may. It decides " +
			"nothing. Users of " +
			"the deployment whom it names, as @ben, at most 20, are told; any other name is text. " +
			"A finding has 500 comments, and a person writes 300 in 24 hours: one more is a conflict.",
	},
	"withdrawFindingComment": {
		Summary: "Withdraw a comment on a finding",
		Text: "Forgets the text of a comment and whom it mentions; that there was one stays. The maker of the " +
			"token withdraws " +
			"their own, an administrator any. One that was withdrawn already is a conflict.",
	},
}
