package oauth_test

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
	"time"
)

// pythonClient is a Python SDK program that discovers the authorization server from /mcp and gets a
// token. The approval is automated. It then verifies the token like the scanner's own assistant.
const pythonClient = `
import asyncio, json, os, sys, urllib.parse
import httpx
from mcp import ClientSession
from mcp.client.auth import OAuthClientProvider, TokenStorage
from mcp.client.streamable_http import streamablehttp_client
from mcp.shared.auth import OAuthClientMetadata
from semgrep.mcp.utilities.token_verifier import make_token_verifier

base, here = os.environ["URL"], "http://127.0.0.1:7777/callback"

class Memory(TokenStorage):
    tokens = None
    client = None
    async def get_tokens(self): return self.tokens
    async def set_tokens(self, t): self.tokens = t
    async def get_client_info(self): return self.client
    async def set_client_info(self, c): self.client = c

came = {}

async def browser(address):
    u = urllib.parse.urlsplit(address)
    form = dict(urllib.parse.parse_qsl(u.query))
    form.update(answer="allow", access="read")
    async with httpx.AsyncClient() as c:
        r = await c.post(base + u.path.replace("/-/", "/acme/"), data=form)
    came.update(urllib.parse.parse_qsl(urllib.parse.urlsplit(r.headers["location"]).query))

async def back():
    return came["code"], came.get("state")

async def main():
    memory = Memory()
    auth = OAuthClientProvider(
        server_url=base + "/mcp", storage=memory, redirect_handler=browser, callback_handler=back,
        client_metadata=OAuthClientMetadata(client_name="Python", redirect_uris=[here], grant_types=["authorization_code", "refresh_token"], response_types=["code"], token_endpoint_auth_method="none"))
    async with streamablehttp_client(base + "/mcp", auth=auth) as (read, write, _):
        async with ClientSession(read, write) as s:
            await s.initialize()
            tools = [t.name for t in (await s.list_tools()).tools]
    checked = await make_token_verifier(base, base + "/api").verify_token(memory.tokens.access_token)
    json.dump({"Tools": tools, "Checked": checked is not None, "Scopes": checked.scopes if checked else [], "Issuer": came.get("iss")}, sys.stdout)

asyncio.run(main())
`

// TestPythonSDKLogin checks that the Python SDK can log in with only the address of /mcp.
func TestPythonSDKLogin(t *testing.T) {
	semgrep := os.Getenv("REDOUBT_TEST_SEMGREP")
	if semgrep == "" {
		t.Skip("REDOUBT_TEST_SEMGREP names no semgrep, whose environment has the Python SDK: make setup installs it")
	}
	w := newWorld(t, "sqlite")
	w.clock.Advance(time.Since(w.clock.Now())) // the verifier uses the real time
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, filepath.Join(filepath.Dir(semgrep), "python"), "-c", pythonClient)
	cmd.Env = append(os.Environ(), "URL="+w.url, "NO_PROXY=127.0.0.1", "SEMGREP_SETTINGS_FILE="+filepath.Join(t.TempDir(), "settings.yml"))
	cmd.Stderr = os.Stderr
	text, err := cmd.Output()
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Tools, Scopes []string
		Checked       bool
		Issuer        string
	}
	if err := json.Unmarshal(text, &got); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	if len(got.Tools) != 14 || !got.Checked || len(got.Scopes) != 1 || got.Scopes[0] != "read" || got.Issuer != w.url {
		t.Errorf("%+v", got)
	}
}
