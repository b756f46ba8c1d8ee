package apihttp

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// tags are the groups of the API, in the order of openapi.json.
var tags = []core.Tag{
	{Name: "deployments", Text: "The deployment that a token belongs to."},
	{Name: "findings", Text: "What scanners found: code, supply chain and secrets; listing, triage and annotations."},
	{Name: "projects", Text: "Repositories and their settings."},
	{Name: "dependencies", Text: "What the primary branches depend on, and bills of materials of it."},
	{Name: "scans", Text: "Runs of scanners, and handing in their reports."},
	{Name: "policies", Text: "Rules, and what their findings do to a build."},
	{Name: "managed", Text: "Connections to code hosts, and the scans that runners make of their repositories."},
	{Name: "notifications", Text: "Rules by which people are told of what happens: by webhook, chat and mail."},
}

// pathWords are the texts of path parameters.
var pathWords = map[string]core.PathWord{
	"deploymentId":   {Text: "Id of the deployment; its slug is taken too.", Example: "1"},
	"deploymentSlug": {Text: "Slug of the deployment; its id is taken too.", Example: "acme"},
	"findingId":      {Text: "Id of the finding.", Example: "1234"},
	"projectName":    {Text: "Name of the project, with its slashes or with `%2F`.", Example: "acme/payments"},
	"repositoryId":   {Text: "Id of the project.", Example: "17"},
	"policyId":       {Text: "Id of the policy.", Example: "3"},
	"advisoryId":     {Text: "CVE, GHSA or any other id of a vulnerability.", Example: "CVE-2021-44228"},
	"policyRuleId":   {Text: "Id of the rule within its policy.", Example: "99"},
	"conditionId":    {Text: "Id of the condition within its policy.", Example: "1"},
	"exceptionId":    {Text: "Id of the exception.", Example: "7"},

	"commentId": {Text: "Id of the comment.", Example: "12"},

	"ticketId":     {Text: "Id of the ticket here.", Example: "7"},
	"scanId":       {Text: "Id of the scan.", Example: "42"},
	"connectionId": {Text: "Id of the connection.", Example: "3"},
	"runId":        {Text: "Id of the managed run.", Example: "17"},
	"runnerId":     {Text: "Id of the runner.", Example: "2"},

	"savedViewId":        {Text: "Id of the saved view.", Example: "3"},
	"notificationRuleId": {Text: "Id of the notification rule.", Example: "3"},
	"notificationId":     {Text: "Id of the notification.", Example: "9"},
	"taskToken":          {Text: "Token that starting the export answered.", Example: "task_mfrggzdfmztwq2lk"},
}
