package agent_test

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pgregory.net/rapid"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// wireUpload is a report with the parameters of its upload.
type wireUpload struct {
	Ref, Commit        string
	Full, DeclaredFull bool
	Report             *model.Report
}

// wireTree is the content of a checkout and the text of the rules.
type wireTree struct {
	items   []wireItem
	pattern string
}

type wireItem struct {
	rule, path, code string
	line             int
	muted            bool
}

var wirePaths = []string{"a.py", "b.py", "lib/c.py"}

// edit applies random edits to the tree.
func (tr *wireTree) edit(t *rapid.T) {
	for range rapid.IntRange(0, 3).Draw(t, "edits") {
		op := rapid.IntRange(0, 7).Draw(t, "edit")
		if op <= 2 || len(tr.items) == 0 {
			tr.items = append(tr.items, wireItem{
				rapid.SampledFrom(wireRules).Draw(t, "rule"), rapid.SampledFrom(wirePaths).Draw(t, "path"),
				rapid.SampledFrom([]string{"x == x", "y == y"}).Draw(t, "code"), rapid.IntRange(1, 5).Draw(t, "line"),
				rapid.IntRange(0, 3).Draw(t, "muted") == 0,
			})
			continue
		}
		i := rapid.IntRange(0, len(tr.items)-1).Draw(t, "item")
		switch op {
		case 3:
			tr.items = slices.Delete(tr.items, i, i+1)
		case 4:
			from, to := tr.items[i].path, rapid.SampledFrom(wirePaths).Draw(t, "to")
			for j := range tr.items {
				if tr.items[j].path == from {
					tr.items[j].path = to
				}
			}
		case 5:
			tr.items[i].muted = !tr.items[i].muted
		case 6:
			tr.pattern = rapid.SampledFrom([]string{"p", "q"}).Draw(t, "pattern")
		default:
			for j := range tr.items {
				tr.items[j].line++
			}
		}
	}
}

// results returns a scanner's results for the tree.
func (tr *wireTree) results(patterns, code bool) (out []model.Result) {
	count := map[string]int{}
	items := slices.Clone(tr.items)
	// The scanner numbers matches in this order.
	slices.SortStableFunc(items, func(a, b wireItem) int { return cmp.Or(a.line-b.line, strings.Compare(a.code, b.code)) })
	for _, it := range items {
		column := 1 + 4*int(it.code[0]-'x')
		r := model.Result{
			Rule: &model.Rule{Name: it.rule}, Path: it.path, Message: "m " + it.code, Muted: it.muted,
			Location: model.Location{Line: it.line, Column: column, EndLine: it.line, EndColumn: column + 6},
		}
		if code {
			key := hexOf(it.rule + it.path + it.code + tr.pattern)
			r.Code, r.CodeHash, r.MatchBasedID = it.code, hexOf(it.code), fmt.Sprintf("%s_%d", key, count[key])
			count[key]++
			r.CodeNumber = count[key]
		}
		if patterns {
			r.Code, r.PatternHash = "", hexOf(tr.pattern+it.code)
		}
		out = append(out, r)
	}
	return out
}

func hexOf(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])
}

// resultsBody returns the report in the upload format of semgrep ci.
func resultsBody(u wireUpload) map[string]any {
	lists := map[bool][]any{false: {}, true: {}}
	for i, r := range u.Report.Results {
		lists[r.Muted] = append(lists[r.Muted], map[string]any{
			"check_id": r.Rule.Name, "path": r.Path, "line": r.Location.Line, "column": r.Location.Column, "end_line": r.Location.EndLine,
			"end_column": r.Location.EndColumn, "message": r.Message, "severity": 2, "index": max(r.CodeNumber-1, 0), "syntactic_id": fmt.Sprintf("%032x", i),
			"match_based_id": r.MatchBasedID, "metadata": map[string]any{"redoubt": map[string]any{"rule_version": r.Rule.Version}}, "is_blocking": false,
			"hashes": map[string]any{"code_hash": r.CodeHash, "pattern_hash": r.PatternHash, "start_line_hash": r.StartHash, "end_line_hash": r.EndHash},
		})
	}
	return map[string]any{
		"findings": lists[false], "ignores": lists[true], "searched_paths": u.Report.Searched, "skipped_paths": append([]string{}, u.Report.Skipped...),
		"renamed_paths": []string{}, "rule_ids": u.Report.RulesRun,
	}
}

// jsonBody returns the report in the format of semgrep scan --json.
func jsonBody(u wireUpload) []byte {
	results := []any{}
	for _, r := range u.Report.Results {
		lines, fingerprint := r.Code, r.MatchBasedID
		if fingerprint == "" {
			lines, fingerprint = "requires login", "requires login"
		}
		results = append(results, map[string]any{
			"check_id": r.Rule.Name, "path": r.Path, "start": map[string]any{"line": r.Location.Line, "col": r.Location.Column},
			"end":   map[string]any{"line": r.Location.EndLine, "col": r.Location.EndColumn},
			"extra": map[string]any{"message": r.Message, "severity": "ERROR", "metadata": map[string]any{}, "lines": lines, "fingerprint": fingerprint},
		})
	}
	return mustJSON(map[string]any{
		"version": "1.180.0", "results": results, "errors": []any{}, "skipped_rules": []any{}, "paths": map[string]any{"scanned": u.Report.Searched},
	})
}

// sarifBody returns the report in the format of another tool.
func sarifBody(u wireUpload) []byte {
	results := []any{}
	for _, r := range u.Report.Results {
		suppressions := []any{}
		if r.Muted {
			suppressions = append(suppressions, map[string]any{"kind": "inSource"})
		}
		results = append(results, map[string]any{
			"ruleId": r.Rule.Name, "message": map[string]any{"text": r.Message}, "suppressions": suppressions,
			"locations": []any{map[string]any{"physicalLocation": map[string]any{
				"artifactLocation": map[string]any{"uri": r.Path},
				"region": map[string]any{
					"startLine": r.Location.Line, "startColumn": r.Location.Column, "endLine": r.Location.EndLine, "endColumn": r.Location.EndColumn,
					"snippet": map[string]any{"text": r.Code},
				},
			}}},
		})
	}
	return mustJSON(map[string]any{"version": "2.1.0", "runs": []any{map[string]any{
		"tool": map[string]any{"driver": map[string]any{"name": "Bandit", "rules": []any{}}}, "results": results,
	}}})
}

// failer is the common interface of ordinary and random tests.
type failer interface {
	Context() context.Context
	Fatal(args ...any)
	Fatalf(format string, args ...any)
}

// wire sends requests for one project to a server.
type wire struct {
	*world
	t           failer
	name, first string // current and first name of the repository
	number      int
	scan        int64 // the last one of filesScan
}

// post sends a scanner's request.
func (w *wire) post(path string, body any) string {
	status, text := w.send("POST", path, w.token, mustJSON(body))
	if status != 200 {
		w.t.Fatalf("POST %s answers %d %s", path, status, text)
	}
	return text
}

// complete uploads the results of a scan and ends it.
func (w *wire) complete(path string, u wireUpload) string {
	w.post(path+"results", resultsBody(u))
	return w.post(path+"complete", map[string]any{"exit_code": 0, "stats": map[string]any{"total_time": 1}, "dependencies": map[string]any{}})
}

// start sends the request that starts a scan twice.
func (w *wire) start(u wireUpload, unique string) (path string, scan int64) {
	body := map[string]any{
		"project_metadata": map[string]any{
			"scan_environment": "git", "repository": w.name, "repo_url": "https://git.example/" + w.first, "repo_id": fmt.Sprint(w.number),
			"branch": u.Ref, "commit": u.Commit, "is_full_scan": u.Full,
		},
		"scan_metadata": map[string]any{"cli_version": "1.180.0", "unique_id": unique, "requested_products": []string{}, "dry_run": false},
	}
	text := w.post("/api/cli/v2/scans", body)
	if second := w.post("/api/cli/v2/scans", body); second != text {
		w.t.Fatalf("the scan began as %s and then as %s", text, second)
	}
	_, id, _ := strings.Cut(text, `"id":`)
	id, _, _ = strings.Cut(id, ",")
	scan, err := strconv.ParseInt(id, 10, 64)
	if err != nil {
		w.t.Fatalf("%v in %s", err, text)
	}
	return fmt.Sprintf("/api/agent/scans/%d/", scan), scan
}

type wireImport struct {
	api.Import
	scan int64
}

// imported uploads a file with the first name of the repository.
func (w *wire) imported(u wireUpload, body []byte) wireImport {
	q := api.ImportQuery{Project: w.first, Ref: u.Ref, Commit: u.Commit, Full: u.DeclaredFull, Diff: !u.Full}
	answer, err := w.client().ImportReport(w.t.Context(), "acme", q, bytes.NewReader(body))
	if err != nil {
		w.t.Fatalf("%v\n%s", err, body)
	}
	scan, err := strconv.ParseInt(answer.Imports[0].ScanID, 10, 64)
	if err != nil || len(answer.Imports) != 1 || len(answer.Imports[0].Refused) > 0 {
		w.t.Fatalf("%v: %+v", err, answer)
	}
	return wireImport{answer.Imports[0], scan}
}

// serve adds the rules to the policies in their original form.
func (w *wire) serve() {
	w.change(func(ctx context.Context, tx *store.Tx) error {
		for _, name := range wireRules {
			rule := model.Rule{Name: name, IssueType: model.SAST, Severity: model.SeverityHigh, Confidence: model.ConfidenceMedium}
			mode := model.ModeMonitor
			if name == blocking {
				mode = model.ModeBlock
			}
			if _, err := tx.ServeRule(ctx, store.Serving{Rule: rule, Text: fmt.Appendf(nil, `{"id":%q,"pattern":"$X"}`, name), Checked: true, Mode: mode}); err != nil {
				return err
			}
		}
		return nil
	})
}

func (w *wire) change(fn func(ctx context.Context, tx *store.Tx) error) {
	if err := w.store.Update(w.t.Context(), w.deployment.ID, storetest.Actor, fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) read(fn func(ctx context.Context, tx *store.Tx) error) {
	if err := w.store.View(w.t.Context(), w.deployment.ID, fn); err != nil {
		w.t.Fatal(err)
	}
}

func (w *wire) project() (p model.Project, known bool) {
	w.read(func(ctx context.Context, tx *store.Tx) (err error) {
		p, err = tx.ProjectByName(ctx, w.first)
		known = err == nil
		return nil
	})
	return p, known
}

// outcome returns the outcome of a scan.
func (w *wire) outcome(id int64) (out model.ScanOutcome) {
	w.read(func(ctx context.Context, tx *store.Tx) error {
		scan, err := tx.Scan(ctx, id)
		out = scan.Outcome
		return err
	})
	return out
}

var wireRefs = []string{"main", "dev", "refs/pull/7/merge"}

// stored returns the findings of the project by id.
func (w *wire) stored() map[int64]model.Finding {
	out := map[int64]model.Finding{}
	project, known := w.project()
	if !known {
		return out
	}
	w.read(func(ctx context.Context, tx *store.Tx) error {
		for _, ref := range wireRefs {
			for _, source := range []string{"semgrep", "bandit"} {
				rows, err := tx.Findings(ctx, project.ID, model.FullRef(ref), source)
				if err != nil {
					return err
				}
				for _, f := range rows {
					out[f.ID] = f
				}
			}
		}
		return nil
	})
	return out
}

func (h *wireHistory) lineages() (out map[int64]model.Lineage) {
	var ids []int64
	for _, f := range h.rows {
		ids = append(ids, f.LineageID)
	}
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	h.read(func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = tx.Lineages(ctx, slices.Compact(ids))
		return err
	})
	return out
}
