package conformance

import (
	"fmt"
	"iter"
	"maps"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// world is a site whose tenant has every value of every filter. It is built through the API, next
// to a second tenant with the same names.
type world struct {
	*site
	rival        model.Deployment
	rivalProject int64 // a project of the rival; set on demand
	projects     []api.Project
	rules        map[string]scanRule // by name
	code         []codeRow
	supply       []supplyRow
	secrets      []secretRow
	globbed      string            // a token for group/** only
	notes        map[string]object // written annotations, by lineage
}

// codeRow, supplyRow and secretRow are listed findings.
type (
	codeRow   = api.CodeFinding
	supplyRow = api.SupplyChainFinding
	secretRow = api.Finding
)

// worldProjects are the projects of the world. Some names need %2F or are easily misread; all of
// them exist in the rival too.
var worldProjects = []string{
	"acme/payments", "acme/web-shop", "group/sub/repo", "group/tools", "acme/managed-scan", "local_scan/demo",
	"Mixed/Case", "acme/a b", "acme/ünï", "acme/p10", "acme/p11", "zeta/last",
}

func newWorld(t *testing.T, engine string) *world {
	t.Helper()
	w := &world{site: newSite(t, engine), rules: map[string]scanRule{}, notes: map[string]object{}}
	w.globbed = w.newToken(t, model.Token{Name: "globbed", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: []string{"group/**"}})
	w.addRival(t)
	w.publish(t, record{id: "GHSA-0000", aliases: []string{"CVE-2024-0001"}, name: "unused-package", fixed: "1.0.0"})
	for i := range worldProjects {
		w.addProject(t, i)
	}
	w.addLockfiles(t)
	w.describeProjects(t)
	w.triageSome(t)
	w.annotateSome(t)
	w.load(t)
	return w
}

// addRival adds the same reports with the same names to another tenant.
func (w *world) addRival(t *testing.T) {
	t.Helper()
	var err error
	if w.rival, err = w.store.CreateDeployment(t.Context(), "rival", "Rival", storetest.Actor); err != nil {
		t.Fatal(err)
	}
	rival := &site{config: w.config, clock: w.clock, store: w.store, deployment: w.rival, url: w.url, client: w.client}
	rival.token = rival.newToken(t, model.Token{Name: "main", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}})
	for i, name := range worldProjects {
		rival.upload(t, name, "main", "full", semgrepReport(w.matches(i, 0, 20)...))
	}
}

// addProject scans one project. It scans the main branch several times, so that some findings are
// fixed and some return. Scans of a feature branch, a change request, and of main with another tool
// follow.
func (w *world) addProject(t *testing.T, i int) {
	t.Helper()
	name := worldProjects[i]
	all := w.matches(i, 0, 48)
	w.upload(t, name, "main", "full", semgrepReport(all...))
	w.upload(t, name, "main", "full", semgrepReport(all[8:]...))
	w.upload(t, name, "main", "full", semgrepReport(all[4:]...))
	w.upload(t, name, "feature/x", "full", semgrepReport(append(w.matches(i, 20, 30), w.matches(i, 60, 70)...)...))
	w.upload(t, name, "refs/pull/7/merge", "diff", semgrepReport(w.matches(i, 70, 76)...))
	w.upload(t, name, "main", "full&category=nightly", semgrepReport(w.matches(i, 24, 34)...))
	w.upload(t, name, "main", "full", sarifReport("bandit", w.matches(i, 100, 104)...))
}

// upload uploads a report of a project's ref, one second after the last.
func (s *site) upload(t testing.TB, project, ref, how string, report []byte) api.Import {
	t.Helper()
	s.clock.Advance(time.Second)
	query := url.Values{
		"project": {project}, "ref": {ref}, "filename": {"report.json"}, "repo_url": {"https://github.com/" + url.PathEscape(project)},
		"commit": {fmt.Sprintf("%040x", s.clock.Now().UnixMicro())},
	}
	kind, more, _ := strings.Cut(how, "&")
	path := "imports?" + query.Encode() + "&" + kind + "=true&" + more
	out := post[api.ImportResponse](t, s, path, report)
	if len(out.Imports) != 1 || len(out.Imports[0].Refused) > 0 {
		t.Fatalf("import of %s %s: %+v", project, ref, out)
	}
	return out.Imports[0]
}

// matches returns the matches number from to below to of a project. Each number is the same finding
// on every ref.
func (w *world) matches(project, from, to int) []match {
	var out []match
	for n := from; n < to; n++ {
		m := match{path: fmt.Sprintf("src/file%d.py", n), line: 10 + n, fingerprint: fmt.Sprintf("%032x%d_0", project*1000+n, n), muted: n%13 == 5}
		switch k := project + n; n % 4 {
		case 0, 1:
			m.rule = codeRule(k)
		case 2:
			m.rule, m.dependency = supplyRule(k), dependencyNo(k)
			if k%3 == 0 {
				m.path = m.dependency.lockfile
			}
		case 3:
			m.rule, m.secret = secretRule(k), secretNo(project, n)
			m.fingerprint = "requires login"
		}
		w.rules[m.rule.name] = m.rule
		out = append(out, m)
	}
	return out
}

var (
	severityWords = []string{"INFO", "WARNING", "ERROR", "CRITICAL"}
	sureness      = []string{"LOW", "MEDIUM", "HIGH"}
	kinds         = []string{"security", "correctness", "", "best-practice", "maintainability"}
	modes         = []string{"", "monitor", "comment", "block", "block"}
	rulesets      = []string{"p/default", "p/owasp-top-ten", "r/custom"}
	origins       = []string{"community", "pro_rules", "custom"}
	reachingKinds = []string{"reachable", "upgrade-only", "malicious", "legacy", "legacy", "reachable"}
	validations   = []string{"NO_VALIDATOR", "CONFIRMED_VALID", "CONFIRMED_INVALID", "VALIDATION_ERROR"}
	secretTypes   = []string{"AWS", "Slack", "GitHub"}
	passages      = []string{"direct", "transitive", "unknown"}
	packages      = []string{"lodash", "react", "left-pad", "requests"}
)

// pick returns the n-th element of a list that repeats.
func pick[T any](list []T, n int) T { return list[n%len(list)] }

// codeRule returns the n-th of 60 rules, in which all pairs of values of two members occur.
func codeRule(n int) scanRule {
	n %= 60
	return scanRule{
		name: fmt.Sprintf("python.lang.rule-%02d", n), kind: "sast", severity: pick(severityWords, n), confidence: pick(sureness, n),
		category: pick(kinds, n), mode: pick(modes, n/2), ruleset: pick(rulesets, n/4), origin: pick(origins, n), pro: n%7 < 2,
	}
}

func supplyRule(n int) scanRule {
	n %= 36
	return scanRule{
		name: fmt.Sprintf("ssc-%02d", n), kind: "sca", severity: pick(severityWords, n/3), confidence: pick(sureness, n), category: "security",
		mode: pick(modes, n), ruleset: "supply-chain", origin: "pro_rules", scaKind: pick(reachingKinds, n), vulnerable: fmt.Sprintf("CVE-2025-%04d", n),
	}
}

func dependencyNo(n int) *dependency {
	return &dependency{
		ecosystem: "npm", name: pick(packages, n/2), version: fmt.Sprintf("1.%d.0", n%9), transitivity: pick(passages, n/3),
		lockfile: pick([]string{"package-lock.json", "web/package-lock.json"}, n/5), reachable: n%2 == 0, undetermined: n%11 == 0,
	}
}

func secretRule(n int) scanRule {
	n %= 24
	return scanRule{
		name: fmt.Sprintf("secrets.rule-%02d", n), kind: "secrets", severity: pick(severityWords, n/2), confidence: pick(sureness, n/3),
		category: "security", mode: pick(modes, n), ruleset: "secrets", origin: "pro_rules", secretType: pick(secretTypes, n),
	}
}

func secretNo(project, n int) *secret {
	s := &secret{text: fmt.Sprintf("AKIA%08dQ7%04dZX", project*7919+n, n), validation: pick(validations, n/4+project)}
	if (n/4)%3 == 1 {
		s.commit = fmt.Sprintf("%040x", n)
	}
	return s
}

// describeProjects sets tags, visibilities and primary branches of the projects.
func (w *world) describeProjects(t *testing.T) {
	t.Helper()
	tags := [][]string{{"team-a", "PCI"}, {"team-b"}, {}, {"team-a"}, {"pci", "team-c"}}
	for i, name := range worldProjects {
		body := object{"tags": pick(tags, i), "visibility": pick([]string{"public", "private", "unknown"}, i)}
		if i%4 == 1 {
			body["primary_branch"] = "feature/x"
		}
		patch[api.ProjectResponse](t, w.site, "projects/"+url.PathEscape(name), body)
	}
	w.projects = get[api.ListProjectsResponse](t, w.site, "projects").Projects
}

// triageSome triages findings of every type with every decision.
func (w *world) triageSome(t *testing.T) {
	t.Helper()
	decisions := []object{
		{"new_triage_state": "ignored", "new_triage_reason": "acceptable_risk", "new_note": "known"},
		{"new_triage_state": "ignored", "new_triage_reason": "false_positive"},
		{"new_triage_state": "ignored", "new_triage_reason": "no_time"},
		{"new_triage_state": "ignored", "new_triage_reason": "no_triage_reason"},
		{"new_triage_state": "reviewing"},
		{"new_triage_state": "fixing"},
		{"new_triage_state": "reopened", "new_note": "once more"},
	}
	w.clock.Advance(time.Second)
	for _, issueType := range []string{"sast", "sca", "secrets"} {
		ids := w.ids(t, issueType)
		for i, decision := range decisions {
			body := object{"issue_type": issueType, "issue_ids": every(ids, 2*len(decisions), i)}
			maps.Copy(body, decision)
			post[api.TriageResponse](t, w.site, "triage", body)
		}
	}
}

// every returns each n-th element of a list, starting at offset.
func every[T any](list []T, n, offset int) []T {
	var out []T
	for i := offset; i < len(list); i += n {
		out = append(out, list[i])
	}
	return out
}

// ids returns the ids of all findings of a type.
func (w *world) ids(t testing.TB, issueType string) []int64 {
	t.Helper()
	switch issueType {
	case "sast":
		return mapped(w.allCode(t), func(f codeRow) int64 { return f.ID })
	case "sca":
		return mapped(w.allSupply(t), func(f supplyRow) int64 { return f.ID })
	}
	listed := all(t, w.api().Secrets(t.Context(), w.deployment.Slug, api.SecretsQuery{Limit: 3000}))
	return mapped(listed, func(f api.Secret) int64 { return integer(f.ID) })
}

// annotateSome annotates some findings.
func (w *world) annotateSome(t *testing.T) {
	t.Helper()
	pr := func(state string) object {
		return object{"created_at": "2026-01-01T00:00:00Z", "url": "https://git.example.com/pr/1", "state": state}
	}
	code := []object{
		{"assistant": object{"autotriage": object{"verdict": "true_positive", "reason": ""}, "component": object{"tag": "authentication", "risk": "high"}}},
		{"assistant": object{"autotriage": object{"verdict": "false_positive", "reason": "test code"}, "component": object{"tag": "payments", "risk": "low"}}},
		{"click_to_fix_prs": []object{pr("open")}},
		{"click_to_fix_prs": []object{pr("merged")}, "external_ticket": object{"externalSlug": "SEC-1", "id": 7, "linkedIssueIds": []int{1}, "url": "https://tracker.example.com/SEC-1"}},
		{"click_to_fix_prs": []object{pr("open"), pr("merged")}, "review_comments": []object{{"externalDiscussionId": "d1", "externalNoteId": 9}}},
		{"click_to_fix_failures": []object{{"created_at": "2026-01-01T00:00:00Z", "reason": "conflict"}}},
	}
	epss := func(score float64) object { return object{"epss_score": object{"score": score, "percentile": 0.5}} }
	supply := []object{
		epss(0.5), epss(0.1), epss(0.099), epss(0),
		{"external_ticket": object{"externalSlug": "SEC-2", "id": 8, "linkedIssueIds": []int{}, "url": "https://tracker.example.com/SEC-2"}},
		{"click_to_fix_prs": []object{pr("open")}},
		{"click_to_fix_prs": []object{pr("merged")}},
		{"assistant": object{"autotriage": object{"verdict": "true_positive", "reason": ""}, "component": object{"tag": "authentication", "risk": "high"}}},
		{"assistant": object{"autotriage": object{"verdict": "false_positive", "reason": ""}, "component": object{"tag": "payments", "risk": "low"}}},
	}
	w.annotate(t, every(w.ids(t, "sast"), 3, 0), code)
	w.annotate(t, every(w.ids(t, "sca"), 2, 1), supply)
	unknown := filterSlice(w.allSupply(t), func(f supplyRow) bool { return f.Reachability == "unknown" })
	reachable := []object{{"reachability": "conditionally_reachable"}, {"reachability": "reachable"}, {"reachability": "unknown"}}
	w.annotate(t, every(w.ids(t, "secrets"), 5, 0), code[:2])
	w.annotate(t, every(mapped(unknown, func(f supplyRow) int64 { return f.ID }), 2, 0), reachable)
}

func (w *world) annotate(t *testing.T, ids []int64, notes []object) {
	t.Helper()
	slices.Sort(ids) // oldest first, in any order of the list
	for i, id := range ids[:min(len(ids), 48)] {
		f := patch[api.FindingResponse](t, w.site, fmt.Sprintf("findings/%d", id), pick(notes, i)).Finding
		if w.notes[lineage(&f.FindingCore)] == nil {
			w.notes[lineage(&f.FindingCore)] = object{}
		}
		maps.Copy(w.notes[lineage(&f.FindingCore)], pick(notes, i)) // another ref may have some
	}
}

// load reads all rows.
func (w *world) load(t testing.TB) {
	t.Helper()
	w.code, w.supply, w.secrets = w.allCode(t), w.allSupply(t), w.allSecrets(t)
	if len(w.code) < 300 || len(w.supply) < 150 || len(w.secrets) < 150 {
		t.Fatalf("the test data has %d, %d and %d findings, which is too few", len(w.code), len(w.supply), len(w.secrets))
	}
}

// allCode returns all code findings.
func (s *site) allCode(t testing.TB) []codeRow {
	t.Helper()
	return all(t, s.api().Findings(t.Context(), s.deployment.Slug, api.FindingsQuery{PageSize: 100}))
}

// allSupply returns all supply-chain findings.
func (s *site) allSupply(t testing.TB) []supplyRow {
	t.Helper()
	return all(t, s.api().SupplyChainFindings(t.Context(), s.deployment.Slug, api.FindingsQuery{PageSize: 100}))
}

// allSecrets returns all secrets, each as the operation on one finding returns it.
func (s *site) allSecrets(t testing.TB) []secretRow {
	t.Helper()
	var out []secretRow
	for _, f := range all(t, s.api().Secrets(t.Context(), s.deployment.Slug, api.SecretsQuery{})) {
		out = append(out, get[api.FindingResponse](t, s, "findings/"+f.ID).Finding)
	}
	return out
}

// findings lists findings.
func (s *site) findings(t testing.TB, query url.Values) api.ListFindingsResponse {
	t.Helper()
	return get[api.ListFindingsResponse](t, s, "findings", query)
}

// all reads a list of the client to its end.
func all[T any](t testing.TB, seq iter.Seq2[T, error]) []T {
	t.Helper()
	var out []T
	for v, err := range seq {
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, v)
	}
	return out
}
