package apihttp

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/apihttp/core"
	"github.com/redoubt/redoubt/internal/model"
)

// findingsOfHosted decodes findings like clients of the hosted service, with their names of
// members.
type findingsOfHosted struct {
	Findings []hostedFinding `json:"findings"`
}

type hostedFinding struct {
	ID            int64  `json:"id"`
	Ref           string `json:"ref"`
	RelevantSince string `json:"relevant_since"`
	LineOfCodeURL string `json:"line_of_code_url"`
	Location      struct {
		FilePath string `json:"file_path"`
		EndLine  int    `json:"end_line"`
	} `json:"location"`
	Rule struct {
		CWENames []string `json:"cwe_names"`
	} `json:"rule"`
	Reachability    string `json:"reachability"`
	FoundDependency *struct {
		Package string `json:"package"`
	} `json:"found_dependency"`
}

func (h *harness) Hosted(query string, headers ...string) (out findingsOfHosted, a answer) {
	h.t.Helper()
	a = h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+query, "", headers...)
	if a.status != http.StatusOK {
		h.t.Fatalf("%s: %s", query, a.body)
	}
	if err := json.Unmarshal([]byte(a.body), &out); err != nil {
		h.t.Fatal(err)
	}
	return out, a
}

// newHosted returns a harness with findings of both types and a token of the hosted dialect. Its
// API client still uses the contract's dialect.
func newHosted(t *testing.T) *harness {
	t.Helper()
	h := newHarness(t)
	h.token = h.newToken(model.Token{Name: "hosted", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeCI}, Dialect: model.DialectHosted})
	h.client.Token = h.token
	h.importSample("acme/payments/main-1/semgrep.json", "semgrep.json")
	return h
}

func TestHostedFindingsMatchContract(t *testing.T) {
	h := newHosted(t)
	for _, issueType := range []string{"sast", "sca"} {
		page, err := h.client.ListFindings(t.Context(), "acme", api.FindingsQuery{IssueType: issueType})
		if err != nil {
			t.Fatal(err)
		}
		var want []int64
		for _, f := range page.SASTFindings.Findings {
			want = append(want, f.ID)
		}
		for _, f := range page.SCAFindings.Findings {
			want = append(want, f.ID)
		}
		got, a := h.Hosted("issue_type=" + issueType)
		if len(want) == 0 || len(got.Findings) != len(want) {
			t.Fatalf("%s: %d findings, want %d", issueType, len(got.Findings), len(want))
		}
		for i, f := range got.Findings {
			if f.ID != want[i] || f.Ref != "main" || f.Location.FilePath == "" || !strings.HasPrefix(f.LineOfCodeURL, "http") {
				t.Errorf("%s: %+v, want finding %d", issueType, f, want[i])
			}
			if (issueType == "sca") != (f.FoundDependency != nil) || strings.Contains(f.Reachability, "_") {
				t.Errorf("%s: %+v", issueType, f)
			}
		}
		if hint := a.header.Get(api.FindingsHeader); a.header.Get(api.DialectHeader) != "hosted" || !strings.HasSuffix(hint, `at="findings"`) {
			t.Errorf("headers %v", a.header)
		}
	}
}

func TestHostedQueriesAreLenient(t *testing.T) {
	h := newHosted(t)
	code, _ := h.Hosted("")
	supply, _ := h.Hosted("issue_type=sca")
	both, _ := h.Hosted("issue_type=sast&issue_type=sca")
	if len(both.Findings) != len(code.Findings)+len(supply.Findings) || len(supply.Findings) == 0 {
		t.Errorf("%d of both types, want %d and %d", len(both.Findings), len(code.Findings), len(supply.Findings))
	}
	if !slices.IsSortedFunc(both.Findings, func(a, b hostedFinding) int {
		return strings.Compare(b.RelevantSince, a.RelevantSince)
	}) {
		t.Error("findings of both types are not newest first")
	}
	past := "page_size=3&page=" + core.Decimal(int64(len(code.Findings)/3+1))
	for query, want := range map[string]int{
		"page_size=2":            2,
		"page_size=0":            len(code.Findings),
		"page_size=1000000":      len(code.Findings),
		past:                     0,
		"issue_type=sast,%20sca": len(both.Findings),
		"issue_type=sca&rules=none&confidence=high": len(supply.Findings),
		"exposures=reachable&is_malicious=true":     len(code.Findings),
		"issue_type=":                               len(code.Findings),
		"issue_type=,":                              len(code.Findings),
		"issue_type=sca,":                           len(supply.Findings),
		"issue_type=ai_sast":                        0,
		"issue_type=ai_sast&issue_type=sca":         len(supply.Findings),
		"status=provisionally_ignored":              0,
		"status=open&status=provisionally_ignored":  len(code.Findings) - 1, // one is muted
		"triage_reasons=duplicate":                  0,
		"unknown=1&pageSize=5":                      5,
		"issueType=sca":                             len(supply.Findings),
		"page_size=5&pageSize=5":                    5,
	} {
		if got, _ := h.Hosted(query); len(got.Findings) != want {
			t.Errorf("%s: %d findings, want %d", query, len(got.Findings), want)
		}
	}
	for _, query := range []string{"status=opne", "issue_type=secrets", "issue_type=x", "page_size=many", "severities=worst"} {
		h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/acme/findings?"+query, ""), api.CodeInvalidArgument)
	}
	// A client stops only at a response of less than 100 bytes.
	if _, a := h.Hosted("page=99"); len(a.body) >= 100 {
		t.Errorf("an empty page is %q", a.body)
	}
}

// TestTrailingSlashes checks that both dialects ignore a trailing slash. Only the hosted dialect
// accepts other spellings of parameters.
func TestTrailingSlashes(t *testing.T) {
	h := newHosted(t)
	for _, path := range []string{"/api/v1/deployments/", "/api/v1/deployments/acme/findings/", "/api/v1/deployments/acme/projects/acme/payments/", "/api/v1/ping/"} {
		for _, dialect := range []string{"contract", "hosted"} {
			want := h.send(http.MethodGet, strings.TrimSuffix(path, "/"), "", api.DialectHeader, dialect)
			if got := h.send(http.MethodGet, path, "", api.DialectHeader, dialect); got.status != http.StatusOK || got.body != want.body {
				t.Errorf("%s: %d %s", path, got.status, got.body)
			}
		}
	}
	if a := h.send(http.MethodDelete, "/api/v1/deployments/acme/projects/", ""); a.status != http.StatusMethodNotAllowed {
		t.Errorf("a project without a name can be deleted: %d", a.status)
	}
	var page api.ListFindingsResponse
	a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings?issueType=sca", "", api.DialectHeader, "contract")
	if err := json.Unmarshal([]byte(a.body), &page); err != nil || len(page.SASTFindings.Findings) == 0 {
		t.Errorf("the contract ignores unknown parameters: %v, %.200s", err, a.body)
	}
	for _, path := range []string{"/api/v1/", "/api/", "/api/v1/deployments/acme/findings/1/nothing/"} {
		if got := h.send(http.MethodGet, path, ""); got.status != http.StatusNotFound {
			t.Errorf("%s: %d", path, got.status)
		}
	}
}

func TestDialectHeader(t *testing.T) {
	h := newHosted(t)
	_, a := h.Hosted("", api.DialectHeader, "contract")
	if !strings.HasPrefix(a.body, `{"sastFindings":`) || a.header.Get(api.DialectHeader) != "contract" {
		t.Errorf("%.80s, %v", a.body, a.header)
	}
	var page api.ListFindingsResponse
	if err := json.Unmarshal([]byte(a.body), &page); err != nil {
		t.Fatal(err)
	}
	if want := `count=` + core.Decimal(int64(len(page.SASTFindings.Findings))) + `, at="sastFindings.findings"`; a.header.Get(api.FindingsHeader) != want {
		t.Errorf("%s: %q, want %q", api.FindingsHeader, a.header.Get(api.FindingsHeader), want)
	}
	if a.header.Get("Vary") == "" {
		t.Error("Vary does not contain the header")
	}
	h.wantProblem(h.send(http.MethodGet, "/api/v1/deployments/acme/findings", "", api.DialectHeader, "klingon"), api.CodeInvalidArgument)

	h.token = h.newToken(model.Token{Name: "contract", Scopes: []model.Scope{model.ScopeWebAPI}})
	if got, a := h.Hosted("", api.DialectHeader, "hosted"); len(got.Findings) == 0 {
		t.Errorf("the header alone: %.80s", a.body)
	}
}

func TestHostedFinding(t *testing.T) {
	h := newHosted(t)
	all, _ := h.Hosted("issue_type=sca")
	a := h.send(http.MethodGet, "/api/v1/deployments/acme/findings/"+core.Decimal(all.Findings[0].ID), "")
	if !strings.Contains(a.body, `"file_path":`) || strings.Contains(a.body, `"filePath"`) {
		t.Errorf("%s", a.body)
	}
}

func TestHostedDependenciesAndScans(t *testing.T) {
	h := newHosted(t)
	h.importSample("acme/payments/main-1/requirements.txt", "requirements.txt")
	var deps struct {
		Dependencies []struct {
			Name         string
			Transitivity string
			Package      struct{ Name, VersionSpecifier string }
			DefinedAt    *struct{ Path, StartLine, URL, CommittedAt string }
		}
		Cursor  *string
		HasMore *bool
	}
	a := h.send(http.MethodPost, "/api/v1/deployments/acme/dependencies", `{"page_size":3}`)
	if err := json.Unmarshal([]byte(a.body), &deps); err != nil {
		t.Fatalf("%v in %s", err, a.body)
	}
	if len(deps.Dependencies) != 3 || deps.Cursor == nil || deps.HasMore == nil || !*deps.HasMore {
		t.Fatalf("%s", a.body)
	}
	for _, d := range deps.Dependencies {
		if d.Package.Name != d.Name || d.DefinedAt == nil || d.DefinedAt.Path == "" || d.DefinedAt.StartLine == "" || d.DefinedAt.URL != "https://github.com/acme/payments/blob/main/requirements.txt#L"+d.DefinedAt.StartLine || d.Transitivity != strings.ToUpper(d.Transitivity) {
			t.Errorf("%+v %+v", d, d.DefinedAt)
		}
	}
	var scans struct {
		Scans   []json.RawMessage
		HasMore *bool   `json:"hasMore"`
		Cursor  *string `json:"cursor"`
	}
	a = h.send(http.MethodPost, "/api/v1/deployments/acme/scans/search", `{"limit":1}`)
	if err := json.Unmarshal([]byte(a.body), &scans); err != nil || scans.HasMore == nil || !*scans.HasMore || scans.Cursor == nil {
		t.Fatalf("%v in %s", err, a.body)
	}
}

// TestHostedDependencyRepositories checks that cursors of projects with dependencies are numbers in
// the hosted dialect, in responses and requests.
func TestHostedDependencyRepositories(t *testing.T) {
	h := newHosted(t)
	h.importSample("acme/payments/main-1/requirements.txt", "requirements.txt")
	for _, name := range []string{"acme/one", "acme/two"} {
		if _, err := h.client.ImportReport(t.Context(), "acme", api.ImportQuery{Project: name, Ref: "main", Filename: "requirements.txt"}, strings.NewReader("idna==3.4\n")); err != nil {
			t.Fatal(err)
		}
	}
	for cursor, pages := json.Number("0"), 1; ; pages++ {
		var page struct {
			RepositorySummaries []struct{ ID, NumDependencies int64 }
			HasMore             *bool
			Cursor              json.Number
		}
		a := h.send(http.MethodPost, "/api/v1/deployments/acme/dependencies/repositories", `{"page_size":1,"cursor":`+cursor.String()+`}`)
		decode := json.NewDecoder(strings.NewReader(a.body))
		decode.UseNumber()
		if err := decode.Decode(&page); err != nil || page.HasMore == nil || len(page.RepositorySummaries) != 1 || page.RepositorySummaries[0].NumDependencies == 0 {
			t.Fatalf("page %d: %v in %s", pages, err, a.body)
		}
		if n, err := page.Cursor.Int64(); err != nil || n >= 1<<53 {
			t.Fatalf("the cursor %s is a number that JavaScript cannot read", page.Cursor)
		}
		if cursor = page.Cursor; !*page.HasMore {
			if cursor != "0" || pages != 3 {
				t.Errorf("the last of %d pages has the cursor %s", pages, cursor)
			}
			return
		}
	}
}

func TestHostedPolicies(t *testing.T) {
	h := newHosted(t)
	if a := h.send(http.MethodGet, "/api/v1/deployments/acme/policies", ""); !strings.Contains(a.body, "PRODUCT_TYPE_SAST") || strings.Contains(a.body, "PRODUCT_TYPE_SCA") {
		t.Errorf("%s", a.body)
	}
}

// TestDocsListDialectDifferences checks that docs/guides/clients.md contains the table of the code.
func TestDocsListDialectDifferences(t *testing.T) {
	text, err := os.ReadFile("../../docs/guides/clients.md")
	if err != nil {
		t.Fatal(err)
	}
	var table strings.Builder
	table.WriteString("| operation | contract | hosted |\n|---|---|---|\n")
	for _, d := range differences {
		fmt.Fprintf(&table, "| %s | %s | %s |\n", d.Operation, d.Contract, d.Hosted)
	}
	if !strings.Contains(string(text), table.String()) {
		t.Errorf("docs/guides/clients.md lacks the table of differences:\n%s", table.String())
	}
	for _, d := range differences {
		if theSpec().Operation(d.Operation) == nil {
			t.Errorf("there is no operation %s", d.Operation)
		}
	}
}
