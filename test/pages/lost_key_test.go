package pages

import (
	"net/http"
	"net/url"
	"regexp"
	"strconv"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/keyring"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// replaceKeys restarts the server with another key file, as after redoubt key new.
func (d *signInSite) replaceKeys() {
	d.t.Helper()
	sealer, err := keyring.New(d.clock.Now()).Sealer("second factors")
	if err != nil {
		d.t.Fatal(err)
	}
	d.signIn.Factors = auth.NewSecondFactors(d.signIn.Sessions, d.store, sealer)
	if d.signIn.Passkeys, err = auth.NewPasskeys("https://redoubt.example", d.signIn.Factors, d.store); err != nil {
		d.t.Fatal(err)
	}
}

// TestUnreadableSecondFactorsAreReported checks the messages about an app and passkeys that can no
// longer be decrypted. The user can sign in with a recovery code or the help of an administrator.
func TestUnreadableSecondFactorsAreReported(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	d.user(d.org, "root", model.RoleAdmin)
	a := d.browserAs(ada).setUpApp()
	if _, err := d.store.AddPasskey(t.Context(), model.Passkey{UserID: ada.ID, CredentialID: []byte("id"), Credential: []byte("of another key"), Name: "laptop"}, nil, model.Session{}, nil); err != nil {
		t.Fatal(err)
	}
	d.replaceKeys()
	d.clock.Advance(time.Minute)
	b := d.browser()
	b.wants("the password", b.signsIn("ada", goodPassword, "/"), http.StatusSeeOther, "/login/code")
	page := b.do(http.MethodGet, "/login/code", nil)
	b.wants("the page for the code", page, http.StatusOK, "")
	shows(t, page.text, "[data-say=passkey-lost]", "input[name=code]")
	containsAll(t, page.text, "reset-2fa ada")
	lacks(t, page.text, "data-passkey")
	checkInline(t, page.text)
	wrong := b.entersCode(a.code(), "/")
	b.wants("a code of the app", wrong, http.StatusConflict, "")
	shows(t, wrong.text, "main [role=alert]", "input[name=code]")
	hides(t, wrong.text, "[data-say=passkey-lost]")
	shown := d.browser()
	containsAll(t, shown.do(http.MethodGet, "/login", nil).text, "data-passkey")
	b.wants("a recovery code", b.entersCode(a.recovery[0], "/"), http.StatusSeeOther, "/")
	causes := map[string]bool{} // of the passkey and of the app
	for _, m := range regexp.MustCompile(`level=ERROR .*cause=("[^"]*\bada\b[^"]*")`).FindAllStringSubmatch(d.log.String(), -1) {
		causes[m[1]] = true
	}
	if len(causes) != 2 {
		t.Errorf("the log is empty:\n%s", d.log.String())
	}

	b.wants("another passkey", b.do(http.MethodGet, "/second-factor/passkeys", nil), http.StatusOK, "")
	remove := url.Values{"password": {goodPassword}, "code": {a.code()}}
	no := b.do(http.MethodPost, ui.SecondFactorPath+"/remove", remove)
	b.wants("to remove by the app", no, http.StatusConflict, "")
	shows(t, no.text, "main [role=alert]")
	admin := d.browser()
	admin.wants("an admin", admin.signsIn("root", goodPassword, "/"), http.StatusSeeOther, "/")
	admin.wants("resets", admin.submit("/settings/users/ada/reset-2fa", nil), http.StatusSeeOther, "/orgs/acme/settings/users?done=second-factor-reset")
	b.wants("after it", d.browser().signsIn("ada", goodPassword, "/"), http.StatusSeeOther, "/")
}

// TestPasskeyCanBeRemovedWithoutPublicURL checks that an undecryptable passkey can be removed on a
// server without passkey support.
func TestPasskeyCanBeRemovedWithoutPublicURL(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	b := d.browserAs(ada)
	b.setUpApp()
	other := d.browser()
	secret, err := d.signIn.Sessions.Begin(t.Context(), ada.ID, "oidc reauth", auth.Origin{}, model.CheckedPassword{})
	if err != nil {
		t.Fatal(err)
	}
	other.cookies["redoubt"] = secret
	other.page("/overview")
	if _, err := d.store.AddPasskey(t.Context(), model.Passkey{UserID: ada.ID, CredentialID: []byte("id"), Credential: []byte("sealed"), Name: "laptop"}, nil, model.Session{}, nil); err != nil {
		t.Fatal(err)
	}
	list, err := d.store.Passkeys(t.Context(), ada.ID)
	if err != nil || len(list) != 1 {
		t.Fatal(list, err)
	}
	before := b.cookies["redoubt"]
	gone := b.do(http.MethodPost, "/second-factor/passkeys/"+strconv.FormatInt(list[0].ID, 10)+"/remove", nil)
	b.wants("removed", gone, http.StatusSeeOther, ui.SecondFactorPath+"?done=passkey-removed")
	if b.cookies["redoubt"] == before {
		t.Error("the session still works with its old secret")
	}
	shows(t, b.follow(gone).text, "[data-say=passkey-removed]")
	other.wants("another session", other.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
	old := d.browser()
	old.cookies["redoubt"] = before
	old.wants("the old secret", old.do(http.MethodGet, "/orgs/acme/overview", nil), http.StatusSeeOther, "/login?next=%2Forgs%2Facme%2Foverview")
}
