package pages

import (
	"context"
	"crypto/tls"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web"
	"github.com/redoubt/redoubt/internal/web/ui"
)

const goodPassword = "correct horse battery"

// signInSite is a site with the real sign-in.
type signInSite struct {
	*site
	signIn *ui.SignIn
	hash   string // of goodPassword
}

func newSignInSite(t testing.TB, change ...func(*ui.SignIn)) *signInSite {
	t.Helper()
	return withSignIn(t, newSite(t), change...)
}

// withSignIn adds the real sign-in to a site.
func withSignIn(t testing.TB, s *site, change ...func(*ui.SignIn)) *signInSite {
	t.Helper()
	d := &signInSite{site: s}
	passwords := auth.NewPasswords()
	d.signIn = &ui.SignIn{Sessions: auth.NewSessions(d.store, passwords, d.clock.Now, auth.SessionLimits{})}
	sealer, err := ring.Sealer("second factors")
	if err != nil {
		t.Fatal(err)
	}
	d.signIn.Factors = auth.NewSecondFactors(d.signIn.Sessions, d.store, sealer)
	for _, f := range change {
		f(d.signIn)
	}
	pages, err := web.New(ui.Config{
		Store: d.store, Index: index.New(d.store, index.Options{BodyCache: 1 << 20}), Clock: d.clock.Now,
		Logger: slog.New(slog.NewTextHandler(&d.log, nil)), Version: "test", SignIn: d.signIn, SigningKeys: httpx.OneKey([]byte("0123456789abcdef0123456789abcdef")), CodeHosts: &codeHosts{},
		Notifier: newNotifier(t, d.store, d.clock.Now), Uploads: func() ui.Uploads { return noUploads{} },
	})
	if err != nil {
		t.Fatal(err)
	}
	d.pages = pages.Handler()
	if d.hash, err = passwords.Hash(t.Context(), goodPassword); err != nil {
		t.Fatal(err)
	}
	return d
}

// user creates a user of a deployment.
func (d *signInSite) user(org model.Deployment, name string, role model.Role) (u model.User) {
	d.t.Helper()
	err := d.store.Update(d.t.Context(), org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name, PasswordHash: d.hash}, role)
		return err
	})
	if err != nil {
		d.t.Fatal(err)
	}
	return u
}

// mustJoin assigns a user a role in a deployment.
func (d *signInSite) mustJoin(u model.User, org model.Deployment, role model.Role) {
	d.t.Helper()
	err := d.store.Update(d.t.Context(), org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, u.ID, role) })
	if err != nil {
		d.t.Fatal(err)
	}
	d.signIn.Sessions.Forget()
}

// browserOf is a browser with its cookies.
type browserOf struct {
	*signInSite
	cookies map[string]string
	https   bool
	header  map[string]string
}

func (d *signInSite) browser() *browserOf {
	return &browserOf{signInSite: d, cookies: map[string]string{}, header: map[string]string{}}
}

// browserAs returns a browser with the session of a user, without the cost of hashing a password.
func (d *signInSite) browserAs(u model.User) *browserOf {
	d.t.Helper()
	b := d.browser()
	secret, err := d.signIn.Sessions.Begin(d.t.Context(), u.ID, "password", auth.Origin{Address: "192.0.2.1"}, model.CheckedPassword{})
	if err != nil {
		d.t.Fatal(err)
	}
	b.cookies["redoubt"] = secret
	return b
}

// do sends a request and stores the cookies of the response.
func (b *browserOf) do(method, address string, form url.Values) answer {
	b.t.Helper()
	var body io.Reader
	if form != nil {
		body = strings.NewReader(form.Encode())
	}
	r := httptest.NewRequestWithContext(b.t.Context(), method, address, body)
	r.RemoteAddr = "192.0.2.7:4711"
	if form != nil {
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range b.header {
		r.Header.Set(name, value)
	}
	for name, value := range b.cookies {
		r.AddCookie(&http.Cookie{Name: name, Value: value})
	}
	if b.https {
		r.TLS = &tls.ConnectionState{}
	}
	a := b.send(r)
	for _, c := range a.Cookies() {
		b.cookies[c.Name] = c.Value
		if c.MaxAge < 0 {
			delete(b.cookies, c.Name)
		}
	}
	return a
}

// wants fails the test unless status and location match; an empty location means no redirect.
func (b *browserOf) wants(what string, a answer, status int, location string) {
	b.t.Helper()
	if a.StatusCode != status || a.Header.Get("Location") != location {
		b.t.Fatalf("%s: %d to %q, want %d to %q\n%s\n%s", what, a.StatusCode, a.Header.Get("Location"), status, location, a.text, b.log.String())
	}
}

func (b *browserOf) signsIn(name, password, next string) answer {
	b.t.Helper()
	return b.do(http.MethodPost, "/login", url.Values{"name": {name}, "password": {password}, "next": {next}})
}

func TestSignInAndOut(t *testing.T) {
	d := newSignInSite(t)
	d.user(d.org, "ada", model.RoleAdmin)
	b := d.browser()
	b.wants("before", b.do(http.MethodGet, "/orgs/acme/overview?x=1", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview%3Fx%3D1")
	page := b.do(http.MethodGet, "/login?next=%2Forgs%2Facme%2Foverview%3Fx%3D1", nil)
	containsAll(t, page.text, `value="/orgs/acme/overview?x=1"`, `autocomplete="current-password"`)
	checkInline(t, page.text)
	for _, c := range [][2]string{{"ada", "wrong"}, {"unknown", goodPassword}} {
		a := b.signsIn(c[0], c[1], "/orgs/acme/overview?x=1")
		b.wants(c[0], a, http.StatusUnauthorized, "")
		shows(t, a.text, "main [role=alert]", `input[value="/orgs/acme/overview?x=1"]`)
		if strings.Contains(a.text, goodPassword) || len(a.Cookies()) > 0 {
			t.Errorf("%s: the page shows the password, or sets %v", c[0], a.Cookies())
		}
	}
	b.wants("the right one", b.signsIn("Ada ", goodPassword, "/orgs/acme/overview?x=1"), http.StatusSeeOther, "/orgs/acme/overview?x=1")
	b.wants("signed in", b.do(http.MethodGet, "/orgs/acme/overview?x=1", nil), http.StatusOK, "")
	b.wants("the sign-in page, signed in", b.do(http.MethodGet, "/login?next=%2Forgs%2Facme", nil), http.StatusSeeOther, "/orgs/acme")
	old := b.cookies["redoubt"]
	b.wants("out", b.do(http.MethodPost, "/logout", nil), http.StatusSeeOther, "/login")
	if _, found := b.cookies["redoubt"]; found {
		t.Error("the cookie remains")
	}
	b.cookies["redoubt"] = old
	b.wants("with the old cookie", b.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	if strings.Contains(d.log.String(), old) || strings.Contains(d.log.String(), goodPassword) {
		t.Error("the log shows a secret")
	}
}

func TestCookieFlags(t *testing.T) {
	proxy := func(s *ui.SignIn) { s.TrustedProxies = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")} }
	always := func(s *ui.SignIn) { s.Secure = true }
	for _, c := range []struct {
		name   string
		change func(*ui.SignIn)
		https  bool
		header string
		want   string
	}{
		{"plain", func(*ui.SignIn) {}, false, "", "redoubt"},
		{"plain, with a header of the client", func(*ui.SignIn) {}, false, "https", "redoubt"},
		{"by TLS", func(*ui.SignIn) {}, true, "", "__Host-redoubt"},
		{"behind a trusted proxy", proxy, false, "https", "__Host-redoubt"},
		{"with a public address of https", always, false, "", "__Host-redoubt"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newSignInSite(t, c.change)
			d.user(d.org, "ada", model.RoleAdmin)
			b := d.browser()
			b.https = c.https
			if c.header != "" {
				b.header["X-Forwarded-Proto"] = c.header
			}
			set := b.signsIn("ada", goodPassword, "/").Cookies()
			if len(set) != 1 {
				t.Fatalf("%d cookies", len(set))
			}
			k := set[0]
			if k.Name != c.want || !k.HttpOnly || k.SameSite != http.SameSiteLaxMode || k.Path != "/" || k.Domain != "" ||
				k.Secure != strings.HasPrefix(c.want, "__Host-") || len(k.Value) != 52 || k.MaxAge != 7*24*3600 {
				t.Errorf("the cookie is %v", k)
			}
			b.wants("with it", b.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusOK, "")
		})
	}
}

func TestSignInReplacesSession(t *testing.T) {
	d := newSignInSite(t)
	ada, eve := d.user(d.org, "ada", model.RoleAdmin), d.user(d.org, "eve", model.RoleViewer)
	b := d.browserAs(eve) // planted by eve
	planted := b.cookies["redoubt"]
	b.wants("sign-in", b.signsIn("ada", goodPassword, "/"), http.StatusSeeOther, "/")
	if b.cookies["redoubt"] == planted {
		t.Error("the session reuses a planted secret")
	}
	if v, err := d.signIn.Sessions.Authenticate(t.Context(), planted); err == nil {
		t.Errorf("the planted session still works as %s", v.User.Name)
	}
	first := b.cookies["redoubt"]
	b.wants("sign-in again", b.signsIn("ada", goodPassword, "/"), http.StatusSeeOther, "/")
	list, err := d.store.Sessions(t.Context(), ada.ID)
	if err != nil || len(list) != 1 || b.cookies["redoubt"] == first {
		t.Errorf("after signing in twice there are %d sessions, %v", len(list), err)
	}
	made := d.browser()
	made.cookies["redoubt"] = strings.Repeat("a", 52)
	made.wants("a made-up cookie", made.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
}

func TestNextURLStaysOnServer(t *testing.T) {
	d := newSignInSite(t)
	d.user(d.org, "ada", model.RoleAdmin)
	for next, want := range map[string]string{
		"/orgs/acme/findings?a=b#c":    "/orgs/acme/findings?a=b#c",
		"https://evil.example/":        "/",
		"//evil.example/":              "/",
		`/\evil.example/`:              "/",
		`\\evil.example`:               "/",
		"/\t/evil.example":             "/",
		"javascript:alert(1)":          "/",
		"evil":                         "/",
		"":                             "/",
		"/%zz":                         "/",
		"/ok\r\nSet-Cookie: a=b":       "/",
		"/orgs/acme?x=//evil.example/": "/orgs/acme?x=//evil.example/",
	} {
		d.clock.Advance(60e9) // avoids the rate limit
		b := d.browser()
		b.wants(next, b.signsIn("ada", goodPassword, next), http.StatusSeeOther, want)
	}
}

func TestOtherSitesCannotSignIn(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	b := d.browserAs(ada)
	for _, r := range web.Routes() {
		if r.Method != http.MethodPost {
			continue
		}
		address := fill(r.Pattern)
		req := httptest.NewRequestWithContext(t.Context(), r.Method, address, strings.NewReader("name=ada"))
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Sec-Fetch-Site", "cross-site")
		req.AddCookie(&http.Cookie{Name: "redoubt", Value: b.cookies["redoubt"]})
		w := httptest.NewRecorder()
		d.pages.ServeHTTP(w, req)
		if w.Code != http.StatusForbidden || len(w.Result().Cookies()) > 0 {
			t.Errorf("POST %s from another site returns %d", address, w.Code)
		}
	}
}

var wildcard = regexp.MustCompile(`\{[^}]*\}`)

// fill returns an address that matches a pattern.
func fill(pattern string) string {
	pattern = strings.ReplaceAll(strings.ReplaceAll(pattern, "{$}", ""), "{deployment}", "acme")
	return wildcard.ReplaceAllString(pattern, "1")
}

// TestRoleMatrix requests all routes without a session, with each role, and as the administrator of
// another deployment. Each request has a separate session, as some end it.
func TestRoleMatrix(t *testing.T) {
	d := newSignInSite(t)
	noise, err := d.store.Deployment(t.Context(), storetest.Noise)
	if err != nil {
		t.Fatal(err)
	}
	d.user(d.org, "chief", model.RoleAdmin) // so that no request is rejected for the last administrator
	users := map[model.Role]model.User{}
	for _, role := range model.Roles() {
		users[role] = d.user(d.org, "a-"+role.String(), role)
	}
	stranger := d.user(noise, "stranger", model.RoleAdmin)
	for _, r := range web.Routes() {
		if r.Role == ui.Anyone {
			continue
		}
		address := fill(r.Pattern)
		request := func(b *browserOf) answer {
			if r.Method == http.MethodPost {
				return b.do(r.Method, address, url.Values{})
			}
			return b.do(r.Method, address, nil)
		}
		if a := request(d.browser()); !strings.HasPrefix(a.Header.Get("Location"), "/login") {
			t.Errorf("%s %s returns %d without a session", r.Method, address, a.StatusCode)
		}
		for role, u := range users {
			a := request(d.browserAs(u))
			refused := a.StatusCode == http.StatusForbidden
			if refused != (role < r.Role) || a.StatusCode >= http.StatusInternalServerError {
				t.Errorf("%s %s returns %d to a %s, its minimum role is %s\n%s", r.Method, address, a.StatusCode, role, r.Role, d.log.String())
			}
		}
		if a := request(d.browserAs(stranger)); strings.Contains(r.Pattern, "{deployment}") && a.StatusCode != http.StatusNotFound {
			t.Errorf("%s %s returns %d to the admin of another deployment", r.Method, address, a.StatusCode)
		}
	}
}

func TestSignInRateLimit(t *testing.T) {
	d := newSignInSite(t)
	d.user(d.org, "ada", model.RoleAdmin)
	b := d.browser()
	var last answer
	for range 11 {
		last = b.signsIn("ada", "guess", "/")
	}
	b.wants("the eleventh try", last, http.StatusTooManyRequests, "")
	containsAll(t, textAt(t, last.text, "main [role=alert]"), "30")
	if last.Header.Get("Retry-After") != "30" {
		t.Errorf("Retry-After is %q", last.Header.Get("Retry-After"))
	}
}

func TestClientAddressesComeFromTrustedProxies(t *testing.T) {
	s := &ui.SignIn{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}}
	for _, c := range []struct{ remote, forwarded, want string }{
		{"203.0.113.5:1", "", "203.0.113.5"},
		{"203.0.113.5:1", "1.2.3.4", "203.0.113.5"}, // the header comes from no trusted proxy
		{"10.0.0.1:1", "203.0.113.5", "203.0.113.5"},
		{"10.0.0.1:1", "6.6.6.6, 203.0.113.5, 10.0.0.2", "203.0.113.5"}, // the client can set the first address
		{"10.0.0.1:1", "6.6.6.6, <script>", "10.0.0.1"},
		{"10.0.0.1:1", "", "10.0.0.1"},
		{"[::ffff:10.0.0.1]:1", "2001:db8::1", "2001:db8::1"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), http.MethodGet, "/", nil)
		r.RemoteAddr = c.remote
		if c.forwarded != "" {
			r.Header.Set("X-Forwarded-For", c.forwarded)
		}
		if got := s.Origin(r).Address; got != c.want {
			t.Errorf("%s with %q is %s, want %s", c.remote, c.forwarded, got, c.want)
		}
	}
}

func TestUserWithoutRoleSeesNotice(t *testing.T) {
	d := newSignInSite(t)
	d.user(d.org, "chief", model.RoleAdmin)
	u := d.user(d.org, "ada", model.RoleViewer)
	err := d.store.Update(t.Context(), d.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		return tx.SetRole(ctx, u.ID, model.RoleNone)
	})
	if err != nil {
		t.Fatal(err)
	}
	b := d.browserAs(u)
	a := b.do(http.MethodGet, "/", nil)
	b.wants("no role", a, http.StatusForbidden, "")
	containsAll(t, textAt(t, a.text, ".fault[role=alert]"), "redoubt user role")
}

// TestInvalidTextIsRejected checks that zero bytes and invalid UTF-8 are rejected as client errors.
// The store does not accept them, and one engine fails when queried for them.
func TestInvalidTextIsRejected(t *testing.T) {
	d := newSignInSite(t)
	d.user(d.org, "ada", model.RoleAdmin)
	b := d.browser()
	b.wants("a name", b.signsIn("ada\x00", goodPassword, "/"), http.StatusBadRequest, "")
	b.wants("in", b.signsIn("ada", goodPassword, "/"), http.StatusSeeOther, "/")
	for address, status := range map[string]int{
		"/orgs/acme/settings/audit?action=%00": http.StatusBadRequest,
		"/orgs/acme/settings/audit?kind=%ff":   http.StatusBadRequest,
		"/orgs/acme/sbom/%00/download":         http.StatusNotFound,
		"/orgs/acme/approve/a%ff":              http.StatusNotFound,
	} {
		b.wants(address, b.do(http.MethodGet, address, nil), status, "")
	}
	b.wants("a form", b.do(http.MethodPost, "/orgs/acme/settings/users", url.Values{"name": {"bob"}, "display_name": {"B\xff"}, "role": {"viewer"}}), http.StatusBadRequest, "")
}
