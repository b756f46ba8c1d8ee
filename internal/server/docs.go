package server

// tags are the parts of the API, in the order of openapi.json.
var tags = []struct{ name, words string }{
	{"deployments", "The deployment that a token belongs to."},
	{"findings", "What scanners found: code, supply chain and secrets; listing, triage and annotations."},
	{"projects", "Repositories and their settings."},
	{"dependencies", "What the primary branches depend on, and bills of materials of it."},
	{"scans", "Runs of scanners, and handing in their reports."},
	{"policies", "Rules, and what their findings do to a build."},
	{"managed", "Connections to code hosts, and the scans that runners make of their repositories."},
	{"notifications", "Rules by which people are told of what happens: by webhook, chat and mail."},
}

// routeDoc describes an operation: a title of a few words, and what to know.
type routeDoc struct{ summary, text string }

// described are the texts of every route, by its id.
var described = map[string]routeDoc{
	"ping": {"Ping", "Answers an empty object. Needs no token."},
	"listDeployments": {
		"List deployments",
		"Answers the one deployment that the token belongs to: its id and slug are what all other paths take, in " +
			"either place.",
	},
	"listDeploymentsV2": {
		"List deployments, second version",
		"The same as the first version answers, where clients of the hosted service ask for it.",
	},
	"getDeployment": {
		"Get the deployment",
		"The deployment that the token belongs to, as the list has it. Any other is a 404.",
	},
	"pingAgent": {"Ping, as agents do", "Answers an empty object. Needs no token."},
	"checkHealth": {
		"Check that the server answers",
		"Says that the process runs, as clients of the hosted service ask. Needs no token. `/readyz` says whether the " +
			"database does.",
	},
	"getMe": {
		"Get who the token is",
		"What the token may do, until when, who made it and which deployment it belongs to.",
	},

	"listFindings": {"List code or supply-chain findings", "Findings of one issue type by `relevant_since` and id, " +
		"descending, or as `sort` or a saved `view` says, in pages. A page past the end is empty. " +
		"Values of one parameter are or-ed, parameters and-ed; lists may be repeated, joined by commas, or written " +
		"`name[]`. A filter of the other issue type is an error. Unknown parameters are ignored."},
	"countFindings": {"Count findings", "How many findings the filters select, in all and by each value of what " +
		"`group_by` names, in one answer of one state. A count is how many findings of the listing have the value."},
	"listFindingChanges": {"Follow what changes", "Without `cursor`, all findings by id, of every issue type; with it, " +
		"those that changed since, and the ids of those that went away. Who has no cursor yet but findings that were read " +
		"some other way begins with `updated_since`. Who calls it again and again with the cursor of the last answer, puts " +
		"in what changed and takes out what was removed, has what the lists have. " +
		"A cursor or time that is too old, or a cursor of changes that were lost as a backup was restored, is a conflict: " +
		"begin anew. A token that is bound to projects may not, since it could not be told what left them."},
	"exportFindings": {"Export findings", "All findings that the filters select, in one answer that is sent as it is " +
		"made: as a table (CSV, XLSX), as JSON Lines with `issue_type` in front of what the listing answers, or as SARIF " +
		"with a run for each issue type and project. " +
		"What is selected is settled when the export begins. Cells that a spreadsheet would compute are made text. A " +
		"connection that ends early means that the export is not whole."},
	"search": {"Search by name or number", "Findings by their number, and vulnerabilities, projects, packages, rules " +
		"and saved views by words of their names; limit of each kind, the best first. Rules, of code and secrets, and " +
		"packages are those that findings have. " +
		"A token that is bound to projects finds these, what their findings have, and no saved views. What findings say is " +
		"searched by their list."},
	"getFinding": {"Get one finding", "A finding of any issue type by its id. Members of other types are absent."},
	"getEvidence": {
		"Get what to judge a finding by",
		"The code, the flow of data, how the package gets in, what became of other findings of the rule, and the finding " +
			"on other refs.",
	},
	"getFindingHistory": {
		"Get what happened to a finding",
		"Its trail, oldest first: when scans found it, lost it, saw it again or at another place, who decided what about " +
			"it and what was said; and the finding on other refs. Of a finding that was removed, and is in no list, the trail " +
			"stays: its last event says why, as that the advisory was withdrawn, and merged_into names the finding that it is " +
			"part of now, if it is.",
	},
	"annotateFinding": {
		"Annotate a finding",
		"Writes what no scanner brings: assistant, ticket, review comments, fixing change requests, exploit probability, " +
			"reachability. " +
			"It is written to the finding on all its refs. Absent members stay; `null` and empty lists clear.",
	},
	"triageFindings": {"Triage findings in bulk", "Sets a state, adds a note, or assigns to a user the newest findings " +
		"that match, at most `limit`, and to the same findings on all other refs. Ids and filters together mean those " +
		"that match both. " +
		"Neither ids nor any filter is an error, as is any unknown member. All or nothing. `dry_run` tells what would be " +
		"triaged, and its `selection`, sent with the request, has just that done or nothing."},
	"createTickets": {"Create tickets about findings", "Has tickets made in an issue tracker: in the repository of each " +
		"finding's project, or where the deployment's setting or the request says. Findings of one rule in one project get " +
		"one ticket together, unless `group_issues` is false. " +
		"What is asked for is kept, and made by a job; the answer waits some seconds for it. A finding has one ticket at " +
		"most, on all its refs: one that has is skipped."},
	"linkTicket": {
		"Link findings to a ticket",
		"Links findings, on all their refs, to the ticket at an address, which is not asked. Where a connection reaches " +
			"its tracker, its state is read now and then. A ticket that they were linked to before is replaced.",
	},
	"unlinkTicket": {
		"Unlink findings from their ticket",
		"Takes the link away. The ticket in its tracker stays as it is.",
	},
	"deleteTicket": {
		"Forget a ticket",
		"Unlinks all findings of a ticket and forgets it. In its tracker it stays as it is. A token that may not see all " +
			"of its findings gets a 404.",
	},
	"listTickets": {"List tickets", "Tickets that findings are linked to, or that were asked for, by id, in " +
		"pages. A token that is bound to projects sees those about its projects' findings, with these alone."},
	"getTicket": {"Get a ticket", "A ticket by its id, with its state as the tracker told last."},
	"getTicketSettings": {
		"Get the settings of tickets",
		"Where the deployment's tickets are created: by which connection, in which project, with which type and labels.",
	},
	"setTicketSettings": {"Set the settings of tickets", "Replaces where the deployment's tickets are created. Absent " +
		"members take their default; an empty body has tickets created in the repository of each finding's project."},
	"searchIssues": {
		"Search findings, as assistants do",
		"The newest code or supply-chain findings that match, in the words of the hosted service's assistants. Members of " +
			"the filter are and-ed, values of one or-ed. " +
			"Without `refs` and `on_primary_branch` it is about all refs.",
	},
	"listVulns": {
		"List supply-chain findings, in the older shape",
		"The supply-chain findings that match, newest first, as scripts read them that are older than `issue_type=sca`. " +
			"Pass `cursor` to get the next page while `hasMore`, or count `page` up.",
	},
	"listSecrets": {"List secrets", "Credentials found in repositories, by id. The credential itself is never kept."},

	"listSavedViews": {
		"List saved views",
		"Lists of findings that people come back to: those of whoever made the token, and those of the deployment, by " +
			"name. A token that is bound to projects may not; it may list findings by the `view` whose id it is told.",
	},
	"createSavedView": {
		"Create a saved view",
		"Keeps the query of a findings page under a name: its filters, order, groups and columns. Another view of the same " +
			"owner that has the name, in any case, is a conflict, and so is one view too many: 100 a person, 200 " +
			"that are shared.",
	},
	"getSavedView": {"Get a saved view", "A view by its id: one's own, or one that is shared."},
	"updateSavedView": {
		"Update a saved view",
		"Changes the members that are sent, of one's own view or of one that is shared. `default` is about whoever made " +
			"the token alone.",
	},
	"deleteSavedView": {"Delete a saved view", "Forgets a view. Pages that opened with it open with what is open again."},

	"listProjects":  {"List projects", "Projects by name, in pages. A page past the end is empty."},
	"createProject": {"Create a project", "Makes a project before its first scan does."},
	"getProject": {
		"Get a project",
		"A project by its name, which may be written with slashes or `%2F`. Old names keep answering until another " +
			"project takes them.",
	},
	"updateProject": {"Update a project", "Changes the members that are sent."},
	"deleteProject": {
		"Delete a project",
		"Drops the project with its findings, scans and dependencies; the audit trail stays. This cannot be undone.",
	},
	"renameProject": {
		"Rename a project",
		"Gives a project another name. The old name keeps answering until another project takes it. A name that another " +
			"project has is a conflict.",
	},
	"mergeProject": {
		"Merge a project into another",
		"Makes one project of two that are the same repository: findings, scans and dependencies of `project` become the " +
			"other's, and its name answers with the other. Of two decisions about a finding the other's wins. This " +
			"cannot be undone.",
	},
	"addProjectTags": {"Add tags to a project", "Gives a project further tags. Those that it has already count once."},
	"removeProjectTags": {
		"Remove tags from a project",
		"Takes tags away, in the query or in the body. Those that it does not have are passed over.",
	},
	"toggleManagedScan": {
		"Toggle managed scans",
		"Switches the scans that the server starts by itself, and says when. `managed_scan_config` is what is wanted, " +
			"`managed_scan_status` what is in force. Beta.",
	},
	"deleteRef": {
		"Delete a ref of a project",
		"Takes a branch or other ref that is no more out of a project: its findings are no longer listed and its " +
			"dependencies go; triage stays. " +
			"A later scan of it brings them back. The primary branch is refused.",
	},

	"listDependencies": {"List dependencies", "What is in force on the primary branches, one row for each project, " +
		"lockfile, package and version, by id. Members of the filter are and-ed, entries of `packageFilters` or-ed. " +
		"Pass `cursor` to get the next page while `hasMore`; with other filters it is refused."},
	"listDependencyRepositories": {
		"List projects with dependencies",
		"The projects whose primary branch has dependencies that pass the filter, and how many, by id. Pass `cursor` to " +
			"get the next page while `hasMore`; with other filters it is refused.",
	},
	"listLockfiles": {
		"List lockfiles of a project",
		"The lockfiles of a project's primary branch with dependencies that pass the filter, and how many.",
	},
	"createSBOMExport": {
		"Start an SBOM export",
		"Stores the job and answers at once. Ask for its status with the task token.",
	},
	"getSBOMExport": {"Get the status of an SBOM export", "Once it is complete, `downloadUrl` serves the document."},
	"downloadSBOM": {
		"Download an SBOM",
		"Serves the document with its own media type. The address is signed and needs no token; it comes from the status " +
			"of the export, with its `expires` and `signature`: one that is altered or over is a 403.",
	},

	"getAdvisory": {
		"Get an advisory",
		"What the advisories that were loaded know of a vulnerability, by any of its ids in any case.",
	},
	"getAdvisoryImpact": {
		"Get the impact of an advisory",
		"Who has a vulnerability, where, since when and what to upgrade to: its findings, whoever found them, " +
			"on every ref. " +
			"Pass `cursor` to get the next page; it is absent on the last one.",
	},

	"searchScans": {
		"Search scans",
		"Scans by `started_at`, descending. Pass `cursor` to get the next page; it is absent on the last one. Beta.",
	},
	"getScan": {
		"Get a scan",
		"A scan by its id, with what it looked at. Its ids are numbers, unlike those of the search.",
	},
	"listSnippets": {
		"List where code is wanted",
		"Where the findings of a scan are, so that the build that has the checkout can send the code around them, and " +
			"where secrets are, which must not be in it.",
	},
	"putSnippets": {
		"Send code around findings",
		"Keeps the lines around findings of a scan in the place of what was kept of them. What looks like a secret is " +
			"taken out before anything is written, though the sender should have done so. " +
			"Findings that are no longer where the sender saw them are skipped. Refused where the deployment keeps no code.",
	},
	"importReports": {"Import reports", "Takes the reports of scanners and lockfiles in: as a multipart form with its " +
		"fields before its files, or as a raw body with query parameters; either may be gzip. " +
		"The format is detected. All files count or none; a broken item is refused and loses nothing else, unless `strict` " +
		"or unless all are. A format that is not read is a 400."},

	"listPolicies": {"List policies", "All policies of the deployment, by id."},
	"listPolicyRules": {
		"List the rules of a policy",
		"A policy with its rules, by id. Pass `cursor` to get the next page; it is absent on the last one.",
	},

	"updatePolicy": {
		"Set the mode of a rule",
		"Decides what the findings of a rule do to a build, in this policy, from the next build on. Rules are taken out of " +
			"a policy on its page or by `redoubt policies`, not by a mode. A token that is bound to projects may not.",
	},

	"createPolicy": {
		"Create a policy",
		"Makes a policy of a product for some projects or all, without rules. It holds from the next build on. A token " +
			"that is bound to projects may not.",
	},
	"deletePolicy": {
		"Delete a policy",
		"Drops a policy with its list of rules, its conditions and days. The next full scan removes the findings of rules " +
			"that no other policy of a project has. The default policy of a product stays. A token that is bound to " +
			"projects may not.",
	},
	"getPolicySettings": {
		"Get the settings of a policy",
		"Which projects it is for, which paths it leaves out, and whether it blocks on what the primary branch has. A " +
			"token that is bound to projects sees of the globs and tags those that fit one of its projects.",
	},
	"setPolicySettings": {
		"Set the settings of a policy",
		"Replaces name, projects, tags, paths left out and what is blocked on; rules, conditions and days stay. Open " +
			"findings on paths that it now leaves out become removed. A token that is bound to projects may not.",
	},
	"previewPolicy": {
		"Preview a change of a policy",
		"What other settings, or deleting it, would change, by what is open on the branches of its projects that were " +
			"scanned in the last 30 days: the gate judges each as if its scan ran again. " +
			"At most 300 branches and 100,000 findings are read. Nothing is changed. A token that is bound to projects may not.",
	},

	"addPolicyRules": {"Add rules to a policy", "Takes a file of Semgrep rules in, all or none: everything that is " +
		"wrong with it is told at once. Another text under an id that is there is its next version. " +
		"Whether patterns parse is not checked here, as `redoubt policies add-rules` has a scanner do. A token that is " +
		"bound to projects may not."},
	"listServedRules": {
		"List the served rules of a policy",
		"The rules that the policy serves to scanners, by id. A token that is bound to projects may not.",
	},
	"getPolicyRule": {
		"Get a rule of a policy",
		"A rule, with the texts that it has or had. A token that is bound to projects may not.",
	},
	"removePolicyRule": {
		"Remove a rule from a policy",
		"Scanners are given it no more by this policy; where no other one of a project has it, the next full scan removes " +
			"its findings. Its texts stay. A token that is bound to projects may not.",
	},

	"getDueDays": {"Get the due days of a policy", "How many days people have to fix the findings that the policy is " +
		"for, by severity. Of several policies of a project and product, the one that gives a finding the fewest counts."},
	"setDueDays": {
		"Set the due days of a policy",
		"Replaces how many days people have. Due dates are counted anew at once: none is stored. A token that is bound to " +
			"projects may not.",
	},

	"listPolicyConditions": {
		"List the conditions of a policy",
		"What a policy does about findings of its product that match a condition, whatever their rule.",
	},
	"createPolicyCondition": {
		"Add a condition to a policy",
		"Adds a condition to a policy. A finding matches if it meets all members, of which one or more is set; findings " +
			"without severity or confidence meet no threshold. " +
			"The mode of a finding is the strictest of its rule and the conditions that it matches. " +
			"`reachable`, `epss`, `exploited`, `malicious`, `fixable` and `direct` are rejected for code and secrets. " +
			"`projects` and `branches` are at most 100 globs each, of 1 to 512 characters without control characters; `tags` " +
			"at most 10 of 64 characters. " +
			"It holds from the next build on. A token that is bound to projects may not.",
	},
	"deletePolicyCondition": {
		"Delete a condition of a policy",
		"Removes a condition from a policy. A token that is bound to projects may not.",
	},

	"listExceptions": {
		"List exceptions",
		"Exceptions that are requested, active or past, the newest first, in pages. Pass `cursor` to get the next page; it " +
			"is absent on the last one. The last 10,000 past ones are kept. A token that is bound to projects sees those of " +
			"its projects alone.",
	},
	"createException": {
		"Create an exception",
		"Ignores what a rule or a vulnerability finds, now and later, until a day, by a triage that people's beats. " +
			"Either `until` or `forever` is needed. `projects` and `paths` are at most 100 globs each, of 1 to 512 characters " +
			"without control characters; " +
			"a path glob has no `!` or `#` and no `./` in front, no `//`, no backslash and no space around it. `target` has " +
			"no spaces. `dry_run` tells which findings would change, and its `selection`, sent with the request, has just " +
			"that done or nothing.",
	},
	"getException": {"Get an exception", "An exception by its id; with `ending` also what would change without it. " +
		"Of a VEX document also what it says, in pages, and of a requested one what each statement would change."},
	"deleteException": {
		"Delete an exception",
		"Ends an active exception now and reopens what it ignored, but for what people, other exceptions or VEX documents " +
			"decide. With the `selection` that `getException` told with `ending`, just that is done or nothing. One that is " +
			"not active is a 404.",
	},

	"requestException": {
		"Ask for an exception",
		"Asks for an exception for findings of one project. It changes nothing until somebody who may triage approves it. " +
			"Viewers may ask. A finding with a request already is a conflict, and so is one request too many: 50 wait of one " +
			"person, 500 in all. " +
			"It ends by itself when none of its findings is open any more.",
	},
	"listFindingComments": {
		"List the comments on a finding",
		"What people wrote about a finding, on all its refs, the oldest first, in pages. Pass `cursor` to get the next " +
			"page; it is absent on the last one. Those that were withdrawn are listed without their text.",
	},
	"addFindingComment": {
		"Comment on a finding",
		"Writes a comment, as plain text, on a finding and so on all its refs. Viewers may. It decides nothing. Users of " +
			"the deployment whom it names, as @ben, at most 20, are told; any other name is text. " +
			"A finding has 500 comments, and a person writes 300 in 24 hours: one more is a conflict.",
	},
	"withdrawFindingComment": {
		"Withdraw a comment on a finding",
		"Forgets the text of a comment and whom it mentions; that there was one stays. The maker of the token withdraws " +
			"their own, an administrator any. One that was withdrawn already is a conflict.",
	},

	"importDocuments": {"Import VEX documents", "Stores VEX documents for many projects, all or none: as a multipart " +
		"form of files, or as a raw body; either may be gzip. " +
		"A newer document of the same name and projects replaces the stored one. A document for one project is imported as " +
		"a report of it. A token that is bound to projects may not."},
	"approveException": {
		"Approve a requested exception",
		"Makes a requested exception active: its findings are ignored on all refs, until a day. It beats what people " +
			"decided before it, and what they decide later beats it. A VEX document counts as if you had sent it, or some of " +
			"its `statements`, beside what the active document of its name says already. One that was decided already is a " +
			"conflict, one that was replaced meanwhile a 404.",
	},
	"refuseException": {"Refuse a requested exception", "Ends a request with the reason, or refuses `statements` of a " +
		"VEX document: uploads of the project do not propose the same again. One that was decided already is a conflict."},
	"withdrawException": {
		"Withdraw a requested exception",
		"Ends a request of the maker of the token. Other people's requests are refused.",
	},

	"listConnections": {
		"List connections",
		"The accounts on code hosts, by id, and whether they work. A token that is bound to projects may not.",
	},
	"createConnection": {
		"Create a connection",
		"Connects a code host, once it has said who the connection is there and what it sees. What the host refuses is a " +
			"400 that says so, and nothing is kept. " +
			"The credential is sealed and never told. A token that is bound to projects may not.",
	},
	"getConnection": {"Get a connection", "A connection by its id."},
	"updateConnection": {
		"Update a connection",
		"Changes the members that are sent. Another credential is shown to the host first. What the connection follows " +
			"then becomes projects at once. Kind and address stay.",
	},
	"deleteConnection": {
		"Delete a connection",
		"Forgets a connection with its credential, its repositories and what the host told. Webhooks that were made from " +
			"here and tell this server are taken back where the host can be asked; those that tell another address stay. " +
			"Projects, findings and scans stay.",
	},
	"testConnection": {
		"Test a connection",
		"Asks the host now who the connection is and what it sees. What went wrong is the `problem` of the answer, which " +
			"is a 200 all the same.",
	},
	"makeWebhooks": {
		"Make webhooks",
		"Has the host tell this server of pushes, change requests and comments: makes a webhook at each repository that is " +
			"a project and has none from here, makes those anew that are silent, are switched off, tell only a part or " +
			"another address, and removes those that nobody knows of. The account must administer those. What the host " +
			"refuses is the `problem` of the answer, which is a 200 all the same; such an answer is not kept under an " +
			"`Idempotency-Key`. The address that hosts call is that of `--public-url`, whatever this request came to; a " +
			"server without one answers 409 and asks no host.",
	},
	"listRepositories": {
		"List repositories of a connection",
		"What a connection sees on its host, by name, in pages, and which projects that is. Pass `cursor` to get the next " +
			"page; it is absent on the last one.",
	},
	"followRepositories": {
		"Follow repositories",
		"Makes projects of repositories, by names or globs, also of those that were left out before. None that fits is a " +
			"404. What is archived or gone is passed over.",
	},
	"unfollowRepositories": {
		"Unfollow repositories",
		"Parts repositories from their projects, by names or globs, and leaves them out of what the connection follows. " +
			"The projects stay, with all that was found. None that fits is a 404.",
	},
	"listDeliveries": {"List webhook deliveries", "What a host told by webhooks whose signature held, the newest first, " +
		"and what came of it, in pages. Pass `cursor` to get the next page; it is absent on the last one."},

	"listRuns": {
		"List managed runs",
		"Managed scans from their queue to their end, the newest first, in pages. Pass `cursor` to get the next page; it " +
			"is absent on the last one. A token that is bound to projects sees those of its projects.",
	},
	"startRun": {
		"Scan a project now",
		"Queues a full scan, or answers the one that waits for the same already. Where no connection has the repository it " +
			"is a conflict that says so. " +
			"A runner takes it when one is free: `managed_scan_status` of the project says whether there is any.",
	},
	"getRun": {"Get a managed run", "A managed run by its id."},
	"getRunLog": {
		"Read the log of a managed run",
		"What the runner said of the newest attempt, from an offset on. Ask again from `next_offset` until `ended` to " +
			"follow it; where `attempt` of the run became another, begin again at 0. Secrets are blanked; 512 KiB are kept.",
	},
	"cancelRun": {
		"Cancel a managed run",
		"Ends a run that waits or is under way; its runner stops within seconds. One that has ended is a conflict.",
	},
	"retryRun": {
		"Retry a managed run",
		"Queues what a run did that ended, anew; of a full one, the newest commit. One that has not ended is a conflict.",
	},

	"listRunners": {
		"List runners",
		"Who asked for managed runs, and what they work on. A token that is bound to projects may not.",
	},
	"revokeRunner": {
		"Revoke a runner",
		"Puts the token of a runner out of force and forgets all runners that call with it. What they work on waits " +
			"for another one.",
	},

	"listNotificationRules": {
		"List notification rules",
		"Rules by which people are told of what happens, by id. A token that is bound to projects may not.",
	},
	"createNotificationRule": {
		"Create a notification rule",
		"Makes a rule: when which events happen to findings that match the filter, receivers are told over the channel. " +
			"The answer has the secret that a webhook is signed with, this once. " +
			"The address is sealed and never told.",
	},
	"getNotificationRule": {"Get a notification rule", "A rule by its id."},
	"updateNotificationRule": {
		"Update a notification rule",
		"Changes the members that are sent. The channel and the secret stay. While a rule is paused nobody is told, of " +
			"what happens then neither later.",
	},
	"deleteNotificationRule": {
		"Delete a notification rule",
		"Forgets a rule with its log, and what it was still to tell.",
	},
	"testNotificationRule": {
		"Test a notification rule",
		"Sends the receivers of a rule a message now, a paused one's too. What came of it is the answer, which is a 200 " +
			"all the same, and in the log.",
	},
	"rotateNotificationSecret": {
		"Replace the secret of a webhook",
		"Answers another secret, this once. For a day messages are signed with the one before too. A rule of another " +
			"channel is a conflict.",
	},
	"listNotifications": {"List the notifications of a rule", "What a rule told, was to tell or tells next, the newest " +
		"first, with the receivers' answers, in pages. Pass `cursor` to get the next page; it is absent on the last one."},
	"resendNotification": {
		"Resend a notification",
		"Queues a notification once more, under the id that it had. One that waits already, or that its rule tells no " +
			"more, is a conflict.",
	},
}

// pathWords describe the parts of paths.
var pathWords = map[string]struct{ text, example string }{
	"deploymentId":   {"Id of the deployment; its slug is taken too.", "1"},
	"deploymentSlug": {"Slug of the deployment; its id is taken too.", "acme"},
	"findingId":      {"Id of the finding.", "1234"},
	"projectName":    {"Name of the project, with its slashes or with `%2F`.", "acme/payments"},
	"repositoryId":   {"Id of the project.", "17"},
	"policyId":       {"Id of the policy.", "3"},
	"advisoryId":     {"CVE, GHSA or any other id of a vulnerability.", "CVE-2021-44228"},
	"policyRuleId":   {"Id of the rule within its policy.", "99"},
	"conditionId":    {"Id of the condition within its policy.", "1"},
	"exceptionId":    {"Id of the exception.", "7"},

	"commentId": {"Id of the comment.", "12"},

	"ticketId":     {"Id of the ticket here.", "7"},
	"scanId":       {"Id of the scan.", "42"},
	"connectionId": {"Id of the connection.", "3"},
	"runId":        {"Id of the managed run.", "17"},
	"runnerId":     {"Id of the runner.", "2"},

	"savedViewId":        {"Id of the saved view.", "3"},
	"notificationRuleId": {"Id of the notification rule.", "3"},
	"notificationId":     {"Id of the notification.", "9"},
	"taskToken":          {"Token that starting the export answered.", "task_mfrggzdfmztwq2lk"},
}

// errorWords describe what else an operation may answer.
var errorWords = map[int]string{
	400: "The request is malformed; `errors` names every bad member.",
	401: "No valid token was sent.",
	403: "The token may not do this.",
	404: "There is none, or it is another tenant's: the answer is the same.",
	409: "The write does not fit what is stored by now, or the cursor what is known since.",
	413: "The body is over the limit.",
	415: "The body is of a kind that is not taken here.",
	429: "The token sends too many requests; wait as `Retry-After` says.",
	500: "Something failed inside the server; its log has the cause under the request id.",
	503: "The server is busy or shutting down; try again as `Retry-After` says.",
}
