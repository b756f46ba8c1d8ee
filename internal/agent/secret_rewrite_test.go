package agent_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/reporttest"
)

// tokens returns a full report of a file with two tokens, shifted down by a number of lines.
func tokens(metadata map[string]any, down int) string {
	var results []reporttest.Result
	for line, name := range map[int]string{3: "one", 9: "two"} {
		code := fmt.Sprintf("use('%s-%s')", plainSecret, name)
		results = append(results, reporttest.Result{
			Rule: "acme.tokens", Path: "a.py", Line: line + down, Message: "found " + code, Code: code, Fingerprint: "f-" + name + "_0",
			Metadata: metadata,
		})
	}
	return string(reporttest.Semgrep(results...))
}

// TestDecisionsRemainWhenRuleBecomesSecretsRule uploads a report that declares a rule a secrets
// rule. It contains the findings as hashed secrets on other lines. Decisions must remain, and no
// digest of code.
func TestDecisionsRemainWhenRuleBecomesSecretsRule(t *testing.T) {
	each(t, func(w *world) {
		w.imports("", tokens(nil, 0))
		before, ids := w.code("main")
		w.same("findings of code", map[string]string{"acme.tokens a.py:3": "open", "acme.tokens a.py:9": "open"}, before)
		if _, err := w.client().TriageFindings(w.Context(), "acme", api.TriageRequest{
			IssueType: "sast", IssueIDs: []api.Int{api.Int(ids["acme.tokens a.py:9"])}, NewTriageState: "ignored",
		}); err != nil {
			t.Fatal(err)
		}
		was := w.rewritable()
		guesses := []string{plainSecret, "f-one", "f-two"}
		for i := range was {
			f := &was[i]
			for _, d := range []model.Digest{f.Identity.Hash, f.CodeHash, f.PatternHash, f.EdgeHash, f.Content} {
				if d != (model.Digest{}) {
					guesses = append(guesses, fmt.Sprintf("%X", d[:]))
				}
			}
		}
		if w.config.Dir != "" && len(w.storedTexts(guesses)) == 0 {
			t.Fatal("the test looks for what was never there")
		}
		w.imports("", tokens(map[string]any{"product": "secrets"}, 3))
		rows := w.secretRows()
		w.same("secrets", []secretRow{
			{fmt.Sprint(ids["acme.tokens a.py:3"]), rows[0].Rule, "a.py:6", "OPEN"},
			{fmt.Sprint(ids["acme.tokens a.py:9"]), rows[0].Rule, "a.py:12", "IGNORED"},
		}, rows)
		w.same("occurrences of the rule", 2, w.occurrences("acme.tokens"))
		for i, f := range w.written() {
			if !f.CreatedAt.Equal(was[i].CreatedAt) || !f.RelevantSince.Equal(was[i].RelevantSince) || f.LineageID != was[i].LineageID {
				t.Errorf("finding %d was of %v and is of %v", f.ID, was[i].CreatedAt, f.CreatedAt)
			}
		}
		w.same("what stands in the tables of findings", []string(nil), w.storedTexts(guesses))
		w.imports("", tokens(map[string]any{"product": "secrets"}, 0))
		w.same("once more, on the lines from before", []string{"a.py:3 OPEN", "a.py:9 IGNORED"}, w.secretLocations())
	})
}

// rewritable returns the findings that a secrets rule would rewrite.
func (w *world) rewritable() (list []model.FindingWrite) {
	w.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.CodeFindings(ctx, []model.SecretRule{{Tool: "semgrep", Name: "acme.tokens"}})
		return err
	})
	return list
}

func (w *world) written() (list []model.Finding) {
	w.Helper()
	w.view(func(ctx context.Context, tx *store.Tx) error {
		project, err := tx.ProjectByName(ctx, "acme/demo")
		if err != nil {
			return err
		}
		list, err = tx.Findings(ctx, project.ID, "refs/heads/main", "semgrep")
		return err
	})
	return list
}

func (w *world) secretLocations() (list []string) {
	w.Helper()
	for _, r := range w.secretRows() {
		list = append(list, r.Location+" "+r.Status)
	}
	return list
}

// storedTexts returns the texts that the columns of the finding tables contain.
func (w *world) storedTexts(texts []string) (found []string) {
	w.Helper()
	if w.config.Dir == "" {
		return nil
	}
	for _, table := range []string{"finding", "finding_body", "finding_event", "finding_snippet", "lineage", "lineage_identity"} {
		var columns []string
		for _, column := range w.read(`SELECT name FROM pragma_table_info('` + table + `')`) {
			columns = append(columns, "quote("+column+")", "quote(CAST("+column+" AS TEXT))")
		}
		for _, row := range w.read(`SELECT ` + strings.Join(columns, " || ' ' || ") + ` FROM ` + table) {
			for _, text := range texts {
				if strings.Contains(row, text) {
					found = append(found, table+": "+text)
				}
			}
		}
	}
	return found
}
