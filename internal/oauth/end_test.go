package oauth_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

var revokeForm = regexp.MustCompile(`/orgs/acme/settings/tokens/\d+/revoke`)

// TestExpiredTokenCanBeRevokedOnPage checks that an expired token that can be renewed is listed on
// the page and can be revoked there.
func TestExpiredTokenCanBeRevokedOnPage(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t, engine)
			client := w.register(here)
			s := w.login(client, "read")
			w.clock.Advance(model.OAuthAccessFor + time.Minute)
			page := w.fetch("/orgs/acme/settings/tokens")
			form := revokeForm.FindString(page.text)
			if w.works(s.get("access_token")) || form == "" || !strings.Contains(page.text, "renewable until") || strings.Contains(page.text, "expired</span>") {
				t.Fatalf("a grant that works is not shown as such: %s", page.text)
			}
			if ended := w.post(form, url.Values{}); ended.status != http.StatusSeeOther {
				t.Fatalf("%d %s", ended.status, ended.text)
			}
			if second := w.renew(client, s.get("refresh_token")); second.get("error") != "invalid_grant" {
				t.Errorf("it is renewed after it was revoked: %s", second.text)
			}
			if page = w.fetch("/orgs/acme/settings/tokens"); revokeForm.MatchString(page.text) || !strings.Contains(page.text, "revoked</span>") {
				t.Errorf("%s", page.text)
			}
		})
	}
}

// TestExpiredGrantIsShown checks that a grant whose refresh token expired is shown as
// expired.
func TestExpiredGrantIsShown(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.login(w.register(here), "read")
	w.clock.Advance(model.OAuthRefreshFor + time.Minute)
	if page := w.fetch("/orgs/acme/settings/tokens"); revokeForm.MatchString(page.text) || !strings.Contains(page.text, "expired</span>") {
		t.Errorf("%s", page.text)
	}
}

// TestTokenLimit checks that a client gets an OAuth error at the limit of tokens, and
// that the code is used up.
func TestTokenLimit(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register(here)
	code := w.allow("acme", "read", wish(client)).Get("code")
	for range 100 {
		w.createPermanentToken("acme")
	}
	if s := w.exchange(client, code, nil); s.status != http.StatusBadRequest || s.get("error") != "invalid_grant" || s.get("error_description") == "" {
		t.Errorf("%d %s", s.status, s.text)
	}
	form := wish(client)
	form.Set("answer", "allow")
	if s := w.post("/orgs/acme/authorize", form); s.status != http.StatusBadRequest || !strings.Contains(s.text, "revoke one first") {
		t.Errorf("the person is not told: %d %s", s.status, s.text)
	}
}

// TestRenewedTokenCanConfirm checks that an assistant can confirm a change with a renewed token.
func TestRenewedTokenCanConfirm(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register(here)
	s := w.login(client, "write")
	text := w.tool(s.get("access_token"), "plan_exception", map[string]any{"target": "a-rule", "reason": "Tests only.", "forever": true})
	var plan struct {
		ID string `json:"confirmation_id"`
	}
	_, data, _ := strings.Cut(text, "\nBEGIN UNTRUSTED DATA ")
	_, data, _ = strings.Cut(data, "\n")
	data, _, _ = strings.Cut(data, "\n")
	if err := json.Unmarshal([]byte(data), &plan); err != nil || plan.ID == "" {
		t.Fatalf("%v: %s", err, text)
	}
	next := w.renew(client, s.get("refresh_token"))
	w.clock.Advance(time.Minute) // past the lifetime of cached tokens
	text = w.tool(next.get("access_token"), "confirm_change", map[string]any{"confirmation_id": plan.ID})
	if !strings.HasPrefix(text, "Done.") {
		t.Errorf("%s", text)
	}
}

// createPermanentToken creates a token of ada that does not expire.
func (w *world) createPermanentToken(slug string) {
	w.Helper()
	s := w.post("/orgs/"+slug+"/settings/tokens", url.Values{"name": {"by hand"}, "web_api": {"on"}, "read_only": {"on"}, "days": {"0"}})
	if s.status != http.StatusSeeOther {
		w.Fatalf("%d %s", s.status, s.text)
	}
}

// tool calls a tool like an assistant.
func (w *world) tool(access, name string, arguments map[string]any) (text string) {
	w.Helper()
	transport := &sdk.StreamableClientTransport{Endpoint: w.url + "/mcp", HTTPClient: &http.Client{Transport: bearer(access)}, DisableStandaloneSSE: true, MaxRetries: -1}
	session, err := sdk.NewClient(&sdk.Implementation{Name: "test", Version: "1"}, nil).Connect(w.Context(), transport, nil)
	if err != nil {
		w.Fatal(err)
	}
	defer session.Close()
	out, err := session.CallTool(w.Context(), &sdk.CallToolParams{Name: name, Arguments: arguments})
	if err != nil {
		w.Fatalf("%s: %v", name, err)
	}
	for _, c := range out.Content {
		text += fmt.Sprint(c.(*sdk.TextContent).Text)
	}
	return text
}

// bearer sends a token with each request.
type bearer string

// RoundTrip implements http.RoundTripper.
func (b bearer) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.Header.Set("Authorization", "Bearer "+string(b))
	return http.DefaultTransport.RoundTrip(r)
}

// checkNoForeignRedirect checks that an invalid request does not redirect the browser before the
// user agreed. Anyone can register a redirect address.
func (w *world) checkNoForeignRedirect() {
	w.Helper()
	elsewhere := "https://evil.example/cb?x=y"
	q := wish(w.register(elsewhere))
	q.Set("redirect_uri", elsewhere)
	for name, values := range map[string]url.Values{
		"response_type": {"response_type": {"token"}}, "challenge": {"code_challenge_method": {"plain"}}, "resource": {"resource": {"https://evil.example/mcp"}},
		"state": {"state": {strings.Repeat("x", 2000)}}, "twice": {"state": {"a", "b"}},
	} {
		bad := maps.Clone(q)
		maps.Copy(bad, values)
		for method, s := range map[string]response{"GET": w.fetch("/orgs/acme/authorize?" + bad.Encode()), "POST": w.post("/orgs/acme/authorize", bad)} {
			if s.status != http.StatusBadRequest || s.header.Get("Location") != "" || s.header.Get("Refresh") != "" || !strings.Contains(s.text, `href="https://evil.example/cb?error=`) ||
				!strings.Contains(s.text, `role="alert"`) || strings.Contains(s.text, `value="allow"`) {
				w.Errorf("%s %s: %d, leads to %q: %s", method, name, s.status, s.header.Get("Location"), s.text)
			}
		}
	}
}
