package pages

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestTicketsOnPages checks that a ticket is linked, shown with its state, and unlinked on a
// finding's page.
func TestTicketsOnPages(t *testing.T) {
	s := demoSite(t)
	s.connectTracker()
	path := "/findings/" + firstFinding(s)
	const create, unlink, linked = "#ticket button[name=do][value=create]", "#ticket button[name=do][value=unlink]", `.history .note:contains("SEC-12")`
	shows(t, s.page(path), create, "#ticket input[name=ticket_url]")
	hides(t, s.page(path), linked)
	const address = "https://tracker.example/browse/SEC-12?a=%3Cb%3E"
	if a := s.post(path+"/ticket", url.Values{"do": {"link"}, "ticket_url": {address}}); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/orgs/acme"+path+"#ticket" {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	page := s.page(path)
	containsAll(t, page, `href="`+address+`"`, ">SEC-12</a>")
	shows(t, page, unlink, linked)
	checkInline(t, page)
	hides(t, page, create)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.TicketsByURL(ctx, address)
		if err != nil {
			return err
		}
		one := list[0]
		one.State, one.CheckedAt, one.Problem = model.TicketClosed, tx.Now(), "<i>odd</i>"
		return tx.UpdateTicket(ctx, one)
	})
	containsAll(t, s.page(path), "&lt;i&gt;odd&lt;/i&gt;")
	shows(t, s.page(path), "#ticket .tag.good[data-state=closed]", "#ticket time")
	if a := s.post(path+"/ticket", url.Values{"do": {"unlink"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	page = s.page(path)
	shows(t, page, create)
	if n := document(t, page).Find(linked).Length(); n != 2 {
		t.Errorf("the history has %d lines about linking and unlinking", n)
	}

	messages := map[string]bool{}
	for name, c := range map[string]struct {
		form url.Values
		code int
		want string
	}{
		"a script":         {url.Values{"do": {"link"}, "ticket_url": {"javascript:alert(1)"}}, http.StatusBadRequest, "https://"},
		"nothing to do":    {url.Values{}, http.StatusBadRequest, ""},
		"a user in it":     {url.Values{"do": {"link"}, "ticket_url": {"https://me:pw@tracker.example/1"}}, http.StatusBadRequest, ""},
		"an empty address": {url.Values{"do": {"link"}}, http.StatusBadRequest, "https://"},
	} {
		a := s.post(path+"/ticket", c.form)
		fault := textAt(t, a.text, "[data-ticket-fault]")
		if messages[fault] = true; a.StatusCode != c.code || !strings.Contains(fault, c.want) {
			t.Errorf("%s: %s %s", name, a.Status, a.text)
		}
	}
	if len(messages) != 3 {
		t.Errorf("for three errors got %v", messages)
	}
	if a := s.post("/findings/4000000000/ticket", url.Values{"do": {"unlink"}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("an unknown finding: %s", a.Status)
	}
	s.as(model.RoleViewer)
	hides(t, s.page(path), create)
	if a := s.post(path+"/ticket", url.Values{"do": {"link"}, "ticket_url": {address}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer links a ticket: %s", a.Status)
	}
}

// TestRequestedTicketsOnPages checks that pending tickets are shown, and that failed ones
// show the reason and a retry.
func TestRequestedTicketsOnPages(t *testing.T) {
	s := demoSite(t)
	path := "/findings/" + firstFinding(s)
	s.connectTracker()
	if a := s.post(path+"/ticket", url.Values{"do": {"create"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	shows(t, s.page(path), "#ticket [data-state=requested]", "#ticket button[value=unlink]")
	s.change(func(ctx context.Context, tx *store.Tx) error {
		list, _, _, err := tx.TicketPage(ctx, store.TicketQuery{Limit: 1})
		if err != nil {
			return err
		}
		list[0].State, list[0].Problem = model.TicketFailed, "Creating the ticket failed: no."
		return tx.UpdateTicket(ctx, list[0])
	})
	containsAll(t, s.page(path), "failed: no.")
	shows(t, s.page(path), "#ticket [data-state=failed]", "#ticket button[value=create]", "#ticket input[name=ticket_url]")
}

// TestBulkTickets creates tickets for individual rows and for all findings of a filter, by
// rule and by finding. It also links a selection to a ticket.
func TestBulkTickets(t *testing.T) {
	s := demoSite(t)
	var ids []string
	for _, part := range strings.Split(s.page("/findings"), `data-id="`)[1:4] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	form := func(do string, more ...string) url.Values {
		preview := s.post("/triage/preview", url.Values{"type": {"sast"}, "pick": {"1"}, "id": ids})
		containsAll(t, preview.text, `name="ticket_url"`, `id="tickets"`)
		out := formOf(preview.text)
		out.Set("do", do)
		for i := 0; i < len(more); i += 2 {
			out.Set(more[i], more[i+1])
		}
		return out
	}
	a := s.post("/tickets", form("create"))
	containsAll(t, document(t, a.text).Find("[data-reason]").Text(), "redoubt connections tickets") // sets a tracker
	hides(t, a.text, "[data-state]")
	s.connectTracker()
	a = s.post("/tickets", form("create", "each", "1"))
	hides(t, a.text, "[data-reason]")
	if n := document(t, a.text).Find("[data-state=requested]").Length(); n != 3 {
		t.Errorf("%d tickets were created, want one for each of 3", n)
	}
	repeated := s.post("/tickets", form("create"))
	shows(t, repeated.text, "td:has([data-state=requested]) [data-reason]")
	const address = "https://tracker.example/browse/SEC-12?a=%3Cb%3E"
	linked := s.post("/tickets", form("link", "ticket_url", address))
	containsAll(t, linked.text, `href="`+address+`"`, ">SEC-12</a>")
	shows(t, linked.text, "[data-state=unknown]")
	checkInline(t, linked.text)
	for _, id := range ids {
		containsAll(t, s.page("/findings/"+id), ">SEC-12</a>")
	}
	unpicked := s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}})
	shows(t, unpicked.text, "[data-say=whole-filter]")
	shows(t, s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}, "id": ids}).text, "[data-say=picked-rows]")
	for name, c := range map[string]url.Values{"nothing to do": form(""), "a script": form("link", "ticket_url", "javascript:alert(1)"), "no selection": {"do": {"create"}, "type": {"sast"}}} {
		if a := s.post("/tickets", c); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
	create := form("create")
	s.as(model.RoleViewer)
	if a := s.post("/tickets", create); a.StatusCode != http.StatusForbidden {
		t.Errorf("a viewer creates tickets: %s", a.Status)
	}
}

// connectTracker sets a Jira connection for tickets. The tests never contact it.
func (s *site) connectTracker() {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.AddConnection(ctx, model.Connection{Kind: model.HostJira, Name: "jira", BaseURL: "https://jira.example"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
		if err != nil {
			return err
		}
		return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: c.ID, Project: "SEC"})
	})
}
