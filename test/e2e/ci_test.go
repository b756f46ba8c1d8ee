package e2e

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

// TestSemgrepCI runs the unmodified scanner against a server process, through the life of a
// repository. The steps build on each other.
func TestSemgrepCI(t *testing.T) {
	onEngines(t, func(w *ciWorld) {
		w.steps(
			ciStep{"a bad token", badToken},
			ciStep{"the first full scan", firstScan},
			ciStep{"the same again", repeatedScan},
			ciStep{"what the operations answer", contract},
			ciStep{"rules without a scan", rulesOnly},
			ciStep{"a fix", fixOne},
			ciStep{"its return", returnOne},
			ciStep{"a moved file", moveFile},
			ciStep{"a diff scan of a branch", diffScan},
			ciStep{"monitor, comment and block", modes},
			ciStep{"a secret blocks until it is ignored", blockSecret},
			ciStep{"another branch inherits triage", secondBranch},
			ciStep{"the server killed in mid-upload and before the completion", killed},
			ciStep{"the server killed while it works in the background", testKillDuringScan},
			ciStep{"the same secrets from reports, the server killed among them", importSecrets},
			ciStep{"a removed rule", removedRule},
			ciStep{"a rule that does not parse", brokenRule},
			ciStep{"no rule at all", noRules},
			ciStep{"no secret anywhere", noSecret},
		)
	})
}

func badToken(w *ciWorld) {
	bad := "SEMGREP_APP_TOKEN=" + w.ready.Token[:len(w.ready.Token)-1] + "x"
	if r := w.scan("main", loud, bad); r.exit != 13 {
		w.Errorf("a bad token ends with %d, want 13:\n%s", r.exit, r.stderr)
	}
	if r := w.scan("main", nil, bad); r.exit != 0 || !slices.Contains(w.requests(), "POST /failure") {
		w.Errorf("hidden, a bad token ends with %d and the requests %v; want 0 and POST /failure", r.exit, w.requests())
	}
	var rows []string
	w.until("both runs are listed as failed", func() bool {
		rows = strings.Split(strings.TrimSpace(w.redoubt("scan", "failures")), "\n")[1:]
		return len(rows) == 2 && strings.Contains(rows[0]+rows[1], " 13 ")
	})
	for i, row := range rows { // the newest first: one run hid its error, one reported it
		for _, want := range []string{"unauthenticated", "acme/shop", "main", "127.0.0.1", "Semgrep/1.", "not a token of this server", []string{"13", "-"}[i]} {
			if !strings.Contains(row, want) {
				w.Errorf("the failed run does not show %q: %s", want, row)
			}
		}
		if strings.Contains(row, w.ready.Token[10:40]) {
			w.Errorf("the output contains the token: %s", row)
		}
	}
}

// firstScan compares the findings with the scanner's output. The build passes despite a blocking
// rule, because the primary branch had no scan before.
func firstScan(w *ciWorld) {
	w.redoubt("policy", "set-mode", "eqeq", "block")
	w.redoubt("policy", "set-mode", "taint-x", "comment")
	r := w.want(0, "main")
	stored := slices.Concat(slices.Collect(maps.Keys(w.code("main", "open"))), slices.Collect(maps.Keys(w.chain("main"))), w.secrets())
	slices.Sort(stored)
	if diff := cmp.Diff(r.locations(w.T), stored); diff != "" {
		w.Errorf("the stored findings differ from the scanner's output (-printed +stored):\n%s", diff)
	}
	if got := w.code("main", "ignored"); len(got) != 1 || got["eqeq app.py:14"].State != "muted" {
		w.Errorf("muted by nosemgrep: %v", slices.Collect(maps.Keys(got)))
	}
	reached := map[string]string{}
	for _, f := range w.chain("main") {
		reached[f.RuleName] = f.Reachability
	}
	if diff := cmp.Diff(map[string]string{"sca-upgrade": "always_reachable", "sca-reached": "reachable", "sca-unreached": "unreachable"}, reached); diff != "" {
		w.Errorf("reachability (-want +got):\n%s", diff)
	}
	scan := w.newestScan()
	if scan.Status != "SCAN_STATUS_COMPLETED" || !scan.IsFullScan || scan.Branch != "refs/heads/main" || !slices.Equal(scan.EnabledProducts, []string{"sast", "sca", "secrets"}) {
		w.Errorf("the scan is %+v", scan)
	}
	if diff := cmp.Diff([]string{"web/package-lock.json"}, scan.UnreadLockfiles); diff != "" {
		w.Errorf("unread lockfiles (-want +got):\n%s", diff)
	}
	var packages []string
	for d, err := range w.client().Dependencies(w.Context(), "1", api.ListDependenciesRequest{}) {
		if err != nil {
			w.Fatal(err)
		}
		packages = append(packages, d.LockfilePath+" "+d.Name+" "+d.Version)
	}
	slices.Sort(packages)
	if diff := cmp.Diff([]string{
		"go.mod golang.org/x/text 0.3.5", "requirements.txt flask 3.0.0", "requirements.txt pyyaml 5.3", "requirements.txt requests 2.19.0",
		"rs/Cargo.lock smallvec 1.6.0", "rs/Cargo.lock tiny 0.1.0",
	}, packages); diff != "" {
		w.Errorf("dependencies (-want +got):\n%s", diff)
	}
}

func repeatedScan(w *ciWorld) {
	before := w.code("main")
	w.wantUnchanged(0, "main")
	if diff := cmp.Diff(before, w.code("main")); diff != "" {
		w.Errorf("the same scan again changed findings (-before +after):\n%s", diff)
	}
}

func fixOne(w *ciWorld) {
	w.edit("app.py", "return x == x", "return x == 1")
	w.commit("fix")
	w.want(0, "main")
	if got := w.code("main")["eqeq app.py:4"].Status; got != "fixed" {
		w.Errorf("the finding is %q, want fixed", got)
	}
}

// returnOne reintroduces a fixed finding, which blocks because the branch no longer had it.
func returnOne(w *ciWorld) {
	fixed := w.code("main")["eqeq app.py:4"]
	w.edit("app.py", "return x == 1", "return x == x")
	w.commit("break")
	r := w.want(1, "main")
	if !blockingLink.MatchString(r.stderr) {
		w.Errorf("the scanner does not print why it blocks:\n%s", r.stderr)
	}
	back := w.code("main")["eqeq app.py:4"]
	if back.Status != "open" || back.ID != fixed.ID || !back.RelevantSince.After(fixed.RelevantSince.Time) {
		w.Errorf("reopened as %s %d %v, was %d %v", back.Status, back.ID, back.RelevantSince, fixed.ID, fixed.RelevantSince)
	}
}

// moveFile moves the file of a finding that blocked once. It no longer blocks, because the branch
// has it.
func moveFile(w *ciWorld) {
	before := w.code("main")["eqeq app.py:4"]
	w.triage(before.ID, "reviewing")
	w.git("mv", "app.py", "core.py")
	w.commit("move")
	w.want(0, "main")
	after := w.code("main")
	if got := after["eqeq core.py:4"]; got.ID != before.ID || got.TriageState != "reviewing" || !got.RelevantSince.Equal(before.RelevantSince.Time) {
		w.Errorf("moved to %d %s %v, was %d %v", got.ID, got.TriageState, got.RelevantSince, before.ID, before.RelevantSince)
	}
	for location, f := range after {
		if f.Status == "fixed" || f.Location.FilePath == "app.py" {
			w.Errorf("%s is %s after the move", location, f.Status)
		}
	}
}

func (w *ciWorld) triage(id int64, state string) {
	w.Helper()
	r := api.TriageRequest{IssueType: "sast", IssueIDs: []api.Int{api.Int(id)}, NewTriageState: state}
	if _, err := w.client().TriageFindings(w.Context(), "acme", r); err != nil {
		w.Fatal(err)
	}
}

// diffScan blocks a branch because of added findings, and changes no findings elsewhere.
func diffScan(w *ciWorld) {
	before := w.code("main")
	w.git("checkout", "-q", "-b", "feature")
	w.write("more.py", "def m(a):\n    return a == a\n")
	w.commit("add")
	w.want(1, "feature", "--baseline-commit", "main")
	if diff := cmp.Diff(before, w.code("main")); diff != "" {
		w.Errorf("a diff scan changed main (-before +after):\n%s", diff)
	}
	found := w.code("feature")
	if len(found) != 1 || found["eqeq more.py:2"].Status != "open" {
		w.Fatalf("the branch has %v", found)
	}
	if w.newestScan().IsFullScan {
		w.Error("the diff scan shows as a full one")
	}
	w.triage(found["eqeq more.py:2"].ID, "ignored")
}

// modes scans a branch with an ignored finding, which the scanner does not print, and one whose
// rule changes its mode. The next step uses the last mode.
func modes(w *ciWorld) {
	w.write("web/more.js", "eval(location.search)\n")
	w.commit("more")
	w.redoubt("policy", "set-mode", "js-eval", "comment")
	r := w.want(0, "feature", "--baseline-commit", "main")
	if diff := cmp.Diff([]string{"js-eval web/more.js:1"}, r.locations(w.T)); diff != "" {
		w.Errorf("printed (-want +got):\n%s", diff)
	}
	w.redoubt("policy", "set-mode", "js-eval", "block")
	w.want(1, "feature", "--baseline-commit", "main")
	w.redoubt("policy", "set-mode", "js-eval", "monitor")
}

func secondBranch(w *ciWorld) {
	w.git("checkout", "-q", "-b", "second")
	w.want(0, "second")
	got := w.code("second")
	if got["eqeq more.py:2"].Status != "ignored" || got["eqeq core.py:4"].Status != "reviewing" {
		w.Errorf("the branch shows %s and %s, want ignored and reviewing", got["eqeq more.py:2"].Status, got["eqeq core.py:4"].Status)
	}
}

// killed kills the server while it receives results, and again between the acknowledged results and
// the completion. A new server handles the scanner's retries.
func killed(w *ciWorld) {
	w.git("checkout", "-q", "main")
	w.write("late.py", "def n(a):\n    return a == a\n")
	w.commit("late")
	before, requests := w.code("main"), len(w.requests())
	w.mu.Lock()
	w.kill["results"], w.kill["complete"] = true, true
	w.mu.Unlock()
	w.want(1, "main")
	after := w.code("main")
	if len(after) != len(before)+1 || after["eqeq late.py:2"].Status != "open" {
		w.Errorf("there were %d findings and are %d", len(before), len(after))
	}
	times := map[string]int{}
	for _, r := range w.requests()[requests:] {
		times[r[strings.LastIndexByte(r, '/')+1:]]++
	}
	if times["results"] != 2 || times["complete"] != 2 {
		w.Errorf("requests: %v; want results and complete twice", times)
	}
	if scan := w.newestScan(); scan.Status != "SCAN_STATUS_COMPLETED" || scan.FindingsCounts.Total == 0 {
		w.Errorf("the scan is %+v", scan)
	}
}

// testKillDuringScan kills the server while it stores results in the background, after it responded that
// it will. The next server completes the scan, and the gate has the same result.
func testKillDuringScan(w *ciWorld) {
	w.stop()
	w.flags = []string{"--scan-wait", "0s"}
	w.start()
	w.write("later.py", "def p(a):\n    return a == a\n")
	w.commit("later")
	before, requests := w.code("main"), len(w.requests())
	w.mu.Lock()
	w.later = true
	w.mu.Unlock()
	r := w.want(1, "main")
	if !blockingLink.MatchString(r.stderr) {
		w.Errorf("the scanner does not print why it blocks:\n%s", r.stderr)
	}
	after := w.code("main")
	if len(after) != len(before)+1 || after["eqeq later.py:2"].Status != "open" {
		w.Errorf("there were %d findings and are %d", len(before), len(after))
	}
	steps := w.requests()[requests:]
	if n := len(slices.DeleteFunc(slices.Clone(steps), func(r string) bool { return !strings.HasSuffix(r, "/complete") })); n < 2 || w.later {
		w.Errorf("the server was not killed in between: %v", steps)
	}
	if scan := w.newestScan(); scan.Status != "SCAN_STATUS_COMPLETED" || scan.FindingsCounts.Total == 0 {
		w.Errorf("the scan is %+v", scan)
	}
}

func removedRule(w *ciWorld) {
	if len(w.code("main")) == 0 || w.code("main")["js-eval web/main.js:1"].ID == 0 {
		w.Fatal("main has no finding of js-eval")
	}
	w.redoubt("policy", "remove", "js-eval")
	w.want(0, "main")
	if f, found := w.code("main")["js-eval web/main.js:1"]; found {
		w.Errorf("the finding of a removed rule is still listed as %s", f.Status)
	}
}

// brokenRule adds a rule whose error only the scanner detects.
func brokenRule(w *ciWorld) {
	file := filepath.Join(w.home, "broken.yaml")
	text := "rules:\n- {id: broken, languages: [python], severity: ERROR, message: m, pattern: 'foo((('}\n"
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		w.Fatal(err)
	}
	w.redoubt("policy", "add-rules", "--semgrep", filepath.Join(w.home, "no-semgrep"), file)
	before := w.code("main")
	w.want(7, "main")
	if diff := cmp.Diff(before, w.code("main")); diff != "" {
		w.Errorf("a scan that failed changed findings (-before +after):\n%s", diff)
	}
	if scan := w.newestScan(); scan.Status != "SCAN_STATUS_ERROR" || !strings.HasSuffix(scan.Error, ": broken") {
		w.Errorf("the scan is %s: %s", scan.Status, scan.Error)
	}
	w.redoubt("policy", "remove", "broken")
}

func noRules(w *ciWorld) {
	for _, rule := range []string{"eqeq", "taint-x", "sca-upgrade", "sca-reached", "sca-unreached", "hardcoded-token"} {
		w.redoubt("policy", "remove", rule)
	}
	w.want(0, "main")
	if got := w.code("main"); len(got) != 0 {
		w.Errorf("findings without rules: %v", got)
	}
}
