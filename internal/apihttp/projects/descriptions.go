package projects

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// words contains the texts of the operations, by id.
var words = map[string]core.RouteDoc{
	"ping": {Summary: "Ping", Text: "Returns an empty object. Needs no token."},
	"listDeployments": {
		Summary: "List deployments",
		Text:    "Returns the token's deployment. All other paths accept its id or its slug.",
	},
	"listDeploymentsV2": {
		Summary: "List deployments, second version",
		Text:    "Same response as the first version, at the address that clients of the hosted service use.",
	},
	"getDeployment": {
		Summary: "Get the deployment",
		Text:    "The deployment of the token, as in the list. Any other deployment is a 404.",
	},
	"pingAgent": {Summary: "Ping the agent API", Text: "Returns an empty object. Needs no token."},
	"checkHealth": {
		Summary: "Check that the server is running",
		Text: "Reports that the process is running, for clients of the hosted service. Needs no token. `/readyz` " +
			"reports the state of the database.",
	},
	"getMe":         {Summary: "Get the token", Text: "The token's permissions, expiry, creator and deployment."},
	"listProjects":  {Summary: "List projects", Text: "Projects by name, in pages. A page past the end is empty."},
	"createProject": {Summary: "Create a project", Text: "Creates a project before its first scan."},
	"getProject": {
		Summary: "Get a project",
		Text: "A project by its name, written with slashes or `%2F`. Old names remain valid until another project " +
			"uses them.",
	},
	"updateProject": {Summary: "Update a project", Text: "Changes the members that are sent."},
	"deleteProject": {
		Summary: "Delete a project",
		Text: "Deletes the project with its findings, scans and dependencies; the audit log remains. This cannot be " +
			"undone.",
	},
	"renameProject": {
		Summary: "Rename a project",
		Text: "Renames a project. The old name remains valid until another project uses it. The name of another " +
			"project is a conflict.",
	},
	"mergeProject": {
		Summary: "Merge a project into another",
		Text: "Merges two projects of the same repository. Findings, scans and dependencies of `project` move to the " +
			"target, and its name refers to the target. If both have a decision about a finding, the target's " +
			"decision wins. This cannot be undone.",
	},
	"addProjectTags": {Summary: "Add tags to a project", Text: "Adds tags to a project. Existing tags are unchanged."},
	"removeProjectTags": {
		Summary: "Remove tags from a project",
		Text:    "Removes the tags in the query or the body. Tags that the project does not have are ignored.",
	},
	"toggleManagedScan": {
		Summary: "Toggle managed scans",
		Text: "Switches scheduled scans on or off and sets their schedule. `managed_scan_config` is the requested " +
			"state, `managed_scan_status` the effective state. Beta.",
	},
	"deleteRef": {
		Summary: "Delete a ref of a project",
		Text: "Removes an obsolete branch or other ref from a project. Its findings are no longer listed and its " +
			"dependencies are deleted; triage remains. A later scan of the ref restores them. Requests for the " +
			"primary branch are rejected.",
	},
}
