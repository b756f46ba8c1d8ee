package conformance

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
)

// probe defines the call of a route: an effective body, the query it needs, and an existing id for
// each other part of its path. The field foreign contains further queries and bodies with ids of
// others.
type probe struct {
	body    any
	query   string
	ours    map[string]string
	foreign []probe
}

// matrix returns the parameters of the tenant matrix, by operation. A route without an entry fails
// the tests.
func matrix(t *testing.T, w *world, task string) map[string]probe {
	project := map[string]string{"projectName": "acme/payments"}
	finding := map[string]string{"findingId": fmt.Sprint(w.code[0].ID)}
	export := map[string]string{"taskToken": task}
	chain := map[string]string{"policyId": w.policyID(t, "PRODUCT_TYPE_SCA")}
	accepted := map[string]string{"exceptionId": fmt.Sprint(w.exceptionOnly(t))}
	connected := map[string]string{"connectionId": fmt.Sprint(w.connect(t, "ours").ID)}
	run := map[string]string{"runId": fmt.Sprint(w.queue(t, model.RunFull, "refs/heads/main").ID)}
	scan := map[string]string{"scanId": all(t, w.api().Scans(t.Context(), w.deployment.Slug, api.SearchScansRequest{}))[0].ID}
	ticket := map[string]string{"ticketId": fmt.Sprint(w.ticketOnly(t, w.code[0].ID))}
	telling := w.sendTestNotification(t, "ours")
	ruleOf := func(ids map[string]string) map[string]string {
		return map[string]string{"notificationRuleId": ids["notificationRuleId"]}
	}
	rule := ruleOf(telling)
	saved := func(name string) map[string]string { return map[string]string{"savedViewId": w.savedView(t, name)} }
	return map[string]probe{
		"ping":               {},
		"listDeployments":    {},
		"listFindings":       {},
		"search":             {query: "?q=a"},
		"countFindings":      {query: "?group_by=repository,severity"},
		"listFindingChanges": {},
		"exportFindings":     {},
		"getFinding":         {ours: finding},
		"getEvidence":        {ours: finding},
		"getFindingHistory":  {ours: finding},
		"annotateFinding":    {ours: finding, body: object{"review_comments": []object{}}},
		"triageFindings":     {body: object{"issue_type": "sast", "issue_ids": []int64{1}, "new_note": "seen"}},
		"listSecrets":        {},
		"listProjects":       {},
		"createProject":      {body: object{"name": "acme/created"}},
		"getProject":         {ours: project},
		"updateProject":      {ours: project, body: object{}},
		"deleteProject":      {ours: map[string]string{"projectName": "acme/created"}},
		"renameProject":      {body: object{"project": w.projectOnly(t, "acme/renamed"), "name": "acme/moved"}, foreign: []probe{{body: object{"project": "rival/own", "name": "acme/a"}}, {body: object{"project": "missing/none", "name": "acme/a"}}}},
		"mergeProject": {body: object{"project": w.projectOnly(t, "acme/merged"), "into": "acme/payments"}, foreign: []probe{
			{body: object{"project": "acme/payments", "into": "rival/own"}}, {body: object{"project": "rival/own", "into": "acme/payments"}}, {body: object{"project": "missing/none", "into": "acme/payments"}},
		}},
		"getTicketSettings":          {},
		"setTicketSettings":          {body: object{}, foreign: []probe{{body: object{"connection_id": 4000000000}}}},
		"toggleManagedScan":          {ours: project, body: object{}},
		"addProjectTags":             {ours: project, body: object{"tags": []string{"x"}}},
		"removeProjectTags":          {ours: project, query: "?tags=x"},
		"listDeploymentsV2":          {},
		"getDeployment":              {},
		"pingAgent":                  {},
		"checkHealth":                {},
		"searchIssues":               {body: object{}},
		"listVulns":                  {body: object{}},
		"getMe":                      {},
		"getScan":                    {ours: scan},
		"listDependencyRepositories": {body: object{}},
		"deleteRef": {query: "?project=acme/payments&ref=feature", foreign: []probe{
			{query: "?project=rival/own&ref=main"}, {query: "?project=missing/none&ref=main"}, {query: "?project=single&ref=main"},
		}},
		"listDependencies": {body: object{}},
		"listLockfiles":    {ours: map[string]string{"repositoryId": fmt.Sprint(w.projectID("acme/payments"))}, body: object{}},
		"createSBOMExport": {body: object{}, foreign: []probe{
			{body: object{"repositoryId": w.rivalProject}}, {body: object{"repositoryId": 4000000000}}, {body: object{"repositoryId": w.rivalProject, "ref": "main"}},
		}},
		"getSBOMExport":     {ours: export},
		"downloadSBOM":      {ours: export, query: "?expires=1&signature=x"},
		"getAdvisory":       {ours: map[string]string{"advisoryId": "CVE-2024-0001"}},
		"getAdvisoryImpact": {ours: map[string]string{"advisoryId": "CVE-2024-0001"}},
		"searchScans":       {body: object{}},
		"listSnippets":      {ours: scan},
		"putSnippets":       {ours: scan, body: object{"snippets": []object{}}},
		"importReports":     {body: semgrepReport(), query: "?project=acme/imported&ref=main"},
		"listPolicies":      {},
		"listPolicyRules":   {ours: map[string]string{"policyId": w.policyID(t, "PRODUCT_TYPE_SAST")}},
		"updatePolicy":      {ours: map[string]string{"policyId": w.policyID(t, "PRODUCT_TYPE_SAST")}, body: object{"rulePath": w.ruleOnly(t), "policyMode": "MODE_MONITOR"}},

		"createPolicy":           {body: object{"name": "made", "product": "sast"}},
		"deletePolicy":           {ours: map[string]string{"policyId": w.policyOnly(t)}},
		"getPolicySettings":      {ours: chain},
		"setPolicySettings":      {ours: chain, body: object{"name": "Supply chain"}},
		"previewPolicy":          {ours: chain, body: object{"block_all": true}},
		"addPolicyRules":         {ours: map[string]string{"policyId": w.policyID(t, "PRODUCT_TYPE_SAST")}, body: object{"text": ruleText("added", "x")}},
		"listServedRules":        {ours: chain},
		"getPolicyRule":          {ours: w.policyRule(t, "got")},
		"removePolicyRule":       {ours: w.policyRule(t, "removed")},
		"getDueDays":             {ours: chain},
		"setDueDays":             {ours: chain, body: object{"critical": 7}},
		"listPolicyConditions":   {ours: chain},
		"createPolicyCondition":  {ours: chain, body: object{"mode": "monitor", "malicious": true}},
		"deletePolicyCondition":  {ours: map[string]string{"policyId": chain["policyId"], "conditionId": fmt.Sprint(w.conditionOnly(t, chain["policyId"]))}},
		"listExceptions":         {},
		"createException":        {body: object{"target": "no-such-rule", "reason": "x", "forever": true, "projects": []string{"acme/payments"}}},
		"getException":           {ours: accepted},
		"deleteException":        {ours: accepted},
		"requestException":       {body: object{"issue_ids": []int64{w.newFinding(t)}, "reason": "x"}},
		"importDocuments":        {body: vexDocument("urn:matrix")},
		"approveException":       {ours: w.newExceptionRequest(t, w.newFinding(t)), body: object{"forever": true}},
		"refuseException":        {ours: w.newExceptionRequest(t, w.newFinding(t)), body: object{"answer": "no"}},
		"withdrawException":      {ours: w.newExceptionRequest(t, w.newFinding(t))},
		"listFindingComments":    {ours: map[string]string{"findingId": fmt.Sprint(w.code[0].ID)}},
		"addFindingComment":      {ours: map[string]string{"findingId": fmt.Sprint(w.code[0].ID)}, body: object{"text": "x"}},
		"withdrawFindingComment": {ours: w.commented(t, w.code[0].ID)},
		"createTickets":          {body: object{"issue_ids": []int64{w.code[0].ID}}},
		"linkTicket":             {body: object{"issue_ids": []int64{w.code[0].ID}, "ticket_url": "https://t.example/browse/SEC-1"}},
		"unlinkTicket":           {body: object{"issue_ids": []int64{w.code[0].ID}}},
		"listTickets":            {},
		"getTicket":              {ours: ticket},
		"deleteTicket":           {ours: ticket},

		"listConnections":      {},
		"createConnection":     {body: gitea("created")},
		"getConnection":        {ours: connected},
		"updateConnection":     {ours: connected, body: object{}},
		"deleteConnection":     {ours: map[string]string{"connectionId": fmt.Sprint(w.connect(t, "deleted").ID)}},
		"testConnection":       {ours: connected},
		"makeWebhooks":         {ours: connected},
		"listRepositories":     {ours: connected},
		"followRepositories":   {ours: connected, body: object{"names": []string{"acme/payments"}}},
		"unfollowRepositories": {ours: connected, body: object{"names": []string{"acme/web-shop"}}},
		"listDeliveries":       {ours: connected},
		"listRuns":             {},
		"startRun":             {body: object{"project": "acme/payments"}, foreign: []probe{{body: object{"project": "rival/own"}}, {body: object{"project": "missing/none"}}, {body: object{"project": "single"}}}},
		"getRun":               {ours: run},
		"getRunLog":            {ours: run},
		"cancelRun":            {ours: map[string]string{"runId": fmt.Sprint(w.queue(t, model.RunFull, "refs/heads/other").ID)}},
		"retryRun":             {ours: map[string]string{"runId": fmt.Sprint(w.ended(t).ID)}},
		"listRunners":          {},
		"revokeRunner":         {ours: map[string]string{"runnerId": fmt.Sprint(w.runner(t, "matrix").ID)}},

		"listSavedViews":           {},
		"createSavedView":          {body: object{"name": "created", "issue_type": "sast", "shared": true}},
		"getSavedView":             {ours: saved("got")},
		"updateSavedView":          {ours: saved("changed"), body: object{}},
		"deleteSavedView":          {ours: saved("deleted")},
		"listNotificationRules":    {},
		"createNotificationRule":   {body: w.webhook("created")},
		"getNotificationRule":      {ours: rule},
		"updateNotificationRule":   {ours: rule, body: object{}},
		"deleteNotificationRule":   {ours: ruleOf(w.sendTestNotification(t, "deleted"))},
		"testNotificationRule":     {ours: rule},
		"rotateNotificationSecret": {ours: rule},
		"listNotifications":        {ours: rule},
		"resendNotification":       {ours: w.sendTestNotification(t, "resent")},
	}
}

// address fills in a pattern.
func address(pattern, deployment string, parts map[string]string) string {
	for name, value := range parts {
		pattern = strings.ReplaceAll(pattern, "{"+name+"}", url.PathEscape(value))
	}
	return strings.NewReplacer("{deploymentId}", deployment, "{deploymentSlug}", deployment).Replace(pattern)
}

// eachRoute runs a test for every route of the table.
func eachRoute(t *testing.T, w *world, test func(t *testing.T, r apihttp.Route, p probe)) {
	t.Helper()
	task := post[api.CreateSBOMExportResponse](t, w.site, "sbom/export", object{}).TaskToken
	probes := matrix(t, w, task)
	for _, route := range apihttp.Routes() {
		p, ok := probes[route.ID]
		if !ok {
			t.Errorf("the tenant matrix has no entry for %s: add it to matrix", route.ID)
			continue
		}
		for _, part := range regexp.MustCompile(`{(\w+)}`).FindAllStringSubmatch(route.Pattern, -1) {
			if _, ok := p.ours[part[1]]; !ok && part[1] != "deploymentId" && part[1] != "deploymentSlug" {
				t.Errorf("the tenant matrix has no entry for %s of %s", part[1], route.ID)
			}
		}
		t.Run(route.ID, func(t *testing.T) { test(t, route, p) })
	}
}

// testTokens calls every route with every kind of unsuitable token.
func testTokens(t *testing.T, w *world) {
	tokens := w.badTokens(t)
	eachRoute(t, w, func(t *testing.T, r apihttp.Route, p probe) {
		w.clock.Advance(time.Minute) // avoids the rate limit of invalid tokens
		call := func(token string) answer {
			return w.send(t, request{method: r.Method, path: address(r.Pattern, w.deployment.Slug, p.ours) + p.query, token: token, body: p.body})
		}
		for name, token := range tokens {
			status, code := 401, api.CodeUnauthenticated
			switch {
			case r.Scope == httpx.Anyone:
				if a := call(token); a.status == 401 {
					t.Errorf("%s: needs a token", name)
				}
				continue
			case name == "ci only" && r.Scope == httpx.Upload:
				if a := call(token); a.status != 200 {
					t.Errorf("a token for uploads is refused: %s", a.body)
				}
				continue
			case name == "read only" && !r.Writes:
				if a := call(token); a.status != 200 {
					t.Errorf("a read-only token is refused: %s", a.body)
				}
				continue
			case name == "ci only", name == "read only", name == "no scope":
				status, code = 403, api.CodePermissionDenied
			}
			a := call(token)
			refused(t, a, status, code)
			if challenge := a.header.Get("WWW-Authenticate"); (status == 401) != strings.HasPrefix(challenge, "Bearer") {
				t.Errorf("%s: %d with WWW-Authenticate %q", name, a.status, challenge)
			}
		}
	})
}

// badTokens returns unsuitable tokens, by reason.
func (w *world) badTokens(t *testing.T) map[string]string {
	t.Helper()
	scopes := func(list ...model.Scope) []model.Scope { return list }
	tokens := map[string]string{
		"none": "-", "garbage": "garbage", "another server's": "rdt_2_" + strings.Repeat("a", 52) + "_00000000",
		"expired":   w.newToken(t, model.Token{Name: "expired", Scopes: scopes(model.ScopeWebAPI), ExpiresAt: w.clock.Now().Add(-time.Second)}),
		"revoked":   w.newToken(t, model.Token{Name: "revoked", Scopes: scopes(model.ScopeWebAPI)}),
		"ci only":   w.newToken(t, model.Token{Name: "ci only", Scopes: scopes(model.ScopeCI)}),
		"read only": w.newToken(t, model.Token{Name: "read only", Scopes: scopes(model.ScopeWebAPI, model.ScopeReadOnly)}),
		"no scope":  w.newToken(t, model.Token{Name: "no scope", Scopes: scopes(model.ScopeReadOnly)}),
	}
	w.revoke(t, "revoked")
	return tokens
}

// testForeignIDs calls every route with ids of another tenant, ids that the token's globs exclude, and
// unknown ids. All must return the same 404.
func testForeignIDs(t *testing.T, w *world) {
	rival := &site{config: w.config, clock: w.clock, store: w.store, deployment: w.rival, url: w.url, client: w.client}
	rival.token = rival.newToken(t, model.Token{Name: "foreign", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
	foreignValues := w.foreignPathValues(t, rival)
	eachRoute(t, w, func(t *testing.T, r apihttp.Route, p probe) {
		if r.Scope == httpx.Anyone {
			return
		}
		var first []byte
		same := func(what, deployment, token string, parts map[string]string) {
			t.Helper()
			a := w.send(t, request{method: r.Method, path: address(r.Pattern, deployment, parts) + p.query, token: token, body: p.body})
			refused(t, a, 404, api.CodeNotFound)
			if first == nil {
				first = anonymous(t, a.body)
			}
			if got := anonymous(t, a.body); !bytes.Equal(got, first) {
				t.Errorf("%s returns %s, others %s", what, got, first)
			}
		}
		if strings.Contains(r.Pattern, "{deployment") {
			for _, foreign := range []string{fmt.Sprint(w.rival.ID), w.rival.Slug, "noise", "1", "999999", "unknown", "0", "01", "18446744073709551616"} {
				same("deployment "+foreign, foreign, "", p.ours)
			}
		}
		for _, f := range p.foreign {
			a := w.send(t, request{method: r.Method, path: address(r.Pattern, w.deployment.Slug, p.ours) + f.query, body: f.body})
			refused(t, a, 404, api.CodeNotFound)
			if got := anonymous(t, a.body); !bytes.Equal(got, first) {
				t.Errorf("%v returns %s, others %s", f, got, first)
			}
		}
		for name := range p.ours {
			for _, value := range foreignValues[name] {
				if value == "single" && strings.HasSuffix(r.Pattern, "/tags") {
					continue // single/tags is itself the name of a project
				}
				parts := maps.Clone(p.ours)
				parts[name] = value
				same(name+" "+value, w.deployment.Slug, "", parts)
			}
			if name != "policyId" && name != "taskToken" && name != "advisoryId" { // not part of a project
				same("behind the globs", w.deployment.Slug, w.globbed, p.ours)
			}
		}
	})
}

// foreignPathValues returns foreign values for each part of a path: of another tenant, of another kind,
// and unknown ones.
func (w *world) foreignPathValues(t *testing.T, rival *site) map[string][]string {
	t.Helper()
	post[api.ProjectResponse](t, rival, "projects", object{"name": "rival/own"})
	rival.upload(t, "rival/own", "main", "full", semgrepReport())
	rivalScan := all(t, rival.api().Scans(t.Context(), rival.deployment.Slug, api.SearchScansRequest{}))[0].ID
	foreignConnection := fmt.Sprint(rival.connect(t, "theirs").ID)
	policies := get[api.ListPoliciesResponse](t, rival, "policies").Policies
	projects := get[api.ListProjectsResponse](t, rival, "projects").Projects
	w.rivalProject = projects[0].ID
	return map[string][]string{
		"findingId":    {"4000000000", "99999999999999999999", "0", "-1", "x", "1e3"},
		"projectName":  {"rival/own", "missing/none", "single"},
		"repositoryId": {fmt.Sprint(projects[0].ID), "4000000000", "0", "x", "18446744073709551615"},
		"policyId":     {policies[0].ID, "4000000000", "0", "x"},
		"conditionId":  {"4000000000", "0", "x"},
		"exceptionId":  {fmt.Sprint(rival.exceptionOnly(t)), rival.newExceptionRequest(t, rival.newFinding(t))["exceptionId"], rival.proposalOnly(t, "foreign"), "4000000000", "0", "x"},
		"ticketId":     {fmt.Sprint(rival.ticketOnly(t, rival.anyFinding(t))), "4000000000", "0", "x"},
		"scanId":       {rivalScan, "4000000000", "0", "01", "x", "99999999999999999999"},
		"connectionId": {foreignConnection, "4000000000", "0", "01", "x"},
		"runId":        {fmt.Sprint(rival.queueOf(t, "acme/payments", model.RunFull, "refs/heads/main").ID), "4000000000", "0", "x"},
		"runnerId":     {fmt.Sprint(rival.runner(t, "theirs").ID), "4000000000", "0", "x"},

		"commentId":          {rival.commented(t, rival.newFinding(t))["commentId"], "4000000000", "0", "x"},
		"policyRuleId":       {rival.policyRule(t, "theirs")["policyRuleId"], "4000000000", "0", "x"},
		"savedViewId":        {rival.savedView(t, "theirs"), "4000000000", "0", "x"},
		"notificationRuleId": {rival.sendTestNotification(t, "theirs")["notificationRuleId"], "4000000000", "0", "x"},
		"notificationId":     {rival.sendTestNotification(t, "theirs too")["notificationId"], "4000000000", "0", "x"},
		"taskToken":          {post[api.CreateSBOMExportResponse](t, rival, "sbom/export", object{}).TaskToken, "job-token", "task_none", "1"},
	}
}

// anonymous removes the members of a problem that are specific to a request.
func anonymous(t *testing.T, body []byte) []byte {
	t.Helper()
	var p map[string]any
	if err := json.Unmarshal(body, &p); err != nil {
		t.Fatal(err)
	}
	delete(p, "request_id")
	delete(p, "instance")
	text, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// testGlobs checks that a token with globs sees only its projects in every list. Bulk triage and
// filters must not reach other projects.
func testGlobs(t *testing.T, w *world) {
	client := w.api(w.globbed)
	ours := func(name string) bool { return strings.HasPrefix(name, "group/") }
	projects := all(t, client.Projects(t.Context(), w.deployment.Slug, api.ProjectsQuery{}))
	if len(projects) != 2 || !ours(projects[0].Name) || !ours(projects[1].Name) {
		t.Errorf("sees projects %+v", projects)
	}
	code := all(t, client.Findings(t.Context(), w.deployment.Slug, api.FindingsQuery{}))
	if want := len(filterSlice(w.code, func(f codeRow) bool { return ours(f.Repository.Name) })); len(code) != want || want == 0 {
		t.Errorf("sees %d findings, want %d", len(code), want)
	}
	secrets := all(t, client.Secrets(t.Context(), w.deployment.Slug, api.SecretsQuery{}))
	if want := len(filterSlice(w.secrets, func(f secretRow) bool { return ours(f.Repository.Name) })); len(secrets) != want || want == 0 {
		t.Errorf("sees %d secrets, want %d", len(secrets), want)
	}
	tools := fmt.Sprint(w.projectID("group/tools"))
	for _, d := range all(t, client.Dependencies(t.Context(), w.deployment.Slug, api.ListDependenciesRequest{})) {
		if d.RepositoryID != tools {
			t.Errorf("sees dependency %+v", d)
		}
	}
	for _, s := range all(t, client.Scans(t.Context(), w.deployment.Slug, api.SearchScansRequest{})) {
		if id := integer(s.RepositoryID); id != w.projectID("group/tools") && id != w.projectID("group/sub/repo") {
			t.Errorf("sees scan %+v", s)
		}
	}
	foreign := filterSlice(w.code, func(f codeRow) bool { return !ours(f.Repository.Name) })[0].ID
	got, err := client.TriageFindings(t.Context(), w.deployment.Slug, typed[api.TriageRequest](t, object{"issue_type": "sast", "issue_ids": []int64{foreign}, "new_triage_state": "fixing"}))
	if err != nil || got.NumTriaged != 0 {
		t.Errorf("triages %+v, %v", got, err)
	}
	a := w.send(t, request{method: "POST", path: "imports?project=acme/payments&ref=main", token: w.globbed, body: semgrepReport()})
	refused(t, a, 404, api.CodeNotFound)
}
