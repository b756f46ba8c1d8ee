package agent_test

import (
	"context"
	"net/http"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestStartRequestsAreValidated checks that errors contain the invalid member of a start request and the
// setting to change.
func TestStartRequestsAreValidated(t *testing.T) {
	w := newWorld(t, "sqlite")
	for name, c := range map[string]struct{ body, want string }{
		"a name of one segment": {
			`{"project_metadata":{"repository":"one"},"scan_metadata":{"unique_id":"u"}}`,
			"SEMGREP_REPO_DISPLAY_NAME",
		},
		"a long tag": {
			`{"project_metadata":{"repository":"a/b"},"scan_metadata":{"unique_id":"u"},"project_config":{"tags":["` + strings.Repeat("x", 5000) + `"]}}`,
			"project_config.tags",
		},
		"a branch that is not UTF-8": {
			"{\"project_metadata\":{\"repository\":\"a/b\",\"branch\":\"m\xffin\"},\"scan_metadata\":{\"unique_id\":\"u\"}}",
			"must be UTF-8",
		},
		"a branch that is too long": {
			`{"project_metadata":{"repository":"a/b","branch":"` + strings.Repeat("x", 5000) + `"},"scan_metadata":{"unique_id":"u"}}`,
			"project_metadata.branch",
		},
	} {
		status, text := w.send(http.MethodPost, "/api/cli/v2/scans", w.token, []byte(c.body))
		if status != http.StatusBadRequest || !strings.Contains(text, c.want) {
			t.Errorf("%s: %d %s, want %s", name, status, text, c.want)
		}
	}
	if n := len(w.scans()); n != 0 {
		t.Errorf("%d scans began", n)
	}
	only := `{"project_metadata":{"repository":"a/b","branch":"main"},"scan_metadata":{"unique_id":"u","requested_products":["secrets"]}}`
	if text := w.ok("POST", "/api/cli/v2/scans", []byte(only)); !strings.Contains(text, `"enabled_products":["sast"]`) {
		t.Errorf("a request for secrets alone returns %s", text)
	}
}

// TestDryRunUsesRulesOfProject checks that a dry run uses the rules of its project. It must be hidden
// from callers without access to the project.
func TestDryRunUsesRulesOfProject(t *testing.T) {
	each(t, func(w *world) {
		w.rules(model.ModeBlock)
		w.scanAs(w.token, claim{name: "secret/old", id: "7"})
		w.update(func(ctx context.Context, tx *store.Tx) error {
			p, err := tx.ProjectByName(ctx, "secret/old")
			if err == nil {
				_, err = tx.RenameProject(ctx, p.ID, "secret/shop")
			}
			if err != nil {
				return err
			}
			only, err := tx.CreatePolicy(ctx, model.Policy{
				Name: "Shop", Slug: "shop", Product: model.SAST, Scope: model.PolicyScope{Projects: model.ProjectGlobs{"secret/shop"}},
			})
			if err != nil {
				return err
			}
			_, err = tx.ServeRule(ctx, store.Serving{
				Rule: model.Rule{Name: "of-the-shop", Message: "m", IssueType: model.SAST, Severity: model.SeverityHigh}, PolicyID: only.ID, Mode: model.ModeMonitor,
				Text: []byte(`{"id":"of-the-shop","message":"m","severity":"ERROR","languages":["python"],"pattern":"shop()"}`),
			})
			return err
		})
		const config = "/api/cli/v2/scans/dry-shop/config"
		status, _, answer := w.beginAs(w.token, claim{name: "secret/old", id: "7", run: "dry-shop", dry: true})
		w.same("it begins", http.StatusOK, status)
		if text := w.ok("GET", config, nil); !strings.Contains(text, "of-the-shop") {
			w.Errorf("a dry run by an old name, begun with %s, looks for %s", answer, text)
		}
		bound := w.bound("platform/**")
		status, text := w.send(http.MethodGet, config, bound, nil)
		if status != http.StatusNotFound {
			w.Errorf("who may not see the project is answered %d %s", status, text)
		}
		status, _, _ = w.beginAs(bound, claim{name: "platform/own", run: "dry-shop", dry: true})
		w.same("a run of their own has the name", http.StatusOK, status)
		if _, text = w.send(http.MethodGet, config, bound, nil); !strings.Contains(text, `"success"`) || strings.Contains(text, "of-the-shop") {
			w.Errorf("their own looks for %s", text)
		}
	})
}
