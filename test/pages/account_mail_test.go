package pages

import (
	"net/http"
	"net/url"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
)

// TestMailAddressSettings checks that users can set or disable their mail address, and that an invalid
// address stays in the form.
func TestMailAddressSettings(t *testing.T) {
	d := newSignInSite(t)
	ada := d.user(d.org, "ada", model.RoleViewer)
	b := d.browserAs(ada)
	const account = "/orgs/acme/account"
	shows(t, b.do(http.MethodGet, account, nil).text, "[name=told][value='1'][checked]", "[data-say=no-mail]")
	bad := b.submit("/account/mail", url.Values{"address": {"no <address>"}, "told": {"1"}})
	if bad.StatusCode != http.StatusBadRequest {
		t.Errorf("no address: %s", bad.Status)
	}
	containsAll(t, bad.text, `value="no &lt;address&gt;" aria-invalid="true"`)
	shows(t, bad.text, "#address-bad[role=alert]")
	for _, c := range []struct {
		form url.Values
		to   string
		want []string
	}{
		{url.Values{"address": {" ada@example.com "}, "told": {"1"}}, "ada@example.com", []string{`value="ada@example.com"`, `name="told" value="1" checked`}},
		{url.Values{"address": {"ada@example.com"}}, "", []string{`value="ada@example.com"`, `name="told" value="1">`}},
		{url.Values{"address": {""}, "told": {"1"}}, "", []string{`value=""`}},
	} {
		if a := b.submit("/account/mail", c.form); a.Header.Get("Location") != account+"?done=mail" {
			t.Fatalf("%v: %s %s", c.form, a.Status, a.text)
		}
		page := b.do(http.MethodGet, account+"?done=mail", nil).text
		containsAll(t, page, c.want...)
		shows(t, page, "[data-say=mail]")
		now, err := d.store.User(t.Context(), "ada")
		if err != nil || now.MailTo() != c.to {
			t.Errorf("%v: mail is sent to %q, want %q (%v)", c.form, now.MailTo(), c.to, err)
		}
	}
}

// TestMyRequests checks that only the requester finds the decisions on their page of assigned
// findings.
func TestMyRequests(t *testing.T) {
	s := demoSite(t)
	s.as(model.RoleViewer)
	const mine = "#my-requests"
	hides(t, s.page("/mine"), mine)
	id := s.addExceptionRequest("a <spike>", firstFinding(s))
	shows(t, s.page("/mine"), mine, `a[href="/orgs/acme/exceptions/`+id+`"]`, "[data-say=undecided]")
	s.as(model.RoleTriager)
	if a := s.post("/exceptions/"+id, url.Values{"do": {"refuse"}, "refusal": {"upgrade <soon>"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("refusing: %s", a.Status)
	}
	for _, page := range []string{"/mine", "/exceptions?show=mine"} {
		text := s.page(page)
		shows(t, text, "[data-state=refused]")
		hides(t, text, "[data-say=undecided]")
		containsAll(t, text, "upgrade &lt;soon&gt;")
	}
	s.viewer.UserID = bobID
	hides(t, s.page("/mine"), mine)
}
