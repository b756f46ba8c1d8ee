package e2e

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestSemgrepCIPolicies runs the unmodified scanner with several policies. The steps build on each
// other.
func TestSemgrepCIPolicies(t *testing.T) {
	onEngines(t, func(w *ciWorld) {
		w.write("legacy/old.py", "def o(a):\n    return a == a\n")
		w.write("legacy/conf.py", "T = \""+ciSecret+"\"\n")
		w.commit("legacy")
		w.steps(
			ciStep{"a policy for some projects", policyForSome},
			ciStep{"excluded paths", pathsLeftOut},
			ciStep{"block all", blockAll},
			ciStep{"a condition", condition},
			ciStep{"the starter rules", starterRules},
		)
	})
}

const payments = "SEMGREP_REPO_NAME=acme/payments"

// policyForSome blocks a rule in one of two projects with the same code.
func policyForSome(w *ciWorld) {
	w.redoubt("policy", "create", "Strict", "--product", "sast", "--project", "acme/pay*")
	w.redoubt("policy", "set-mode", "--policy", "strict", "eqeq", "block")
	for _, project := range []string{"SEMGREP_REPO_NAME=acme/shop", payments} {
		if r := w.scan("main", loud, project); r.exit != 0 {
			w.Fatalf("the first scan of %s ends with %d:\n%s", project, r.exit, r.stderr)
		}
	}
	w.git("checkout", "-q", "-b", "feature")
	w.write("more.py", "def m(a):\n    return a == a\n")
	w.commit("add")
	diff := append(slices.Clone(loud), "--baseline-commit", "main")
	if r := w.scan("feature", diff); r.exit != 0 {
		w.Errorf("the build of a project outside of the policy is blocked:\n%s", r.stderr)
	}
	if r := w.scan("feature", diff, payments); r.exit != 1 || !strings.Contains(r.stderr, "eqeq at more.py:2") {
		w.Errorf("the build of a project of the policy ends with %d:\n%s", r.exit, r.stderr)
	}
	for repo, want := range map[string]string{"acme/shop": "code", "acme/payments": "strict"} {
		if got := w.codeIn(repo, "main")["eqeq app.py:4"].SourcingPolicy; got == nil || got.Slug != want {
			w.Errorf("the finding of %s has the policy %+v, want %s", repo, got, want)
		}
	}
	blocking := w.codeIn("", "main", api.FindingsQuery{Policies: []string{"rule-board-block"}})
	for location, f := range blocking {
		if f.Repository.Name != "acme/payments" || f.RuleName != "eqeq" {
			w.Errorf("%s of %s is shown as blocking", location, f.Repository.Name)
		}
	}
	if len(blocking) != len(w.codeIn("acme/payments", "main", api.FindingsQuery{Rules: []string{"eqeq"}})) {
		w.Errorf("%d findings are shown as blocking", len(blocking))
	}
	for policy, want := range map[string][]string{"strict": {"eqeq"}, "code": {"eqeq", "js-eval", "taint-x"}} {
		if got := w.served(policy); !slices.Equal(got, want) || !slices.Equal(w.listed(policy), want) {
			w.Errorf("the policy %s serves %v and lists %v, want %v", policy, got, w.listed(policy), want)
		}
	}
	w.git("checkout", "-q", "main")
}

// codeIn lists the code findings of one repository, or of all if it is empty.
func (w *ciWorld) codeIn(repo, ref string, q ...api.FindingsQuery) map[string]api.CodeFinding {
	w.Helper()
	query := api.FindingsQuery{}
	if len(q) > 0 {
		query = q[0]
	}
	if query.Ref = ref; repo != "" {
		query.Repos = []string{repo}
	}
	out := map[string]api.CodeFinding{}
	for f, err := range w.client().Findings(w.Context(), "acme", query) {
		if err != nil {
			w.Fatal(err)
		}
		out[fmt.Sprintf("%s %s:%d", f.RuleName, f.Location.FilePath, f.Location.Line)] = f
	}
	return out
}

// listed lists the rules of a policy with the operation of the contract.
func (w *ciWorld) listed(slug string) (names []string) {
	w.Helper()
	policies, err := w.client().ListPolicies(w.Context(), "acme")
	if err != nil {
		w.Fatal(err)
	}
	for _, p := range policies.Policies {
		if p.Slug != slug {
			continue
		}
		for r, err := range w.client().PolicyRules(w.Context(), "acme", p.ID, api.PolicyRulesQuery{}) {
			if err != nil {
				w.Fatal(err)
			}
			names = append(names, r.Path)
		}
	}
	return names
}

// served requests rules like `semgrep scan --config p/NAME`.
func (w *ciWorld) served(policy string) (ids []string) {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodGet, w.proxy.URL+"/c/p/"+policy, nil)
	if err != nil {
		w.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+w.ready.Token)
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		w.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	var document struct{ Rules []struct{ ID string } }
	if err != nil || json.Unmarshal(text, &document) != nil {
		w.Fatalf("%v in %s", err, text)
	}
	for _, r := range document.Rules {
		ids = append(ids, r.ID)
	}
	return ids
}

// pathsLeftOut excludes a directory for code. Its findings are hidden immediately, and scans
// neither reopen nor fix them. They return unchanged when the directory is included again. Secrets
// there are still found.
func pathsLeftOut(w *ciWorld) {
	const location = "eqeq legacy/old.py:2"
	before, all := w.code("main")[location], w.secrets()
	if before.Status != "open" {
		w.Fatalf("before, it is %+v", before)
	}
	w.redoubt("policy", "set", "code", "--exclude", "legacy/")
	if f, found := w.code("main")[location]; found {
		w.Errorf("right after the change it is %s", f.Status)
	}
	r := w.want(0, "main")
	if locations := r.locations(w.T); slices.Contains(locations, location) || !slices.Contains(locations, "hardcoded-token legacy/conf.py:1") {
		w.Errorf("the scanner found %v", locations)
	}
	if f, found := w.code("main")[location]; found {
		w.Errorf("after a scan it is %s", f.Status)
	}
	if got := w.secrets(); !slices.Equal(got, all) {
		w.Errorf("secrets were %v and are %v", all, got)
	}
	w.redoubt("policy", "set", "code", "--clear", "exclude")
	w.want(0, "main")
	if back := w.code("main")[location]; back.Status != "open" || back.ID != before.ID {
		w.Errorf("read again, it is %s %d; it was %d", back.Status, back.ID, before.ID)
	}
}

// blockAll blocks a build of the primary branch because of old findings.
func blockAll(w *ciWorld) {
	w.redoubt("policy", "set-mode", "--policy", "code", "eqeq", "block")
	w.want(0, "main")
	w.redoubt("policy", "set", "code", "--block-all")
	if r := w.want(1, "main"); !strings.Contains(r.stderr, "the policy blocks known findings too") {
		w.Errorf("the scanner does not say why it blocks:\n%s", r.stderr)
	}
	w.redoubt("policy", "set", "code", "--no-block-all")
	w.want(0, "main")
}

// starterRules scans into a new deployment.
func starterRules(w *ciWorld) {
	w.redoubt("deployment", "create", "fresh")
	w.ready.Token = strings.TrimSpace(w.redoubt("token", "create", "--deployment", "fresh", "ci", "--scope", "ci,web_api"))
	r := w.want(0, "main")
	found := r.locations(w.T)
	for _, want := range []string{"redoubt-python-shell-command app.py:8", "redoubt-js-eval web/main.js:1"} {
		if !slices.Contains(found, want) {
			w.Errorf("%s is not among %v", want, found)
		}
	}
}

// condition blocks a build because of a finding from advisories only. The output explains the
// remedy, and the build passes once the finding is accepted.
func condition(w *ciWorld) {
	const record = `{"id":"GHSA-x-y-z","modified":"2026-05-01T00:00:00Z","aliases":["CVE-2099-0001"],"summary":"x","database_specific":{"severity":"HIGH"},
		"affected":[{"package":{"ecosystem":"PyPI","name":"django"},"ranges":[{"type":"ECOSYSTEM","events":[{"introduced":"0"},{"fixed":"3.2.1"}]}]}]}`
	file := filepath.Join(w.home, "GHSA-x-y-z.json")
	if err := os.WriteFile(file, []byte(record), 0o600); err != nil {
		w.Fatal(err)
	}
	w.redoubt("advisories", "update", "--from", file)
	w.redoubt("policy", "condition", "add", "supply-chain", "--severity", "high", "--fixable")
	w.git("checkout", "-q", "-b", "django", "main")
	w.edit("requirements.txt", "flask==3.0.0", "flask==3.0.0\ndjango==3.2.0")
	w.commit("depend on django")
	const why = "django 3.2.0 has CVE-2099-0001 at requirements.txt:4 (fixed in 3.2.1; condition 1 of supply-chain: high or worse, with a fix)"
	if r := w.scan("django", loud); r.exit != 1 || !strings.Contains(strings.Join(strings.Fields(r.stderr), " "), why) {
		w.Errorf("it ends with %d, without %q:\n%s", r.exit, why, r.stderr)
	}
	w.redoubt("exception", "add", "ghsa-x-y-z", "--project", "acme/*", "--reason", "never started", "--until", "2999-12-31")
	w.want(0, "django")
	w.redoubt("policy", "condition", "remove", "supply-chain", "1")
	w.git("checkout", "-q", "main")
}
