package apihttp

import (
	"github.com/redoubt/redoubt/internal/apihttp/core"
)

// tags are the groups of the API, in the order of openapi.json.
var tags = []core.Tag{
	{Name: "deployments", Text: "Deployment of a token."},
	{Name: "findings", Text: "Code, supply-chain and secret findings: lists, triage and annotations."},
	{Name: "projects", Text: "Repositories and their settings."},
	{Name: "dependencies", Text: "Dependencies of primary branches, and bills of materials (SBOM)."},
	{Name: "scans", Text: "Scans, and uploads of scanner reports."},
	{Name: "policies", Text: "Rules, and the effect of their findings on builds."},
	{Name: "managed", Text: "Connections to code hosts, and scans of their repositories by runners."},
	{Name: "notifications", Text: "Notification rules for webhooks, chat and e-mail."},
}

// pathWords are the texts of path parameters.
var pathWords = map[string]core.PathWord{
	"deploymentId":   {Text: "Id or slug of the deployment.", Example: "1"},
	"deploymentSlug": {Text: "Slug or id of the deployment.", Example: "acme"},
	"findingId":      {Text: "Id of the finding.", Example: "1234"},
	"projectName":    {Text: "Name of the project, with slashes or `%2F`.", Example: "acme/payments"},
	"repositoryId":   {Text: "Id of the project.", Example: "17"},
	"policyId":       {Text: "Id of the policy.", Example: "3"},
	"advisoryId":     {Text: "CVE, GHSA or any other id of a vulnerability.", Example: "CVE-2021-44228"},
	"policyRuleId":   {Text: "Id of the rule in its policy.", Example: "99"},
	"conditionId":    {Text: "Id of the condition in its policy.", Example: "1"},
	"exceptionId":    {Text: "Id of the exception.", Example: "7"},

	"commentId": {Text: "Id of the comment.", Example: "12"},

	"ticketId":     {Text: "Id of the ticket in Redoubt.", Example: "7"},
	"scanId":       {Text: "Id of the scan.", Example: "42"},
	"connectionId": {Text: "Id of the connection.", Example: "3"},
	"runId":        {Text: "Id of the managed run.", Example: "17"},
	"runnerId":     {Text: "Id of the runner.", Example: "2"},

	"savedViewId":        {Text: "Id of the saved view.", Example: "3"},
	"notificationRuleId": {Text: "Id of the notification rule.", Example: "3"},
	"notificationId":     {Text: "Id of the notification.", Example: "9"},
	"taskToken":          {Text: "Token from the response that started the export.", Example: "task_mfrggzdfmztwq2lk"},
}
