package oauth_test

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/go-jose/go-jose/v4"
	"github.com/go-jose/go-jose/v4/jwt"
	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/api"
	core "github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/oauth"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestRoutesAreComplete checks that every row of the route table is complete.
func TestRoutesAreComplete(t *testing.T) {
	s := oauth.New(oauth.Config{Keys: httpx.OneKey([]byte("0123456789abcdef")).All, Clock: time.Now})
	for _, r := range s.Routes() {
		if faults := r.Faults(); len(faults) > 0 {
			t.Error(faults)
		}
	}
}

// TestAuthorizationCodeFlow checks the flow from the challenge of /mcp to a token with the approved
// permissions. It then lists, renews, introspects and revokes the token.
func TestAuthorizationCodeFlow(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t, engine)
			unauthorized := w.request(http.MethodPost, "/mcp", "{}", "application/json", "")
			if want := `resource_metadata="` + w.url + `/.well-known/oauth-protected-resource/mcp"`; unauthorized.status != 401 || !strings.Contains(unauthorized.header.Get("WWW-Authenticate"), want) {
				t.Errorf("%d %q", unauthorized.status, unauthorized.header.Get("WWW-Authenticate"))
			}
			resource := w.fetch("/.well-known/oauth-protected-resource/mcp")
			if resource.get("resource") != w.url+"/mcp" {
				t.Errorf("%s", resource.text)
			}
			document := w.fetch("/api/auth/oauth2/.well-known/oauth-authorization-server")
			if document.text != w.fetch("/.well-known/oauth-authorization-server").text || document.get("issuer") != w.url || document.get("jwks_uri") == "" || document.get("introspection_endpoint") == "" {
				t.Errorf("%s", document.text)
			}
			w.checkDescribed(document.text)
			client := w.register(here)
			page := w.fetch("/orgs/acme/authorize?" + wish(client).Encode())
			for _, want := range []string{"An editor", "127.0.0.1:7777", "acme", `name="access" value="write"`} {
				if !strings.Contains(page.text, want) {
					t.Errorf("the page does not say %q: %s", want, page.text)
				}
			}
			if csp := page.header.Get("Content-Security-Policy"); !strings.Contains(csp, "form-action 'self' http://127.0.0.1:7777;") {
				t.Errorf("a browser would not follow the answer: %s", csp)
			}
			s := w.login(client, "write")
			w.checkGranted(client, s)
		})
	}
}

// checkDescribed compares the metadata to openapi.json and the API client.
func (w *world) checkDescribed(document string) {
	w.Helper()
	read, err := (&api.Client{BaseURL: w.url, Retries: -1}).GetAuthorizationServer(w.Context())
	if err != nil {
		w.Fatal(err)
	}
	encoded, err := json.Marshal(read)
	if err != nil {
		w.Fatal(err)
	}
	var want, got map[string]any
	if err := errors.Join(json.Unmarshal([]byte(document), &want), json.Unmarshal(encoded, &got)); err != nil {
		w.Fatal(err)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		w.Errorf("the document and what is described of it (-document +described):\n%s", diff)
	}
}

func (w *world) checkGranted(client string, s response) {
	w.Helper()
	access := s.get("access_token")
	if s.get("scope") != "read write" || s.header.Get("Cache-Control") != "no-store" {
		w.Errorf("%s %v", s.text, s.header)
	}
	me, err := (&api.Client{BaseURL: w.url, Token: access, Retries: -1}).Me(w.Context())
	if err != nil || me.Token.Name != "OAuth: An editor" || me.User.Name != "ada" || me.Deployment.Slug != "acme" || me.Token.ExpiresAt == nil {
		w.Errorf("%+v, %v", me, err)
	}
	w.checkSigned(access)
	if introspection := w.request(http.MethodPost, "/api/auth/oauth2/introspect", "token="+access, "application/x-www-form-urlencoded", access); introspection.json["active"] != true {
		w.Errorf("%s", introspection.text)
	}
	if tools := w.request(http.MethodPost, "/mcp", `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`, "application/json", access); tools.status == 401 {
		w.Errorf("assistants may not come with it: %s", tools.text)
	}
	next := w.renew(client, s.get("refresh_token"))
	if next.status != http.StatusOK || !w.works(next.get("access_token")) {
		w.Fatalf("%d %s", next.status, next.text)
	}
	var rows int
	w.update(w.ours, func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Tokens(ctx)
		rows = len(all)
		return err
	})
	if rows != 1 {
		w.Errorf("%d tokens are listed of one client", rows)
	}
	if ended := w.post("/api/auth/oauth2/revoke", url.Values{"token": {next.get("refresh_token")}}); ended.status != http.StatusOK {
		w.Errorf("%s", ended.text)
	}
	w.clock.Advance(time.Minute) // past the lifetime of cached tokens
	if w.works(next.get("access_token")) || w.renew(client, next.get("refresh_token")).status != http.StatusBadRequest {
		w.Error("it works after it was revoked")
	}
}

// checkSigned verifies a token with the public keys only.
func (w *world) checkSigned(access string) {
	w.Helper()
	parsed, err := jwt.ParseSigned(access, []jose.SignatureAlgorithm{jose.EdDSA})
	if err != nil {
		w.Fatal(err)
	}
	keys := httpx.OneKey([]byte("0123456789abcdef0123456789abcdef"))
	set := core.Keys(keys.All).KeySet()
	var claims struct {
		jwt.Claims
		Scope string `json:"scope"`
	}
	if err := parsed.Claims(set.Keys[0].Key, &claims); err != nil || claims.Issuer != w.url || !claims.Audience.Contains(w.url) || claims.Scope != "read write" {
		w.Errorf("%+v, %v", claims, err)
	}
	if published := w.fetch("/api/auth/oauth2/jwks"); !strings.Contains(published.text, set.Keys[0].KeyID) || strings.Contains(published.text, `"d"`) {
		w.Errorf("%s", published.text)
	}
}

// TestTokenIsReadOnlyByDefault checks that a token is read-only unless the client requests more and
// the user allows it.
func TestTokenIsReadOnlyByDefault(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register(here)
	reading := wish(client)
	reading.Set("scope", "read")
	for name, c := range map[string]struct {
		wish   url.Values
		access string
		role   model.Role
	}{
		"the client did not ask":  {reading, "write", model.RoleTriager},
		"the person did not mean": {wish(client), "read", model.RoleTriager},
		"who looks did not mean":  {wish(client), "read", model.RoleViewer},
	} {
		w.role = c.role
		s := w.exchange(client, w.allow("acme", c.access, c.wish).Get("code"), nil)
		if s.get("scope") != "read" {
			t.Errorf("%s: %s", name, s.text)
		}
		var p *api.Problem
		_, err := (&api.Client{BaseURL: w.url, Token: s.get("access_token"), Retries: -1}).CreateException(t.Context(), "acme", api.CreateExceptionRequest{Target: "x", Reason: "y", Forever: true})
		if !asProblem(err, &p) || p.Status != http.StatusForbidden {
			t.Errorf("%s: it writes: %v", name, err)
		}
	}
}

func asProblem(err error, p **api.Problem) bool {
	found, ok := err.(*api.Problem) //nolint:errorlint // it is what the client answers
	*p = found
	return ok
}

// TestCodeIsSingleUse checks that any invalid exchange uses up the code, and that a code
// that is used twice revokes its token.
func TestCodeIsSingleUse(t *testing.T) {
	w := newWorld(t, "sqlite")
	client, another := w.register(here), w.register("http://127.0.0.1/callback", "https://editor.example/cb")
	for name, change := range map[string]url.Values{
		"another verifier":  {"code_verifier": {verifier + "x"}},
		"no verifier":       {"code_verifier": {""}},
		"the challenge":     {"code_verifier": {challengeOf(verifier)}},
		"another client":    {"client_id": {another}},
		"another redirect":  {"redirect_uri": {"http://127.0.0.1:7777/other"}},
		"another port":      {"redirect_uri": {"http://127.0.0.1:7778/callback"}},
		"no redirect":       {"redirect_uri": {""}},
		"another resource":  {"resource": {w.url + "/mcp"}},
		"mixed deployments": {},
	} {
		code := w.allow("acme", "write", wish(client)).Get("code")
		shown := code
		if name == "mixed deployments" { // a code of this deployment with the id of the other
			parts := strings.Split(code, "_")
			shown = core.NewCode(w.other.ID)[:strings.LastIndex(core.NewCode(w.other.ID), "_")+1] + parts[2]
		}
		if s := w.exchange(client, shown, change); s.status != http.StatusBadRequest || s.get("error") != "invalid_grant" {
			t.Errorf("%s: %d %s", name, s.status, s.text)
		}
		if s := w.exchange(client, code, nil); name != "mixed deployments" && s.status != http.StatusBadRequest {
			t.Errorf("%s: the code is still good: %s", name, s.text)
		}
	}
	code := w.allow("acme", "write", wish(client)).Get("code")
	first := w.exchange(client, code, nil)
	if s := w.exchange(client, code, nil); s.get("error") != "invalid_grant" {
		t.Errorf("twice: %s", s.text)
	}
	if w.works(first.get("access_token")) || w.renew(client, first.get("refresh_token")).status == http.StatusOK {
		t.Error("what a code gave that came twice still works")
	}
	late := w.allow("acme", "write", wish(client)).Get("code")
	w.clock.Advance(model.OAuthCodeFor + time.Second)
	if s := w.exchange(client, late, nil); s.get("error") != "invalid_grant" {
		t.Errorf("late: %s", s.text)
	}
}

// TestReusedRefreshTokenRevokesGrant checks that a reused refresh token revokes the grant, and
// that an invalid one does not.
func TestReusedRefreshTokenRevokesGrant(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register(here)
	first := w.login(client, "write")
	second := w.renew(client, first.get("refresh_token"))
	for name, text := range map[string]string{"nothing": "", "made up": "rdr_1_1_2_AAAA.BBBB", "altered": strings.Replace(second.get("refresh_token"), "_", "_1", 1)} {
		if s := w.renew(client, text); s.get("error") != "invalid_grant" {
			t.Errorf("%s: %s", name, s.text)
		}
	}
	if !w.works(second.get("access_token")) {
		t.Fatal("an invented token ended the grant")
	}
	if w.works(first.get("access_token")) {
		t.Error("the token that was renewed works beside the other")
	}
	if s := w.renew(client, first.get("refresh_token")); s.get("error") != "invalid_grant" {
		t.Errorf("twice: %s", s.text)
	}
	w.clock.Advance(time.Minute)
	if w.works(second.get("access_token")) || w.renew(client, second.get("refresh_token")).status == http.StatusOK {
		t.Error("a refresh token came twice, and the grant goes on")
	}
}

// TestTokenExpiryAndRevocation checks that tokens end by time and with their row among the user's tokens.
func TestTokenExpiryAndRevocation(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register(here)
	s := w.login(client, "read")
	w.clock.Advance(model.OAuthAccessFor)
	if w.works(s.get("access_token")) {
		t.Error("the access token has no end")
	}
	s = w.renew(client, s.get("refresh_token"))
	if !w.works(s.get("access_token")) {
		t.Fatalf("%s", s.text)
	}
	w.update(w.ours, func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.Tokens(ctx)
		if err != nil {
			return err
		}
		return tx.RevokeToken(ctx, all[0].ID)
	})
	if second := w.renew(client, s.get("refresh_token")); second.get("error") != "invalid_grant" {
		t.Errorf("a revoked token is renewed: %s", second.text)
	}
	s = w.login(client, "read")
	w.clock.Advance(model.OAuthRefreshFor + time.Second)
	if second := w.renew(client, s.get("refresh_token")); second.get("error") != "invalid_grant" {
		t.Errorf("the refresh token has no end: %s", second.text)
	}
}

// TestAuthorizationErrors checks that errors are shown to the user if the redirect address is not
// verified, and otherwise sent to the client.
func TestAuthorizationErrors(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register("http://127.0.0.1/callback")
	with := func(name string, values ...string) url.Values {
		q := wish(client)
		q[name] = values
		return q
	}
	for name, q := range map[string]url.Values{
		"no client": with("client_id"), "an invented client": with("client_id", client+"x"), "another address": with("redirect_uri", "https://evil.example/cb"),
		"a path below": with("redirect_uri", here+"/../x"), "a user in it": with("redirect_uri", "http://127.0.0.1@evil.example/callback"), "no address": with("redirect_uri"),
		"localhost for an address of numbers": with("redirect_uri", "http://localhost:7777/callback"),
	} {
		for _, s := range []response{w.fetch("/orgs/acme/authorize?" + q.Encode()), w.post("/orgs/acme/authorize", q)} {
			if s.status != http.StatusBadRequest || s.header.Get("Location") != "" {
				t.Errorf("%s: %d, leads to %q", name, s.status, s.header.Get("Location"))
			}
		}
	}
	for name, q := range map[string]url.Values{
		"unsupported_response_type": with("response_type", "token"), "invalid_request": with("code_challenge_method", "plain"), "invalid_target": with("resource", "https://evil.example/mcp"),
	} {
		s := w.fetch("/orgs/acme/authorize?" + q.Encode())
		to, err := url.Parse(s.header.Get("Location"))
		if err != nil || to.Host != "127.0.0.1:7777" || to.Query().Get("error") != name || to.Query().Get("state") != "xyz" || to.Query().Get("iss") != w.url {
			t.Errorf("%s: %d, leads to %q", name, s.status, s.header.Get("Location"))
		}
	}
	w.checkNoForeignRedirect()
	q := wish(client)
	q.Set("answer", "deny")
	s := w.post("/orgs/acme/authorize", q)
	if !strings.Contains(s.header.Get("Location"), "error=access_denied") {
		t.Errorf("denied: %d %q", s.status, s.header.Get("Location"))
	}
	w.clock.Advance(core.ClientFor + time.Hour)
	if s := w.fetch("/orgs/acme/authorize?" + wish(client).Encode()); s.status != http.StatusBadRequest {
		t.Errorf("a registration has no end: %d", s.status)
	}
}

// TestRejectedRegistrations checks that redirect addresses must be local or HTTPS, and that
// names must not contain hidden characters.
func TestRejectedRegistrations(t *testing.T) {
	keys := core.Keys(httpx.OneKey([]byte("0123456789abcdef")).All)
	for _, uri := range []string{
		"http://evil.example/cb", "javascript:alert(1)", "custom://cb", "https://", "https://a@b/", "https://a/#x", "http://127.0.0.1.evil.example/", "http://[::2]/",
		"https://a/\r\nX: y", "https://a/;script-src", "", "/cb", "https://" + strings.Repeat("a", 600),
		"https://*/cb", "https://*.example/cb", "https://a..example/cb", "https://.example/cb", "https://a_b!c/cb", "https://a'b/cb", "https://%2A/cb", "https://a%20b.example/", "https://a.example:*/cb",
		"https://:443/cb", "https://-a.example/cb", "https://a-.example/cb", "https://" + strings.Repeat("a", 64) + ".example/", "https://" + strings.Repeat("a.", 127) + "example/", "https://[::1%25eth0]/",
	} {
		if c, err := keys.Register("x", []string{uri}, false, time.Now()); err == nil {
			t.Errorf("%q is registered: %+v", uri, c)
		}
	}
	for _, uri := range []string{"https://a.example/cb?x=y", "http://127.0.0.1/cb", "http://[::1]:80/cb", "http://localhost:1/", "https://xn--bcher-kva.example./cb", "https://build_1.corp.example:8443/", "https://192.0.2.7/", "https://[2001:db8::7]:8443/", "https://a/"} {
		if _, err := keys.Register("x", []string{uri}, false, time.Now()); err != nil {
			t.Errorf("%q: %v", uri, err)
		}
	}
	for _, name := range []string{"a\u202eb", strings.Repeat("a", 81), "a\nb"} {
		if _, err := keys.Register(name, []string{"https://a/"}, false, time.Now()); err == nil {
			t.Errorf("%q is registered", name)
		}
	}
	w := newWorld(t, "sqlite")
	for _, body := range []string{`{"redirect_uris":["http://evil.example/"]}`, `{"redirect_uris":[]}`, `{`, `{"redirect_uris":["https://a/"],"response_types":["token"]}`} {
		if s := w.request(http.MethodPost, "/api/auth/oauth2/register", body, "application/json", ""); s.status != http.StatusBadRequest || s.get("error") == "" {
			t.Errorf("%s: %d %s", body, s.status, s.text)
		}
	}
}

// TestIntrospectionHidesForeignTokens checks that callers of another deployment, or without a token, get no
// information about a token.
func TestIntrospectionHidesForeignTokens(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.register(here)
	ours := w.login(client, "read").get("access_token")
	foreign := w.exchange(client, w.allow("other", "read", wish(client)).Get("code"), nil).get("access_token")
	if s := w.request(http.MethodPost, "/api/auth/oauth2/introspect", "token="+ours, "application/x-www-form-urlencoded", foreign); strings.TrimSpace(s.text) != `{"active":false}` {
		t.Errorf("%s", s.text)
	}
	if s := w.post("/api/auth/oauth2/introspect", url.Values{"token": {ours}}); s.status != http.StatusUnauthorized {
		t.Errorf("%d %s", s.status, s.text)
	}
	if s := w.post("/api/auth/oauth2/revoke", url.Values{"token": {"rdt_1_x"}}); s.status != http.StatusOK || !w.works(ours) {
		t.Errorf("%d %s", s.status, s.text)
	}
}
