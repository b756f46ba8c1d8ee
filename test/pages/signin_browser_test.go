package pages

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/chromedp"

	"github.com/redoubt/redoubt/internal/auth"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// submitForm clicks a button and waits for an element of the next page.
func (b *browser) submitForm(button, then string) {
	b.t.Helper()
	b.do(chromedp.Click(button), chromedp.WaitVisible(then))
}

// TestFirstAdminInBrowser goes from the setup link to a token in a real browser, with its
// cookies, content security policy and cross-site checks.
func TestFirstAdminInBrowser(t *testing.T) {
	d := newSignInSite(t)
	code, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkSetup, Deployment: d.org.ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	b := d.browse(1280, 900)
	b.do(
		chromedp.Navigate(b.url+"/setup/"+code),
		chromedp.SendKeys("#name", "ada"), chromedp.SendKeys("#display_name", "Ada Lovelace"),
		chromedp.SendKeys("#new-password", goodPassword), chromedp.SendKeys("#again", goodPassword),
	)
	b.submitForm("form .primary", ".who")
	if got := read[string](b, "document.querySelector('.who').textContent"); !strings.Contains(got, "Ada Lovelace") {
		t.Fatalf("signed in as %q", got)
	}
	if cookie := read[string](b, "document.cookie"); cookie != "" {
		t.Errorf("scripts can read the cookie %q", cookie)
	}
	b.open("/settings/tokens")
	b.do(chromedp.SendKeys("#name", "pipeline"), chromedp.Click("input[name=ci]"))
	b.submitForm("form[action$='/settings/tokens'] .primary", "pre.command")
	text := read[string](b, "document.querySelector('pre.command').textContent")
	if _, sum, err := auth.ParseSecret(text); err != nil {
		t.Errorf("the page shows %q: %v", text, err)
	} else if _, err := d.store.TokenByHash(t.Context(), d.org.ID, sum); err != nil {
		t.Errorf("the token is missing: %v", err)
	}
	b.submitForm("form[action='/logout'] button", "#password")
	b.do(chromedp.Navigate(b.url+"/orgs/acme/settings/audit"), chromedp.WaitVisible("#password"),
		chromedp.SendKeys("#name", "ada@acme"), chromedp.SendKeys("#password", goodPassword)) // there is another deployment
	b.submitForm("form .primary", "table")
	if at := read[string](b, "location.pathname"); at != "/orgs/acme/settings/audit" {
		t.Errorf("the sign-in redirects to %s", at)
	}
}

// TestAccountPagesOnNarrowScreen checks that all account pages fit a small screen.
func TestAccountPagesOnNarrowScreen(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleAdmin)
	code, hash := auth.NewCode()
	l := model.UserLink{Kind: model.LinkSignIn, UserID: ada.ID, ExpiresAt: d.clock.Now().Add(time.Hour)}
	if err := d.store.CreateLink(t.Context(), l, hash, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	b := d.browse(390, 844)
	b.do(chromedp.EmulateViewport(390, 844), chromedp.Navigate(b.url+"/sign-in/"+code), chromedp.Click("main form button", chromedp.NodeVisible), chromedp.WaitVisible("nav"))
	for _, path := range []string{"/account", "/settings/tokens", "/settings/users", "/settings/audit", "/settings/about"} {
		b.open(path)
		b.checkWidth(path, 390)
	}
	a := d.browserAs(ada)
	a.setUpApp()
	b.do(chromedp.Navigate(b.url+"/login"), chromedp.WaitVisible("#password"))
	b.checkWidth("/login", 390)
	b.do(chromedp.SendKeys("#name", "ada"), chromedp.SendKeys("#password", goodPassword))
	b.submitForm("form .primary", "#code")
	b.checkWidth("/login/code", 390)
	if err := d.store.ResetSecondFactor(t.Context(), ada.ID, nil, storetest.Actor); err != nil {
		t.Fatal(err)
	}
	b.do(chromedp.Navigate(b.url+"/login"), chromedp.WaitVisible("#password"), chromedp.SendKeys("#name", "ada"), chromedp.SendKeys("#password", goodPassword))
	b.submitForm("form .primary", ".who")
	for path, until := range map[string]string{"/second-factor": "h1", "/second-factor/app": ".qr", "/second-factor/recovery-codes": "h1"} {
		b.do(chromedp.Navigate(b.url+path), chromedp.WaitVisible(until))
		b.checkWidth(path, 390)
	}
}

// checkWidth fails the test if a page is wider than the screen.
func (b *browser) checkWidth(page string, screen int) {
	b.t.Helper()
	if wide := read[int](b, "document.documentElement.scrollWidth"); wide > screen {
		b.t.Errorf("%s is %d wide on a screen of %d: %s", page, wide, screen,
			read[string](b, fmt.Sprintf("[...document.querySelectorAll(\"*\")].filter(e => e.getBoundingClientRect().right > %d).map(e => e.tagName + \".\" + e.className).join(\" \")", screen)))
	}
}
