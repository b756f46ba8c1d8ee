package oauth_test

import (
	"context"
	"encoding/json"
	"maps"
	"net/http"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/api"
	core "github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// registerDevice registers a client without a redirect address.
func (w *world) registerDevice() string {
	w.Helper()
	body, err := json.Marshal(map[string]any{"client_name": "A program", "grant_types": []string{core.DeviceGrant, "refresh_token"}})
	if err != nil {
		w.Fatal(err)
	}
	s := w.request(http.MethodPost, "/api/auth/oauth2/register", string(body), "application/json", "")
	if s.status != http.StatusCreated || strings.Contains(s.text, "redirect_uris") || !strings.Contains(s.text, core.DeviceGrant) {
		w.Fatalf("register: %d %s", s.status, s.text)
	}
	return s.get("client_id")
}

// begin requests a device code.
func (w *world) begin(client, scope string) response {
	w.Helper()
	s := w.post("/api/auth/oauth2/device_authorization", url.Values{"client_id": {client}, "scope": {scope}})
	if s.status != http.StatusOK || s.get("verification_uri") != w.url+"/device" || s.json["interval"] != 3.0 || s.json["expires_in"] != 600.0 {
		w.Fatalf("%d %s", s.status, s.text)
	}
	return s
}

// poll polls for the decision.
func (w *world) poll(client, code string) response {
	w.clock.Advance(3 * time.Second)
	return w.post("/api/auth/oauth2/token", url.Values{"grant_type": {core.DeviceGrant}, "client_id": {client}, "device_code": {code}})
}

// answer submits the decision on the page.
func (w *world) answer(slug, code string, form url.Values) response {
	all := url.Values{"code": {code}, "answer": {"allow"}}
	maps.Copy(all, form)
	return w.post("/orgs/"+slug+"/device", all)
}

// TestDeviceCodeGrantsToken checks the flow from the two codes over the page to one token, which
// can be renewed and revoked.
func TestDeviceCodeGrantsToken(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t, engine)
			document := w.fetch("/.well-known/oauth-authorization-server")
			if document.get("device_authorization_endpoint") != w.url+"/api/auth/oauth2/device_authorization" || !strings.Contains(document.text, core.DeviceGrant) {
				t.Errorf("%s", document.text)
			}
			client := w.registerDevice()
			codes := w.begin(client, "read write")
			device, user := codes.get("device_code"), codes.get("user_code")
			if s := w.poll(client, device); s.status != http.StatusBadRequest || s.get("error") != "authorization_pending" {
				t.Errorf("%d %s", s.status, s.text)
			}
			if s := w.fetch(strings.TrimPrefix(codes.get("verification_uri_complete"), w.url)); s.header.Get("Location") != "/orgs/-/device?code="+user {
				t.Errorf("%d, leads to %q", s.status, s.header.Get("Location"))
			}
			typed := strings.ToLower(strings.ReplaceAll(user, "-", " "))
			page := w.fetch("/orgs/acme/device?code=" + url.QueryEscape(typed))
			for _, want := range []string{user, "A program", "127.0.0.1", "same as yours", `name="access" value="write"`, "that person gets access as you", "acme"} {
				if !strings.Contains(page.text, want) {
					t.Errorf("the page does not say %q: %s", want, page.text)
				}
			}
			if s := w.answer("acme", typed, url.Values{"access": {"write"}}); s.header.Get("Location") != "/orgs/acme/settings/tokens?done=program" {
				t.Fatalf("%d %s", s.status, s.text)
			}
			if s := w.answer("other", user, nil); s.status != http.StatusNotFound {
				t.Errorf("it is let in twice: %d", s.status)
			}
			s := w.poll(client, device)
			if s.status != http.StatusOK {
				t.Fatalf("%d %s", s.status, s.text)
			}
			if second := w.poll(client, device); second.get("error") != "expired_token" {
				t.Errorf("a device code is good twice: %s", second.text)
			}
			w.checkGrantedToken(client, s)
		})
	}
}

func (w *world) checkGrantedToken(client string, s response) {
	w.Helper()
	me, err := (&api.Client{BaseURL: w.url, Token: s.get("access_token"), Retries: -1}).Me(w.Context())
	if err != nil || me.Token.Name != "OAuth: A program" || me.User.Name != "ada" || me.Deployment.Slug != "acme" || s.get("scope") != "read write" {
		w.Errorf("%+v, %v, %s", me, err, s.text)
	}
	next := w.renew(client, s.get("refresh_token"))
	if next.status != http.StatusOK || !w.works(next.get("access_token")) {
		w.Fatalf("%d %s", next.status, next.text)
	}
	w.post("/api/auth/oauth2/revoke", url.Values{"token": {next.get("refresh_token")}})
	w.clock.Advance(time.Minute)
	if w.works(next.get("access_token")) {
		w.Error("it works after it was revoked")
	}
	var trail []string
	w.update(w.ours, func(ctx context.Context, tx *store.Tx) error {
		all, err := tx.AuditEvents(ctx, 0, 1000)
		for _, e := range all {
			if e.Action == "login.approve" {
				trail = append(trail, e.By.Name+" "+e.After)
			}
		}
		return err
	})
	if len(trail) != 1 || !strings.HasPrefix(trail[0], "ada ") || !strings.Contains(trail[0], `"program":"A program"`) || !strings.Contains(trail[0], "127.0.0.1") {
		w.Errorf("the trail says %q", trail)
	}
}

// TestDeviceFlowErrors checks the errors of the device flow: denied, expired, polling too
// often, the code of another client, or an invalid code.
func TestDeviceFlowErrors(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			w := newWorld(t, engine)
			client := w.registerDevice()
			one := w.begin(client, "read")
			if s := w.answer("acme", one.get("user_code"), url.Values{"answer": {"deny"}}); s.status != http.StatusOK || !strings.Contains(s.text, `data-say="denied"`) {
				t.Errorf("%d %s", s.status, s.text)
			}
			if s := w.poll(client, one.get("device_code")); s.get("error") != "access_denied" {
				t.Errorf("denied: %s", s.text)
			}
			if s := w.answer("acme", one.get("user_code"), nil); s.status != http.StatusNotFound {
				t.Errorf("denied and let in: %d", s.status)
			}
			two := w.begin(client, "read")
			for other, code := range map[string]string{w.register(here): two.get("device_code"), client: two.get("device_code") + "x"} {
				if s := w.poll(other, code); s.get("error") != "invalid_grant" {
					t.Errorf("%s", s.text)
				}
			}
			if s := w.poll("made up", two.get("device_code")); s.get("error") != "invalid_client" {
				t.Errorf("%s", s.text)
			}
			w.clock.Advance(time.Minute)
			last := ""
			for range 5 {
				w.clock.Advance(-3 * time.Second) // poll advances by as much
				last = w.poll(client, two.get("device_code")).get("error")
			}
			if last != "slow_down" {
				t.Errorf("asked too often: %s", last)
			}
			w.clock.Advance(model.LoginFor)
			if s := w.poll(client, two.get("device_code")); s.get("error") != "expired_token" {
				t.Errorf("too late: %s", s.text)
			}
			if s := w.fetch("/orgs/acme/device?code=" + two.get("user_code")); s.status != http.StatusNotFound || !strings.Contains(s.text, `data-say="no-request"`) {
				t.Errorf("too late: %d %s", s.status, s.text)
			}
		})
	}
}

// TestRejectedDeviceRequests checks rejected requests: no client, a client of the other
// flow, a foreign resource, and too many waiting requests.
func TestRejectedDeviceRequests(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.registerDevice()
	requestDevice := func(form url.Values) response { return w.post("/api/auth/oauth2/device_authorization", form) }
	for want, form := range map[string]url.Values{
		"invalid_client":      {},
		"unauthorized_client": {"client_id": {w.register(here)}},
		"invalid_target":      {"client_id": {client}, "resource": {"https://evil.example/"}},
		"invalid_request":     {"client_id": {client}, "scope": {"read", "write"}},
	} {
		if s := requestDevice(form); s.status != http.StatusBadRequest || s.get("error") != want {
			t.Errorf("%s: %d %s", want, s.status, s.text)
		}
	}
	if s := w.fetch("/orgs/acme/authorize?" + wish(client).Encode()); s.status != http.StatusBadRequest || s.header.Get("Location") != "" {
		t.Errorf("a client without an address is answered at one: %d %q", s.status, s.header.Get("Location"))
	}
	for i := range 21 {
		w.clock.Advance(time.Second)
		s := requestDevice(url.Values{"client_id": {client}})
		if i == 20 && (s.status != http.StatusTooManyRequests || s.header.Get("Retry-After") == "") || i < 20 && s.status != http.StatusOK {
			t.Errorf("request %d of one address: %d %s", i+1, s.status, s.text)
		}
	}
}

// TestDeviceTokenIsReadOnlyByDefault checks that a token is read-only unless the program requests
// more and the user allows it.
func TestDeviceTokenIsReadOnlyByDefault(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.registerDevice()
	for name, c := range map[string]struct {
		scope, access string
		role          model.Role
	}{
		"the program did not ask": {"read", "write", model.RoleTriager},
		"the person did not mean": {"read write", "read", model.RoleTriager},
		"who looks did not mean":  {"read write", "read", model.RoleViewer},
	} {
		w.role = c.role
		codes := w.begin(client, c.scope)
		w.answer("acme", codes.get("user_code"), url.Values{"access": {c.access}})
		if s := w.poll(client, codes.get("device_code")); s.get("scope") != "read" {
			t.Errorf("%s: %s", name, s.text)
		}
	}
}

// TestViewerCanAllowExceptionRequests checks that a user with the viewer role can allow a program to
// request exceptions; the role limits its other changes.
func TestViewerCanAllowExceptionRequests(t *testing.T) {
	w := newWorld(t, "sqlite")
	w.role = model.RoleViewer
	client := w.registerDevice()
	codes := w.begin(client, "read write")
	if text := w.fetch("/orgs/acme/device?code=" + codes.get("user_code")).text; !strings.Contains(text, "request exceptions") || strings.Contains(text, "settings</label>") {
		t.Errorf("the page says %s", text)
	}
	w.answer("acme", codes.get("user_code"), url.Values{"access": {"write"}})
	if s := w.poll(client, codes.get("device_code")); s.get("scope") != "read write" {
		t.Errorf("it is given %s", s.text)
	}
}

// TestUserCodeAttemptsAreRateLimited checks that a user is rate limited after several unknown codes.
func TestUserCodeAttemptsAreRateLimited(t *testing.T) {
	w := newWorld(t, "sqlite")
	codes := w.begin(w.registerDevice(), "read")
	for range 20 {
		if s := w.fetch("/orgs/acme/device?code=AAAA-AAAA"); s.status != http.StatusNotFound {
			t.Fatalf("%d %s", s.status, s.text)
		}
	}
	for name, s := range map[string]response{
		"looked at": w.fetch("/orgs/acme/device?code=AAAA-AAAB"), "let in": w.answer("acme", "AAAA-AAAC", nil), "a scanner's": w.fetch("/orgs/acme/approve/AAAA-AAAD"),
	} {
		if s.status != http.StatusTooManyRequests {
			t.Errorf("%s: %d %s", name, s.status, s.text)
		}
	}
	if s := w.fetch("/orgs/acme/device?code=" + codes.get("user_code")); s.status != http.StatusOK {
		t.Errorf("a right one is no try: %d", s.status)
	}
}

// TestScannerAndProgramCodesAreSeparate checks that scanners and programs never get the token
// of each other.
func TestScannerAndProgramCodesAreSeparate(t *testing.T) {
	w := newWorld(t, "sqlite")
	client := w.registerDevice()
	codes := w.begin(client, "read")
	user := codes.get("user_code")
	if s := w.fetch("/orgs/acme/approve/" + user); s.header.Get("Location") != "/orgs/acme/device?code="+user {
		t.Errorf("%d %s", s.status, s.text)
	}
	if s := w.post("/orgs/acme/approve/"+user, nil); s.header.Get("Location") != "/orgs/acme/device?code="+user {
		t.Errorf("%d %s", s.status, s.text)
	}
	if s := w.poll(client, codes.get("device_code")); s.get("error") != "authorization_pending" {
		t.Errorf("%s", s.text)
	}
	if _, err := w.store.AddLogin(t.Context(), model.LoginRequest{KeyHash: []byte("key"), Code: "ABCD-2345", Address: "192.0.2.9", Agent: "Semgrep"}); err != nil {
		t.Fatal(err)
	}
	if s := w.fetch("/orgs/acme/device?code=abcd2345"); s.header.Get("Location") != "/orgs/acme/approve/ABCD-2345" {
		t.Errorf("%d %s", s.status, s.text)
	}
	if s := w.answer("acme", "ABCD-2345", nil); s.status != http.StatusNotFound {
		t.Errorf("%d %s", s.status, s.text)
	}
}
