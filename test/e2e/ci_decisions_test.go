package e2e

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
)

const evalRule = `rules:
  - id: eval
    languages: [javascript]
    severity: ERROR
    message: eval of $X
    pattern: eval($X)
`

// TestTriageFollowsCode scans edits and moves of ignored code with the unmodified scanner.
// Unchanged code remains ignored and blocks no build; new code is open, even if it looks the same.
func TestTriageFollowsCode(t *testing.T) {
	t.Parallel()
	w := newCIWorld(t, "sqlite")
	rules := filepath.Join(w.home, "eval.yaml")
	if err := os.WriteFile(rules, []byte(evalRule), 0o644); err != nil {
		t.Fatal(err)
	}
	w.redoubt("policy", "add-rules", "--semgrep", "true", rules)
	w.redoubt("policy", "set-mode", "eval", "block")
	call := func(path, line string) { w.write(path, "function f(req) {\n"+line+"\n}\n") }
	for _, path := range []string{"edit/comment.js", "edit/name.js", "edit/semicolon.js", "edit/return.js"} {
		call(path, "  const a = eval(req.q);")
	}
	call("edit/spaces.js", "  const a = eval( req.q );")
	call("legacy/old.js", "  return eval(req.u);")
	for _, app := range []string{"auth", "billing", "cart"} {
		call("apps/"+app+"/routes.js", "  eval(req.q);")
	}
	w.write("infra/db.js", "eval(one);\nlet x = eval(two );\neval(three);\n")
	w.commit("before")
	w.want(0, "main")
	ignored := map[string]int64{}
	for _, f := range w.evalFindings("open") {
		if path := f.Location.FilePath; path != "apps/billing/routes.js" && path != "apps/cart/routes.js" {
			w.triage(f.ID, "ignored")
			ignored[f.Location.FilePath+" "+*f.RuleMessage] = f.ID
		}
	}
	w.edited(ignored, call)
	w.moved(call)
}

// evalFindings returns the findings of the rule, by status.
func (w *ciWorld) evalFindings(status ...string) (out []api.CodeFinding) {
	w.Helper()
	for _, f := range w.code("main", status...) {
		if f.RuleName == "eval" {
			out = append(out, f)
		}
	}
	return out
}

// edited changes code around the calls, and moves and formats a file.
func (w *ciWorld) edited(ignored map[string]int64, call func(path, line string)) {
	w.Helper()
	call("edit/comment.js", "  const a = eval(req.q); // reviewed by bob, see #12")
	call("edit/name.js", "  const total = eval(req.q);")
	call("edit/semicolon.js", "  const a = eval(req.q)")
	call("edit/return.js", "  return eval(req.q);")
	call("edit/spaces.js", "  const a = eval(req.q);")
	w.git("rm", "-q", "infra/db.js")
	w.write("infra/aws/db.js", "eval(one);\nlet x = eval(two); // formatted\neval(three);\n")
	w.commit("edits")
	w.want(0, "main")
	got := map[string]int64{}
	for _, f := range w.evalFindings("ignored") {
		got[strings.Replace(f.Location.FilePath, "infra/aws/", "infra/", 1)+" "+*f.RuleMessage] = f.ID
	}
	if diff := cmp.Diff(ignored, got); diff != "" {
		w.Errorf("ignored, by place and id (-before +after):\n%s", diff)
	}
}

// moved moves files with one call each, and adds equal code to a file that is unrelated to a
// deleted one.
func (w *ciWorld) moved(call func(path, line string)) {
	w.Helper()
	w.git("rm", "-q", "legacy/old.js")
	call("api/public/handler.js", "  return eval(req.u);")
	if err := os.MkdirAll(filepath.Join(w.repo, "services"), 0o755); err != nil {
		w.Fatal(err)
	}
	for from, to := range map[string]string{"billing": "billing", "cart": "cart", "auth": "identity"} {
		w.git("mv", "apps/"+from, "services/"+to)
	}
	w.commit("moves")
	before := map[string]int64{}
	for _, f := range w.evalFindings("open") {
		before[strings.Replace(f.Location.FilePath, "apps/", "services/", 1)] = f.ID
	}
	w.want(1, "main")
	open, preserved := []string{}, []string{}
	for _, f := range w.evalFindings("open") {
		open = append(open, f.Location.FilePath)
		if before[f.Location.FilePath] == f.ID {
			preserved = append(preserved, f.Location.FilePath)
		}
	}
	slices.Sort(open)
	slices.Sort(preserved)
	want := []string{"api/public/handler.js", "services/billing/routes.js", "services/cart/routes.js", "services/identity/routes.js"}
	if diff := cmp.Diff(want, open); diff != "" {
		w.Errorf("open (-want +got):\n%s", diff)
	}
	if diff := cmp.Diff([]string{"services/billing/routes.js", "services/cart/routes.js"}, preserved); diff != "" {
		w.Errorf("moved with their ids (-want +got):\n%s", diff)
	}
}
