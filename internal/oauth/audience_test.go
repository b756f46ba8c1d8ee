package oauth_test

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	core "github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// opens calls the Web API and a tool of /mcp, which calls the Web API itself.
func (w *world) opens(token string) (web, assistants int, challenge string) {
	w.Helper()
	me := w.request(http.MethodGet, "/api/v1/me", "", "", token)
	const call = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"list_projects","arguments":{}}}`
	r, err := http.NewRequestWithContext(w.Context(), http.MethodPost, w.url+"/mcp", strings.NewReader(call))
	if err != nil {
		w.Fatal(err)
	}
	for name, value := range map[string]string{"Content-Type": "application/json", "Accept": "application/json, text/event-stream", "Authorization": "Bearer " + token} {
		r.Header.Set(name, value)
	}
	tool := w.do(r)
	if tool.status == http.StatusOK && !strings.Contains(tool.text, "BEGIN UNTRUSTED DATA") {
		w.Errorf("the tool did not reach the Web API: %s", tool.text)
	}
	return me.status, tool.status, me.header.Get("WWW-Authenticate")
}

// TestTokenGrantsAccessToItsResource checks that a token for the server grants access to all of it, and a
// token for /mcp only to that.
func TestTokenGrantsAccessToItsResource(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t, engine)
			client := w.register(here)
			for resource, web := range map[string]int{"": 200, w.url: 200, w.url + "/": 200, w.url + "/mcp": 401, strings.ToUpper(w.url[:4]) + w.url[4:] + "/mcp/": 401} {
				query := wish(client)
				if resource != "" {
					query.Set("resource", resource)
				}
				s := w.exchange(client, w.allow("acme", "read", query).Get("code"), url.Values{"resource": query["resource"]})
				for round := range 2 {
					if round == 1 {
						s = w.renew(client, s.get("refresh_token"))
					}
					api, assistants, challenge := w.opens(s.get("access_token"))
					if api != web || assistants != http.StatusOK {
						t.Errorf("%q opens the API with %d and /mcp with %d", resource, api, assistants)
					}
					if (web == 401) != strings.Contains(challenge, `error="invalid_token"`) {
						t.Errorf("%q: %s", resource, challenge)
					}
				}
			}
		})
	}
}

// TestTokenOfOtherResourceIsRejected stores valid tokens for programs at other addresses.
func TestTokenOfOtherResourceIsRejected(t *testing.T) {
	w := newWorld(t, "sqlite")
	keys := httpx.OneKey([]byte("0123456789abcdef0123456789abcdef"))
	for _, audience := range []string{"http://127.0.0.1:7777/mcp", "https://evil.example", w.url + ".evil.example", w.url + "/other", "/mcp"} {
		token := model.Token{Name: audience, DeploymentID: w.ours.ID, Scopes: core.TokenScopes(true), PublicID: audience, ExpiresAt: w.clock.Now().Add(time.Hour)}
		text, err := core.Keys(keys.All).NewAccess(w.url, "a client", audience, token, w.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		w.update(w.ours, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateToken(ctx, token, core.Hash(text))
			return err
		})
		if api, assistants, _ := w.opens(text); api != http.StatusUnauthorized || assistants != http.StatusUnauthorized {
			t.Errorf("a token for %s: the API answers %d, /mcp %d", audience, api, assistants)
		}
	}
}

// TestForeignResourcesAreRejected checks that foreign resources are rejected at every step at which
// a client may send one.
func TestForeignResourcesAreRejected(t *testing.T) {
	w := newWorld(t, "sqlite")
	client, program := w.register(here), w.registerDevice()
	first := w.login(client, "read")
	for _, foreign := range []string{"http://127.0.0.1:7777/mcp", "http://localhost/mcp", "https://evil.example/mcp", w.url + "/api/v1", w.url + "@evil.example/mcp", "mcp"} {
		query := wish(client)
		query.Set("resource", foreign)
		page := w.fetch("/orgs/acme/authorize?" + query.Encode())
		to, err := url.Parse(page.header.Get("Location"))
		if err != nil || to.Query().Get("error") != "invalid_target" {
			t.Errorf("authorize for %s: %d %s", foreign, page.status, to)
		}
		for name, s := range map[string]response{
			"code":    w.exchange(client, w.allow("acme", "read", wish(client)).Get("code"), url.Values{"resource": {foreign}}),
			"device":  w.post("/api/auth/oauth2/device_authorization", url.Values{"client_id": {program}, "resource": {foreign}}),
			"refresh": w.post("/api/auth/oauth2/token", url.Values{"grant_type": {"refresh_token"}, "client_id": {client}, "refresh_token": {first.get("refresh_token")}, "resource": {foreign}}),
		} {
			if s.status != http.StatusBadRequest || s.get("error") != "invalid_target" {
				t.Errorf("%s for %s: %d %s", name, foreign, s.status, s.text)
			}
		}
	}
	if s := w.renew(client, first.get("refresh_token")); s.status != http.StatusOK {
		t.Errorf("a refused request used the refresh token up: %s", s.text)
	}
	if s := w.fetch("/.well-known/oauth-protected-resource"); s.get("resource") != w.url {
		t.Errorf("the server as a resource is %q", s.get("resource"))
	}
}
