package agent_test

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// secretRow is a listed secret.
type secretRow struct{ ID, Rule, Location, Status string }

func (w *world) secretRows() (list []secretRow) {
	w.Helper()
	for s, err := range w.client().Secrets(w.Context(), "acme", api.SecretsQuery{}) {
		if err != nil {
			w.Fatal(err)
		}
		list = append(list, secretRow{s.ID, s.RuleHashID, s.FindingPath, strings.TrimPrefix(s.Status, "FINDING_STATUS_")})
	}
	return list
}

// imports uploads a report for the project of the recorded runs.
func (w *world) imports(query, report string) string {
	w.Helper()
	w.clock.Advance(1e9)
	return w.ok("POST", "/api/v1/deployments/acme/imports?project=acme/demo&ref=main&"+query, []byte(report))
}

func (w *world) captured(name string) string {
	w.Helper()
	text, err := os.ReadFile(filepath.Join("../report/testdata/captures", name))
	if err != nil {
		w.Fatal(err)
	}
	return string(text)
}

// TestSecretIsOneFindingInAllFormats uploads the scanner's request, JSON and SARIF of the same run in
// all orders. All must be one source, and decisions must apply to all
// (docs/explanation/identity.md).
func TestSecretIsOneFindingInAllFormats(t *testing.T) {
	uploads := map[string]func(*world){
		"ci":    func(w *world) { w.replay("full") },
		"json":  func(w *world) { w.imports("", w.captured("full.json")) },
		"sarif": func(w *world) { w.imports("diff=true", w.captured("full.sarif")) },
	}
	for _, order := range []string{"ci json sarif", "json ci sarif", "json sarif ci", "sarif ci json", "sarif json ci", "ci sarif json"} {
		t.Run(order, func(t *testing.T) {
			each(t, func(w *world) {
				w.rules(model.ModeMonitor)
				for i, format := range strings.Fields(order) {
					uploads[format](w)
					rows := w.secretRows()
					if len(rows) != 1 || rows[0].Location != "conf.py:1" {
						t.Fatalf("after %s the secrets are %v", format, rows)
					}
					if i > 0 {
						w.same("the secret after "+format, "IGNORED", rows[0].Status)
						continue
					}
					w.triageSecret(rows[0].ID)
				}
				w.same("occurrences of the rule", 1, w.occurrences("hardcoded-token"))
			})
		})
	}
}

func (w *world) triageSecret(id string) {
	w.Helper()
	var n api.Int
	if err := n.UnmarshalJSON([]byte(id)); err != nil {
		w.Fatal(err)
	}
	if _, err := w.client().TriageFindings(w.Context(), "acme", api.TriageRequest{IssueType: "secrets", IssueIDs: []api.Int{n}, NewTriageState: "ignored"}); err != nil {
		w.Fatal(err)
	}
}

// occurrences counts the rows of a rule, including unlisted ones.
func (w *world) occurrences(rule string) (n int) {
	w.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, "acme/demo")
		if err != nil {
			return err
		}
		rows, err := tx.Findings(ctx, project.ID, "refs/heads/main", "semgrep")
		for _, f := range rows {
			if f.RuleName == rule {
				n++
			}
		}
		return err
	})
	return n
}

func (w *world) view(fn func(context.Context, *store.Tx) error) {
	w.Helper()
	if err := w.store.View(w.Context(), w.deployment.ID, fn); err != nil {
		w.Fatal(err)
	}
}

const plainSecret = "correct-horse-battery" // only detectable by a secrets rule

// silent returns a report without the kind of its rule. It has two results on one line and an equal
// result elsewhere.
func silent() string {
	result := func(path string, line, column int) string {
		return fmt.Sprintf(`{"ruleId":"acme.tokens","message":{"text":"found %[1]s"},"locations":[{"physicalLocation":{"artifactLocation":{"uri":%[2]q},
			"region":{"startLine":%[3]d,"startColumn":%[4]d,"endLine":%[3]d,"endColumn":%[5]d,"snippet":{"text":"use(%[1]s, %[1]s)"}}}}]}`,
			plainSecret, path, line, column, column+len(plainSecret))
	}
	first, second := 5, 7+len(plainSecret)
	return `{"version":"2.1.0","runs":[{"tool":{"driver":{"name":"Semgrep OSS"}},"results":[` +
		strings.Join([]string{result("a.py", 1, first), result("a.py", 1, second), result("a.py", 9, first), result("b.py", 1, first)}, ",") + `]}]}`
}

const secretsReport = `{"version":"1.180.0","errors":[],"paths":{"scanned":["c.py"]},"results":[{"check_id":"acme.tokens","path":"c.py",
	"start":{"line":1,"col":1},"end":{"line":1,"col":4},"extra":{"severity":"ERROR","message":"x","metadata":{"product":"secrets"},"lines":"abc"}}]}`

// TestFindingsConvertedToSecrets checks that the declaring upload converts findings
// to secrets. They must retain ids and triage, and no quoted text may remain.
func TestFindingsConvertedToSecrets(t *testing.T) {
	each(t, func(w *world) {
		w.imports("", silent())
		before, ids := w.code("main")
		w.same("findings of code", map[string]string{"acme.tokens a.py:1": "open", "acme.tokens a.py:9": "open", "acme.tokens b.py:1": "open"}, before)
		if _, err := w.client().TriageFindings(w.Context(), "acme", api.TriageRequest{
			IssueType: "sast", IssueIDs: []api.Int{api.Int(ids["acme.tokens b.py:1"])}, NewTriageState: "ignored",
		}); err != nil {
			t.Fatal(err)
		}
		if w.config.Dir != "" && len(w.holding(plainSecret)) == 0 {
			t.Fatal("the test looks for what was never there")
		}
		w.imports("diff=true", strings.ReplaceAll(secretsReport, `"scanned":["c.py"]`, `"scanned":["c.py"],"skipped":[{"path":"a.py"},{"path":"b.py"}]`))
		after, _ := w.code("main")
		w.same("findings of code, once the rule is known", map[string]string{}, after)
		rows := w.secretRows()
		want := map[string]string{"a.py:1": "OPEN", "a.py:9": "OPEN", "b.py:1": "IGNORED", "c.py:1": "OPEN"}
		got := map[string]string{}
		for _, r := range rows {
			got[r.Location] = r.Status
			if id := ids["acme.tokens "+r.Location]; r.Location == "b.py:1" && r.ID != fmt.Sprint(id) {
				t.Errorf("%s is %s, was %d", r.Location, r.ID, id)
			}
		}
		w.same("secrets", want, got)
		w.same("how many: two on a line, and that line again", 5, len(rows))
		w.bodiesContain(plainSecret, false)
		w.same("files with the secret", []string(nil), w.holding(plainSecret))
		w.imports("", silent())
		w.same("the same report again", rows, w.secretRows())
	})
}

// bodiesContain checks whether the stored body of every finding contains a text.
func (w *world) bodiesContain(text string, want bool) {
	w.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		page, _, err := tx.SecretsPage(ctx, model.SecretFilter{}, 0, 100)
		for _, o := range page {
			if all := string(o.Body) + string(o.Evidence); strings.Contains(all, text) != want {
				w.Errorf("finding %d is kept as %s", o.ID, all)
			}
		}
		return err
	})
}

// holding returns the files of the data folder that contain a text.
func (w *world) holding(text string) (files []string) {
	w.Helper()
	if w.config.Dir == "" {
		return nil
	}
	err := filepath.WalkDir(w.config.Dir, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		data, err := os.ReadFile(path)
		if strings.Contains(string(data), text) {
			files = append(files, entry.Name())
		}
		return err
	})
	if err != nil {
		w.Error(err)
	}
	return files
}

// TestImportedSecretsRuleAppliesToScans checks that a secrets rule of an import applies to scans. This
// includes a scan whose results were stored before the import.
func TestImportedSecretsRuleAppliesToScans(t *testing.T) {
	body := strings.ReplaceAll(secretsReport, "acme.tokens", "js-eval")
	for name, run := range map[string]func(*world){
		"before the scan": func(w *world) {
			w.imports("diff=true", body)
			w.replay("full")
		},
		"while its results wait": func(w *world) {
			path := w.begin("full")
			w.ok("POST", path+"results", w.recorded("full/3-results.json"))
			w.imports("diff=true", body)
			w.ok("POST", path+"complete", w.recorded("full/4-complete.json"))
		},
		"after the scan": func(w *world) {
			w.replay("full")
			w.imports("diff=true", body)
		},
	} {
		t.Run(name, func(t *testing.T) {
			each(t, func(w *world) {
				w.rules(model.ModeMonitor)
				run(w)
				code, _ := w.code("main")
				if status, exists := code["js-eval web/main.js:1"]; exists {
					t.Errorf("it is a finding of code that is %s", status)
				}
				locations := []string{}
				for _, r := range w.secretRows() {
					locations = append(locations, r.Rule+" "+r.Location)
				}
				if text := strings.Join(locations, ", "); !strings.Contains(text, "js-eval web/main.js:1") || len(locations) != 3 {
					t.Errorf("secrets: %s", text)
				}
				if name != "before the scan" {
					return // the stored results are deleted, and overwritten later
				}
				for what, id := range map[string]string{"match_based_id": "ec72c362cfab8bb5a67cd2faf1822bfd", "syntactic_id": "9a9017e5ad3956e13675d7cf6a76662f", "code_hash": "ba8d038d0d814adabf10665b51b2200b"} {
					if files := w.holding(id); len(files) > 0 {
						t.Errorf("%v hold its %s", files, what)
					}
				}
			})
		})
	}
}
