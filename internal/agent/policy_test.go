package agent_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// savePolicy changes or creates the policy with a slug.
func (w *world) savePolicy(slug string, change func(*model.Policy)) (saved model.Policy) {
	w.Helper()
	w.update(func(ctx context.Context, tx *store.Tx) error {
		policies, err := tx.Policies(ctx)
		if err != nil {
			return err
		}
		p := model.Policy{Name: slug, Slug: slug, Product: model.SAST}
		for _, known := range policies {
			if known.Slug == slug {
				p = known
			}
		}
		change(&p)
		saved, _, err = policy.Save(ctx, tx, p)
		return err
	})
	return saved
}

// TestPathsExcludedDuringScan excludes a folder between the results and the completion of a
// scan. It includes the folder again for a later scan.
func TestPathsExcludedDuringScan(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		path := w.begin("full")
		w.ok("POST", path+"results", w.recorded("full/3-results.json"))
		w.savePolicy("code", func(p *model.Policy) { p.Excludes = model.PathGlobs{"web/"} })
		w.clock.Advance(1e9)
		w.ok("POST", path+"complete", w.recorded("full/4-complete.json"))
		want := map[string]string{"eqeq app.py:4": "open", "eqeq app.py:14": "ignored", "taint-x app.py:8": "open"}
		got, _ := w.code("main")
		w.same("main without the folder", want, got)
		if text := w.ok("POST", "/api/cli/scans", w.recorded("error/1-scans.json")); !strings.Contains(text, `"engine_params":{"product_ignored_files":[["sast",["web/"]]]}`) {
			t.Errorf("the next scan receives %s", text)
		}
		w.savePolicy("code", func(p *model.Policy) { p.Excludes = nil })
		w.replay("after-fix")
		got, ids := w.code("main")
		w.same("the folder is looked at again", "open", got["js-eval web/main.js:1"])
		w.savePolicy("code", func(p *model.Policy) { p.Excludes = model.PathGlobs{"main.js"} })
		got, _ = w.code("main")
		w.same("and left out again", "", got["js-eval web/main.js:1"])
		w.update(func(ctx context.Context, tx *store.Tx) error {
			history, err := tx.History(ctx, ids["js-eval web/main.js:1"])
			last := history[len(history)-1]
			w.same("its history ends with", []string{"removed", `{"excluded_by":"code"}`}, []string{string(last.Kind), last.Detail})
			return err
		})
	})
}

// TestProjectRemovedFromPolicyLosesItsRules serves a rule to a project by a restricted
// policy, and then removes the project from it. Its findings must remain until a full scan, because
// a diff scan removes nothing from main.
func TestProjectRemovedFromPolicyLosesItsRules(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeMonitor)
		further := w.savePolicy("further", func(p *model.Policy) { p.Scope.Projects = model.ProjectGlobs{"**"} })
		w.update(func(ctx context.Context, tx *store.Tx) error {
			served, err := tx.ServedRules(ctx)
			if err != nil {
				return err
			}
			for _, r := range served {
				if r.Rule.Name != "taint-x" {
					continue
				}
				if _, err := tx.ServeRule(ctx, store.Serving{Rule: r.Rule, Text: r.Text, PolicyID: further.ID}); err != nil {
					return err
				}
				if err := tx.RemoveRule(ctx, r.PolicyID, "taint-x"); err != nil {
					return err
				}
			}
			return nil
		})
		w.replay("full")
		got, _ := w.code("main")
		w.same("a rule of the further policy", "open", got["taint-x app.py:8"])
		w.savePolicy("further", func(p *model.Policy) { p.Scope.Projects = model.ProjectGlobs{"other/*"} })
		text := w.ok("POST", "/api/cli/scans", w.recorded("error/1-scans.json"))
		w.same("it is served still", false, strings.Contains(text, `"id":"taint-x"`))
		got, _ = w.code("main")
		w.same("before a scan", "open", got["taint-x app.py:8"])
		w.replay("diff")
		got, _ = w.code("main")
		w.same("after a diff scan of a branch", "open", got["taint-x app.py:8"])
		w.clock.Advance(1e9)
		path := w.begin("after-fix")
		w.ok("POST", path+"results", []byte(`{"findings":[],"ignores":[],"searched_paths":["web/main.js"],"rule_ids":["js-eval"]}`))
		w.ok("POST", path+"complete", w.recorded("after-fix/4-complete.json"))
		got, _ = w.code("main")
		w.same("after a full scan, which ran without it", "", got["taint-x app.py:8"])
		w.same("of a rule that is listed, and did not run", "open", got["eqeq app.py:4"])
	})
}
