package mcp_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/mcp"
	"github.com/redoubt/redoubt/internal/testutil/clienttest"
)

// pythonClient is a program with the Python SDK that lists and calls tools and prints the results.
const pythonClient = `
import asyncio, importlib.metadata, json, os, re, sys
from mcp import ClientSession, McpError
from mcp.client.streamable_http import streamablehttp_client

def data(result):
    assert not result.isError, result
    return json.loads(re.search(r"\nBEGIN UNTRUSTED DATA [A-Z2-7]+\n(.*)\nEND UNTRUSTED DATA", result.content[0].text).group(1))

class Session(ClientSession):
    asked = set()
    async def call_tool(self, name, arguments):
        self.asked.add(name)
        return await super().call_tool(name, arguments)
    async def read_resource(self, uri):
        self.asked.add(uri)
        return await super().read_resource(uri)
    async def get_prompt(self, name, arguments):
        self.asked.add(name)
        return await super().get_prompt(name, arguments)

async def main():
    headers = {"Authorization": "Bearer " + os.environ["TOKEN"]}
    async with streamablehttp_client(os.environ["URL"], headers=headers) as (read, write, _):
        async with Session(read, write) as s:
            hello = await s.initialize()
            tools = await s.list_tools()
            found = await s.call_tool("search_findings", {"issue_type": "sast"})
            bad = await s.call_tool("search_findings", {"issue_type": "nonsense"})
            me = await s.read_resource("redoubt://me")
            prompt = await s.get_prompt("triage-new-findings", {"project": "acme/app"})
            templates = await s.list_resource_templates()
            ranges = await s.call_tool("search_dependencies", {"name": "lodash", "exact": True, "from_version": "4.0.0", "to_version": "<4.17.21"})
            impact = await s.call_tool("get_advisory_impact", {"id": "CVE-2021-23337"})
            task = data(await s.call_tool("create_sbom", {"format": "spdx"}))["taskToken"]
            bill, whole = "", False
            while not whole:
                answer = await s.call_tool("get_sbom", {"task_token": task, "offset": len(bill.encode())})
                state = data(answer)
                assert state["status"] != "SBOM_EXPORT_STATUS_FAILED", state
                bill += state.get("text", "")
                whole = state["downloadUrl"] != "" and "For more, use offset" not in answer.content[0].text
            listing = None
            try:
                await asyncio.wait_for(s.subscribe_resource("redoubt://me"), 10)
            except McpError as e:
                listing = e.error.message
            json.dump({
                "Version": importlib.metadata.version("mcp"), "Asked": sorted(s.asked),
                "Server": hello.serverInfo.name, "Tools": [t.name for t in tools.tools], "Found": found.content[0].text, "Bad": bad.isError,
                "Me": me.contents[0].text, "Prompt": prompt.messages[0].content.text, "Templates": len(templates.resourceTemplates),
                "Ranges": data(ranges), "Impact": data(impact), "Bill": bill, "Subscribed": listing,
            }, sys.stdout)

asyncio.run(main())
`

// python returns the interpreter next to the scanner, whose environment contains the Python SDK. It
// skips the test if there is none.
func python(t *testing.T) string {
	t.Helper()
	semgrep := os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep, whose environment has the Python SDK: make setup installs it")
	}
	return filepath.Join(filepath.Dir(semgrep), "python")
}

// TestClientPython checks that another implementation of the protocol reads the same data.
func TestClientPython(t *testing.T) {
	interpreter := python(t)
	w := newWorld(t, "")
	w.inventory()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, interpreter, "-c", pythonClient)
	cmd.Env = append(os.Environ(), "URL="+w.url+mcp.Path, "TOKEN="+w.token, "NO_PROXY=127.0.0.1")
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Version, Server, Found, Me, Prompt string
		Tools, Asked                       []string
		Bad                                bool
		Templates                          int
		Ranges                             []api.Dependency
		Impact                             []api.Impact
		Bill, Subscribed                   string
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if got.Server != "redoubt" || len(got.Tools) != len(reading)+len(writing) || !got.Bad || got.Templates != 3 || got.Prompt == "" {
		t.Errorf("%+v", got)
	}
	for _, answer := range []string{got.Found, got.Me} {
		if fence.FindStringSubmatch(answer) == nil {
			t.Errorf("not marked: %s", answer)
		}
	}
	if len(got.Ranges) != 1 || got.Ranges[0].Version != "4.17.20" || len(got.Impact) != 1 || got.Impact[0].Repository.Name != "acme/app" || got.Impact[0].FixRecommendations[0].Version != "4.17.21" {
		t.Errorf("%+v, %+v", got.Ranges, got.Impact)
	}
	var bill struct{ Packages []struct{ Name string } }
	if err := json.Unmarshal([]byte(got.Bill), &bill); err != nil || len(bill.Packages) < 42 || got.Subscribed == "" {
		t.Errorf("%d packages, %v, subscribed: %q", len(bill.Packages), err, got.Subscribed)
	}
	var lines []line
	if err := json.Unmarshal([]byte(fence.FindStringSubmatch(got.Found)[3]), &lines); err != nil || len(lines) != 4 {
		t.Errorf("%+v, %v", lines, err)
	}
	clienttest.CheckRow(t, clienttest.Client{Name: "MCP SDK for Python", Version: got.Version, Requests: got.Asked, Verdict: clienttest.Reads})
}
