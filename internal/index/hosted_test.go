package index

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
)

const testOrg = "https://redoubt.example/orgs/acme"

func TestHostedDialectFindings(t *testing.T) {
	w := goldenWorld(t)
	v := view(t, New(w, Options{BodyCache: 1 << 20}))
	for _, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		t.Run(issueType.String(), func(t *testing.T) {
			var got bytes.Buffer
			if err := json.Indent(&got, hosted(t, v, issueType), "", "  "); err != nil {
				t.Fatal(err)
			}
			got.WriteByte('\n')
			golden(t, filepath.Join("testdata", issueType.String()+".hosted.golden.json"), got.Bytes())
		})
	}
}

func hosted(t *testing.T, v *View, issueType model.IssueType) []byte {
	t.Helper()
	page, err := v.Page(t.Context(), model.FindingFilter{IssueType: issueType}, 0, 100)
	if err != nil {
		t.Fatal(err)
	}
	var buf bytes.Buffer
	if n, err := page.Hosted(testOrg).WriteTo(&buf); err != nil || n != int64(buf.Len()) {
		t.Fatalf("WriteTo = %d, %v; %d bytes came", n, err, buf.Len())
	}
	return buf.Bytes()
}

// TestDialectsHaveEqualContent checks that both dialects have the same content for arbitrary texts.
// It translates decoded JSON, whereas the encoder never decodes.
func TestDialectsHaveEqualContent(t *testing.T) {
	texts := []string{
		"plain", `"`, `\`, `\"`, `",`, `x","location":{"column":7,"endColumn":8`, `,"usage":{"location":{`, `"line_of_code_url":"`,
		"\u2028<>&\x01", `{"filePath":"a"}`, `]}`, "ends in a comma,", `cweNames":`,
	}
	w := newWorld()
	seed(w)
	id := int64(100)
	for i, text := range texts {
		for _, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
			w.putRule(model.Rule{ID: id, Name: "rule " + text, Message: []string{"", text}[i%2], CWE: []string{text}, Category: text})
			w.putLineage(model.Lineage{ID: id, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged, Comment: text}, Annotations: model.Annotations{
				ExternalTicket: &model.ExternalTicket{ExternalSlug: text, URL: text}, ReviewComments: []model.ReviewComment{{ExternalDiscussionID: text}},
			}})
			f := goldenFinding(t, issueType)
			f.ID, f.LineageID, f.RuleID, f.RelevantSince = id, id, id, f.RelevantSince.Add(time.Duration(id))
			f.Body = hostileBody(t, issueType, text, i)
			w.putFinding(f)
			id++
		}
	}
	w.commit()
	v := view(t, New(w, Options{BodyCache: 1 << 20}))
	for _, issueType := range []model.IssueType{model.SAST, model.SCA, model.Secrets} {
		var contract, got []map[string]any
		decode(t, written(t, v, model.FindingFilter{IssueType: issueType}, 0, 100), &contract)
		decode(t, hosted(t, v, issueType), &got)
		for _, f := range contract {
			translate(f)
		}
		if len(got) != len(texts) {
			t.Errorf("%s: %d findings, want %d", issueType, len(got), len(texts))
		}
		if diff := cmp.Diff(contract, got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", issueType, diff)
		}
	}
}

func hostileBody(t *testing.T, issueType model.IssueType, text string, i int) []byte {
	t.Helper()
	location := model.WireLocation{Column: i, EndColumn: 2, EndLine: 3, FilePath: text, Line: 4}
	body := model.Body{Location: location, MatchBasedID: text, SyntacticID: text}
	if i%3 > 0 {
		body.RuleMessage = &text
	}
	if i%2 > 0 {
		body.LineOfCodeURL = "https://git.example/" + text
	}
	if issueType == model.SCA {
		body.SCABody = &model.SCABody{ReachableCondition: &text, FoundDependency: model.FoundDependency{Package: text}, VulnerabilityIdentifier: &text}
		if i%4 > 0 {
			body.Usage = &model.Usage{Location: location}
		}
	}
	out, err := body.Members()
	if err != nil {
		t.Fatal(err)
	}
	return out
}

func decode(t *testing.T, text []byte, out any) {
	t.Helper()
	if err := json.Unmarshal(text, out); err != nil {
		t.Fatalf("%v in %s", err, text)
	}
}

// translate converts a finding from the contract's dialect to the hosted one.
func translate(f map[string]any) {
	rule := f["rule"].(map[string]any)
	if f["rule_message"] == nil {
		f["rule_message"] = rule["message"]
	}
	id := string(appendNumber(f["id"].(float64)))
	if f["line_of_code_url"] == "" {
		f["line_of_code_url"] = testOrg + "/findings/" + id
	}
	if f["state_updated_at"] == nil {
		f["state_updated_at"] = f["created_at"]
	}
	if repository := f["repository"].(map[string]any); repository["url"] == "" {
		repository["url"] = testOrg + "/projects/1"
	}
	f["ref"] = strings.TrimPrefix(f["ref"].(string), "refs/heads/")
	if _, code := f["click_to_fix_prs"]; code && f["sourcing_policy"] == nil {
		f["sourcing_policy"] = nil
	}
	if reach, ok := f["reachability"].(string); ok {
		f["reachability"] = map[string]string{
			"reachable": "reachable", "always_reachable": "always reachable", "conditionally_reachable": "conditionally reachable",
			"unreachable": "unreachable", "unknown": "no reachability analysis",
		}[reach]
	}
	rename(rule, "cweNames", "cwe_names", "owaspNames", "owasp_names", "vulnerabilityClasses", "vulnerability_classes")
	location := f["location"].(map[string]any)
	rename(location, "filePath", "file_path", "endLine", "end_line", "endColumn", "end_column")
	tickets := []any{f["external_ticket"]}
	for _, c := range f["review_comments"].([]any) {
		rename(c.(map[string]any), "externalDiscussionId", "external_discussion_id", "externalNoteId", "external_note_id")
	}
	if usage, ok := f["usage"].(map[string]any); ok {
		at := usage["location"].(map[string]any)
		rename(at, "filePath", "file_path", "endLine", "end_line", "endColumn", "end_column")
		at["path"], at["start_line"], at["start_col"], at["end_col"], at["url"] = at["file_path"], at["line"], at["column"], at["end_column"], f["line_of_code_url"]
		usage["external_ticket"] = f["external_ticket"]
	}
	for _, ticket := range tickets {
		if ticket, ok := ticket.(map[string]any); ok {
			rename(ticket, "externalSlug", "external_slug", "linkedIssueIds", "linked_issue_ids")
		}
	}
}

func appendNumber(n float64) []byte {
	out, _ := json.Marshal(n) //nolint:errchkjson // a number
	return out
}

func rename(m map[string]any, pairs ...string) {
	for pair := range slices.Chunk(pairs, 2) {
		m[pair[1]] = m[pair[0]]
		delete(m, pair[0])
	}
}

// TestMergedPages compares all pages of two issue types with a sorted list of both.
func TestMergedPages(t *testing.T) {
	w := newWorld()
	seed(w)
	body := goldenFinding(t, model.SAST).Body
	var want []model.IndexedFinding
	for id := int64(1); id <= 60; id++ {
		f := model.IndexedFinding{Finding: model.Finding{
			ID: id, LineageID: id, ProjectID: 1, RuleID: 1, Ref: "refs/heads/main", State: model.Unresolved, Severity: model.SeverityHigh,
			IssueType:     []model.IssueType{model.SAST, model.SCA, model.SAST, model.SAST, model.Secrets}[id*id%5],
			RelevantSince: time.Unix(1_700_000_000+id*7%11, 0), CreatedAt: time.Unix(1, 0),
		}, Body: body}
		w.putLineage(model.Lineage{ID: id, ProjectID: 1, Triage: model.Triage{State: model.TriageUntriaged}})
		w.putFinding(f)
		if f.IssueType != model.Secrets {
			want = append(want, f)
		}
	}
	w.commit()
	slices.SortFunc(want, newestFirst)
	v := view(t, New(w, Options{BodyCache: 1 << 20}))
	for size := 1; size <= len(want)+1; size++ {
		var got []int64
		for page := 0; ; page++ {
			p, err := v.MergedPage(t.Context(), model.FindingFilter{IssueType: model.SAST}, model.FindingFilter{IssueType: model.SCA}, page, size)
			if err != nil {
				t.Fatal(err)
			}
			if p.Len() == 0 {
				break
			}
			for i := range p.items {
				got = append(got, int64(p.items[i].row.id))
			}
		}
		var ids []int64
		for _, f := range want {
			ids = append(ids, f.ID)
		}
		if diff := cmp.Diff(ids, got); diff != "" {
			t.Fatalf("pages of %d (-want +got):\n%s", size, diff)
		}
	}
}

// BenchmarkDialect measures the largest page in the hosted dialect relative to the contract's. The
// limit is a factor of 1.2.
func BenchmarkDialect(b *testing.B) {
	v := bulkView(b, 10_000)
	for _, issueType := range []model.IssueType{model.SAST, model.SCA} {
		page, err := v.Page(b.Context(), model.FindingFilter{IssueType: issueType}, 0, 3000)
		if err != nil {
			b.Fatal(err)
		}
		if page.Len() == 0 {
			continue
		}
		b.Run(issueType.String(), func(b *testing.B) {
			var sink sink
			benchmarkAgainst(b, func() {}, func() { _, _ = page.Hosted(testOrg).WriteTo(&sink) }, func() { _, _ = page.WriteTo(&sink) })
		})
	}
}
