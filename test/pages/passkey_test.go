package pages

import (
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/cdp"
	"github.com/chromedp/cdproto/webauthn"
	"github.com/chromedp/chromedp"
	"github.com/pquerna/otp/totp"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// authenticator is a browser with a virtual authenticator.
type authenticator struct {
	*browser
	id webauthn.AuthenticatorID
}

// call sends a command of the DevTools protocol to a browser.
func call[P, R any](b *browser, command cdp.Command[P, R], params P) (result R) {
	b.t.Helper()
	b.do(chromedp.Func(func(ctx context.Context, t *chromedp.Target) (err error) {
		result, err = cdp.Call(ctx, t, command, params)
		return err
	}))
	return result
}

// withPasskeys enables passkeys at the browser's address and opens a browser with an authenticator
// that verifies its user.
func (d *signInSite) withPasskeys() authenticator {
	d.t.Helper()
	b := d.browse(1280, 900)
	b.url = strings.Replace(b.url, "127.0.0.1", "localhost", 1)
	var err error
	if d.signIn.Passkeys, err = auth.NewPasskeys(b.url, d.signIn.Factors, d.store); err != nil {
		d.t.Fatal(err)
	}
	call(b, webauthn.Enable, webauthn.EnableParams{})
	made := call(b, webauthn.AddVirtualAuthenticator, webauthn.AddVirtualAuthenticatorParams{Options: &webauthn.VirtualAuthenticatorOptions{
		Protocol: webauthn.AuthenticatorProtocolCtap2, Transport: webauthn.AuthenticatorTransportInternal,
		HasResidentKey: true, HasUserVerification: true, IsUserVerified: true, AutomaticPresenceSimulation: true,
	}})
	return authenticator{b, made.AuthenticatorID}
}

// at navigates to a page below no deployment.
func (a authenticator) at(path, until string) {
	a.t.Helper()
	a.do(chromedp.Navigate(a.url+path), chromedp.WaitVisible(until))
}

// entersPassword signs in with name and password, without a second factor.
func (a authenticator) entersPassword(then string) {
	a.t.Helper()
	a.at("/login", "#password")
	a.do(chromedp.SendKeys("#name", "ada"), chromedp.SendKeys("#password", goodPassword))
	a.submitForm("form[action='/login'] .primary", then)
}

// signsOut ends the session in the browser.
func (a authenticator) signsOut() {
	a.t.Helper()
	a.at("/second-factor", "form[action='/logout'] button")
	a.submitForm("form[action='/logout'] button", "form[action='/login'] #password")
}

// accessible checks the current page with axe.
func (a authenticator) accessible(page string) {
	a.t.Helper()
	a.run(axe)
	for _, fault := range a.axe(allRules) {
		a.t.Errorf("%s: %s", page, fault)
	}
	a.run(`document.documentElement.dataset.theme = "dark"`)
	for _, fault := range a.axe(colourRules) {
		a.t.Errorf("%s, dark: %s", page, fault)
	}
	a.checkWidth(page, 1280)
}

// TestSecondFactorsInBrowser sets up an authenticator app and a passkey, and signs in with each of
// them.
func TestSecondFactorsInBrowser(t *testing.T) {
	d := newSignInSite(t)
	d.user(d.org, "ada", model.RoleAdmin)
	a := d.withPasskeys()
	a.entersPassword(".who")
	a.at("/second-factor", "h1")
	a.accessible("without a second factor")
	a.submitForm("a[href^='/second-factor/app']", ".qr")
	a.accessible("the secret")
	code := func() string {
		secret := strings.ReplaceAll(read[string](a.browser, "document.querySelector('.secret').textContent"), " ", "")
		text, err := totp.GenerateCode(secret, d.clock.Now())
		if err != nil {
			t.Fatal(err)
		}
		return text
	}
	a.do(chromedp.SendKeys("#code", code()))
	a.submitForm("form .primary", "pre.command")
	a.accessible("the recovery codes")
	recovery := codeText.FindAllString(read[string](a.browser, "document.querySelector('pre.command').textContent"), -1)

	a.at("/second-factor/passkeys", "[data-ask]:not([hidden])")
	a.accessible("adding a passkey")
	a.do(chromedp.SendKeys("#name", "laptop"))
	a.submitForm("[data-ask]", ".say.good")
	a.accessible("with both")
	a.at("/second-factor/passkeys", "[data-ask]:not([hidden])")
	a.do(chromedp.SendKeys("#name", "laptop again"))
	a.submitForm("[data-ask]", "form [role=alert][data-say=InvalidStateError]:not([hidden])")

	a.signsOut()
	a.do(chromedp.WaitVisible("[data-ask]:not([hidden])"))
	a.accessible("the sign-in")
	a.submitForm("[data-ask]", ".who")
	containsAll(t, read[string](a.browser, "document.querySelector('.who').textContent"), "ada")
	a.signsOut()
	a.entersPassword("#code")
	a.do(chromedp.WaitVisible("[data-ask]:not([hidden])"))
	a.accessible("the code")
	a.submitForm("[data-ask]", ".who")
	a.open("/account")
	a.do(chromedp.WaitVisible("[data-method='password and passkey']"))
	a.signsOut()
	a.entersPassword("#code")
	a.do(chromedp.SendKeys("#code", recovery[0]))
	a.submitForm("form .primary", ".who")
}

// passkeyForm starts the passkey request and returns the form that the page would have sent.
func (a authenticator) passkeyForm() url.Values {
	a.t.Helper()
	form := "document.querySelector('form[data-passkey]')"
	a.do(chromedp.WaitVisible("[data-ask]:not([hidden])"))
	a.run(form + ".requestSubmit = () => { " + form + ".id = 'asked' }")
	a.submitForm("[data-ask]", "#asked")
	return url.Values{"sealed": {read[string](a.browser, form+".elements.sealed.value")}, "answer": {read[string](a.browser, form+".elements.answer.value")}}
}

// TestPasskeyAssertionWorksOnce checks that a signed response works once, only for its challenge, and only
// with an increased counter.
func TestPasskeyAssertionWorksOnce(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	a := d.withPasskeys()
	a.entersPassword(".who")
	a.at("/second-factor/passkeys", "[data-ask]:not([hidden])")
	a.do(chromedp.SendKeys("#name", "key"))
	made := a.passkeyForm()
	made.Set("name", "key")
	eve := d.browserAs(d.user(d.org, "eve", model.RoleAdmin))
	eve.wants("a key of another user", eve.do(http.MethodPost, "/second-factor/passkeys", made), http.StatusBadRequest, "")
	a.at("/second-factor/passkeys", "[data-ask]:not([hidden])")
	a.do(chromedp.SendKeys("#name", "key"))
	a.submitForm("[data-ask]", "pre.command") // the first second factor creates recovery codes
	a.signsOut()

	for what, change := range map[string]func(url.Values){
		"nothing":          func(v url.Values) { v.Del("answer") },
		"of another page":  func(v url.Values) { v.Set("sealed", made.Get("sealed")) },
		"with another key": func(v url.Values) { v.Set("answer", strings.Replace(v.Get("answer"), `"rawId":"`, `"rawId":"AAAA`, 1)) },
		"with another signature": func(v url.Values) {
			v.Set("answer", strings.Replace(v.Get("answer"), `"signature":"`, `"signature":"AAAA`, 1))
		},
		"for a sign-in by a password": func(v url.Values) { v.Set("code", "1") },
	} {
		d.clock.Advance(time.Minute)
		a.at("/login", "#password")
		v := a.passkeyForm()
		change(v)
		b := d.browser()
		if what == "for a sign-in by a password" {
			b.signsIn("ada", goodPassword, "/")
			b.wants(what, b.do(http.MethodPost, "/login/code", v), http.StatusUnauthorized, "")
			continue
		}
		b.wants(what, b.do(http.MethodPost, "/login/passkey", v), http.StatusUnauthorized, "")
	}
	d.clock.Advance(time.Minute)
	a.at("/login", "#password")
	v := a.passkeyForm()
	b := d.browser()
	b.wants("as requested", b.do(http.MethodPost, "/login/passkey", v), http.StatusSeeOther, "/")
	shows(t, b.page("/account"), "[data-method=passkey]")
	b.wants("again", d.browser().do(http.MethodPost, "/login/passkey", v), http.StatusUnauthorized, "")
	a.at("/login", "#password")
	late := a.passkeyForm()
	d.clock.Advance(15 * time.Minute)
	b.wants("too late", d.browser().do(http.MethodPost, "/login/passkey", late), http.StatusUnauthorized, "")

	yes := true
	call(a.browser, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: a.id, IsBadUV: &yes})
	a.at("/login", "#password")
	b.wants("without its user verified", d.browser().do(http.MethodPost, "/login/passkey", a.passkeyForm()), http.StatusUnauthorized, "")
	call(a.browser, webauthn.SetResponseOverrideBits, webauthn.SetResponseOverrideBitsParams{AuthenticatorID: a.id})
	d.clock.Advance(10 * time.Minute)
	a.entersPassword("#code")
	second := a.passkeyForm()
	c := d.browser()
	c.signsIn("ada", goodPassword, "/")
	c.wants("by a password of another sign-in", c.do(http.MethodPost, "/login/code", second), http.StatusUnauthorized, "")
	c.wants("after the password", d.browser().do(http.MethodPost, "/login/passkey", second), http.StatusUnauthorized, "")

	all := call(a.browser, webauthn.GetCredentials, webauthn.GetCredentialsParams{AuthenticatorID: a.id})
	if len(all.Credentials) != 1 {
		t.Fatalf("the authenticator has %d keys", len(all.Credentials))
	}
	old := all.Credentials[0]
	call(a.browser, webauthn.ClearCredentials, webauthn.ClearCredentialsParams{AuthenticatorID: a.id})
	a.do(chromedp.Func(func(ctx context.Context, to *chromedp.Target) error { // some versions of Chromium reject a field of the package's type
		return to.Call(ctx, webauthn.CommandAddCredential, map[string]any{"authenticatorId": a.id, "credential": map[string]any{
			"credentialId": old.CredentialID, "isResidentCredential": true, "rpId": old.RpID, "privateKey": old.PrivateKey, "userHandle": old.UserHandle, "signCount": 0,
		}}, &struct{}{})
	}))
	a.at("/login", "#password")
	a.submitForm("[data-ask]", "main > .say.bad[role=alert]")
	trail := d.trail()
	last := trail[len(trail)-1]
	if last.Action != "user.sign_in_failed" || slices.ContainsFunc(trail[:len(trail)-1], func(e model.AuditEvent) bool { return e.After == last.After }) {
		t.Errorf("the audit log ends with %+v, want a distinct reason", last)
	}
	if err := d.store.ResetSecondFactor(t.Context(), ada.ID, nil, ada.Actor()); err != nil {
		t.Fatal(err)
	}
	d.clock.Advance(time.Minute)
	a.at("/login", "#password")
	b.wants("after it was removed", d.browser().do(http.MethodPost, "/login/passkey", a.passkeyForm()), http.StatusUnauthorized, "")
}

func TestPasskeysRequirePublicURL(t *testing.T) {
	d := newSignInSite(t)
	b := d.browserAs(d.user(d.org, "ada", model.RoleAdmin))
	containsAll(t, b.do(http.MethodGet, ui.SecondFactorPath, nil).text, "--public-url")
	b.wants("to add one", b.do(http.MethodGet, "/second-factor/passkeys", nil), http.StatusSeeOther, ui.SecondFactorPath)
	b.wants("to sign in by one", d.browser().do(http.MethodPost, "/login/passkey", nil), http.StatusNotFound, "")
	hides(t, d.browser().do(http.MethodGet, "/login", nil).text, "[data-passkey]", "[data-ask]")
}
