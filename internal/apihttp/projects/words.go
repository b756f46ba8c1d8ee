package projects

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"ping": {Summary: "Ping", Text: "Answers an empty object. Needs no token."},
	"listDeployments": {
		Summary: "List deployments",
		Text: "Answers the one deployment that the token belongs to: its id and slug are what all other paths take, in " +
			"either place.",
	},
	"listDeploymentsV2": {
		Summary: "List deployments, second version",
		Text:    "The same as the first version answers, where clients of the hosted service ask for it.",
	},
	"getDeployment": {
		Summary: "Get the deployment",
		Text:    "The deployment that the token belongs to, as the list has it. Any other is a 404.",
	},
	"pingAgent": {Summary: "Ping, as agents do", Text: "Answers an empty object. Needs no token."},
	"checkHealth": {
		Summary: "Check that the server answers",
		Text: "Says that the process runs, as clients of the hosted service ask. Needs no token. `/readyz` " +
			"says whether the " +
			"database does.",
	},
	"getMe": {
		Summary: "Get who the token is",
		Text:    "What the token may do, until when, who made it and which deployment it belongs to.",
	},
	"listProjects":  {Summary: "List projects", Text: "Projects by name, in pages. A page past the end is empty."},
	"createProject": {Summary: "Create a project", Text: "Makes a project before its first scan does."},
	"getProject": {
		Summary: "Get a project",
		Text: "A project by its name, which may be written with slashes or `%2F`. Old names keep answering until another " +
			"project takes them.",
	},
	"updateProject": {Summary: "Update a project", Text: "Changes the members that are sent."},
	"deleteProject": {
		Summary: "Delete a project",
		Text:    "Drops the project with its findings, scans and dependencies; the audit trail stays. This cannot be undone.",
	},
	"renameProject": {
		Summary: "Rename a project",
		Text: "Gives a project another name. The old name keeps answering until another project takes it. A name " +
			"that another " +
			"project has is a conflict.",
	},
	"mergeProject": {
		Summary: "Merge a project into another",
		Text: "Makes one project of two that are the same repository: findings, scans and dependencies of " +
			"`project` become the " +
			"other's, and its name answers with the other. Of two decisions about a finding the other's wins. This " +
			"cannot be undone.",
	},
	"addProjectTags": {
		Summary: "Add tags to a project",
		Text:    "Gives a project further tags. Those that it has already count once.",
	},
	"removeProjectTags": {
		Summary: "Remove tags from a project",
		Text:    "Takes tags away, in the query or in the body. Those that it does not have are passed over.",
	},
	"toggleManagedScan": {
		Summary: "Toggle managed scans",
		Text: "Switches the scans that the server starts by itself, and says when. `managed_scan_config` is " +
			"what is wanted, " +
			"`managed_scan_status` what is in force. Beta.",
	},
	"deleteRef": {
		Summary: "Delete a ref of a project",
		Text: "Takes a branch or other ref that is no more out of a project: its findings are no longer listed and its " +
			"dependencies go; triage stays. " +
			"A later scan of it brings them back. The primary branch is refused.",
	},
}
