package server

// projectsWords describes the operations, by id.
var projectsWords = map[string]routeDoc{
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
}
