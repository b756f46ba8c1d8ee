package pages

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// follow opens the page that a form redirects to.
func (b *browserOf) follow(a answer) answer {
	b.t.Helper()
	to := a.Header.Get("Location")
	b.wants("the form", a, http.StatusSeeOther, to)
	page := b.do(http.MethodGet, to, nil)
	b.wants("GET "+to, page, http.StatusOK, "")
	return page
}

// secretCookie returns the cookie of a response that contains a secret.
func secretCookie(t testing.TB, a answer) *http.Cookie {
	t.Helper()
	for _, c := range a.Cookies() {
		if strings.Contains(c.Name, "once") {
			return c
		}
	}
	t.Fatalf("no cookie for a secret: %v", a.Header)
	return nil
}

var (
	linkText = regexp.MustCompile(`/setup/([a-z2-7]{52})`)
	joinText = regexp.MustCompile(`/join/([a-z2-7]{52})`)
)

// shownSecret is a form that creates a secret, and the page that shows it.
type shownSecret struct {
	form    string // address of the form
	values  url.Values
	page    string
	secret  *regexp.Regexp
	made    string // text on the page that names the created object
	counted string // action of the single audit event
}

func shownSecrets() map[string]shownSecret {
	return map[string]shownSecret{
		"token": {"/settings/tokens", url.Values{"name": {"robot"}, "ci": {"on"}, "days": {"30"}}, "/settings/tokens", tokenText, "robot", "token.create"},
		"user":  {"/settings/users", url.Values{"name": {"ben"}, "role": {"viewer"}}, "/settings/users/invited", joinText, "ben", "user.invite"},
		"link":  {"/settings/users/cleo/link", nil, "/settings/users", linkText, "cleo", "user.link"},
	}
}

// seal submits the form as the administrator ada, and returns the address of the page that shows
// the secret.
func (m shownSecret) seal(t *testing.T) (d *signInSite, b *browserOf, form answer, to string) {
	t.Helper()
	d = newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	d.user(d.org, "cleo", model.RoleAdmin)
	b = d.browserAs(ada)
	form = b.submit(m.form, m.values)
	to = form.Header.Get("Location")
	if !regexp.MustCompile(`^/orgs/acme` + m.page + `\?made=\d+$`).MatchString(to) {
		t.Fatalf("the form returns %d %q\n%s", form.StatusCode, to, form.text)
	}
	return d, b, form, to
}

func TestSecretIsCreatedAndShownOnce(t *testing.T) {
	for name, m := range shownSecrets() {
		t.Run(name, func(t *testing.T) {
			d, b, form, to := m.seal(t)
			c := secretCookie(t, form)
			if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || c.Path != "/orgs/acme"+m.page || c.MaxAge != 60 || c.Secure {
				t.Errorf("the cookie is %v", c)
			}
			if head := b.do(http.MethodHead, to, nil); len(head.Cookies()) > 0 {
				t.Error("a prefetch consumes the secret")
			}
			shown := b.do(http.MethodGet, to, nil)
			secret := m.secret.FindString(shown.text)
			if secret == "" || shown.Header.Get("Cache-Control") != "no-store" || secretCookie(t, shown).MaxAge >= 0 {
				t.Fatalf("not shown, cacheable, or shown a second time: %v\n%s", shown.Header, shown.text)
			}
			secret = secret[strings.LastIndexByte(secret, '/')+1:]
			for where, text := range map[string]string{"the form's answer": form.text, "its cookie": c.Value, "the address": to, "the log": d.log.String()} {
				if strings.Contains(text, secret) {
					t.Errorf("%s has the secret", where)
				}
			}
			for range 2 {
				reloaded := b.do(http.MethodGet, to, nil)
				b.wants("a reload", reloaded, http.StatusOK, "")
				shows(t, reloaded.text, "[data-say=shown-once]")
				containsAll(t, textAt(t, reloaded.text, "main [role=status]"), m.made)
				lacks(t, reloaded.text, secret)
			}
			made := 0
			for _, e := range d.trail() {
				if e.Action == m.counted {
					made++
				}
			}
			if made != 1 {
				t.Errorf("%d were created", made)
			}
		})
	}
}

func TestSecretIsBoundToSessionAndExpires(t *testing.T) {
	for name, m := range shownSecrets() {
		t.Run(name, func(t *testing.T) {
			d, b, form, to := m.seal(t)
			c := secretCookie(t, form)
			shows := func(what string, by *browserOf, address, cookie, value string) {
				t.Helper()
				by.cookies[cookie] = value
				a := by.do(http.MethodGet, address, nil)
				by.wants(what, a, http.StatusOK, "")
				if m.secret.MatchString(a.text) {
					t.Errorf("%s: the secret is shown", what)
				}
			}
			cleo := d.browserAs(d.member("cleo"))
			shows("another user", cleo, to, c.Name, c.Value)
			next := b.submit(map[string]string{"token": "/settings/tokens", "user": "/settings/users", "link": "/settings/users/ada/link"}[name], m.values)
			shows("another thing", b, next.Header.Get("Location"), secretCookie(t, next).Name, c.Value)
			shows("changed", b, to, c.Name, "A"+c.Value[1:]+"A")
			shows("no cookie of ours", b, to, c.Name, "%%%")
			shows("in the clear", b, to, c.Name, "AAAA")
			for page := range map[string]bool{"/settings/tokens": true, "/settings/users": true, "/settings/users/invited": true} {
				if page != m.page {
					shows("another page", b, "/orgs/acme"+page+to[strings.Index(to, "?"):], c.Name, c.Value)
				}
			}
			d.clock.Advance(time.Minute)
			shows("a minute later", b, to, c.Name, c.Value)
		})
	}
}

// member returns an existing user.
func (d *signInSite) member(name string) (u model.User) {
	d.t.Helper()
	u, err := d.store.User(d.t.Context(), name)
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

// TestInvalidatedSecretIsNotShown checks that a secret that no longer works is not shown as valid.
func TestInvalidatedSecretIsNotShown(t *testing.T) {
	all := shownSecrets()
	d, b, _, to := all["token"].seal(t)
	id, err := strconv.ParseInt(to[strings.LastIndex(to, "=")+1:], 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	err = d.store.Update(t.Context(), d.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, id) })
	if err != nil {
		t.Fatal(err)
	}
	void := b.do(http.MethodGet, to, nil).text
	lacks(t, void, "rdt_")
	hides(t, void, "[data-say=shown-once]")

	_, b, _, to = all["user"].seal(t)
	invitation := to[strings.LastIndex(to, "=")+1:]
	b.wants("withdrawn", b.submit("/settings/invitations/"+invitation+"/withdraw", nil), http.StatusSeeOther, "/orgs/acme/settings/users?done=invitation-withdrawn")
	void = b.do(http.MethodGet, to, nil).text
	lacks(t, void, "/join/")
	hides(t, void, "[data-say=invited]")

	d, b, _, to = all["link"].seal(t)
	_, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkReset, UserID: d.member("cleo").ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	lacks(t, b.do(http.MethodGet, to, nil).text, "/setup/")
}

func TestSecretCookieRequiresHTTPS(t *testing.T) {
	d := newSignInSite(t, func(s *ui.SignIn) { s.Secure = true })
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	b.https = true
	b.cookies["__Host-redoubt"] = b.cookies["redoubt"]
	m := shownSecrets()["token"]
	form := b.submit(m.form, m.values)
	if c := secretCookie(t, form); !c.Secure || !strings.HasPrefix(c.Name, "__Secure-") {
		t.Errorf("the cookie is %v", c)
	}
	containsAll(t, b.follow(form).text, "rdt_")
}

// TestVisitCookieRequiresHTTPS checks that the cookie of the last visit is secure if
// browsers use https, even if a proxy terminates TLS.
func TestVisitCookieRequiresHTTPS(t *testing.T) {
	d := withSignIn(t, demoSite(t), func(s *ui.SignIn) { s.Secure = true })
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	b.cookies["__Host-redoubt"] = b.cookies["redoubt"]
	for _, c := range (&http.Response{Header: b.do(http.MethodGet, "/orgs/acme/overview", nil).Header}).Cookies() {
		if c.Name == "redoubt_seen" {
			if !c.Secure {
				t.Errorf("the cookie is %v", c)
			}
			return
		}
	}
	t.Error("the overview sets no cookie")
}
