package pages

import (
	"context"
	"net/http"
	"strconv"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestScannerReceivesTokenOfApprover(t *testing.T) {
	d := newSignInSite(t)
	ben := d.user(d.org, "ben", model.RoleTriager)
	if _, err := d.store.AddLogin(t.Context(), model.LoginRequest{KeyHash: []byte("key"), Code: "ABCD-2345", Address: "192.0.2.9", Agent: "<b>Semgrep/1.180"}); err != nil {
		t.Fatal(err)
	}
	b := d.browserAs(ben)
	const approves = "main form[method=post] button.primary"
	b.wants("from the scanner's page", b.do(http.MethodGet, "/orgs/-/approve/abcd-2345", nil), http.StatusSeeOther, "/orgs/acme/approve/abcd-2345")
	containsAll(t, b.page("/approve/abcd-2345"), "ABCD-2345", "192.0.2.9", "&lt;b&gt;Semgrep")
	shows(t, b.page("/approve/abcd-2345"), approves)
	a := b.submit("/approve/ABCD-2345", nil)
	b.wants("approved", a, http.StatusSeeOther, "/orgs/acme/settings/tokens?done=scanner")
	shows(t, b.follow(a).text, "[data-say=scanner]")
	l, err := d.store.LoginByKey(t.Context(), []byte("key"))
	if err != nil || !l.Approved() || l.Token.UserID != ben.ID || len(l.Token.Scopes) != 1 || l.Token.Scopes[0] != model.ScopeCI || l.ApprovedBy != ben.Actor() {
		t.Errorf("the request is %+v, %v", l, err)
	}
	b.wants("again", b.submit("/approve/ABCD-2345", nil), http.StatusNotFound, "")
	last := d.trail()[len(d.trail())-1]
	if last.Action != "login.approve" || last.By != ben.Actor() {
		t.Errorf("the trail ends with %v", last)
	}
}

// TestScannerLoginRespectsTokenLimit checks that a user with the maximum number of tokens sees
// an error before the request is used up. The approval succeeds after a token was revoked.
func TestScannerLoginRespectsTokenLimit(t *testing.T) {
	d := newSignInSite(t)
	ben := d.user(d.org, "ben", model.RoleTriager)
	for i, code := range []string{"ABCD-2345", "ABCD-2346"} {
		if _, err := d.store.AddLogin(t.Context(), model.LoginRequest{KeyHash: []byte{byte(i)}, Code: code, Address: "192.0.2.9", Agent: "Semgrep"}); err != nil {
			t.Fatal(err)
		}
	}
	var last model.Token
	change := func(fn func(ctx context.Context, tx *store.Tx) error) {
		if err := d.store.Update(t.Context(), d.org.ID, storetest.Actor, fn); err != nil {
			t.Fatal(err)
		}
	}
	change(func(ctx context.Context, tx *store.Tx) (err error) {
		for i := range 99 {
			name := strconv.Itoa(i)
			if last, err = tx.CreateToken(ctx, model.Token{PublicID: "full" + name, Name: name, UserID: ben.ID}, storetest.TokenHash(name)); err != nil {
				return err
			}
		}
		return nil
	})
	b := d.browserAs(ben)
	b.wants("the hundredth", b.submit("/approve/ABCD-2345", nil), http.StatusSeeOther, "/orgs/acme/settings/tokens?done=scanner")
	full := b.submit("/approve/ABCD-2346", nil)
	b.wants("one more", full, http.StatusConflict, "")
	containsAll(t, textAt(t, full.text, "main [role=alert]"), "100")
	shows(t, full.text, "main form[method=post] button.primary", `main a[href="/orgs/acme/settings/tokens"]`)
	checkInline(t, full.text)
	if l, err := d.store.LoginByKey(t.Context(), []byte{1}); err != nil || l.Approved() {
		t.Errorf("the approval is used up: %+v, %v", l, err)
	}
	change(func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, last.ID) })
	b.wants("with room", b.submit("/approve/ABCD-2346", nil), http.StatusSeeOther, "/orgs/acme/settings/tokens?done=scanner")
}
