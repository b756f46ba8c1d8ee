package pages

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// createTicket and setUpTickets are parts of the two offers for new tickets.
const createTicket, setUpTickets = `value="create"`, `/settings/connections#tickets"`

// ticketPages returns the pages that offer tickets: the finding's own page, the panel in the list,
// the panel as loaded by scripts, and the preview of a selection.
func (s *site) ticketPages(id string) map[string]string {
	s.t.Helper()
	part := httptest.NewRequestWithContext(s.t.Context(), http.MethodGet, "/orgs/acme/findings/"+id, nil)
	part.Header.Set("HX-Request", "true")
	return map[string]string{
		"page":    s.page("/findings/" + id),
		"list":    s.page("/findings?finding=" + id),
		"panel":   s.send(part).text,
		"preview": s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}, "id": {id}}).text,
	}
}

// TestTicketsAreOfferedIfCreatable checks that pages offer new tickets only if one can be
// created. Otherwise administrators see a link to the settings, and triagers can link an existing
// ticket.
func TestTicketsAreOfferedIfCreatable(t *testing.T) {
	s := demoSite(t)
	id := firstFinding(s)
	check := func(role model.Role, create, setUp bool) {
		t.Helper()
		s.as(role)
		for name, page := range s.ticketPages(id) {
			if got := strings.Contains(page, createTicket); got != create {
				t.Errorf("%s, %s: creating a ticket is offered: %v", role, name, got)
			}
			if got := strings.Contains(page, setUpTickets); got != setUp {
				t.Errorf("%s, %s: setting up tickets is offered: %v", role, name, got)
			}
			if !strings.Contains(page, `name="ticket_url"`) {
				t.Errorf("%s, %s: no ticket can be linked", role, name)
			}
		}
	}
	check(model.RoleTriager, false, false)
	check(model.RoleAdmin, false, true)
	if page := s.page("/settings/connections"); !strings.Contains(page, `id="tickets"`) || !strings.Contains(page, "redoubt connections tickets") {
		t.Error("the connections page does not describe how to set up tickets")
	}
	s.connectTracker()
	check(model.RoleTriager, true, false)
	check(model.RoleAdmin, true, false)
	s.change(func(ctx context.Context, tx *store.Tx) error { // simulates a removed connection
		return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: 4_000_000, Project: "SEC"})
	})
	check(model.RoleTriager, false, false)
}

// TestTicketErrorsAreShownOnFinding checks the form of a stale page. Its error is shown in the
// panel of the same list, or on the finding's own page.
func TestTicketErrorsAreShownOnFinding(t *testing.T) {
	s := demoSite(t)
	id := firstFinding(s)
	list := "/orgs/acme/findings?finding=" + id + "&severities=critical&sort=oldest"
	for name, form := range map[string]url.Values{
		"no tracker": {"do": {"create"}},
		"a script":   {"do": {"link"}, "ticket_url": {"javascript:alert(1)"}},
		"no action":  {},
	} {
		form.Set("back", list)
		a := s.post("/findings/"+id+"/ticket", form)
		if a.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %s", name, a.Status)
		}
		containsAll(t, a.text, `data-finding="`+id+`"`, `data-ticket-fault`, "data-rows", `aria-current="true"`, "sort=oldest")
		form.Set("back", "https://elsewhere.example/orgs/acme/findings?finding="+id)
		a = s.post("/findings/"+id+"/ticket", form)
		containsAll(t, a.text, `data-finding="`+id+`"`, `data-ticket-fault`)
		if strings.Contains(a.text, "data-rows") || strings.Contains(a.text, "elsewhere.example") {
			t.Errorf("%s: a foreign address is followed", name)
		}
	}
	const address = "https://tracker.example/browse/SEC-12"
	a := s.post("/findings/"+id+"/ticket", url.Values{"do": {"link"}, "ticket_url": {address}, "back": {list}})
	if to := a.Header.Get("Location"); to != list+"#ticket" {
		t.Errorf("linking redirects to %q", to)
	}
	preview := s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}, "id": {id}, "back": {list}})
	form := formOf(preview.text)
	form.Set("do", "link")
	form.Set("ticket_url", "javascript:alert(1)")
	many := s.post("/tickets", form)
	if many.StatusCode != http.StatusBadRequest {
		t.Errorf("linking many: %s", many.Status)
	}
	containsAll(t, many.text, `data-ticket-fault`, "sort=oldest")
}

// TestTicketsAreOfferedForOwnRepositories checks that without a setting, tickets are issues of the
// project's own repository. The repository must exist and be private.
func TestTicketsAreOfferedForOwnRepositories(t *testing.T) {
	s := demoSite(t)
	own, other := rowID(s, "/findings?repos=acme%2Fweb-shop"), rowID(s, "/findings?repos=acme%2Fgateway")
	var connection model.Connection
	save := func(private bool) {
		s.change(func(ctx context.Context, tx *store.Tx) error {
			r := model.Repository{HostID: "1", FullName: "acme/web-shop", CloneURL: "https://git.example/acme/web-shop", Private: private}
			_, err := tx.SaveRepositories(ctx, connection.ID, []model.Repository{r}, true)
			return err
		})
	}
	s.change(func(ctx context.Context, tx *store.Tx) (err error) {
		c := model.Connection{Kind: model.HostGitea, Name: "ours", BaseURL: "https://git.example"}
		connection, err = tx.AddConnection(ctx, c, func(int64) (store.Sealed, error) { return store.Sealed{}, nil })
		return err
	})
	save(true)
	s.change(func(ctx context.Context, tx *store.Tx) error {
		_, err := tx.FollowRepositories(ctx, connection.ID, []string{"acme/web-shop"})
		return err
	})
	offered := func(id string) bool { return strings.Contains(s.page("/findings/"+id), createTicket) }
	if !offered(own) || offered(other) {
		t.Errorf("shown: %v with a private repository, %v without one", offered(own), offered(other))
	}
	for ids, want := range map[string]bool{own + "," + other: true, other: false} {
		preview := s.post("/triage/preview", url.Values{"type": {"sast"}, "tickets": {"1"}, "id": strings.Split(ids, ",")}).text
		if got := strings.Contains(preview, createTicket); got != want {
			t.Errorf("on %s: shown %v", ids, got)
		}
	}
	save(false)
	if offered(own) {
		t.Error("the ticket button is shown for a public repository")
	}
}
