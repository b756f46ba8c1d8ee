package pages

import (
	"context"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// person creates a user of the deployment with the viewer role.
func (s *site) person(name, title string) (u model.User) {
	s.t.Helper()
	err := s.store.Update(s.t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name, DisplayName: title}, model.RoleViewer)
		return err
	})
	if err != nil {
		s.t.Fatal(err)
	}
	return u
}

// withdraws selects the form that withdraws a comment, and mentions the list of the viewer's
// mentions.
const withdraws, mentions = `form[action$="/withdraw"]`, "#my-mentions"

// TestCommentsOnPages checks without JavaScript that viewers can comment and find their
// mentions, and that the author or an administrator can withdraw a comment.
func TestCommentsOnPages(t *testing.T) {
	s := demoSite(t)
	ben := s.person("ben", "Ben Okri")
	finding := firstFinding(s)
	own, back := "/findings/"+finding, "/orgs/acme/findings?finding="+finding
	s.as(model.RoleViewer)
	containsAll(t, s.page(own), `action="/orgs/acme/findings/`+finding+`/comments"`, `<option value="ben" label="Ben Okri">`)
	a := s.post(own+"/comments", url.Values{"text": {"<b>look</b>, @ben.\n@unknown"}, "back": {back}})
	if a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != back+"#comments" {
		t.Fatalf("commenting: %s to %s: %s", a.Status, a.Header.Get("Location"), a.text)
	}
	page := s.page(own)
	containsAll(t, page, `&lt;b&gt;look&lt;/b&gt;, <b class="mention">@ben</b>.`, "@unknown</p>", "Ada Lovelace")
	shows(t, page, withdraws)
	checkInline(t, page)
	for what, form := range map[string]url.Values{"empty": {"text": {" \n"}}, "none": {}, "too long": {"text": {strings.Repeat("x", model.MaxNote+1)}}} {
		a := s.post(own+"/comments", form)
		if a.StatusCode != http.StatusBadRequest || document(t, a.text).Find("[role=alert]").Length() != 1 || !strings.Contains(a.text, form.Get("text")+"</textarea>") {
			t.Errorf("%s: %s", what, a.Status)
		}
	}
	if a := s.post(own+"/comments", url.Values{"text": {"x"}, "back": {"https://evil.example/"}}); a.Header.Get("Location") != "/orgs/acme"+own+"#comments" {
		t.Errorf("it redirects to %s", a.Header.Get("Location"))
	}
	if a := s.post("/findings/999999/comments", url.Values{"text": {"x"}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("of an unknown finding: %s", a.Status)
	}
	hides(t, s.page("/mine"), mentions)

	s.viewer = &ui.Viewer{UserID: ben.ID, User: "ben", DisplayName: "Ben Okri", Role: model.RoleTriager, Deployment: s.org}
	shows(t, s.page("/mine"), mentions)
	containsAll(t, s.page("/mine"), `href="/orgs/acme/findings/`+finding+`#comments"`, `&lt;b&gt;look&lt;/b&gt;`)
	hides(t, s.page(own), withdraws)
	withdraw := own + "/comments/" + lastComment(s, own) + "/withdraw"
	first := own + "/comments/" + firstComment(s, ben.ID) + "/withdraw"
	if a := s.post(first, nil); a.StatusCode != http.StatusBadRequest {
		t.Errorf("withdrawn by another user: %s", a.Status)
	} else {
		shows(t, a.text, "[role=alert]")
	}
	s.as(model.RoleViewer)
	if a := s.post(first, url.Values{"back": {back}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("withdrawing: %s %s", a.Status, a.text)
	}
	if a := s.post(first, nil); a.StatusCode != http.StatusConflict {
		t.Errorf("withdrawn twice: %s", a.Status)
	}
	s.viewer = &ui.Viewer{UserID: bobID, User: "bob", Role: model.RoleAdmin, Deployment: s.org}
	if a := s.post(withdraw, nil); a.StatusCode != http.StatusSeeOther {
		t.Errorf("withdrawn by an administrator: %s", a.Status)
	}
	page = s.page(own)
	shows(t, page, ".history .comment[data-did=withdrawn-since]", ".history [data-did=withdrawn]")
	lacks(t, page, "look")
	s.viewer = &ui.Viewer{UserID: ben.ID, User: "ben", Role: model.RoleViewer, Deployment: s.org}
	hides(t, s.page("/mine"), mentions)
	if got := s.audited("finding_comment."); strings.Join(got, " ") != "finding_comment.create by user:ada finding_comment.create by user:ada finding_comment.withdraw by user:ada finding_comment.withdraw by user:bob" {
		t.Errorf("in the audit log: %q", got)
	}
}

// TestCommentIsSentOnce checks that a form that is sent twice, by a double click or a reload,
// creates one comment. Other forms and other users create another.
func TestCommentIsSentOnce(t *testing.T) {
	s := demoSite(t)
	s.person("ben", "Ben Okri")
	own := "/findings/" + firstFinding(s)
	s.as(model.RoleViewer)
	onceOf := func() string {
		_, after, _ := strings.Cut(s.page(own), `name="once" value="`)
		text, _, _ := strings.Cut(after, `"`)
		return text
	}
	first, second := onceOf(), onceOf()
	if first == "" || first == second {
		t.Fatalf("the form names are %q and %q", first, second)
	}
	send := func(once, text string, want int) {
		t.Helper()
		if a := s.post(own+"/comments", url.Values{"text": {text}, "once": {once}}); a.StatusCode != want {
			t.Errorf("%q: %s", text, a.Status)
		}
	}
	send(first, " ", http.StatusBadRequest) // rejected, and can be corrected
	send(first, "the same", http.StatusSeeOther)
	send(first, "the same", http.StatusSeeOther)
	send(second, "another", http.StatusSeeOther)
	s.viewer = &ui.Viewer{UserID: bobID, User: "bob", Role: model.RoleViewer, Deployment: s.org}
	send(first, "of bob", http.StatusSeeOther)
	page := s.page(own)
	for text, want := range map[string]int{"the same": 1, "another": 1, "of bob": 1} {
		if n := strings.Count(page, `<p class="said">`+text+`</p>`); n != want {
			t.Errorf("%q occurs %d times", text, n)
		}
	}
}

// TestCommentOnRemovedFindingIsWithdrawn checks that comments on a removed finding can be
// withdrawn, but not added.
func TestCommentOnRemovedFindingIsWithdrawn(t *testing.T) {
	s := demoSite(t)
	finding := firstFinding(s)
	own := "/findings/" + finding
	s.as(model.RoleViewer)
	const commentForm = `form[action$="/comments"]`
	shows(t, s.page(own), commentForm)
	s.post(own+"/comments", url.Values{"text": {"it goes"}})
	id, err := strconv.ParseInt(finding, 10, 64)
	if err != nil {
		t.Fatal(err)
	}
	err = s.store.Update(t.Context(), s.org.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
		o, err := tx.Finding(ctx, id)
		if err != nil {
			return err
		}
		o.State = model.StateRemoved
		return tx.UpdateFindings(ctx, []model.FindingWrite{{Finding: o.Finding, Body: o.Body}})
	})
	if err != nil {
		t.Fatal(err)
	}
	page := s.page(own)
	containsAll(t, page, "it goes")
	shows(t, page, withdraws)
	hides(t, page, commentForm)
	if a := s.post(own+"/comments", url.Values{"text": {"more"}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("commenting: %s", a.Status)
	}
	if a := s.post(own+"/comments/"+lastComment(s, own)+"/withdraw", nil); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("withdrawing: %s %s", a.Status, a.text)
	}
	page = s.page(own)
	shows(t, page, ".history [data-did=withdrawn-since]")
	lacks(t, page, "it goes")
}

// firstComment returns the id of the newest comment that mentions a user.
func firstComment(s *site, user int64) (id string) {
	s.t.Helper()
	err := s.store.View(s.t.Context(), s.org.ID, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.CommentsMentioning(ctx, user, 1)
		for _, c := range list {
			id = ui.Decimal(c.ID)
		}
		return err
	})
	if err != nil || id == "" {
		s.t.Fatal("the comment does not exist", err)
	}
	return id
}

// lastComment returns the id of the newest comment on a finding's page.
func lastComment(s *site, own string) string {
	s.t.Helper()
	viewer := s.viewer
	s.as(model.RoleAdmin)
	_, after, _ := strings.Cut(s.page(own), "/orgs/acme"+own+"/comments/")
	s.viewer = viewer
	id, _, _ := strings.Cut(after, "/")
	return id
}

// TestMentionByKeyboard checks that @ and the first letters suggest users, which the arrow keys
// select.
func TestMentionByKeyboard(t *testing.T) {
	s := demoSite(t)
	s.person("ben", "Ben Okri")
	s.person("bea", "Beatrice Lee")
	s.as(model.RoleViewer)
	b := s.browse(1440, 900)
	b.open("/findings/" + firstFinding(s))
	const field, list = `document.querySelector("[data-mention]")`, `document.querySelector(".people")`
	b.run(field + `.focus()`)
	b.do(chromedp.KeyEvent("mail x@b"))
	b.until(list + `.hidden`)
	b.do(chromedp.KeyEvent(" ask @b"))
	b.until(`!` + list + `.hidden && ` + list + `.children.length === 2`)
	b.do(chromedp.KeyEvent("ok"))
	b.until(list + `.hidden`) // no name matches
	b.do(chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent("e"))
	b.until(list + `.children.length === 2 && ` + list + `.children[0].textContent === "Beatrice Lee (bea)"`)
	b.do(chromedp.KeyEvent(kb.ArrowDown))
	b.until(field + `.getAttribute("aria-activedescendant") === ` + list + `.children[1].id`)
	b.run(field + `.dispatchEvent(new KeyboardEvent("keydown", {key: "Enter", bubbles: true, cancelable: true}))`)
	b.until(field + `.value === "mail x@b ask @ben " && ` + list + `.hidden && document.activeElement === ` + field)
	b.do(chromedp.KeyEvent("@okr")) // matches any part of the display name
	b.until(`!` + list + `.hidden`)
	b.do(chromedp.KeyEvent(kb.Escape))
	b.until(list + `.hidden && ` + field + `.value.endsWith("@okr")`)
}
