package agent_test

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func each(t *testing.T, test func(w *world)) {
	t.Helper()
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) { test(newWorld(t, engine)) })
	}
}

// TestRecordedRuns replays recorded scans. These are a full scan, a diff scan of a branch, and a
// full scan after a fix and a move.
func TestRecordedRuns(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeBlock)
		w.same("the first scan of the primary branch", `{"success":true}`, w.replay("full"))
		before, ids := w.code("main")
		w.same("findings of main", map[string]string{
			"eqeq app.py:4": "open", "eqeq app.py:14": "ignored", "js-eval web/main.js:1": "open", "taint-x app.py:8": "open",
		}, before)
		w.same("supply chain", map[string]string{
			"sca-probe requirements.txt": "requests 2.19.0 always_reachable high CVE-2018-18074",
			"sca-reach app.py":           "pyyaml 5.3 reachable critical ", "sca-smallvec rs/Cargo.lock": "smallvec 1.6.0 always_reachable critical ",
		}, w.chain("main"))

		gate := w.replay("diff")
		if !strings.Contains(gate, `"app_block_override":true`) || !strings.Contains(gate, "eqeq at service.py:17") || !strings.Contains(gate, "c7003a62e3") {
			w.Errorf("the branch adds a finding of a blocking rule, and the answer is %s", gate)
		}
		now, _ := w.code("main")
		w.same("main after a diff scan of a branch", before, now)
		branch, _ := w.code("feature")
		w.same("the branch", map[string]string{"eqeq service.py:17": "open"}, branch)

		w.same("nothing new on main", `{"success":true}`, w.replay("after-fix"))
		after, moved := w.code("main")
		w.same("main after a fix and a move", map[string]string{
			"eqeq app.py:4": "fixed", "eqeq core.py:14": "ignored", "js-eval web/main.js:1": "open", "taint-x core.py:8": "open",
		}, after)
		for from, to := range map[string]string{"eqeq app.py:14": "eqeq core.py:14", "taint-x app.py:8": "taint-x core.py:8"} {
			w.same("id of what moved to "+to, ids[from], moved[to])
		}
		w.same("supply chain after an upgrade", map[string]string{
			"sca-reach core.py": "pyyaml 5.3 reachable critical ", "sca-smallvec rs/Cargo.lock": "smallvec 1.6.0 always_reachable critical ",
		}, w.chain("main"))
		w.dependencies()
		w.scanRows()
	})
}

func (w *world) chain(ref string) map[string]string {
	w.Helper()
	list := map[string]string{}
	for f, err := range w.client().SupplyChainFindings(w.Context(), "acme", api.FindingsQuery{Ref: ref, Status: []string{"open"}}) {
		if err != nil {
			w.Fatal(err)
		}
		cve := ""
		if f.VulnerabilityIdentifier != nil {
			cve = *f.VulnerabilityIdentifier
		}
		d := f.FoundDependency
		list[f.RuleName+" "+f.Location.FilePath] = fmt.Sprintf("%s %s %s %s %s", d.Package, d.Version, f.Reachability, f.Severity, cve)
	}
	return list
}

func (w *world) dependencies() {
	w.Helper()
	got := map[string]string{}
	for d, err := range w.client().Dependencies(w.Context(), "acme", api.ListDependenciesRequest{}) {
		if err != nil {
			w.Fatal(err)
		}
		got[d.LockfilePath+" "+d.Name] = d.Version + " " + d.Transitivity
	}
	w.same("dependencies", map[string]string{
		"requirements.txt requests": "2.32.0 unknown", "requirements.txt pyyaml": "5.3 unknown", "requirements.txt flask": "3.0.0 unknown",
		"go.mod golang.org/x/text": "0.3.5 direct", "rs/Cargo.lock smallvec": "1.6.0 unknown", "rs/Cargo.lock tiny": "0.1.0 unknown",
	}, got)
}

func (w *world) scanRows() {
	w.Helper()
	type row struct {
		Ref, Status string
		Full        bool
		Unread      string
		Total       int64
	}
	var got []row
	for _, s := range w.scans() {
		got = append(got, row{s.Branch, s.Status, s.IsFullScan, strings.Join(s.UnreadLockfiles, " "), s.FindingsCounts.Total})
	}
	w.same("scans, newest first", []row{
		{"refs/heads/main", "SCAN_STATUS_COMPLETED", true, "web/package-lock.json", 5},
		{"refs/heads/feature", "SCAN_STATUS_COMPLETED", false, "", 1},
		{"refs/heads/main", "SCAN_STATUS_COMPLETED", true, "web/package-lock.json", 7},
	}, got)
}

// TestSecretLeavesNoUnkeyedTrace checks that no data is stored from which a secret could be
// guessed. These are the scanner's own ids and hashes of the line with the secret.
func TestSecretLeavesNoUnkeyedTrace(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.rules(model.ModeMonitor)
	path := w.begin("full")
	w.ok("POST", path+"results", w.recorded("full/3-results.json"))
	w.grep("while the results wait")
	w.ok("POST", path+"complete", w.recorded("full/4-complete.json"))
	w.grep("after the completion")
	for s, err := range w.client().Secrets(w.Context(), "acme", api.SecretsQuery{}) {
		if err != nil || s.RuleHashID != "hardcoded-token" || s.FindingPath != "conf.py:1" {
			w.Errorf("%+v, %v", s, err)
		}
		return
	}
	w.Error("no secret is listed")
}

func (w *world) grep(when string) {
	w.Helper()
	err := filepath.WalkDir(w.config.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		for what, needle := range map[string]string{
			"match_based_id": "65bd6115efaaf656507099ad85eb6d46", "code_hash": "1f22a2adf63ea970e46b559a6630baa9", "syntactic_id": "7c09ab0c80ffe47c161124c9b81625c9",
			"line hash": "54f2fcf81f830b210e0a5f741643dc27", "pattern_hash": "fe853087775b5bd0253612c5a2870f03",
		} {
			if strings.Contains(string(text), needle) {
				w.Errorf("%s, %s holds the secret's %s", when, entry.Name(), needle+" ("+what+")")
			}
		}
		return err
	})
	if err != nil {
		w.Error(err)
	}
}

func TestScanErrorIsStoredWithCause(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		path := w.begin("error")
		w.same("a running scan", "SCAN_STATUS_RUNNING", w.scans()[0].Status)
		for range 2 {
			w.same("the answer", "{}", w.ok("POST", path+"error", w.recorded("error/3-error.json")))
			w.same("the answer", "{}", w.ok("POST", "/failure", w.recorded("error/4-failure.json")))
		}
		if status, _ := w.send("POST", "/failure", "", w.recorded("error/4-failure.json")); status != 200 {
			w.Errorf("a failure without a token is answered %d", status)
		}
		scan := w.scans()[0]
		for _, want := range []string{"exit code 7", "--validate: eqeq;", "Rule parse error in rule bad"} {
			if scan.Status != "SCAN_STATUS_ERROR" || strings.Count(scan.Error, want) != 1 {
				w.Errorf("the scan is %s with the error %q, want %q once", scan.Status, scan.Error, want)
			}
		}
		if !strings.Contains(w.log.String(), `"suspects":["eqeq"]`) {
			w.Errorf("the log names no suspects:\n%s", w.log.String())
		}
		if list, _ := w.code("main"); len(list) != 0 {
			w.Errorf("a failed scan left %v", list)
		}
	})
}

// TestConfiguration checks the configuration for a scanner: rules without their own actions, the
// inert rule, and ids of ignored findings.
func TestConfiguration(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.rules(model.ModeBlock)
	w.replay("full")
	_, ids := w.code("main")
	if _, err := w.client().TriageFindings(w.Context(), "acme", api.TriageRequest{
		IssueType: "sast", IssueIDs: []api.Int{api.Int(ids["eqeq app.py:4"])}, NewTriageState: "ignored",
	}); err != nil {
		t.Fatal(err)
	}
	const unique = "8c0019b7-2a37-4477-b289-ca93cdf3ffb4"
	w.begin("error")
	text := w.ok("GET", "/api/cli/v2/scans/"+unique+"/config", nil)
	var response struct {
		Status string
		Config struct {
			Rules struct {
				Rules []struct {
					ID       string
					Metadata map[string]any
				}
			}
			Match     []string `json:"triage_ignored_match_based_ids"`
			Syntactic []string `json:"triage_ignored_syntactic_ids"`
		}
		Params map[string]any `json:"engine_params"`
	}
	if err := json.Unmarshal([]byte(text), &response); err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, r := range response.Config.Rules.Rules {
		names = append(names, r.ID)
		if actions, ok := r.Metadata["dev.semgrep.actions"].([]any); !ok || len(actions) != 0 {
			t.Errorf("%s is served with the actions %v", r.ID, r.Metadata["dev.semgrep.actions"])
		}
	}
	w.same("status", "success", response.Status)
	w.same("rules", []string{"eqeq", "js-eval", "taint-x", "sca-probe", "sca-reach", "hardcoded-token", "sca-lodash", "sca-smallvec", "redoubt.lockfiles"}, names)
	if len(response.Config.Match) != 1 || !strings.HasPrefix(response.Config.Match[0], "56a78fb44c") || len(response.Config.Syntactic) != 1 || response.Params == nil {
		t.Errorf("ignored: %v %v; params %v", response.Config.Match, response.Config.Syntactic, response.Params)
	}
	older := w.ok("POST", "/api/cli/scans", w.recorded("error/1-scans.json"))
	for _, member := range []string{`"info":{"id":`, `"config":{"rules":`, `"engine_params":{}`} {
		if !strings.Contains(older, member) {
			t.Errorf("the older way lacks %s: %.200s", member, older)
		}
	}
	w.same("rules about rules", `{"rules":[]}`, w.ok("GET", "/c/p/semgrep-rule-lints", nil))
	for _, path := range []string{"/c/p/code", "/p/code", "/c/r/eqeq", "/r/eqeq"} {
		if text := w.ok("GET", path, nil); !strings.Contains(text, `"id":"eqeq"`) || strings.Contains(text, "sca-probe") {
			t.Errorf("%s answers %s", path, text)
		}
	}
	if text := w.ok("GET", "/api/agent/deployments/current", nil); !strings.Contains(text, `"slug":"acme"`) {
		t.Error(text)
	}
	if text := w.identityAsJSON(); !strings.Contains(text, "roles=(webapi") || !strings.Contains(text, `"deploymentId":`+fmt.Sprint(w.deployment.ID)) {
		w.Errorf("the scanner's assistant asks who it is, and hears %s", text)
	}
	if id, err := w.client().GetIdentity(t.Context()); err != nil || id.DeploymentID != w.deployment.ID || !strings.Contains(id.Identity, "roles=(webapi") {
		t.Errorf("our client reads %+v, %v", id, err)
	}
	if text := w.ok("GET", "/api/agent/identity", nil); !strings.Contains(text, "token all") {
		t.Error(text)
	}
}

func TestDryRunStoresNoScan(t *testing.T) {
	w := newWorld(t, "sqlite")
	body := strings.Replace(string(w.recorded("full/1-scans.json")), `"dry_run": false`, `"dry_run": true`, 1)
	text := w.ok("POST", "/api/cli/v2/scans", []byte(body))
	if strings.Contains(text, `"id":`) || !strings.Contains(text, `"enabled_products":["sast","sca"]`) {
		t.Error(text)
	}
	w.ok("GET", "/api/cli/v2/scans/307e5059-799d-47ee-9776-4d7e93de5352/config", nil)
	if n := len(w.scans()); n != 0 {
		t.Errorf("a dry run left %d scans", n)
	}
}

// TestRejectedRequests checks rejected requests and their errors.
func TestRejectedRequests(t *testing.T) {
	w := newWorld(t, "sqlite")
	path := w.begin("full")
	ci := w.newToken(model.Token{Name: "ci", Scopes: []model.Scope{model.ScopeCI}})
	bound := w.newToken(model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeCI}, ProjectGlobs: []string{"other/*"}})
	reader := w.newToken(model.Token{Name: "reader", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly}})
	scans, results, complete := w.recorded("full/1-scans.json"), w.recorded("full/3-results.json"), w.recorded("full/4-complete.json")
	const config = "/api/cli/v2/scans/307e5059-799d-47ee-9776-4d7e93de5352/config"
	for _, c := range []struct {
		what, method, path, token string
		body                      []byte
		status                    int
	}{
		{"a token for scans", "POST", "/api/cli/v2/scans", ci, scans, 200},
		{"no token", "POST", "/api/cli/v2/scans", "", scans, 401},
		{"a wrong token", "GET", config, "rdt_wrong", nil, 401},
		{"a wrong token in a failure", "POST", "/failure", "rdt_wrong", w.recorded("error/4-failure.json"), 200},
		{"a read-only token", "POST", "/api/cli/v2/scans", reader, scans, 403},
		{"another project's token", "POST", "/api/cli/v2/scans", bound, scans, 404},
		{"another project's token, config", "GET", config, bound, nil, 404},
		{"another project's token, results", "POST", path + "results", bound, results, 404},
		{"another project's token, completion", "POST", path + "complete", bound, complete, 404},
		{"another project's token, error", "POST", path + "error", bound, []byte(`{"exit_code":2}`), 404},
		{"a completion before its results", "POST", path + "complete", ci, complete, 409},
		{"an unknown scan", "POST", "/api/agent/scans/999/results", ci, results, 404},
		{"no number", "POST", "/api/agent/scans/x/results", ci, results, 404},
		{"an unknown configuration", "GET", "/api/cli/v2/scans/unknown/config", ci, nil, 404},
		{"an unknown policy", "GET", "/c/p/unknown", ci, nil, 404},
		{"a policy without a token", "GET", "/c/p/code", "", nil, 401},
		{"broken JSON", "POST", path + "results", ci, []byte(`{"findings":[{"check_id"`), 400},
		{"an upload over the limit", "POST", path + "results", ci, []byte(`{"findings":"` + strings.Repeat("x", 2<<20) + `"}`), 413},
		{"a name of one segment", "POST", "/api/cli/v2/scans", ci, []byte(`{"project_metadata":{"repository":"one"},"scan_metadata":{"unique_id":"u"}}`), 400},
		{"no name of the scan", "POST", "/api/cli/v2/scans", ci, []byte(`{"project_metadata":{"repository":"a/b"}}`), 400},
		{"a wrong type", "POST", "/api/cli/v2/scans", ci, []byte(`{"project_metadata":{"repository":7}}`), 400},
		{"a wrong method", "GET", "/failure", ci, nil, 405},
	} {
		if status, text := w.send(c.method, c.path, c.token, c.body); status != c.status {
			t.Errorf("%s: %d %s, want %d", c.what, status, text, c.status)
		}
	}
	if strings.Contains(w.log.String(), "rdt_") {
		t.Error("the log holds a token")
	}
}

// TestRepositoryPartsAreSeparateProjects checks that parts of a repository are separate
// projects, although they share its id. Each CI system spells refs differently.
func TestRepositoryPartsAreSeparateProjects(t *testing.T) {
	w := newWorld(t, "sqlite")
	begin := func(display, unique, branch, environment string) {
		body := fmt.Sprintf(`{"project_metadata":{"repository":"acme/mono","repo_display_name":%q,"repo_id":"77","repo_url":"https://github.com/acme/mono",
			"branch":%q,"scan_environment":%q,"is_full_scan":true,"commit":null},"scan_metadata":{"unique_id":%q},"project_config":null}`, display, branch, environment, unique)
		w.ok("POST", "/api/cli/v2/scans", []byte(body))
	}
	begin("acme/mono", "u1", "refs/heads/main", "github-actions")
	begin("acme/mono/api", "u2", "origin/main", "jenkins")
	var names []string
	w.update(func(ctx context.Context, tx *store.Tx) error {
		projects, err := tx.Projects(ctx, store.ProjectQuery{})
		for _, p := range projects {
			names = append(names, p.Name+" "+p.RepoID)
		}
		return err
	})
	w.same("projects", []string{"acme/mono github.com:77", "acme/mono/api "}, names)
	for _, s := range w.scans() {
		w.same("ref", "refs/heads/main", s.Branch)
	}
}

// TestUploadsOverMemoryLimitAreRejected checks that results and completions are rejected and not
// stored if they need more memory than the total limit. If other uploads use the memory,
// httpx.Reservation responds with 503.
func TestUploadsOverMemoryLimitAreRejected(t *testing.T) {
	w := newWorld(t, "sqlite", func(c *apihttp.Config) { c.Limits.Intake = 8 << 10 })
	path := w.begin("full")
	if status, text := w.send("POST", path+"results", w.token, w.recorded("full/3-results.json")); status != 413 {
		t.Errorf("%d %s, want 413", status, text)
	}
	if status, text := w.send("POST", path+"complete", w.token, w.recorded("full/4-complete.json")); status != 413 {
		t.Errorf("%d %s, want 413", status, text)
	}
	if status, text := w.send("POST", path+"complete", w.token, []byte(`{}`)); status != 409 {
		t.Errorf("%d %s, want 409: the results were not taken", status, text)
	}
}

// identityAsJSON requests the identity of the token, as the scanner's assistant does.
func (w *world) identityAsJSON() string {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.web.URL+"/api/agent/identity", nil)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.token)
	req.Header.Set("Accept", "application/json")
	resp, err := w.web.Client().Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil || !json.Valid(text) {
		w.Fatalf("%s, %v", text, err)
	}
	return string(text)
}
