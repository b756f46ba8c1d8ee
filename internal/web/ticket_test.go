package web

import (
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// A finding's page: a ticket is linked, shown with its state, and unlinked.
func TestTicketsOnThePages(t *testing.T) {
	s := demoSite(t)
	s.connectTracker()
	path := "/findings/" + firstFinding(s)
	says(t, s.page(path), "Create a ticket", `name="ticket_url"`)
	const address = "https://tracker.example/browse/SEC-12?a=%3Cb%3E"
	if a := s.post(path+"/ticket", url.Values{"do": {"link"}, "ticket_url": {address}}); a.StatusCode != http.StatusSeeOther || a.Header.Get("Location") != "/orgs/acme"+path+"#ticket" {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	page := s.page(path)
	says(t, page, `href="`+address+`"`, ">SEC-12</a>", "Unlink the ticket", "Linked to SEC-12")
	checkInline(t, page)
	if strings.Contains(page, "Create a ticket") {
		t.Error("a finding with a ticket offers another")
	}
	s.change(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.TicketsByURL(ctx, address)
		if err != nil {
			return err
		}
		one := list[0]
		one.State, one.CheckedAt, one.Problem = redoubt.TicketClosed, tx.Now(), "<i>odd</i>"
		return tx.UpdateTicket(ctx, one)
	})
	says(t, s.page(path), `<span class="tag good">Closed</span>`, "as of", "&lt;i&gt;odd&lt;/i&gt;")
	if a := s.post(path+"/ticket", url.Values{"do": {"unlink"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	says(t, s.page(path), "Create a ticket", "No longer linked to SEC-12")

	for name, c := range map[string]struct {
		form url.Values
		code int
		says string
	}{
		"a script":         {url.Values{"do": {"link"}, "ticket_url": {"javascript:alert(1)"}}, http.StatusBadRequest, "https:// or http://"},
		"nothing to do":    {url.Values{}, http.StatusBadRequest, "Choose what to do"},
		"a user in it":     {url.Values{"do": {"link"}, "ticket_url": {"https://me:pw@tracker.example/1"}}, http.StatusBadRequest, "no user or password"},
		"an empty address": {url.Values{"do": {"link"}}, http.StatusBadRequest, "https:// or http://"},
	} {
		if a := s.post(path+"/ticket", c.form); a.StatusCode != c.code || !strings.Contains(a.text, c.says) {
			t.Errorf("%s: %s %s", name, a.Status, a.text)
		}
	}
	if a := s.post("/findings/4000000000/ticket", url.Values{"do": {"unlink"}}); a.StatusCode != http.StatusNotFound {
		t.Errorf("a finding that there is not: %s", a.Status)
	}
	s.as(redoubt.RoleViewer)
	if page := s.page(path); strings.Contains(page, "Create a ticket") {
		t.Error("who may only look is offered a ticket")
	}
	if a := s.post(path+"/ticket", url.Values{"do": {"link"}, "ticket_url": {address}}); a.StatusCode != http.StatusForbidden {
		t.Errorf("who may only look links one: %s", a.Status)
	}
}

// What is asked for shows that it is on its way, and what failed why, with another try.
func TestTicketsThatAreAskedForOnThePages(t *testing.T) {
	s := demoSite(t)
	path := "/findings/" + firstFinding(s)
	s.connectTracker()
	if a := s.post(path+"/ticket", url.Values{"do": {"create"}}); a.StatusCode != http.StatusSeeOther {
		t.Fatalf("%s %s", a.Status, a.text)
	}
	says(t, s.page(path), "Being created", "Unlink the ticket")
	s.change(func(ctx context.Context, tx *store.Tx) error {
		list, _, _, err := tx.TicketPage(ctx, store.TicketQuery{Limit: 1})
		if err != nil {
			return err
		}
		list[0].State, list[0].Problem = redoubt.TicketFailed, "The tracker did not take it: no."
		return tx.UpdateTicket(ctx, list[0])
	})
	says(t, s.page(path), "Could not be created", "did not take it: no.", "Try again", `name="ticket_url"`)
}

// Tickets are made of rows that are picked and of all that a filter matches, by rule and
// for each finding, and a selection is linked to one.
func TestTicketsOfASelection(t *testing.T) {
	s := demoSite(t)
	var ids []string
	for _, part := range strings.Split(s.page("/findings"), `data-id="`)[1:4] {
		id, _, _ := strings.Cut(part, `"`)
		ids = append(ids, id)
	}
	form := func(do string, more ...string) url.Values {
		preview := s.post("/triage/preview", url.Values{"type": {"sast"}, "pick": {"1"}, "id": ids})
		says(t, preview.text, `name="ticket_url"`, `id="tickets"`)
		out := formOf(preview.text)
		out.Set("do", do)
		for i := 0; i < len(more); i += 2 {
			out.Set(more[i], more[i+1])
		}
		return out
	}
	a := s.post("/tickets", form("create"))
	says(t, a.text, "No tracker is set")
	s.connectTracker()
	a = s.post("/tickets", form("create", "each", "1"))
	says(t, a.text, "Being created")
	if n := strings.Count(a.text, "Being created"); n != 3 {
		t.Errorf("%d tickets are made, want one for each of 3", n)
	}
	again := s.post("/tickets", form("create"))
	says(t, again.text, "A ticket about it is being created.")
	const address = "https://tracker.example/browse/SEC-12?a=%3Cb%3E"
	linked := s.post("/tickets", form("link", "ticket_url", address))
	says(t, linked.text, `href="`+address+`"`, ">SEC-12</a>", "State not read")
	checkInline(t, linked.text)
	for _, id := range ids {
		says(t, s.page("/findings/"+id), ">SEC-12</a>")
	}
	unpicked := s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}})
	says(t, unpicked.text, "All that match the filter")
	if picked := s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}, "id": ids}); !strings.Contains(picked.text, "The rows that you picked") {
		t.Errorf("tickets of picked rows are of others: %s", picked.Status)
	}
	for name, c := range map[string]url.Values{"nothing to do": form(""), "a script": form("link", "ticket_url", "javascript:alert(1)"), "no selection": {"do": {"create"}, "type": {"sast"}}} {
		if a := s.post("/tickets", c); a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a.Status)
		}
	}
	create := form("create")
	s.as(redoubt.RoleViewer)
	if a := s.post("/tickets", create); a.StatusCode != http.StatusForbidden {
		t.Errorf("who may only look makes tickets: %s", a.Status)
	}
}

// connectTracker has tickets made at a Jira that nobody asks here.
func (s *site) connectTracker() {
	s.t.Helper()
	s.change(func(ctx context.Context, tx *store.Tx) error {
		c, err := tx.AddConnection(ctx, redoubt.Connection{Kind: redoubt.HostJira, Name: "jira", BaseURL: "https://jira.example"}, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
		if err != nil {
			return err
		}
		return tx.PutTicketSetting(ctx, redoubt.TicketSetting{ConnectionID: c.ID, Project: "SEC"})
	})
}
