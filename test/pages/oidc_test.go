package pages

import (
	"bufio"
	"html"
	"io"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth/sso"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// provided is a site with a real identity provider: npm's oidc-provider.
type provided struct {
	*signInSite
	url    string // of the pages
	issuer string
}

func newProvided(t *testing.T, change ...func(*sso.Config)) *provided {
	t.Helper()
	modules := os.Getenv("REDOUBT_TEST_NODE_MODULES")
	if modules == "" {
		t.Skip("REDOUBT_TEST_NODE_MODULES names no folder with oidc-provider: run make setup, which installs it into .cache/node, and make test")
	}
	p := &provided{signInSite: newSignInSite(t)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { p.pages.ServeHTTP(w, r) }))
	t.Cleanup(server.Close)
	p.url, p.issuer = server.URL, startProvider(t, modules, server.URL+"/login/oidc/callback")
	c := sso.Config{
		Issuer: p.issuer, ClientID: "redoubt", ClientSecret: "a secret of the tests", Title: "Acme SSO", Scopes: []string{"profile", "email", "groups"},
		GroupsClaim: "groups", Clock: time.Now,
		Rules: []sso.Rule{{Group: "lookers", Role: model.RoleViewer}, {Group: "sec", Deployment: "acme", Role: model.RoleTriager}, {Group: "chiefs", Deployment: "acme", Role: model.RoleAdmin}},
	}
	for _, f := range change {
		f(&c)
	}
	p.signIn.Provider = sso.New(c)
	return p
}

// startProvider runs the provider until the test ends and returns its URL.
func startProvider(t *testing.T, modules, redirect string) string {
	t.Helper()
	free, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	port := strconv.Itoa(free.Addr().(*net.TCPAddr).Port)
	if err := free.Close(); err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), "node", "testdata/provider.mjs", modules, port, redirect)
	stderr := &strings.Builder{}
	cmd.Stderr = stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have exited
		_ = cmd.Wait()
	})
	for lines := bufio.NewScanner(out); lines.Scan(); {
		if lines.Text() == "ready" {
			go func() { _, _ = io.Copy(io.Discard, out) }()
			return "http://127.0.0.1:" + port
		}
	}
	_ = cmd.Wait()
	t.Fatalf("the provider did not start:\n%s", stderr)
	return ""
}

// person returns a browser with separate cookies for the pages and the provider.
func (p *provided) person() *http.Client {
	jar, err := cookiejar.New(nil)
	if err != nil {
		p.t.Fatal(err)
	}
	return &http.Client{Jar: jar}
}

// seen is the final response to a browser.
type seen struct {
	status int
	url    string
	text   string
}

func (p *provided) read(res *http.Response, err error) seen {
	p.t.Helper()
	if err != nil {
		p.t.Fatal(err)
	}
	defer res.Body.Close()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return seen{res.StatusCode, res.Request.URL.String(), string(text)}
}

var formAction = regexp.MustCompile(`<form[^>]* action="([^"]*)"`)

// through signs in at the provider: first the user name, then consent.
func (p *provided) through(c *http.Client, login, next string) seen {
	p.t.Helper()
	return p.from(c, login, "/login/oidc?next="+url.QueryEscape(next))
}

// from is through, starting at an address of the site.
func (p *provided) from(c *http.Client, login, address string) seen {
	p.t.Helper()
	at := p.read(c.Get(p.url + address))
	for _, form := range []url.Values{{"prompt": {"login"}, "login": {login}, "password": {"any"}}, {"prompt": {"consent"}}} {
		action := formAction.FindStringSubmatch(at.text)
		if action == nil || !strings.HasPrefix(at.url, p.issuer) {
			break // the provider remembers both
		}
		to, err := url.Parse(at.url)
		if err == nil {
			to, err = to.Parse(html.UnescapeString(action[1]))
		}
		if err != nil {
			p.t.Fatal(err)
		}
		at = p.read(c.PostForm(to.String(), form))
	}
	return at
}

func TestSingleSignOnWithRealProvider(t *testing.T) {
	p := newProvided(t)
	p.user(p.org, "chief", model.RoleAdmin)
	ada := p.person()
	containsAll(t, textAt(t, p.read(ada.Get(p.url+"/login?next=/orgs/acme/account")).text, `a[href^="/login/oidc?next="]`), "Acme SSO")
	at := p.through(ada, "ada@example.com+sec+lookers", "/orgs/acme/account")
	if at.status != http.StatusOK || at.url != p.url+"/orgs/acme/account" {
		t.Fatalf("redirected to %s with %d: %s\n%s", at.url, at.status, at.text, p.log.String())
	}
	containsAll(t, at.text, "Name of ada@example.com", "/orgs/noise/overview")
	shows(t, at.text, signedIn("ada", "triager"), "[data-method=oidc]", "[data-say=no-password]")
	u, err := p.store.UserByIdentity(t.Context(), model.UserIdentity{Issuer: p.issuer, Subject: "ada@example.com+sec+lookers"})
	if err != nil || u.Name != "ada" || u.PasswordHash != "" {
		t.Errorf("the user is %+v, %v", u, err)
	}

	// A session at the provider counts as no proof; a forced authentication does.
	silent := p.from(ada, "ada@example.com+sec+lookers", "/login/oidc?next=%2Forgs%2Facme%2Faccount")
	hides(t, silent.text, "[data-method='oidc reauth']")
	renewed := p.from(ada, "ada@example.com+sec+lookers", "/login/oidc?again=1&next=%2Forgs%2Facme%2Faccount")
	shows(t, renewed.text, "[data-method='oidc reauth']")

	second := p.through(p.person(), "ada@example.com+sec+lookers", "/")
	if second.status != http.StatusOK || !strings.HasSuffix(second.url, "/choose?next=%2F") { // of two deployments
		t.Errorf("the second time it ends at %s with %d", second.url, second.status)
	}
	users, err := p.store.Users(t.Context())
	if err != nil || len(users) != 3 { // chief, noisy, ada
		t.Errorf("there are %d users, %v", len(users), err)
	}

	namesake := p.through(p.person(), "chief@elsewhere.example+sec", "/orgs/acme/account")
	shows(t, namesake.text, signedIn("chief-2", "triager"))

	for login, want := range map[string]string{
		"eve@example.com":         "",
		"eve@example.com+&lt;b+x": "&lt;b, x",
	} {
		at := p.through(p.person(), login, "/")
		if at.status != http.StatusForbidden || !strings.HasPrefix(at.url, p.url+"/login/oidc/callback") {
			t.Errorf("%s ends at %s with %d", login, at.url, at.status)
		}
		containsAll(t, textAt(t, at.text, "main [role=alert]"), "Acme SSO", want)
	}
	if _, err := p.store.User(t.Context(), "eve"); err == nil {
		t.Error("a person without a role became a user")
	}
	server, err := p.store.ServerEvents(t.Context(), 0, 10)
	if err != nil || len(server) != 2 || !strings.Contains(server[0].After, "(eve)") {
		t.Errorf("the server's trail is %v, %v", server, err)
	}

	if err := p.store.DisableUser(t.Context(), u.ID, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	disabled := p.through(p.person(), "ada@example.com+sec+lookers", "/")
	if disabled.status != http.StatusForbidden {
		t.Errorf("a disabled user ends with %d", disabled.status)
	}
	lacks(t, textAt(t, disabled.text, "main [role=alert]"), "Acme SSO") // this server refuses, and not the provider
}

func TestGroupsAreReadOnEverySignIn(t *testing.T) {
	p := newProvided(t)
	p.user(p.org, "chief", model.RoleAdmin)
	login := "ada@example.com+chiefs"
	shows(t, p.through(p.person(), login, "/orgs/acme/account").text, signedIn("ada", "admin"))
	p.signIn.Provider.Rules = []sso.Rule{{Group: "*", Deployment: "acme", Role: model.RoleViewer}}
	shows(t, p.through(p.person(), login, "/orgs/acme/account").text, signedIn("ada", "viewer"))
	p.signIn.Provider.Rules = nil
	containsAll(t, textAt(t, p.through(p.person(), login, "/orgs/acme/account").text, "main [role=alert]"), "Acme SSO", "chiefs")
	u, err := p.store.User(t.Context(), "ada")
	if err != nil {
		t.Fatal(err)
	}
	if list, err := p.store.Memberships(t.Context(), u.ID); err != nil || len(list) != 0 {
		t.Errorf("without groups there are still the roles %v, %v", list, err)
	}
}

func TestSSORequiresVerifiedDomainAddress(t *testing.T) {
	p := newProvided(t, func(c *sso.Config) { c.Domains = []string{"Example.com"} })
	for login, in := range map[string]bool{"ada@example.com+sec": true, "ada@example.com.evil.example+sec": false, "unconfirmed@example.com+sec": false} {
		at := p.through(p.person(), login, "/orgs/acme/account")
		if (at.status == http.StatusOK) != in {
			t.Errorf("%s ends at %s with %d", login, at.url, at.status)
		}
		if !in {
			containsAll(t, textAt(t, at.text, "main [role=alert]"), "Example.com")
		}
	}
}

func TestReturningUserKeepsIdentity(t *testing.T) {
	p := newProvided(t)
	victim := p.person()
	// A forged link, or one of another user's sign-in.
	for _, query := range []string{"?code=x&state=y", "", "?error=access_denied&error_description=" + url.QueryEscape("<b>no"), "?state=&code=x"} {
		at := p.read(victim.Get(p.url + "/login/oidc/callback" + query))
		if at.status != http.StatusForbidden {
			t.Errorf("%s: %d", query, at.status)
		}
		lacks(t, textAt(t, at.text, "main [role=alert]"), "Acme SSO", "access_denied") // no text of the link
	}
	// A canceled sign-in shows the provider's message as text.
	victim.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := victim.Get(p.url + "/login/oidc?next=/x")
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	left, err := url.Parse(res.Header.Get("Location"))
	if err != nil || left.Query().Get("code_challenge_method") != "S256" || left.Query().Get("nonce") == "" {
		t.Fatalf("sent to %v, %v", left, err)
	}
	for _, c := range res.Cookies() {
		if !c.HttpOnly || c.SameSite != http.SameSiteLaxMode || c.MaxAge != 600 {
			t.Errorf("the cookie is %v", c)
		}
	}
	at := p.read(victim.Get(p.url + "/login/oidc/callback?state=" + left.Query().Get("state") + "&error=access_denied&error_description=" + url.QueryEscape("<b>no")))
	containsAll(t, textAt(t, at.text, "main [role=alert]"), "Acme SSO", "access_denied", "<b>no")
	containsAll(t, at.text, "&lt;b&gt;no", `value="/x"`)
}

func TestUnreachableProvider(t *testing.T) {
	d := newSignInSite(t, func(s *ui.SignIn) {
		s.Provider = sso.New(sso.Config{Issuer: "http://127.0.0.1:1", ClientID: "redoubt", Title: "Acme SSO", Clock: time.Now})
	})
	b := d.browser()
	a := b.do(http.MethodGet, "/login/oidc?next=/orgs/acme/overview", nil)
	b.wants("the provider is down", a, http.StatusServiceUnavailable, "")
	containsAll(t, textAt(t, a.text, "main [role=alert]"), "Acme SSO")
	containsAll(t, textAt(t, a.text, `a[href^="/login/oidc?next="]`), "Acme SSO")
	containsAll(t, a.text, `value="/orgs/acme/overview"`)
	if !strings.Contains(d.log.String(), "127.0.0.1:1") {
		t.Errorf("the log does not name the provider: %s", d.log.String())
	}
}
