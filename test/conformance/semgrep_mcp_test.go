package conformance

import (
	"cmp"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

// TestClientSemgrepMCP checks that the strict models of semgrep-mcp accept the responses and
// contain the data that the Go client reads.
func TestClientSemgrepMCP(t *testing.T) {
	folder, semgrep := clients(t), os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep, in whose environment semgrep-mcp runs: make setup installs it")
	}
	w := newWorld(t, "sqlite")
	service := clienttest.Start(t, w.url)
	client := exec.CommandContext(t.Context(), filepath.Join(filepath.Dir(semgrep), "python"), script(t, "read_semgrep_mcp.py"))
	client.Env = append(append(os.Environ(), service.Env()...), "TOKEN="+w.hostedToken(t), "PACKAGE="+filepath.Join(folder, "semgrep-mcp"))
	var got struct {
		Version  string
		Pages    int
		Findings []object
	}
	if err := json.Unmarshal(run(t, client), &got); err != nil {
		t.Fatal(err)
	}
	if got.Pages < 3 {
		t.Errorf("%d pages prove nothing", got.Pages)
	}
	same(t, "findings", w.openInSemgrepMCP(t), normalizeTimes(got.Findings))
	clienttest.CheckRow(t, clienttest.Client{Name: "semgrep-mcp", Version: got.Version, Requests: service.Requests(), Verdict: "its models read all data correctly"})
}

// openInSemgrepMCP returns the open findings of both types, newest first, in the format of the
// models.
func (w *world) openInSemgrepMCP(t *testing.T) []object {
	t.Helper()
	query := api.FindingsQuery{Status: []string{"open"}}
	type row struct {
		core *api.FindingCore
		in   object
	}
	var rows []row
	for _, f := range all(t, w.api().Findings(t.Context(), w.deployment.Slug, query)) {
		in := inSemgrepMCP(&f.FindingCore)
		if p := f.SourcingPolicy; p != nil {
			in["sourcing_policy"] = object{"id": p.ID, "name": p.Name, "slug": p.Slug}
		}
		in["assistant"] = assistantInSemgrepMCP(f.Assistant)
		rows = append(rows, row{&f.FindingCore, in})
	}
	for _, f := range all(t, w.api().SupplyChainFindings(t.Context(), w.deployment.Slug, query)) {
		rows = append(rows, row{&f.FindingCore, inSemgrepMCP(&f.FindingCore)})
	}
	slices.SortStableFunc(rows, func(a, b row) int {
		return cmp.Or(b.core.RelevantSince.Compare(a.core.RelevantSince.Time), cmp.Compare(b.core.ID, a.core.ID))
	})
	return mapped(rows, func(r row) object { return r.in })
}

func inSemgrepMCP(f *api.FindingCore) object {
	message, changed := f.Rule.Message, &f.CreatedAt
	if f.RuleMessage != nil {
		message = *f.RuleMessage
	}
	if f.StateUpdatedAt != nil {
		changed = f.StateUpdatedAt
	}
	out := object{
		"id": f.ID, "ref": branch(f.Ref), "first_seen_scan_id": f.FirstSeenScanID, "syntactic_id": f.SyntacticID, "match_based_id": f.MatchBasedID,
		"repository": object{"name": f.Repository.Name, "url": f.Repository.URL}, "line_of_code_url": f.LineOfCodeURL, "triage_state": f.TriageState,
		"state": f.State, "status": f.Status, "severity": f.Severity, "confidence": f.Confidence, "categories": f.Categories, "created_at": f.CreatedAt,
		"relevant_since": f.RelevantSince, "rule_name": f.RuleName, "rule_message": message, "triaged_at": f.TriagedAt, "triage_comment": f.TriageComment,
		"triage_reason": f.TriageReason, "state_updated_at": changed, "sourcing_policy": nil, "assistant": nil, "external_ticket": nil,
		"location": object{
			"file_path": f.Location.FilePath, "line": f.Location.Line, "column": f.Location.Column, "end_line": f.Location.EndLine, "end_column": f.Location.EndColumn,
		},
		"rule": object{
			"name": f.Rule.Name, "message": f.Rule.Message, "confidence": f.Rule.Confidence, "category": f.Rule.Category, "subcategories": f.Rule.Subcategories,
			"vulnerability_classes": f.Rule.VulnerabilityClasses, "cwe_names": f.Rule.CWENames, "owasp_names": f.Rule.OWASPNames,
		},
		"review_comments": mapped(f.ReviewComments, func(c api.ReviewComment) object {
			return object{"external_discussion_id": c.ExternalDiscussionID, "external_note_id": c.ExternalNoteID}
		}),
	}
	if e := f.ExternalTicket; e != nil {
		out["external_ticket"] = object{"external_slug": e.ExternalSlug, "url": e.URL, "id": e.ID, "linked_issue_ids": e.LinkedIssueIDs}
	}
	return out
}

func assistantInSemgrepMCP(a *api.Assistant) any {
	if a == nil {
		return nil
	}
	out := object{"autofix": nil, "guidance": nil, "autotriage": nil, "component": nil}
	if v := a.Autotriage; v != nil {
		out["autotriage"] = object{"verdict": v.Verdict, "reason": v.Reason}
	}
	if v := a.Component; v != nil {
		out["component"] = object{"tag": v.Tag, "risk": v.Risk}
	}
	return out
}

// normalizeTimes formats times like the server: a client may print them with fewer digits.
func normalizeTimes(findings []object) []object {
	for _, f := range findings {
		for name, value := range f {
			if text, ok := value.(string); ok {
				if at, err := time.Parse(time.RFC3339, text); err == nil {
					f[name] = api.Time{Time: at}
				}
			}
		}
	}
	return findings
}
