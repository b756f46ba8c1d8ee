package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// eachSignInSite runs a test for each engine, on a site with sign-in and a second deployment.
func eachSignInSite(t *testing.T, fn func(*testing.T, *signInSite, model.Deployment)) {
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			other, err := s.Deployment(t.Context(), storetest.Noise)
			if err != nil {
				t.Fatal(err)
			}
			fn(t, withSignIn(t, siteOf(t, clock, s, storetest.Deployment(t, s))), other)
		})
	}
}

var (
	anyTime = regexp.MustCompile(`<time[^>]*>[^<]*</time>|\d{4}-\d\d-\d\d[ T]\d\d:\d\d(:\d\dZ| UTC)`)
	anyLink = regexp.MustCompile(`(%2f)?[a-z2-7]{52}`)
	anyID   = regexp.MustCompile(`(made=|invitations/)\d+`)
)

// normalizedText returns a response without its name and all values that differ between responses.
func normalizedText(a answer, name string) string {
	text := strings.ReplaceAll(a.Header.Get("Location")+"\n"+a.text, name, "NAME")
	return anyID.ReplaceAllString(anyLink.ReplaceAllString(anyTime.ReplaceAllString(text, "TIME"), "CODE"), "$1 1")
}

// TestUserNamesOfOtherDeploymentsAreHidden checks that an administrator receives the same responses for a
// name in use by another deployment and for an unused name.
func TestUserNamesOfOtherDeploymentsAreHidden(t *testing.T) {
	answers := map[string][]string{}
	for _, name := range []string{"tri-taken", "tri-fresh"} {
		eachSignInSite(t, func(t *testing.T, d *signInSite, other model.Deployment) {
			tri := d.user(other, "tri-taken", model.RoleTriager)
			his := d.browserAs(tri)
			b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
			record := func(a answer) { answers[name] = append(answers[name], normalizedText(a, name)) }
			made := b.submit("/settings/users", url.Values{"name": {name}, "display_name": {"T"}, "role": {"triager"}})
			record(made)
			page := b.follow(made)
			record(page)
			link := joinText.FindString(page.text)
			guest := d.browser()
			record(guest.do(http.MethodGet, link, nil))
			record(guest.do(http.MethodPost, link, url.Values{"password": {"short"}, "again": {"short"}}))
			record(b.submit("/settings/users", url.Values{"name": {name}, "role": {"admin"}})) // replaces the first
			record(guest.do(http.MethodGet, link, nil))
			id := regexp.MustCompile(`invitations/\d+`).FindString(b.page("/settings/users"))
			for _, path := range []string{"role", "link", "disable", "enable"} {
				record(b.submit("/settings/users/"+name+"/"+path, url.Values{"role": {"none"}}))
			}
			record(b.submit("/settings/"+id+"/withdraw", nil))
			record(b.do(http.MethodGet, "/orgs/acme/settings/audit?kind=user&id="+name, nil))
			link = joinText.FindString(b.follow(b.submit("/settings/users", url.Values{"name": {name}, "role": {"viewer"}})).text)
			record(guest.do(http.MethodPost, link, url.Values{"password": {goodPassword}, "again": {goodPassword}}))
			if _, err := d.store.User(t.Context(), name+"@acme"); err != nil {
				t.Errorf("the link created no user: %v", err)
			}
			his.wants("his page", his.do(http.MethodGet, "/", nil), http.StatusSeeOther, "/orgs/noise/overview")
		})
	}
	if diff := cmp.Diff(answers["tri-taken"], answers["tri-fresh"]); diff != "" {
		t.Errorf("the response differs for a name that exists elsewhere (-taken +fresh):\n%s", diff)
	}
}

func TestUserJoinsByAcceptingInvitation(t *testing.T) {
	eachSignInSite(t, func(t *testing.T, d *signInSite, other model.Deployment) {
		tri := d.user(other, "tri", model.RoleTriager)
		admin, his := d.browserAs(d.user(d.org, "ada", model.RoleAdmin)), d.browserAs(tri)
		invite := func() { admin.submit("/settings/users", url.Values{"name": {"Tri"}, "role": {"triager"}}) }
		invite()
		his.wants("before", his.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusNotFound, "")
		his.wants("his page", his.do(http.MethodGet, "/", nil), http.StatusSeeOther, "/orgs/noise/overview")
		shows(t, his.do(http.MethodGet, "/orgs/noise/account", nil).text, `a[href="/invitations"][data-count="1"]`)
		list := his.do(http.MethodGet, "/invitations", nil)
		containsAll(t, list.text, "ada", "acme", "triager")
		checkInline(t, list.text)
		path := regexp.MustCompile(`/invitations/\d+`).FindString(list.text)

		stranger := d.browserAs(d.user(other, "stranger", model.RoleAdmin))
		stranger.wants("accepted by another", stranger.do(http.MethodPost, path+"/accept", nil), http.StatusNotFound, "")
		stranger.wants("declined by another", stranger.do(http.MethodPost, path+"/decline", nil), http.StatusNotFound, "")
		anonymous := d.browser()
		anonymous.wants("without a session", anonymous.do(http.MethodPost, path+"/accept", nil), http.StatusSeeOther, "/login")
		anonymous.wants("the list, without a session", anonymous.do(http.MethodGet, "/invitations", nil), http.StatusSeeOther, "/login?next=%2Finvitations")

		his.wants("declined", his.do(http.MethodPost, path+"/decline", nil), http.StatusSeeOther, "/invitations")
		his.wants("accepted after that", his.do(http.MethodPost, path+"/accept", nil), http.StatusNotFound, "")
		if name := textAt(t, admin.page("/settings/users"), `tr:has(form[action$="/withdraw"]) td:first-child`); name != "tri" {
			t.Errorf("%q is invited", name)
		}
		invite()
		path = regexp.MustCompile(`/invitations/\d+`).FindString(his.do(http.MethodGet, "/invitations", nil).text)
		his.wants("accepted", his.do(http.MethodPost, path+"/accept", nil), http.StatusSeeOther, "/orgs/acme/overview")
		his.wants("after that", his.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusOK, "")

		admin.wants("another role", admin.submit("/settings/users/tri/role", url.Values{"role": {"viewer"}}), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-role")
		his.wants("in the other deployment", his.do(http.MethodGet, "/orgs/noise/overview", nil), http.StatusOK, "")
		shows(t, his.do(http.MethodGet, "/orgs/acme/overview", nil).text, signedIn("tri", "viewer"))
		admin.wants("no role", admin.submit("/settings/users/tri/role", url.Values{"role": {"none"}}), http.StatusSeeOther, "/orgs/acme/settings/users?done=user-removed")
		his.wants("in the other deployment", his.do(http.MethodGet, "/orgs/noise/overview", nil), http.StatusOK, "")
		his.wants("here", his.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusNotFound, "")
	})
}

// signedIn selects the element that shows the signed-in user and role.
func signedIn(name, role string) string {
	return `.who [data-user="` + name + `"][data-role=` + role + `]`
}

// TestFormErrorsQuoteInput checks that error messages name fields in words and quote the input
// unchanged.
func TestFormErrorsQuoteInput(t *testing.T) {
	d := newSignInSite(t)
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	for name, want := range map[string]string{
		"zoe_x y":                 `"zoe_x y"`,
		strings.Repeat("z", 99):   "@acme",
		"zoe_b" + "\u202e" + "ob": "",
	} {
		a := b.submit("/settings/users", url.Values{"name": {name}, "role": {"viewer"}})
		b.wants(name, a, http.StatusBadRequest, "")
		containsAll(t, textAt(t, a.text, "main [role=alert]"), want)
		if preserved, _ := document(t, a.text).Find("input[name=name]").Attr("value"); preserved != name {
			t.Errorf("for %q the form preserves %q", name, preserved)
		}
	}
	long := b.submit("/settings/users", url.Values{"name": {"zoe"}, "display_name": {strings.Repeat("z", 101)}, "role": {"viewer"}})
	b.wants("a long name", long, http.StatusBadRequest, "")
	message := textAt(t, long.text, "main [role=alert]")
	containsAll(t, message, "101")
	lacks(t, message, "display_name")
	shows(t, long.text, `input[name=display_name][value="`+strings.Repeat("z", 101)+`"]`)
	guessed := b.submit("/account/password", url.Values{"current": {goodPassword}, "password": {"acme acme 2026"}, "again": {"acme acme 2026"}})
	b.wants("the name of a deployment", guessed, http.StatusBadRequest, "")
}

// TestSingleDeploymentCreatesUsersDirectly checks that a server with one deployment creates users
// without an invitation.
func TestSingleDeploymentCreatesUsersDirectly(t *testing.T) {
	clock := storetest.NewClock()
	s, err := store.Open(t.Context(), store.Config{Dir: t.TempDir(), Clock: clock.Now})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	d := withSignIn(t, siteOf(t, clock, s, storetest.Deployment(t, s)))
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	page := b.follow(b.submit("/settings/users", url.Values{"name": {"ben"}, "role": {"viewer"}}))
	link := linkText.FindString(page.text)
	ben := d.browser()
	ben.wants("the link", ben.do(http.MethodPost, link, url.Values{"password": {goodPassword}, "again": {goodPassword}}), http.StatusSeeOther, "/")
	shows(t, ben.do(http.MethodGet, "/orgs/acme/overview", nil).text, signedIn("ben", "viewer"))
	twice := b.submit("/settings/users", url.Values{"name": {"ben"}, "role": {"admin"}})
	b.wants("a member", twice, http.StatusBadRequest, "")
	containsAll(t, textAt(t, twice.text, "main [role=alert]"), "ben")
	b.submit("/settings/users/ben/role", url.Values{"role": {"none"}})
	containsAll(t, textAt(t, b.follow(b.submit("/settings/users", url.Values{"name": {"ben"}, "role": {"viewer"}})).text, "[data-say=invited] h2"), "ben")
}

// TestSignedInUserAcceptsInvitationLink checks that a signed-in user accepts an invitation link with
// their account.
func TestSignedInUserAcceptsInvitationLink(t *testing.T) {
	d := newSignInSite(t)
	admin := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	other, err := d.store.Deployment(t.Context(), storetest.Noise)
	if err != nil {
		t.Fatal(err)
	}
	link := joinText.FindString(admin.follow(admin.submit("/settings/users", url.Values{"name": {"newcomer"}, "role": {"viewer"}})).text)
	guest := d.browser()
	page := guest.do(http.MethodGet, link, nil)
	containsAll(t, page.text, strings.ReplaceAll("/login?next="+link, "/join/", "%2fjoin%2f"), "newcomer@acme")
	checkInline(t, page.text)
	shows(t, page.text, "input[name=password]")
	tri := d.browserAs(d.user(other, "tri", model.RoleTriager))
	accept := tri.do(http.MethodGet, link, nil).text
	containsAll(t, textAt(t, accept, "form button.primary"), "tri")
	hides(t, accept, "input[name=password]")
	tri.wants("accepted", tri.do(http.MethodPost, link, nil), http.StatusSeeOther, "/orgs/acme/overview")
	shows(t, tri.do(http.MethodGet, "/orgs/acme/overview", nil).text, signedIn("tri", "viewer"))
	guest.wants("once more", guest.do(http.MethodGet, link, nil), http.StatusNotFound, "")
}

// TestUsersWithoutRoleSeeInvitations checks that users without roles are redirected to their
// invitations.
func TestUsersWithoutRoleSeeInvitations(t *testing.T) {
	d := newSignInSite(t)
	admin := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	eve := d.browserAs(d.user(d.org, "eve", model.RoleViewer))
	admin.submit("/settings/users/eve/role", url.Values{"role": {"none"}})
	eve.wants("without one", eve.do(http.MethodGet, "/", nil), http.StatusForbidden, "")
	admin.submit("/settings/users", url.Values{"name": {"eve"}, "role": {"viewer"}})
	eve.wants("with one", eve.do(http.MethodGet, "/", nil), http.StatusSeeOther, "/invitations")
}

func TestDeploymentSelection(t *testing.T) {
	eachSignInSite(t, func(t *testing.T, d *signInSite, other model.Deployment) {
		tri := d.user(other, "tri", model.RoleTriager)
		d.user(d.org, "ada", model.RoleAdmin)
		d.mustJoin(tri, d.org, model.RoleTriager)
		b := d.browserAs(tri)
		b.wants("/", b.do(http.MethodGet, "/", nil), http.StatusSeeOther, "/choose?next=%2F")
		page := b.do(http.MethodGet, "/choose?next=%2F", nil)
		containsAll(t, page.text, `value="acme"`, `value="noise"`)
		checkInline(t, page.text)
		choose := func(slug, next string) answer {
			return b.do(http.MethodPost, "/choose", url.Values{"deployment": {slug}, "next": {next}})
		}
		b.wants("without a role there", choose("nothing", "/"), http.StatusNotFound, "")
		b.wants("chosen", choose("noise", "/"), http.StatusSeeOther, "/orgs/noise/overview")
		b.wants("/ again", b.do(http.MethodGet, "/", nil), http.StatusSeeOther, "/orgs/noise/overview")
		b.wants("their own page", b.do(http.MethodGet, "/orgs/-/scans", nil), http.StatusSeeOther, "/orgs/noise/scans")

		approve := "/orgs/-/approve/ABCD-2345"
		b.wants("a scanner", b.do(http.MethodGet, approve, nil), http.StatusSeeOther, "/choose?next=%2Forgs%2F-%2Fapprove%2FABCD-2345")
		shows(t, b.do(http.MethodGet, "/choose?next=%2Forgs%2F-%2Fapprove%2FABCD-2345", nil).text, "[data-say=scanner-asks]", "button[value=noise].primary")
		b.wants("a scanner, at once", b.do(http.MethodPost, approve, nil), http.StatusSeeOther, "/choose?next=%2F")
		b.wants("chosen for it", choose("acme", approve), http.StatusSeeOther, "/orgs/acme/approve/ABCD-2345")
		b.wants("elsewhere", choose("acme", "//evil.example"), http.StatusSeeOther, "/orgs/acme/overview")
		b.wants("of another one", choose("acme", "/orgs/noise/scans"), http.StatusSeeOther, "/orgs/acme/overview")

		d.mustJoin(tri, d.org, model.RoleNone)
		b.wants("with one left", b.do(http.MethodGet, approve, nil), http.StatusSeeOther, "/orgs/noise/approve/ABCD-2345")
	})
}
