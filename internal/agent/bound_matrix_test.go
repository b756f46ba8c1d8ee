package agent_test

import (
	"context"
	"database/sql"
	"fmt"
	"maps"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/ticket"
)

// boundRequest is a request for an inaccessible project and for a missing one. Braces in the path, query
// and body are replaced by identifiers of the project.
type boundRequest struct{ query, body string }

// begin returns a start request.
func begin(name, id, url, run, dry string) string {
	return `{"project_metadata":{"repository":"` + name + `","repo_id":"` + id + `","repo_url":"` + url + `","branch":"main","is_full_scan":true},` +
		`"scan_metadata":{"unique_id":"` + run + `","dry_run":` + dry + `}}`
}

// beginnings identify a project in all possible forms of a start request.
var beginnings = []boundRequest{
	{body: begin("{name}", "", "", "{fresh}", "false")},
	{body: begin("{name}", "{repoID}", repoURL, "{fresh}", "true")},
	{body: begin("{oldName}", "", "", "{fresh}", "true")},
	{body: begin("{oldName}", "", "", "{fresh}", "false")},
	{body: begin("platform/{fresh}", "{repoID}", repoURL, "{fresh}", "false")},
	{body: begin("platform/{fresh}", "{repoID}", repoURL, "{fresh}", "true")},
	{body: begin("platform/{fresh}", "{repoID}", "git@github.com:acme/gateway.git", "{fresh}", "false")},
	{body: begin("platform/{fresh}", "", "{url}", "{fresh}", "false")},
	{body: begin("platform/own", "{repoID}", repoURL, "{fresh}", "false")},
	{body: begin("platform/own", "", "", "{uniqueId}", "false")},
}

// plain requests need no replacement except in their path.
var plain = []boundRequest{{}}

// boundRequests contains the requests for each route of both tables.
var boundRequests = map[string][]boundRequest{
	"POST /api/cli/v2/scans": beginnings, "POST /api/cli/scans": beginnings,
	"GET /api/cli/v2/scans/{uniqueId}/config":          plain,
	"POST /api/agent/scans/{scanId}/results":           {{body: `{"findings":[]}`}},
	"POST /api/agent/scans/{scanId}/complete":          {{body: `{"exit_code":0}`}},
	"POST /api/agent/scans/{scanId}/error":             {{body: `{"exit_code":2}`}},
	"GET /api/agent/scans/outcome":                     {{query: "?project={name}&ref=main"}, {query: "?project={oldName}&ref=main"}, {query: "?project={name}&ref=main&run={uniqueId}"}},
	"POST /failure":                                    {{body: `{"error":"x","request_id":"{uniqueId}","exit_code":2}`}},
	"GET /api/agent/deployments/current":               plain,
	"GET /api/agent/identity":                          plain,
	"GET /api/auth/users/current":                      plain,
	"POST /api/agent/tokens/requests":                  {{body: `{"token_request_key":"aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa"}`}},
	"GET /login":                                       plain,
	"GET /api/agent/deployments/scans/config":          {{query: "?repo_name={name}"}, {query: "?repo_name={oldName}"}},
	"GET /api/agent/deployments/deepbinary/{platform}": plain,
	"POST /api/registry/rules":                         {{body: `{}`}},
	"POST /api/cli/tr_cache/lookup":                    {{body: `{}`}},
	"POST /api/cli/tr_cache":                           {{body: `{}`}},
	"GET /c/p/semgrep-rule-lints":                      plain,
	"GET /c/p/{policy}":                                plain,
	"GET /c/p/{deployment}/{policy}":                   plain,
	"GET /c/r/{rule}":                                  plain,
	"GET /c/r/{deployment}/{rule}":                     plain,
	"GET /p/{policy}":                                  plain,
	"GET /p/{deployment}/{policy}":                     plain,
	"GET /r/{rule}":                                    plain,
	"GET /r/{deployment}/{rule}":                       plain,
	"POST /api/runner/v1/lease":                        {{body: `{"name":"matrix"}`}},
	"POST /api/runner/v1/runs/{runId}/progress":        {{body: `{"claim":1,"state":"scanning","log":"x"}`}},
	"POST /api/runner/v1/runs/{runId}/finish":          {{body: `{"claim":1,"state":"failed","reason":"x"}`}},
	"ping":                       plain,
	"listDeployments":            plain,
	"listFindings":               {{query: "?repos={name}"}, {query: "?repos={oldName}"}, {query: "?repository_ids={repositoryId}"}},
	"getFinding":                 plain,
	"getEvidence":                plain,
	"getFindingHistory":          plain,
	"search":                     {{query: "?q={name}&limit=20"}, {query: "?q={oldName}"}, {query: "?q=%23{findingId}"}},
	"countFindings":              {{query: "?repos={name}&group_by=repository"}, {query: "?repos={oldName}&group_by=rule"}, {query: "?repository_ids={repositoryId}"}},
	"exportFindings":             {{query: "?format=jsonl&repos={name}"}, {query: "?format=csv&repos={oldName}"}, {query: "?format=csv&repository_ids={repositoryId}"}},
	"listFindingChanges":         plain,
	"annotateFinding":            {{body: `{"review_comments":[]}`}},
	"triageFindings":             {{body: `{"issue_type":"sast","issue_ids":[{findingId}],"new_triage_state":"ignored"}`}},
	"listSecrets":                {{query: "?repo={name}"}, {query: "?repo={oldName}"}},
	"listProjects":               plain,
	"createProject":              {{body: `{"name":"{name}"}`}},
	"getProject":                 plain,
	"updateProject":              {{body: `{"tags":["x"]}`}},
	"deleteProject":              plain,
	"toggleManagedScan":          {{body: `{"diff_scan":{"enabled":true}}`}},
	"addProjectTags":             {{body: `{"tags":["x"]}`}},
	"removeProjectTags":          {{query: "?tags=x"}},
	"listDeploymentsV2":          plain,
	"getDeployment":              plain,
	"pingAgent":                  plain,
	"checkHealth":                plain,
	"searchIssues":               {{body: `{"filter":{"repositoryNames":["{name}"]}}`}, {body: `{"filter":{"repositoryNames":["{oldName}"]}}`}},
	"listVulns":                  {{body: `{"query":"{name}"}`}, {body: `{"query":"{oldName}"}`}},
	"getMe":                      plain,
	"getScan":                    plain,
	"listDependencyRepositories": {{body: `{"dependencyFilter":{"repositoryId":["{repositoryId}"]}}`}},
	"updatePolicy":               {{body: `{"rulePath":"{rule}","policyMode":"MODE_BLOCK"}`}},
	"deleteRef":                  {{query: "?project={name}&ref=topic"}, {query: "?project={oldName}&ref=topic"}},
	"listDependencies":           {{body: `{"dependencyFilter":{"repositoryId":["{repositoryId}"]}}`}},
	"listLockfiles":              {{body: `{}`}},
	"createSBOMExport":           {{body: `{"repositoryId":"{repositoryId}"}`}},
	"getSBOMExport":              plain,
	"downloadSBOM":               {{query: "?expires=1&signature=x"}},
	"getAdvisory":                plain,
	"getAdvisoryImpact":          plain,
	"searchScans":                {{body: `{"repositoryId":"{repositoryId}"}`}},
	"listSnippets":               plain,
	"putSnippets":                {{body: `{"snippets":[]}`}},
	"importReports":              {{query: "?project={name}&ref=main", body: `{"results":[],"errors":[],"paths":{"scanned":[]}}`}, {query: "?project={oldName}-2&repo_url={url}", body: `{"results":[],"errors":[],"paths":{"scanned":[]}}`}},
	"listPolicies":               plain,
	"listPolicyRules":            plain,
	"createPolicy":               {{body: `{"name":"x","product":"sast","projects":["secret/*"]}`}},
	"deletePolicy":               plain,
	"getPolicySettings":          plain,
	"setPolicySettings":          {{body: `{"name":"x"}`}},
	"previewPolicy":              {{body: `{"block_all":true}`}},
	"addPolicyRules":             {{body: `{"text":"rules: [{id: a, message: m, severity: ERROR, languages: [go], pattern: x, r2c-internal-project-depends-on: {}}]"}`}},
	"listServedRules":            plain,
	"getPolicyRule":              plain,
	"removePolicyRule":           plain,
	"getDueDays":                 plain,
	"setDueDays":                 {{body: `{"critical":7}`}},
	"listPolicyConditions":       plain,
	"createPolicyCondition":      {{body: `{"mode":"block","malicious":true}`}},
	"deletePolicyCondition":      plain,
	"listExceptions":             plain,
	"createException":            {{body: `{"target":"r","reason":"x","forever":true,"projects":["{name}"]}`}},
	"getException":               plain,
	"deleteException":            plain,
	"importDocuments":            {{body: `{"@context":"https://openvex.dev/ns/v0.2.0","@id":"x","version":1,"statements":[]}`}},
	"listFindingComments":        plain,
	"addFindingComment":          {{body: `{"text":"x"}`}},
	"withdrawFindingComment":     plain,
	"requestException":           {{body: `{"issue_ids":[{findingId}],"reason":"x"}`}, {body: `{"issue_ids":[{ownFindingId},{findingId}],"reason":"x"}`}},
	"approveException":           {{body: `{"forever":true}`}},
	"refuseException":            {{body: `{"answer":"x"}`}},
	"withdrawException":          plain,
	"createTickets": {
		{body: `{"issue_ids":[{findingId}]}`},
		{body: `{"issue_ids":[{ownFindingId}],"tracker_project":"{trackerName}"}`},
		{body: `{"issue_ids":[{ownFindingId}],"connection":"{connectionName}","tracker_project":"{trackerName}"}`},
		{body: `{"issue_ids":[{ownFindingId}],"connection":"{connectionName}"}`},
	},
	"linkTicket": {
		{body: `{"issue_ids":[{findingId}],"ticket_url":"https://t.example/browse/SEC-9"}`},
		{body: `{"issue_ids":[{linkedFindingId}],"ticket_url":"https://git.example/{trackerName}/issues/9"}`},
	},
	"unlinkTicket":             {{body: `{"issue_ids":[{findingId}]}`}},
	"listTickets":              plain,
	"getTicket":                plain,
	"deleteTicket":             plain,
	"listConnections":          plain,
	"getTicketSettings":        plain,
	"setTicketSettings":        {{body: `{}`}},
	"renameProject":            {{body: `{"project":"{name}","name":"platform/renamed"}`}},
	"mergeProject":             {{body: `{"project":"{name}","into":"platform/own"}`}, {body: `{"project":"platform/own","into":"{name}"}`}},
	"createConnection":         {{body: `{"kind":"git","name":"x","base_url":"https://git.example/x"}`}},
	"getConnection":            plain,
	"updateConnection":         {{body: `{}`}},
	"deleteConnection":         plain,
	"testConnection":           plain,
	"makeWebhooks":             plain,
	"listRepositories":         plain,
	"followRepositories":       {{body: `{"names":["{name}"]}`}},
	"unfollowRepositories":     {{body: `{"names":["{name}"]}`}},
	"listDeliveries":           plain,
	"listRuns":                 {{query: "?project={name}"}, {query: "?project={oldName}"}},
	"startRun":                 {{body: `{"project":"{name}"}`}, {body: `{"project":"{oldName}"}`}},
	"getRun":                   plain,
	"getRunLog":                plain,
	"cancelRun":                plain,
	"retryRun":                 plain,
	"listRunners":              plain,
	"revokeRunner":             plain,
	"listSavedViews":           plain,
	"createSavedView":          {{body: `{"name":"x","issue_type":"sast","shared":true}`}},
	"getSavedView":             plain,
	"updateSavedView":          {{body: `{}`}},
	"deleteSavedView":          plain,
	"listNotificationRules":    plain,
	"createNotificationRule":   {{body: `{"name":"x","events":["new_finding"],"channel":"webhook","url":"https://hooks.example"}`}},
	"getNotificationRule":      plain,
	"updateNotificationRule":   {{body: `{}`}},
	"deleteNotificationRule":   plain,
	"testNotificationRule":     plain,
	"rotateNotificationSecret": plain,
	"listNotifications":        plain,
	"resendNotification":       plain,
}

// hidden returns identifiers of a project that is inaccessible for platform/** tokens, and of a
// missing one.
func hidden(w *world) (foreign, missing map[string][]string) {
	w.Helper()
	w.rules(model.ModeBlock)
	w.scanAs(w.token, claim{name: "platform/old", id: "777"})
	w.scanAs(w.token, claim{name: "secret/shop", id: "777", run: "their-run"})
	shop := w.named("secret/shop")
	var policyID, ruleless, exceptionID, documentID, runID, ticketID, connectionID, runnerID, ruleID, viewID, requestID, commentID int64
	finding := w.read(fmt.Sprint(`SELECT MIN(id) FROM finding WHERE project_id = `, shop.ID))
	theirFinding, _ := strconv.ParseInt(finding[0], 10, 64)
	w.update(func(ctx context.Context, tx *store.Tx) error {
		p, err := tx.CreatePolicy(ctx, model.Policy{
			Name: "Secret", Slug: "secret", Product: model.SCA, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"secret/*"}},
			Conditions: []model.PolicyCondition{{ID: 1, Mode: model.ModeBlock, Malicious: true}}, LastCondition: 1,
		})
		policyID, ruleless = p.ID, p.ID+1000
		if err != nil {
			return err
		}
		made, err := tx.AddException(ctx, model.Exception{State: model.ExceptionActive, Target: "nothing", Reason: "theirs", Projects: []string{"secret/shop"}, TriageReason: model.AcceptableRisk})
		exceptionID = made.ID
		if err != nil {
			return err
		}
		documentID, err = tx.SaveVEX(ctx, model.VEXDocument{Name: "urn:theirs", ProjectID: shop.ID, Proposed: true, ReceivedAt: tx.Now(), Statements: []model.VEXStatement{{Names: []string{"CVE-1"}, Status: model.VEXFixed}}}, model.VEXDocument{})
		if err != nil {
			return err
		}
		found, err := tx.FindingsByID(ctx, []int64{theirFinding})
		if err != nil {
			return err
		}
		linked, err := ticket.Link(ctx, tx, ticket.Target{URL: "https://t.example/browse/SEC-1"}, found)
		ticketID = linked.Ticket.ID
		if err != nil {
			return err
		}
		run, err := tx.QueueRun(ctx, model.Run{ProjectID: shop.ID, Kind: model.RunFull, Cause: model.RunByHand})
		runID = run.ID
		if err != nil {
			return err
		}
		runner, err := tx.RecordRunnerContact(ctx, model.Runner{Name: "theirs", TokenID: 4711})
		runnerID = runner.ID
		if err != nil {
			return err
		}
		c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostGitea, Name: "theirs", BaseURL: "https://git.example"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
		connectionID = c.ID
		if err != nil {
			return err
		}
		if err := hostedAs(ctx, tx, c, "platform/shop", shop); err != nil {
			return err
		}
		rule, err := tx.AddNotificationRule(ctx, model.NotificationRule{Name: "theirs", Channel: model.ChannelSlack}, func(int64) ([]byte, error) { return nil, nil })
		ruleID = rule.ID
		if err != nil {
			return err
		}
		v, err := tx.AddSavedView(ctx, model.SavedView{Name: "theirs", IssueType: model.SAST, Query: "repo=secret%2Fshop"})
		viewID = v.ID
		if err != nil {
			return err
		}
		requested, err := tx.AddException(ctx, model.Exception{State: model.ExceptionRequested, ProjectID: shop.ID, Reason: "theirs", TriageReason: model.AcceptableRisk, Lineages: []int64{found[0].LineageID}})
		requestID = requested.ID
		if err != nil {
			return err
		}
		comment, err := tx.AddFindingComment(ctx, model.FindingComment{LineageID: found[0].LineageID, Text: "theirs"})
		commentID = comment.ID
		return err
	})
	scan := fmt.Sprint(w.scans()[0].ID)
	w.scanAs(w.token, claim{name: "platform/own"})
	own := w.read(fmt.Sprint(`SELECT MIN(id) FROM finding WHERE project_id = `, w.named("platform/own").ID))
	linked := w.read(fmt.Sprint(`SELECT MAX(id) FROM finding WHERE project_id = `, w.named("platform/own").ID))
	w.ok("POST", "/api/v1/deployments/acme/tickets/link", []byte(`{"issue_ids":[`+linked[0]+`],"ticket_url":"https://t.example/browse/SEC-7"}`))
	fixed := map[string][]string{"platform": {"linux"}, "deployment": {"acme"}, "deploymentId": {fmt.Sprint(w.deployment.ID)}, "deploymentSlug": {"acme"}, "advisoryId": {"CVE-1"}, "taskToken": {"none"}, "ownFindingId": own, "linkedFindingId": linked}
	foreign = map[string][]string{
		"name": {"secret/shop", "SECRET/shop"}, "oldName": {"platform/old"}, "projectName": {"secret/shop", "platform/old"}, "repoID": {"777"}, "url": {repoURL, repoURL + "/", "git@github.com:acme/gateway.git"},
		"repositoryId": {fmt.Sprint(shop.ID)}, "findingId": finding, "scanId": {scan}, "uniqueId": {"their-run"},
		"policyId": {fmt.Sprint(policyID)}, "conditionId": {"1"}, "policyRuleId": w.read(`SELECT MIN(id) FROM policy_rule WHERE deployment_id = ` + fmt.Sprint(w.deployment.ID)), "exceptionId": {fmt.Sprint(exceptionID), fmt.Sprint(requestID), fmt.Sprint(documentID)}, "ticketId": {fmt.Sprint(ticketID)}, "policy": {"secret"}, "rule": {"nothing"}, "runId": {fmt.Sprint(runID)},
		"connectionId": {fmt.Sprint(connectionID)}, "runnerId": {fmt.Sprint(runnerID)}, "notificationRuleId": {fmt.Sprint(ruleID)}, "savedViewId": {fmt.Sprint(viewID)}, "commentId": {fmt.Sprint(commentID)}, "notificationId": {"1"},
		"trackerName": {"platform/shop", "secret/shop"}, "connectionName": {"second-host"},
	}
	missing = map[string][]string{
		"name": {"secret/none", "SECRET/none"}, "oldName": {"platform/none"}, "projectName": {"secret/none", "platform/none"}, "repoID": {"4711"}, "url": {"https://github.com/acme/none", "https://github.com/acme/none/", "git@github.com:acme/none.git"},
		"repositoryId": {"4000000000"}, "findingId": {"4000000000"}, "scanId": {"4000000000"}, "uniqueId": {"nobodys-run"},
		"policyId": {fmt.Sprint(ruleless)}, "conditionId": {"9"}, "policyRuleId": {"4000000000"}, "exceptionId": {"4000000", "4000001", "4000002"}, "ticketId": {"4000000"}, "policy": {"unheard-of"}, "rule": {"unheard-of"}, "runId": {"4000000000"},
		"connectionId": {"4000000000"}, "runnerId": {"4000000000"}, "notificationRuleId": {"4000000000"}, "savedViewId": {"4000000000"}, "commentId": {"4000000000"}, "notificationId": {"4000000000"},
		"trackerName": {"platform/none", "secret/none"}, "connectionName": {"unheard-of"},
	}
	for name, values := range fixed {
		foreign[name], missing[name] = values, values
	}
	return foreign, missing
}

var braces = regexp.MustCompile(`{(\w+)}`)

// responseTo sends a request with the i-th identifier of each kind. It returns the response without values
// that are specific to the request.
func (w *world) responseTo(token string, r httpx.Route, a boundRequest, names map[string][]string, i int) string {
	w.Helper()
	w.runs++
	fresh := fmt.Sprint("fresh-", w.runs)
	used := []string{fresh}
	fill := func(text string) string {
		return braces.ReplaceAllStringFunc(text, func(part string) string {
			values, known := names[part[1:len(part)-1]]
			switch {
			case part == "{fresh}":
				return fresh
			case !known:
				w.Errorf("%s %s has %s, of which the matrix knows none", r.Method, r.Pattern, part)
				return part
			}
			value := values[i%len(values)]
			used = append(used, value)
			return value
		})
	}
	path, body := fill(r.Pattern+a.query), fill(a.body)
	status, text := w.send(r.Method, path, token, []byte(body))
	slices.SortFunc(used, func(a, b string) int { return len(b) - len(a) })
	for _, value := range used {
		if strings.ContainsAny(value, "-/") { // an identifier of this test; numbers are replaced below
			text = strings.ReplaceAll(text, value, "X")
		}
	}
	text = regexp.MustCompile(`"(request_id|instance|created_at|createdAt|started_at|task_?[tT]oken)":"[^"]*"`).ReplaceAllString(text, "")
	return fmt.Sprint(status, " ", regexp.MustCompile(`\d+`).ReplaceAllString(text, "#"))
}

// TestBoundTokenCannotDetectOtherProjects sends every request for a project outside of the globs and for
// a missing one. The responses must be equal, and the project must not change.
func TestBoundTokenCannotDetectOtherProjects(t *testing.T) {
	w := newWorld(t, "sqlite")
	foreign, missing := hidden(w)
	token := w.bound("platform/**")
	w.scanAs(token, claim{name: "platform/own"})
	watch := w.watch(w.named("secret/shop").ID)
	before := watch()
	if len(before) < 20 {
		t.Fatalf("only %d rows are watched", len(before))
	}
	rows := map[string]httpx.Route{}
	for _, r := range apihttp.Routes() {
		rows[r.ID] = r.Route
	}
	for _, r := range w.agent.Routes() {
		rows[r.Method+" "+r.Pattern] = r.Route
	}
	for _, key := range slices.Sorted(maps.Keys(rows)) { // later requests need objects of earlier ones
		r := rows[key]
		requests, known := boundRequests[key]
		if !known {
			t.Errorf("the matrix lacks %s: add its request of a project to boundRequests", key)
		}
		for _, a := range requests {
			for i := range 3 {
				if i > 0 && !strings.Contains(r.Pattern+a.query+a.body, "ame}") && !strings.Contains(a.query+a.body, "{url}") {
					continue // only one identifier of this kind
				}
				got, want := w.responseTo(token, r, a, foreign, i), w.responseTo(token, r, a, missing, i)
				if got != want {
					t.Errorf("%s %v returns: %s\nfor an unknown name: %s", key, a, got, want)
				}
				if strings.HasPrefix(got, "400") || strings.HasPrefix(got, "5") { // invalid requests test nothing
					t.Errorf("%s %v: %s", key, a, got)
				}
			}
		}
		w.same("rows of the project after "+key, before, watch())
	}
	w.same("tickets that others' trackers are asked for", []string{"0"}, w.read(`SELECT COUNT(*) FROM ticket WHERE connection_id <> 0`))
}

// watch returns a function that reads all rows of a project.
func (w *world) watch(id int64) (rows func() []string) {
	w.Helper()
	const of = ` IN (SELECT id FROM %s WHERE project_id = %d)`
	var queries []string
	for _, table := range w.read(`SELECT name FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'goose%' ORDER BY name`) {
		columns := w.read(`SELECT name FROM pragma_table_info('` + table + `') ORDER BY cid`)
		where := ""
		for _, c := range [][2]string{
			{"project_id", fmt.Sprint(" = ", id)},
			{"finding_id", fmt.Sprintf(of, "finding", id)},
			{"lineage_id", fmt.Sprintf(of, "lineage", id)},
			{"scan_id", fmt.Sprintf(of, "scan", id)},
			{"inventory_id", fmt.Sprintf(of, "inventory", id)},
		} {
			if where == "" && slices.Contains(columns, c[0]) {
				where = c[0] + c[1]
			}
		}
		if table == "project" {
			where = fmt.Sprint("id = ", id)
		}
		if where == "" {
			continue
		}
		for i := range columns {
			columns[i] = "quote(" + columns[i] + ")"
		}
		queries = append(queries, `SELECT '`+table+` ' || `+strings.Join(columns, " || ' ' || ")+` FROM `+table+` WHERE `+where)
	}
	return func() []string { return w.read(strings.Join(queries, " UNION ALL ") + " ORDER BY 1") }
}

// read returns one column.
func (w *world) read(query string) (list []string) {
	w.Helper()
	db, err := sql.Open("sqlite", filepath.Join(w.config.Dir, store.FileName)+"?mode=ro")
	if err != nil {
		w.Fatal(err)
	}
	defer db.Close()
	rows, err := db.QueryContext(w.Context(), query)
	if err != nil {
		w.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var text string
		if err := rows.Scan(&text); err != nil {
			w.Fatal(err)
		}
		list = append(list, text)
	}
	if err := rows.Err(); err != nil {
		w.Fatal(err)
	}
	return list
}

// TestRestrictedTokenReadsPoliciesOfItsProjects checks that a restricted token reads policies of its
// projects and of all projects. They must not contain names of other projects, tags or rules.
func TestRestrictedTokenReadsPoliciesOfItsProjects(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		token := w.bound("platform/**")
		w.scanAs(token, claim{name: "platform/own"})
		report := `{"results":[{"check_id":"%s","path":"a.py","start":{"line":1,"col":1},"end":{"line":1,"col":2},"extra":{"message":"m","severity":"ERROR","lines":"x"}}],"errors":[],"paths":{"scanned":["a.py"]}}`
		w.ok("POST", "/api/v1/deployments/acme/imports?ref=main&project=secret/shop", []byte(fmt.Sprintf(report, "their-rule")))
		w.ok("POST", "/api/v1/deployments/acme/imports?ref=main&project=platform/own", []byte(fmt.Sprintf(report, "own-rule")))
		w.update(func(ctx context.Context, tx *store.Tx) error {
			scoped := func(projects, tags []string) model.PolicyCondition {
				return model.PolicyCondition{Mode: model.ModeBlock, Malicious: true, Scope: model.PolicyScope{Projects: projects, Tags: tags}}
			}
			_, err := tx.CreatePolicy(ctx, model.Policy{
				Name: "Mixed", Slug: "mixed", Product: model.SCA, Scope: model.PolicyScope{Projects: []string{"secret/*", "platform/*"}},
				Conditions: []model.PolicyCondition{scoped([]string{"secret/shop", "platform/own"}, nil), scoped([]string{"secret/merger"}, nil), scoped(nil, []string{"secret-tag"})},
			})
			if err == nil {
				_, err = tx.CreatePolicy(ctx, model.Policy{Name: "Other", Slug: "secret", Product: model.SCA, Scope: model.PolicyScope{Projects: []string{"secret/*"}}})
			}
			return err
		})
		read := func(token string) (all string) {
			base := fmt.Sprintf("/api/v1/deployments/%d/policies", w.deployment.ID)
			_, text := w.send("GET", base, token, nil)
			ids := regexp.MustCompile(`"id":"(\d+)"`).FindAllStringSubmatch(text, -1)
			for _, id := range ids {
				for _, path := range []string{"", "/conditions"} {
					_, more := w.send("GET", base+"/"+id[1]+path, token, nil)
					text += more
				}
			}
			return text
		}
		own, all := read(token), read(w.token)
		for _, word := range []string{"their-rule", "secret/shop", "secret/merger", "secret-tag", `"secret"`} {
			w.same(word+" for the token of all", true, strings.Contains(all, word))
			w.same(word+" for the bound one", false, strings.Contains(own, word))
		}
		for _, word := range []string{"own-rule", "js-eval", "in platform/own", `"Mixed"`} {
			w.same(word+" for the bound one", true, strings.Contains(own, word))
		}
	})
}
