package server

// tags are the parts of the API, in the order of openapi.json.
var tags = []tag{
	{"deployments", "The deployment that a token belongs to."},
	{"findings", "What scanners found: code, supply chain and secrets; listing, triage and annotations."},
	{"projects", "Repositories and their settings."},
	{"dependencies", "What the primary branches depend on, and bills of materials of it."},
	{"scans", "Runs of scanners, and handing in their reports."},
	{"policies", "Rules, and what their findings do to a build."},
	{"managed", "Connections to code hosts, and the scans that runners make of their repositories."},
	{"notifications", "Rules by which people are told of what happens: by webhook, chat and mail."},
}

// pathWords describe the parts of paths.
var pathWords = map[string]pathWord{
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
