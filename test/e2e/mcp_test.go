package e2e

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
	"github.com/redoubt/redoubt/internal/testutil/scannertest"
)

// stdioClient is a program with the Python SDK of the Model Context Protocol. It starts a server on
// standard input and output, and calls one of its tools.
const stdioClient = `
import asyncio, json, os, sys
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

async def main():
    command, tool, arguments = sys.argv[1], sys.argv[2], json.loads(sys.argv[3])
    server = StdioServerParameters(command=command, args=["mcp"], env=dict(os.environ))
    async with stdio_client(server) as (read, write):
        async with ClientSession(read, write) as s:
            await s.initialize()
            tools = [t.name for t in (await s.list_tools()).tools]
            out = await s.call_tool(tool, arguments)
            json.dump({"Tools": tools, "Error": out.isError, "Structured": out.structuredContent, "Text": [c.text for c in out.content]}, sys.stdout)

asyncio.run(main())
`

// assisted is the response of a tool.
type assisted struct {
	Tools      []string
	Error      bool
	Structured struct{ Result []map[string]any }
	Text       []string
}

// assist starts a server with the Python SDK and calls one of its tools.
func assist(w *ciWorld, command, tool string, arguments any, env ...string) (out assisted) {
	w.Helper()
	text, err := json.Marshal(arguments)
	if err != nil {
		w.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(w.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(scannertest.Installed(w)), "python"), "-c", stdioClient, command, tool, string(text))
	cmd.Env = append(append(os.Environ(), "PATH="+filepath.Dir(w.semgrep)+":"+os.Getenv("PATH"), "NO_PROXY=127.0.0.1"), env...)
	var stderr strings.Builder
	cmd.Stderr = &stderr
	answer, err := cmd.Output()
	if err != nil {
		w.Fatalf("%v: %s", err, stderr.String())
	}
	if err := json.Unmarshal(answer, &out); err != nil {
		w.Fatalf("%v: %s", err, answer)
	}
	return out
}

// TestClientAssistants checks that the unmodified assistant of the scanner and ours read the listed
// findings from the same server.
func TestClientAssistants(t *testing.T) {
	w := newCIWorld(t, "sqlite")
	client := &api.Client{BaseURL: w.ready.BaseURL, Token: w.ready.Token}
	report, err := os.ReadFile("testdata/mcp/semgrep.json")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := client.ImportReports(t.Context(), "acme", api.ImportQuery{Project: "acme/app", Ref: "main", Full: true, RepoURL: "https://git.example/acme/app"}, []api.File{{Name: "semgrep.json", Data: report}}); err != nil {
		t.Fatal(err)
	}
	token := strings.TrimSpace(w.redoubt("token", "create", "assistant", "--scope", "web_api,read_only"))
	listed, err := (&api.Client{BaseURL: w.ready.BaseURL, Token: token}).ListFindings(t.Context(), "acme", api.FindingsQuery{IssueType: "sast"})
	if err != nil || len(listed.SASTFindings.Findings) != 3 {
		t.Fatalf("%+v, %v", listed, err)
	}

	t.Run("redoubt mcp", func(t *testing.T) {
		out := assist(w, "redoubt", "search_findings", map[string]any{"issue_type": "sast"}, "REDOUBT_URL="+w.ready.BaseURL, "REDOUBT_TOKEN="+token)
		if out.Error || slices.Contains(out.Tools, "confirm_change") {
			t.Fatalf("%+v", out)
		}
		for _, f := range listed.SASTFindings.Findings {
			if !strings.Contains(out.Text[0], fmt.Sprintf(`"id":%d,"line":%d`, f.ID, f.Location.Line)) {
				t.Errorf("finding %d is not in %s", f.ID, out.Text[0])
			}
		}
	})
	t.Run("semgrep mcp", func(t *testing.T) {
		service := clienttest.Start(t, w.ready.BaseURL)
		out := assist(w, w.semgrep, "semgrep_findings", map[string]any{"issue_type": "ISSUE_TYPE_SAST", "repos": []string{"acme/app"}, "status": "ISSUE_TAB_OPEN"},
			"SEMGREP_URL="+service.URL, "SEMGREP_APP_TOKEN="+token, "SEMGREP_SETTINGS_FILE="+filepath.Join(t.TempDir(), "settings.yml"), "SEMGREP_SEND_METRICS=off")
		if out.Error {
			t.Fatalf("%+v", out)
		}
		sameFindings(t, listed.SASTFindings.Findings, out.Structured.Result)
		clienttest.CheckRow(t, clienttest.Client{Name: "semgrep mcp", Version: clienttest.Pinned(t, "semgrep"), Requests: service.Requests(), Verdict: clienttest.Reads})
	})
}

// sameFindings compares the findings read by the scanner's assistant with the list, field by field.
func sameFindings(t *testing.T, listed []api.CodeFinding, read []map[string]any) {
	t.Helper()
	if len(read) != len(listed) {
		t.Fatalf("%d findings were read of %d", len(read), len(listed))
	}
	slices.SortFunc(read, func(a, b map[string]any) int { return cmp.Compare(b["id"].(float64), a["id"].(float64)) })
	slices.SortFunc(listed, func(a, b api.CodeFinding) int { return cmp.Compare(b.ID, a.ID) })
	for i, f := range listed {
		want := map[string]any{
			"id": float64(f.ID), "ref": f.Ref, "syntactic_id": f.SyntacticID, "match_based_id": f.MatchBasedID, "status": "ISSUE_TAB_OPEN", "triage_state": f.TriageState,
			"file_path": f.Location.FilePath, "line": float64(f.Location.Line), "end_line": float64(f.Location.EndLine), "column": float64(f.Location.Column),
			"end_column": float64(f.Location.EndColumn), "severity": "SEVERITY_" + strings.ToUpper(f.Severity), "confidence": "CONFIDENCE_" + strings.ToUpper(f.Confidence),
			"message": *f.RuleMessage, "rule_path": f.RuleName, "line_of_code_url": f.LineOfCodeURL,
		}
		for name, value := range want {
			if read[i][name] != value {
				t.Errorf("finding %d: %s is %v, want %v", f.ID, name, read[i][name], value)
			}
		}
		if at, err := time.Parse(time.RFC3339, fmt.Sprint(read[i]["relevant_since"])); err != nil || !at.Equal(f.RelevantSince.Time) {
			t.Errorf("finding %d: relevant_since is %v, want %v", f.ID, read[i]["relevant_since"], f.RelevantSince)
		}
		if project, _ := read[i]["repository"].(map[string]any); project["name"] != f.Repository.Name {
			t.Errorf("finding %d: repository is %v", f.ID, project)
		}
	}
}
