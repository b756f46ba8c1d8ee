package pages

import (
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// TestSensitiveActionsRequireReauthentication checks that sensitive actions require the password again in an old
// session.
func TestSensitiveActionsRequireReauthentication(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	d.user(d.org, "ben", model.RoleViewer)
	b := d.browserAs(ada)
	token := url.Values{"name": {"robot"}, "ci": {"on"}, "days": {"30"}}
	b.follow(b.submit("/settings/tokens", token))
	d.clock.Advance(auth.ProofFor + time.Second)
	for referer, next := range map[string]string{ // a form may be part of the response to another form
		"/orgs/acme/settings/users/ben/role": "/orgs/acme/settings/users",
		"/orgs/acme/triage/preview?x=1":      "/orgs/acme",
		"/orgs/acme/policies/1?mode=block":   "/orgs/acme/policies/1?mode=block",
		"//evil.example/":                    "/",
		"/nothing/here":                      "/",
	} {
		b.header["Referer"] = "http://example.com" + referer
		b.wants(referer, b.submit("/settings/users", url.Values{}), http.StatusSeeOther, ui.ReauthPath+"?next="+url.QueryEscape(next))
	}
	b.header["Referer"] = "http://example.com/orgs/acme/settings/users?x=1"
	reauthURL := ui.ReauthPath + "?next=%2Forgs%2Facme%2Fsettings%2Fusers%3Fx%3D1"
	for _, path := range []string{
		"/settings/tokens", "/settings/users", "/settings/users/ben/role", "/settings/users/ben/link", "/settings/users/ben/disable",
		"/settings/users/ben/enable", "/approve/ABCD-2345", "/authorize", "/device",
		"/policies/1/rules", "/policies/1/rules/1/remove", "/policies/1/add-rules", "/policies/new", "/policies/1/settings", "/policies/1/delete", "/policies/1/due", "/policies/1/conditions", "/policies/1/conditions/1/remove", "/projects/1/delete",
	} {
		b.wants(path, b.submit(path, url.Values{"name": {"eve"}, "role": {"admin"}, "ci": {"on"}, "days": {"30"}}), http.StatusSeeOther, reauthURL)
	}
	for _, e := range d.trail()[len(d.trail())-2:] {
		if e.Action == "user.role" || e.Action == "user.disable" || e.Action == "user.invite" {
			t.Errorf("%s was executed nevertheless", e.Action)
		}
	}
	b.page("/settings/users") // reading requires no password
	page := b.do(http.MethodGet, reauthURL, nil)
	shows(t, page.text, "[name=username][value=ada]", "label[for=password]", "input[name=password]", "[data-say=nothing-changed]")
	hides(t, page.text, "[data-say=code-only]")
	checkInline(t, page.text)
	prove := func(password string) answer {
		return b.do(http.MethodPost, ui.ReauthPath, url.Values{"password": {password}, "next": {"/orgs/acme/settings/users?x=1"}})
	}
	b.wants("a wrong one", prove("wrong"), http.StatusUnauthorized, "")
	before := b.cookies["redoubt"]
	b.wants("the right one", prove(goodPassword), http.StatusSeeOther, "/orgs/acme/settings/users?x=1")
	if b.cookies["redoubt"] == before {
		t.Error("the session still works with its old secret")
	}
	b.follow(b.submit("/settings/tokens", token))
	var last answer
	for range 11 {
		last = prove("guess")
	}
	b.wants("too many attempts", last, http.StatusTooManyRequests, "")
	if last.Header.Get("Retry-After") == "" {
		t.Error("the response of an API client has no Retry-After")
	}
	anonymous := d.browser()
	anonymous.wants("an OAuth request without a session", anonymous.do(http.MethodGet, "/orgs/-/authorize?client_id=x&state=y", nil), http.StatusSeeOther, "/login?next=%2Forgs%2F-%2Fauthorize%3Fclient_id%3Dx%26state%3Dy")
	anonymous.wants("without a session", anonymous.do(http.MethodPost, ui.ReauthPath, url.Values{"password": {goodPassword}}), http.StatusSeeOther, "/login")
}

// TestReauthenticationSkipsUsersWithoutCredentials checks that a session of the provider only counts as recent if
// the provider authenticated the user. Users who signed in by link cannot authenticate and pass.
func TestReauthenticationSkipsUsersWithoutCredentials(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	begin := func(method string) *browserOf {
		b := d.browser()
		secret, err := d.signIn.Sessions.Begin(t.Context(), ada.ID, method, auth.Origin{}, model.CheckedPassword{})
		if err != nil {
			t.Fatal(err)
		}
		b.cookies["redoubt"] = secret
		return b
	}
	token := url.Values{"name": {"robot"}, "ci": {"on"}, "days": {"30"}}
	silent := begin("oidc")
	silent.wants("without authentication at the provider", silent.submit("/settings/tokens", token), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")
	renewed := begin("oidc reauth")
	renewed.follow(renewed.submit("/settings/tokens", token))
	if err := d.store.SetPassword(t.Context(), ada.ID, "", false, ada.Actor()); err != nil {
		t.Fatal(err)
	}
	link := begin("link")
	d.clock.Advance(time.Hour)
	link.follow(link.submit("/settings/tokens", token))
}

// TestCodeRetriesAreLimited checks that codes have the same rate limit as passwords for
// users who have only a second factor.
func TestCodeRetriesAreLimited(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	if err := d.store.SetPassword(t.Context(), ada.ID, "", false, ada.Actor()); err != nil {
		t.Fatal(err)
	}
	b := d.browser()
	secret, err := d.signIn.Sessions.Begin(t.Context(), ada.ID, "link", auth.Origin{}, model.CheckedPassword{})
	if err != nil {
		t.Fatal(err)
	}
	b.cookies["redoubt"] = secret
	a := b.setUpApp()
	d.clock.Advance(auth.ProofFor + time.Second)
	request := func() answer {
		return b.do(http.MethodPost, ui.ReauthPath, url.Values{"next": {"/orgs/acme/scans"}})
	}
	b.wants("the first time", request(), http.StatusSeeOther, "/login/code?next=%2Forgs%2Facme%2Fscans")
	half, tries := b.cookies["redoubt-half"], 0
	last := request()
	for ; last.StatusCode == http.StatusSeeOther && tries < 50; tries++ {
		last = request()
	}
	b.wants("too many", last, http.StatusTooManyRequests, "")
	shows(t, last.text, "[role=alert]", "[data-say=code-only]")
	if tries > 10 || last.Header.Get("Retry-After") == "" || b.cookies["redoubt-half"] == half {
		t.Errorf("%d pending sessions were created", tries)
	}
	d.clock.Advance(time.Minute)
	b.wants("later", request(), http.StatusSeeOther, "/login/code?next=%2Forgs%2Facme%2Fscans")
	b.wants("the code", b.entersCode(a.code(), "/orgs/acme/scans"), http.StatusSeeOther, "/orgs/acme/scans")
}
