package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/pquerna/otp/totp"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// app is the authenticator app of a user.
type app struct {
	b        *browserOf
	secret   string
	recovery []string
}

var (
	secretText = regexp.MustCompile(`<code class="secret">([A-Z2-7 ]+)</code>`)
	sealedText = regexp.MustCompile(`name="sealed" value="([\w-]+)"`)
	codeText   = regexp.MustCompile(`(?:[a-z2-7]{4}-){3}[a-z2-7]{4}`)
)

// setUpApp sets up an app with the pages.
func (b *browserOf) setUpApp() app {
	b.t.Helper()
	page := b.do(http.MethodGet, "/second-factor/app", nil)
	b.wants("the page with the secret", page, http.StatusOK, "")
	checkInline(b.t, page.text)
	a := app{b: b, secret: strings.ReplaceAll(secretText.FindStringSubmatch(page.text)[1], " ", "")}
	made := b.do(http.MethodPost, "/second-factor/app", url.Values{"code": {a.code()}, "sealed": {sealedText.FindStringSubmatch(page.text)[1]}, "next": {"/orgs/acme/scans"}})
	shown := b.follow(made)
	a.recovery = codeText.FindAllString(shown.text, -1)
	containsAll(b.t, shown.text, `href="/orgs/acme/scans"`)
	if len(a.recovery) != 10 {
		b.t.Fatalf("shown are %v\n%s", a.recovery, shown.text)
	}
	return a
}

// code returns the current code of the app.
func (a app) code() string {
	a.b.t.Helper()
	code, err := totp.GenerateCode(a.secret, a.b.clock.Now())
	if err != nil {
		a.b.t.Fatal(err)
	}
	return code
}

func (b *browserOf) entersCode(code, next string) answer {
	b.t.Helper()
	return b.do(http.MethodPost, "/login/code", url.Values{"code": {code}, "next": {next}})
}

func TestSignInRequiresCode(t *testing.T) {
	eachSignInSite(t, func(t *testing.T, d *signInSite, _ model.Deployment) {
		ada := d.user(d.org, "ada", model.RoleAdmin)
		here, elsewhere := d.browserAs(ada), d.browserAs(ada)
		shows(t, here.page("/account"), "[data-say=no-second-factor]")
		a := here.setUpApp()
		shows(t, here.page("/account"), "[data-say=second-factor]")
		elsewhere.wants("a session from before", elsewhere.do(http.MethodGet, "/second-factor", nil), http.StatusSeeOther, "/login?next=%2Fsecond-factor")
		reloaded := here.do(http.MethodGet, "/second-factor/recovery-codes?made=1", nil)
		shows(t, reloaded.text, "[data-say=shown-once]")

		b := d.browser()
		b.wants("the code first", b.do(http.MethodGet, "/login/code", nil), http.StatusSeeOther, "/login")
		b.wants("the password", b.signsIn("ada", goodPassword, "/orgs/acme/scans"), http.StatusSeeOther, "/login/code?next=%2Forgs%2Facme%2Fscans")
		page := b.do(http.MethodGet, "/login/code?next=%2Forgs%2Facme%2Fscans", nil)
		if name := textAt(t, page.text, "main p strong"); name != "ada" {
			t.Errorf("the code is required of %q", name)
		}
		shows(t, page.text, "input[name=code]")
		containsAll(t, page.text, `value="/orgs/acme/scans"`, "reset-2fa ada")
		checkInline(t, page.text)
		b.wants("the code of the setup again", b.entersCode(a.code(), "/"), http.StatusUnauthorized, "")
		d.clock.Advance(30 * time.Second)
		wrong := b.entersCode("000000", "/orgs/acme/scans")
		b.wants("a wrong one", wrong, http.StatusUnauthorized, "")
		shows(t, wrong.text, "main [role=alert]", `input[value="/orgs/acme/scans"]`)
		b.wants("the right one", b.entersCode(a.code(), "/orgs/acme/scans"), http.StatusSeeOther, "/orgs/acme/scans")
		if _, found := b.cookies["redoubt-half"]; found {
			t.Error("the pending session stays in the browser")
		}
		shows(t, b.page("/account"), "[data-method='password and code']")

		c := d.browser()
		c.signsIn("ada", goodPassword, "/")
		c.wants("the same code once more", c.entersCode(a.code(), "/"), http.StatusUnauthorized, "")
		c.wants("a recovery code", c.entersCode(a.recovery[0], "/"), http.StatusSeeOther, "/")
		shows(t, c.do(http.MethodGet, ui.SecondFactorPath, nil).text, "[data-left='9']")
		c.wants("out", c.do(http.MethodPost, "/logout", nil), http.StatusSeeOther, "/login")
		c.signsIn("ada", goodPassword, "/")
		c.wants("that recovery code again", c.entersCode(a.recovery[0], "/"), http.StatusUnauthorized, "")
		for range 3 {
			c.entersCode("000000", "/")
		}
		last := c.entersCode("000000", "/")
		c.wants("too many", last, http.StatusUnauthorized, "")
		over := c.entersCode(a.recovery[1], "/")
		c.wants("after the end", over, http.StatusUnauthorized, "")
		shows(t, over.text, "main [role=alert]", "form[action='/login']")
		hides(t, over.text, "input[name=code]")
	})
}

// TestPendingSessionHasNoAccess checks that a pending sign-in opens no page.
func TestPendingSessionHasNoAccess(t *testing.T) {
	d := newSignInSite(t)
	var err error
	if d.signIn.Passkeys, err = auth.NewPasskeys("https://redoubt.example", d.signIn.Factors, d.store); err != nil {
		t.Fatal(err)
	}
	d.browserAs(d.user(d.org, "ada", model.RoleAdmin)).setUpApp()
	b := d.browser()
	b.signsIn("ada", goodPassword, "/")
	half := b.cookies["redoubt-half"]
	if len(b.cookies) != 1 || len(half) != 52 {
		t.Fatalf("the cookies are %v", b.cookies)
	}
	before := len(d.trail())
	for _, as := range []map[string]string{{"redoubt-half": half}, {"redoubt": half}, {"redoubt-half": half, "redoubt": half}} {
		for _, r := range web.Routes() {
			address := fill(r.Pattern)
			b.cookies = as
			form := url.Values{"name": {"eve"}, "role": {"admin"}, "password": {"wrong"}, "code": {"1"}, "require": {"on"}}
			if r.Method == http.MethodGet {
				form = nil
			}
			if r.Pattern == "/login" || r.Pattern == "/login/code" || r.Pattern == "/logout" {
				continue
			}
			a := b.do(r.Method, address, form)
			linked := slices.ContainsFunc([]string{"/setup/", "/sign-in/", "/join/", "/login/oidc"}, func(s string) bool { return strings.HasPrefix(r.Pattern, s) })
			if r.Pattern == "/login/passkey" && a.StatusCode == http.StatusUnauthorized && len(a.Cookies()) == 0 {
				continue
			}
			if r.Pattern == "/device" && a.Header.Get("Location") == "/orgs/-/device" {
				continue // short address that redirects to the page, which is also checked
			}
			if linked && a.StatusCode == http.StatusNotFound || strings.HasPrefix(a.Header.Get("Location"), "/login") {
				continue
			}
			t.Errorf("%s %s returns %d to %q", r.Method, address, a.StatusCode, a.Header.Get("Location"))
		}
	}
	if after := len(d.trail()); after != before {
		t.Errorf("it created %d events", after-before)
	}
}

// TestSignInLinksRequireSecondFactor checks that other ways to sign in do not bypass the second factor.
func TestSignInLinksRequireSecondFactor(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	a := d.browserAs(ada).setUpApp()
	link := func(kind model.LinkKind) string {
		code, hash := auth.NewCode()
		l := model.UserLink{Kind: kind, UserID: ada.ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
		if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		return code
	}
	b := d.browser()
	b.wants("a sign-in link", b.do(http.MethodPost, "/sign-in/"+link(model.LinkSignIn), nil), http.StatusSeeOther, "/login/code")
	b.wants("after it", b.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	c := d.browser()
	set := c.do(http.MethodPost, "/setup/"+link(model.LinkReset), url.Values{"password": {goodPassword + "s"}, "again": {goodPassword + "s"}})
	c.wants("a link to set the password", set, http.StatusSeeOther, "/login/code")
	c.wants("after it", c.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	b.wants("the link's pending session after the new password", b.entersCode(a.recovery[0], "/"), http.StatusSeeOther, "/login")
	d.clock.Advance(time.Minute)
	c.wants("with the code", c.entersCode(a.code(), "/"), http.StatusSeeOther, "/")
	changed := c.submit("/account/password", url.Values{"current": {goodPassword + "s"}, "password": {goodPassword}, "again": {goodPassword}})
	c.wants("a new password", changed, http.StatusSeeOther, "/login/code?next="+url.QueryEscape("/orgs/acme/account?done=password"))
	d.clock.Advance(time.Minute)
	c.wants("with the next code", c.entersCode(a.code(), "/orgs/acme/account?done=password"), http.StatusSeeOther, "/orgs/acme/account?done=password")
}

// TestStolenSessionCannotChangeSecondFactor checks that sensitive actions and changes of the second factor
// require password and code. A stolen session can neither set up nor remove a second factor.
func TestStolenSessionCannotChangeSecondFactor(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	stolen := d.browserAs(ada)
	page := stolen.do(http.MethodGet, "/second-factor/app", nil)
	form := url.Values{"sealed": {sealedText.FindStringSubmatch(page.text)[1]}}
	code, err := totp.GenerateCode(strings.ReplaceAll(secretText.FindStringSubmatch(page.text)[1], " ", ""), d.clock.Now().Add(auth.ProofFor))
	if err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(auth.ProofFor + time.Second)
	form.Set("code", code)
	stolen.wants("the secret", stolen.do(http.MethodGet, "/second-factor/app", nil), http.StatusSeeOther, ui.ReauthPath+"?next=%2Fsecond-factor%2Fapp")
	stolen.wants("the first code", stolen.do(http.MethodPost, "/second-factor/app", form), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")

	b := d.browserAs(ada)
	a := b.setUpApp()
	d.clock.Advance(auth.ProofFor + time.Second)
	token := url.Values{"name": {"robot"}, "ci": {"on"}, "days": {"30"}}
	b.wants("a token", b.submit("/settings/tokens", token), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")
	b.wants("new recovery codes", b.do(http.MethodPost, "/second-factor/recovery-codes", nil), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")
	b.wants("the password alone", b.do(http.MethodPost, ui.ReauthPath, url.Values{"password": {goodPassword}, "next": {"/orgs/acme/scans"}}), http.StatusSeeOther, "/login/code?next=%2Forgs%2Facme%2Fscans")
	b.wants("a token, then", b.submit("/settings/tokens", token), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")
	b.wants("the code", b.entersCode(a.code(), "/orgs/acme/scans"), http.StatusSeeOther, "/orgs/acme/scans")
	b.follow(b.submit("/settings/tokens", token))
	fresh := codeText.FindAllString(b.follow(b.do(http.MethodPost, "/second-factor/recovery-codes", nil)).text, -1)
	if len(fresh) != 10 || slices.Contains(fresh, a.recovery[0]) {
		t.Fatalf("the new codes are %v", fresh)
	}

	remove := func(password, code string) answer {
		d.clock.Advance(time.Minute)
		return b.do(http.MethodPost, ui.SecondFactorPath+"/remove", url.Values{"password": {password}, "code": {code}})
	}
	b.wants("without the password", remove("wrong", fresh[0]), http.StatusUnauthorized, "")
	b.wants("without a code", remove(goodPassword, "123"), http.StatusUnauthorized, "")
	b.wants("by a code from before", remove(goodPassword, a.recovery[1]), http.StatusUnauthorized, "")
	b.wants("by both", remove(goodPassword, fresh[0]), http.StatusSeeOther, ui.SecondFactorPath+"?done=second-factor-removed")
	shows(t, b.do(http.MethodGet, ui.SecondFactorPath, nil).text, "a[href^='/second-factor/app']")
	c := d.browser()
	c.wants("the password alone, then", c.signsIn("ada", goodPassword, "/"), http.StatusSeeOther, "/")
}

// TestDeploymentRequiresSecondFactor checks that a deployment that requires a second factor
// rejects users without one, and that their other deployments are not affected.
func TestDeploymentRequiresSecondFactor(t *testing.T) {
	eachSignInSite(t, func(t *testing.T, d *signInSite, other model.Deployment) {
		admin, tri := d.browserAs(d.user(d.org, "ada", model.RoleAdmin)), d.user(d.org, "tri", model.RoleTriager)
		d.mustJoin(tri, other, model.RoleViewer)
		b := d.browserAs(tri)
		b.wants("required by a triager", b.submit("/settings/second-factor", url.Values{"require": {"on"}}), http.StatusForbidden, "")
		admin.wants("required by an admin", admin.submit("/settings/second-factor", url.Values{"require": {"on"}}), http.StatusSeeOther, "/orgs/acme/settings/users?done=second-factor-required")
		admin.wants("of the admin", admin.do(http.MethodGet, "/orgs/acme/settings/users", nil), http.StatusSeeOther, ui.SecondFactorPath+"?next=%2Forgs%2Facme%2Fsettings%2Fusers")
		for _, r := range web.Routes() {
			if !strings.HasPrefix(r.Pattern, ui.Org) || r.Role > model.RoleTriager {
				continue
			}
			if a := b.do(r.Method, fill(r.Pattern), nil); a.StatusCode != http.StatusSeeOther || !strings.HasPrefix(a.Header.Get("Location"), ui.SecondFactorPath+"?next=") {
				t.Errorf("%s %s returns %d to %q", r.Method, r.Pattern, a.StatusCode, a.Header.Get("Location"))
			}
		}
		b.wants("the other deployment", b.do(http.MethodGet, "/orgs/noise/overview", nil), http.StatusOK, "")
		page := b.do(http.MethodGet, ui.SecondFactorPath+"?next=%2Forgs%2Facme%2Fscans", nil)
		containsAll(t, textAt(t, page.text, "[data-say=required] strong"), d.org.Name)
		containsAll(t, page.text, "/second-factor/app?next=%2forgs%2facme%2fscans")
		b.setUpApp()
		b.wants("with one", b.do(http.MethodGet, "/orgs/acme/scans", nil), http.StatusOK, "")

		elsewhere := d.browser()
		secret, err := d.signIn.Sessions.Begin(t.Context(), d.user(d.org, "sso", model.RoleViewer).ID, "oidc", auth.Origin{}, model.CheckedPassword{})
		if err != nil {
			t.Fatal(err)
		}
		elsewhere.cookies["redoubt"] = secret
		elsewhere.wants("signed in by a provider", elsewhere.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusOK, "")
		shows(t, elsewhere.do(http.MethodGet, ui.SecondFactorPath, nil).text, "[data-say=by-provider]")
		elsewhere.wants("an app of theirs", elsewhere.do(http.MethodGet, "/second-factor/app", nil), http.StatusSeeOther, ui.ReauthPath+"?next=%2Fsecond-factor%2Fapp")

		admin.setUpApp()
		shows(t, admin.page("/settings/users"), "input[name=require][value=off]", "tr:has(form[action$='/users/tri/role']) [data-second-factor]", "[data-say=of-others]")
		admin.submit("/settings/second-factor", url.Values{"require": {"off"}})
		shows(t, admin.page("/settings/users"), "input[name=require][value=on]")
	})
}

// TestAdminRemovesLostSecondFactor checks that an administrator can remove a lost second factor
// if they may change the account.
func TestAdminRemovesLostSecondFactor(t *testing.T) {
	d := newSignInSite(t)
	noise, err := d.store.Deployment(t.Context(), storetest.Noise)
	if err != nil {
		t.Fatal(err)
	}
	admin, ben := d.browserAs(d.user(d.org, "ada", model.RoleAdmin)), d.user(d.org, "ben", model.RoleViewer)
	b := d.browserAs(ben)
	b.setUpApp()
	reset := func() answer { return admin.submit("/settings/users/ben/reset-2fa", nil) }
	admin.wants("reset", reset(), http.StatusSeeOther, "/orgs/acme/settings/users?done=second-factor-reset")
	b.wants("ben's session", b.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	none := reset()
	admin.wants("once more", none, http.StatusConflict, "")
	containsAll(t, textAt(t, none.text, "main [role=alert]"), "ben")
	if events := d.trail(); !slices.ContainsFunc(events, func(e model.AuditEvent) bool {
		return e.Action == "user.second_factor_removed" && e.By.ID == "ada" && e.Subject == "user:ben"
	}) {
		t.Errorf("the audit log has no entry: %v", events)
	}
	d.browserAs(ben).setUpApp()
	shows(t, admin.page("/settings/users"), "form[action$='/users/ben/reset-2fa']")
	admin.setUpApp()
	hides(t, admin.page("/settings/users"), "form[action$='/users/ada/reset-2fa']")
	admin.wants("one's own", admin.submit("/settings/users/ada/reset-2fa", nil), http.StatusConflict, "")
	d.mustJoin(ben, noise, model.RoleViewer)
	admin.wants("of a user of several deployments", reset(), http.StatusForbidden, "")
	d.clock.Advance(auth.ProofFor + time.Second)
	admin.wants("without proof", reset(), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")
	admin.wants("required without proof", admin.submit("/settings/second-factor", url.Values{"require": {"on"}}), http.StatusSeeOther, ui.ReauthPath+"?next=%2F")
}
