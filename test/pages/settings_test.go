package pages

import (
	"context"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// page opens an existing page of acme and checks for inline code.
func (b *browserOf) page(path string) string {
	b.t.Helper()
	a := b.do(http.MethodGet, "/orgs/acme"+path, nil)
	b.wants("GET "+path, a, http.StatusOK, "")
	checkInline(b.t, a.text)
	return a.text
}

// submit submits a form of acme.
func (b *browserOf) submit(path string, form url.Values) answer {
	b.t.Helper()
	return b.do(http.MethodPost, "/orgs/acme"+path, form)
}

// trail returns the audit events of acme.
func (d *signInSite) trail() (list []model.AuditEvent) {
	d.t.Helper()
	err := d.store.View(d.t.Context(), d.org.ID, func(ctx context.Context, tx *store.Tx) (err error) {
		list, err = tx.AuditEvents(ctx, 0, 1000)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return list
}

func lacks(t testing.TB, text string, words ...string) {
	t.Helper()
	for _, w := range words {
		if strings.Contains(text, w) {
			t.Errorf("the page shows %q", w)
		}
	}
}

func TestSetupLinkCreatesFirstAdmin(t *testing.T) {
	d := newSignInSite(t)
	code, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkSetup, Deployment: d.org.ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	b := d.browser()
	a := b.do(http.MethodGet, "/setup/"+code, nil)
	b.wants("the link", a, http.StatusOK, "")
	shows(t, a.text, "[data-say=first-admin]", "input[name=name]", "input[autocomplete=new-password]")
	if a.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("caches may store the page: %q", a.Header.Get("Cache-Control"))
	}
	use := func(name, password, confirmation string) answer {
		return b.do(http.MethodPost, "/setup/"+code, url.Values{"name": {name}, "display_name": {"Ada <L>"}, "password": {password}, "again": {confirmation}})
	}
	for _, c := range []struct{ name, password, confirmation, about string }{
		{"ada", goodPassword, "other", "again"},
		{"ada", "short", "short", "password"},
		{"<b>", goodPassword, goodPassword, "name"},
	} {
		a := use(c.name, c.password, c.confirmation)
		b.wants(c.about, a, http.StatusBadRequest, "")
		if about, _, _ := strings.Cut(textAt(t, a.text, "main [role=alert]"), ": "); about != c.about {
			t.Errorf("the error is %q, want %q", about, c.about)
		}
		containsAll(t, a.text, "Ada &lt;L&gt;")
		lacks(t, a.text, goodPassword)
	}
	b.wants("all well", use("Ada", goodPassword, goodPassword), http.StatusSeeOther, "/")
	containsAll(t, b.page("/settings/users"), "Ada &lt;L&gt;", "ada@acme")
	other := d.browser()
	reused := other.do(http.MethodGet, "/setup/"+code, nil)
	other.wants("the link again", reused, http.StatusNotFound, "")
	containsAll(t, textAt(t, reused.text, ".fault[role=alert]"), "redoubt user setup-link")
	other.wants("used again", other.do(http.MethodPost, "/setup/"+code, url.Values{"name": {"eve"}, "password": {goodPassword}, "again": {goodPassword}}), http.StatusNotFound, "")
}

func TestSignInLinkWorksOnce(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	code, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkSignIn, UserID: ada.ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	b := d.browser()
	b.wants("as a link to set a password", b.do(http.MethodGet, "/setup/"+code, nil), http.StatusNotFound, "")
	for _, ahead := range []string{http.MethodHead, http.MethodGet, http.MethodGet} { // as mail programs do
		a := d.browser().do(ahead, "/sign-in/"+code, nil)
		if a.StatusCode != http.StatusOK || len(a.Cookies()) > 0 {
			t.Fatalf("%s returns %d and sets %v", ahead, a.StatusCode, a.Cookies())
		}
	}
	if as := textAt(t, d.browser().do(http.MethodGet, "/sign-in/"+code, nil).text, "main strong"); as != "ada" {
		t.Errorf("the link signs in %q", as)
	}
	b.wants("the link", b.do(http.MethodPost, "/sign-in/"+code, nil), http.StatusSeeOther, "/")
	containsAll(t, textAt(t, b.page("/account"), ".head p"), "ada")
	shows(t, b.page("/account"), "tr:has([data-current]) [data-method=link]")
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		b.wants("the link again", d.browser().do(method, "/sign-in/"+code, nil), http.StatusNotFound, "")
	}
	if err := d.store.SetPassword(t.Context(), ada.ID, "", false, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	l.ExpiresAt = d.clock.Now().Add(time.Hour)
	code, hash = auth.NewCode()
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	b = d.browser()
	b.wants("a link without a password", b.do(http.MethodPost, "/sign-in/"+code, nil), http.StatusSeeOther, "/")
	page := b.page("/account")
	containsAll(t, textAt(t, page, "[data-say=came-by-link]"), "redoubt user reset --link ada")
	hides(t, page, "[data-say=no-password]")
}

// TestTokenCommandMatchesPermissions checks that the suggested command for a token matches its
// permissions, and that permanent actions require a confirmation.
func TestTokenCommandMatchesPermissions(t *testing.T) {
	d := newSignInSite(t)
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	made := func(scope string) string {
		return b.follow(b.submit("/settings/tokens", url.Values{"name": {"of " + scope}, scope: {"on"}, "days": {"30"}})).text
	}
	ci, reads := made("ci"), made("web_api")
	containsAll(t, ci, "semgrep ci", "SEMGREP_APP_TOKEN")
	lacks(t, ci, "/api/v1/deployments")
	containsAll(t, reads, "/api/v1/deployments")
	const confirm, warned = " details.ask > summary.danger", " details.ask > .note"
	revoke, disable := `form[action$="/revoke"]`, `form[action$="/users/ada/disable"]`
	shows(t, b.page("/settings/tokens"), `tr:contains("of ci") `+revoke+confirm, revoke+warned)
	shows(t, b.page("/settings/users"), disable+confirm, disable+warned)
}

func TestPasswordChangeEndsOtherSessions(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	b, other := d.browserAs(ada), d.browserAs(ada)
	const fresh = "battery staple horse"
	change := func(current, password string) answer {
		return b.submit("/account/password", url.Values{"current": {current}, "password": {password}, "again": {password}})
	}
	a := change("wrong", fresh)
	b.wants("a wrong old one", a, http.StatusBadRequest, "")
	shows(t, a.text, "main [role=alert]")
	b.wants("a short new one", change(goodPassword, "short"), http.StatusBadRequest, "")
	before := b.cookies["redoubt"]
	b.wants("all well", change(goodPassword, fresh), http.StatusSeeOther, "/orgs/acme/account?done=password")
	if b.cookies["redoubt"] == before {
		t.Error("the session did not change its secret")
	}
	shows(t, b.page("/account?done=password"), "[data-say=password]")
	other.wants("the other browser", other.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	b.wants("the old password", d.browser().signsIn("ada", goodPassword, "/"), http.StatusUnauthorized, "")
	b.wants("the new password", d.browser().signsIn("ada", fresh, "/"), http.StatusSeeOther, "/")
}

// TestNewPasswordRevokesTokensOnRequest checks that tokens are only revoked on request, for changed
// passwords and for links that set one.
func TestNewPasswordRevokesTokensOnRequest(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	inForce := func() (n int) {
		err := d.store.View(t.Context(), d.org.ID, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Tokens(ctx)
			for _, token := range list {
				if token.RevokedAt.IsZero() {
					n++
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
		return n
	}
	b := d.browserAs(ada)
	mint := func() {
		b.follow(b.submit("/settings/tokens", url.Values{"name": {"robot"}, "ci": {"on"}, "days": {"30"}}))
	}
	mint()
	current := goodPassword
	change := func(more url.Values, done string) {
		next := "battery staple " + done
		form := url.Values{"current": {current}, "password": {next}, "again": {next}}
		maps.Copy(form, more)
		b.wants(done, b.submit("/account/password", form), http.StatusSeeOther, "/orgs/acme/account?done="+done)
		current = next
	}
	shows(t, b.page("/account"), "input[name=revoke_tokens]")
	if change(nil, "password"); inForce() != 1 {
		t.Error("a new password revokes tokens without a request")
	}
	if change(url.Values{"revoke_tokens": {"on"}}, "password-tokens"); inForce() != 0 {
		t.Error("the token still works")
	}
	mint()
	code, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkReset, UserID: ada.ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	shows(t, d.browser().do(http.MethodGet, "/setup/"+code, nil).text, "input[name=revoke_tokens]")
	d.browser().do(http.MethodPost, "/setup/"+code, url.Values{"password": {goodPassword}, "again": {goodPassword}, "revoke_tokens": {"on"}})
	if inForce() != 0 {
		t.Error("the token still works after the link was used")
	}
}

func TestSessionsCanBeRevoked(t *testing.T) {
	d := newSignInSite(t)
	ada, ben := d.user(d.org, "ada", model.RoleAdmin), d.user(d.org, "ben", model.RoleViewer)
	b, other, bens := d.browserAs(ada), d.browserAs(ada), d.browserAs(ben)
	ends := regexp.MustCompile(`/account/sessions/\d+/end`).FindAllString(b.page("/account"), -1)
	if len(ends) != 1 {
		t.Fatalf("ada can revoke %v", ends)
	}
	bens.wants("of another user", bens.submit(ends[0], nil), http.StatusSeeOther, "/orgs/acme/account?done=session")
	other.page("/overview")
	b.wants("one's own", b.submit(ends[0], nil), http.StatusSeeOther, "/orgs/acme/account?done=session")
	other.wants("ended", other.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	third := d.browserAs(ada)
	b.wants("everywhere", b.submit("/account/sign-out", nil), http.StatusSeeOther, "/login")
	third.wants("ended too", third.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	bens.page("/overview")
}

var tokenText = regexp.MustCompile(`rdt_[0-9a-z]+_[a-z2-7]{52}_[0-9a-f]{8}`)

func TestTokensAreShownOnceAndBoundToTheirUser(t *testing.T) {
	d := newSignInSite(t)
	ada, ben := d.user(d.org, "ada", model.RoleAdmin), d.user(d.org, "ben", model.RoleTriager)
	chief, b := d.browserAs(ada), d.browserAs(ben)
	shows(t, b.page("/settings/tokens"), "[data-say=no-tokens]", "input[name=web_api]")
	messages := map[string]bool{}
	for form, about := range map[string]string{
		"name=&web_api=on&days=90": "name", "name=x&days=90": "permissions", "name=x&ci=on&read_only=on&days=90": "permissions",
	} {
		values, _ := url.ParseQuery(form)
		a := b.submit("/settings/tokens", values)
		b.wants(form, a, http.StatusBadRequest, "")
		got, why, _ := strings.Cut(textAt(t, a.text, "main [role=alert]"), ": ")
		if messages[why] = true; got != about {
			t.Errorf("%s: the error is %q", form, got)
		}
	}
	if len(messages) != 3 {
		t.Errorf("for three errors got %v", messages)
	}
	b.wants("an invalid lifetime", b.submit("/settings/tokens", url.Values{"name": {"x"}, "ci": {"on"}, "days": {"9"}}), http.StatusBadRequest, "")
	a := b.submit("/settings/tokens", url.Values{"name": {"<i>mine"}, "web_api": {"on"}, "ci": {"on"}, "days": {"30"}, "globs": {"acme/*\nother/**"}})
	a = b.follow(a)
	text := tokenText.FindString(a.text)
	if text == "" || a.Header.Get("Cache-Control") != "no-store" || strings.Contains(a.text, "<i>") {
		t.Fatalf("no token, or not only once, or a name that is markup: %s", a.text)
	}
	page := b.page("/settings/tokens")
	containsAll(t, page, "&lt;i&gt;mine", "acme/*", "other/**")
	shows(t, page, "[data-scope=ci]", "[data-scope=web_api]")
	lacks(t, page, text, text[6:40])
	_, sum, err := auth.ParseSecret(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.store.TokenByHash(t.Context(), d.org.ID, sum)
	if err != nil || got.UserID != ben.ID || !got.ExpiresAt.Equal(d.clock.Now().AddDate(0, 0, 30)) || !got.Has(model.ScopeWebAPI) || got.Has(model.ScopeReadOnly) {
		t.Errorf("the token is %+v, %v", got, err)
	}
	containsAll(t, chief.page("/settings/tokens"), "&lt;i&gt;mine", "ben")

	mine := d.browserAs(d.user(d.org, "cleo", model.RoleTriager))
	revoke := regexp.MustCompile(`/settings/tokens/\d+/revoke`).FindString(page)
	lacks(t, mine.page("/settings/tokens"), "mine</")
	mine.wants("of another user", mine.submit(revoke, nil), http.StatusNotFound, "")
	b.wants("one's own", b.submit(revoke, nil), http.StatusSeeOther, "/orgs/acme/settings/tokens?done=token-revoked")
	shows(t, b.page("/settings/tokens?done=token-revoked"), "[data-say=token-revoked]", "tr [data-state=revoked]")
	if got, err := d.store.TokenByHash(t.Context(), d.org.ID, sum); err != nil || got.RevokedAt.IsZero() {
		t.Errorf("the token still works: %v, %v", got, err)
	}
}

func TestUserManagement(t *testing.T) {
	d := newSignInSite(t)
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	a := b.submit("/settings/users", url.Values{"name": {"Ben"}, "display_name": {"<img src=x onerror=alert(1)>"}, "role": {"triager"}})
	a = b.follow(a)
	checkInline(t, strings.ReplaceAll(a.text, "onerror=", "")) // escaped, as checked by the next line
	lacks(t, a.text, "<img src=x")
	link := joinText.FindString(a.text)
	ben := d.browser()
	joining := ben.do(http.MethodGet, link, nil).text
	containsAll(t, textAt(t, joining, "[data-say=invited]"), "ada", "triager")
	containsAll(t, joining, "ben@acme")
	ben.wants("the link", ben.do(http.MethodPost, link, url.Values{"password": {goodPassword}, "again": {goodPassword}}), http.StatusSeeOther, "/")
	shows(t, ben.do(http.MethodGet, "/orgs/acme/overview", nil).text, signedIn("ben@acme", "triager"))

	b.wants("a role", b.submit("/settings/users/ben@acme/role", url.Values{"role": {"admin"}}), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-role")
	containsAll(t, ben.do(http.MethodGet, "/orgs/acme/settings/users", nil).text, "ben") // takes effect immediately

	b.wants("disabled", b.submit("/settings/users/ben@acme/disable", nil), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-disabled")
	ben.wants("after that", ben.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	ben.wants("and no access", ben.signsIn("ben@acme", goodPassword, "/"), http.StatusUnauthorized, "")
	for what, path := range map[string]string{"disable": "/settings/users/ada/disable", "demote": "/settings/users/ada/role"} {
		a := b.submit(path, url.Values{"role": {"viewer"}})
		b.wants(what, a, http.StatusConflict, "")
		containsAll(t, textAt(t, a.text, "main [role=alert]"), "ada", "acme")
	}
	b.wants("enabled", b.submit("/settings/users/ben@acme/enable", nil), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-enabled")
	b.wants("removed", b.submit("/settings/users/ben@acme/role", url.Values{"role": {"none"}}), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-removed")
	b.wants("an unknown user", b.submit("/settings/users/ben@acme/disable", nil), http.StatusNotFound, "")
	b.wants("no role", b.submit("/settings/users/ada/role", url.Values{"role": {"owner"}}), http.StatusBadRequest, "")
}

// TestAdminCannotTakeOverOtherTenantUsers checks that an administrator of one tenant cannot gain access to
// another through its users.
func TestAdminCannotTakeOverOtherTenantUsers(t *testing.T) {
	d := newSignInSite(t)
	noise, err := d.store.Deployment(t.Context(), storetest.Noise)
	if err != nil {
		t.Fatal(err)
	}
	victim := d.user(noise, "victim", model.RoleAdmin)
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	b.wants("not a member yet", b.submit("/settings/users/victim/link", nil), http.StatusNotFound, "")
	a := b.submit("/settings/users", url.Values{"name": {"victim"}, "role": {"viewer"}})
	a = b.follow(a)
	lacks(t, a.text, "/setup/")
	hides(t, a.text, "[data-say=of-others]")
	b.wants("invited only", b.submit("/settings/users/victim/role", url.Values{"role": {"none"}}), http.StatusNotFound, "")
	list, err := d.store.InvitationsFor(t.Context(), "victim")
	if err != nil || len(list) != 1 {
		t.Fatalf("victim is invited to %v, %v", list, err)
	}
	if err := d.store.AcceptInvitation(t.Context(), list[0], victim); err != nil {
		t.Fatal(err)
	}
	shows(t, b.page("/settings/users"), "[data-say=of-others]")
	for _, path := range []string{"link", "disable", "enable"} {
		a := b.submit("/settings/users/victim/"+path, nil)
		b.wants(path, a, http.StatusForbidden, "")
		lacks(t, a.text, "/setup/")
	}
	b.wants("the role here", b.submit("/settings/users/victim/role", url.Values{"role": {"none"}}), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-removed")
}

func TestAuditLogIsPagedAndFiltered(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	for range 50 {
		d.browserAs(ada)
	}
	b := d.browserAs(ada)
	first := b.page("/settings/audit")
	const olderLink = ".pager a[rel=next]"
	containsAll(t, first, "user.sign_in", ">ada<", "192.0.2.1")
	shows(t, first, olderLink)
	lacks(t, first, "user.create</td>")
	hides(t, first, latestLink)
	older := regexp.MustCompile(`/settings/audit\?before=\d+`).FindString(first)
	second := b.page(older)
	containsAll(t, second, "user.create</td>")
	shows(t, second, latestLink)
	hides(t, second, olderLink)
	only := b.page("/settings/audit?action=user.create")
	shows(t, only, ".pager [data-events='1']")
	containsAll(t, only, ">cli test<")
	lacks(t, only, "user.sign_in</td>")
	containsAll(t, b.page("/settings/audit?kind=user&id=ada&name=ada"), "user.sign_in</td>")
	lacks(t, b.page("/settings/audit?kind=user&id=ada&name=ada"), "user.create</td>")
	shows(t, b.page("/settings/audit?action=no.such"), "[data-say=no-event]")
	b.wants("nonsense", b.do(http.MethodGet, "/orgs/acme/settings/audit?before=x", nil), http.StatusBadRequest, "")
}

func TestAboutPageShowsVersion(t *testing.T) {
	d := newSignInSite(t)
	b := d.browserAs(d.user(d.org, "ada", model.RoleViewer))
	page := b.page("/settings/about")
	if v := textAt(t, page, "[data-version]"); v != "test" {
		t.Errorf("the version is %q", v)
	}
	containsAll(t, page, "sqlite", "golang.org/x/crypto", "BSD-3-Clause", "Apache License")
}
