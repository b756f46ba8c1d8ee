package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/model"
)

// ticketOnly returns a ticket of a finding, and creates it if it is missing.
func (s *site) ticketOnly(t testing.TB, finding int64) int64 {
	t.Helper()
	for _, one := range get[api.ListTicketsResponse](t, s, "tickets").Tickets {
		if one.ExternalSlug == "ONLY-1" {
			return one.ID
		}
	}
	return s.link(t, "https://t.example/browse/ONLY-1", finding).TicketID
}

func (s *site) link(t testing.TB, address string, ids ...int64) api.LinkTicketResponse {
	t.Helper()
	return post[api.LinkTicketResponse](t, s, "tickets/link", object{"ticket_url": address, "issue_ids": ids})
}

// anyFinding returns the id of a finding of the site.
func (s *site) anyFinding(t testing.TB) int64 {
	t.Helper()
	if code := s.allCode(t); len(code) > 0 {
		return code[0].ID
	}
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, "rival/own", "main", "full", semgrepReport(w.matches(1, 0, 1)...))
	return s.allCode(t)[0].ID
}

func TestTicketLinkLifecycle(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		var a, b, c int64 // on main
		for _, row := range code {
			if found := s.finding(t, row.ID); found.Ref == "refs/heads/main" {
				a, b, c = b, c, row.ID
			}
		}
		const first, second = "https://tracker.example/browse/SEC-12", "https://git.example/acme/app/issues/7?x=1#note"
		linked := s.link(t, first, b, a)
		want := api.LinkTicketResponse{TicketID: linked.TicketID, ExternalSlug: "SEC-12", TicketURL: first, LinkedIssueIDs: sorted(a, b), ReplacedIssueIDs: []int64{}}
		equal(t, "linked", linked, want)
		equal(t, "linked again", s.link(t, first, b, a), want)
		shown := api.ExternalTicket{ExternalSlug: "SEC-12", ID: linked.TicketID, LinkedIssueIDs: sorted(a, b), URL: first}
		for _, id := range []int64{a, b} {
			equal(t, "the finding's ticket", *s.finding(t, id).ExternalTicket, shown)
		}
		moved := s.link(t, second, b, c)
		equal(t, "replaced", moved.ReplacedIssueIDs, []int64{b})
		equal(t, "its slug", moved.ExternalSlug, "acme/app#7")
		equal(t, "who is left at the first", s.finding(t, a).ExternalTicket.LinkedIssueIDs, []int64{a})
		if hosted := s.hosted(t, fmt.Sprintf("findings/%d", a)); !strings.Contains(hosted, fmt.Sprintf(`"external_ticket":{"external_slug":"SEC-12","id":%d,"linked_issue_ids":[%d],"url":"%s"}`, linked.TicketID, a, first)) {
			t.Errorf("the hosted dialect shows %s", hosted)
		}
		table := s.send(t, request{method: "GET", path: "findings/export?format=csv"})
		if !strings.Contains(string(table.body), first) {
			t.Errorf("the export has no ticket: %.300s", table.body)
		}

		list := all(t, s.api().Tickets(t.Context(), s.deployment.Slug, api.TicketsQuery{Limit: 1}))
		if len(list) != 2 || list[0].ID != linked.TicketID || list[1].URL != second || list[0].State != "unknown" || !slices.Equal(list[1].IssueIDs, sorted(b, c)) || list[0].CheckedAt != nil {
			t.Errorf("the tickets are %+v", list)
		}
		equal(t, "one of them", get[api.TicketResponse](t, s, fmt.Sprint("tickets/", list[1].ID)).Ticket, list[1])

		out := post[api.UnlinkTicketResponse](t, s, "tickets/unlink", object{"issue_ids": []string{fmt.Sprint(b), fmt.Sprint(a)}})
		equal(t, "unlinked", out.UnlinkedIssueIDs, sorted(a, b))
		equal(t, "unlinked again", post[api.UnlinkTicketResponse](t, s, "tickets/unlink", object{"issue_ids": []int64{a}}).UnlinkedIssueIDs, []int64{})
		gone := read[api.DeleteTicketResponse](t, s.send(t, request{method: "DELETE", path: fmt.Sprint("ticketing/v2/tickets/", list[1].ID)}))
		equal(t, "of a ticket that is forgotten", gone.IssueIDs, []int64{c})
		for _, id := range []int64{a, b, c} {
			if found := s.finding(t, id); found.ExternalTicket != nil {
				t.Errorf("%d still has %+v", id, found.ExternalTicket)
			}
		}
		var notes []string
		for _, e := range get[api.FindingHistoryResponse](t, s, fmt.Sprintf("findings/%d/history", b)).Events {
			if e.Kind == "triaged" && e.By != nil && e.By.Name != "" {
				notes = append(notes, e.Note)
			}
		}
		equal(t, "its history", notes, []string{"Linked to SEC-12 (" + first + ")", "Linked to acme/app#7 (" + second + ")", "No longer linked to acme/app#7 (" + second + ")"})
	})
}

func TestTicketAppliesToOtherRefsOfFinding(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		s.link(t, "https://tracker.example/browse/SEC-1", code[0].ID)
		with := 0
		for _, row := range s.allCode(t) {
			if found := s.finding(t, row.ID); found.ExternalTicket != nil && found.ExternalTicket.URL == "https://tracker.example/browse/SEC-1" {
				with++
			}
		}
		others := get[api.FindingHistoryResponse](t, s, fmt.Sprintf("findings/%d/history", code[0].ID)).Others
		equal(t, "findings that show it", with, 1+len(others))
	})
}

func TestInvalidTicketLinks(t *testing.T) {
	s := newSite(t, "sqlite")
	code := smallSite(t, s)
	ids := []int64{code[0].ID}
	many := make([]int64, 101)
	for i := range many {
		many[i] = int64(i + 1)
	}
	for name, c := range map[string]struct {
		path   string
		body   object
		member string
	}{
		"no address":           {"tickets/link", object{"issue_ids": ids, "ticket_url": "SEC-1"}, "body.ticket_url"},
		"a script":             {"tickets/link", object{"issue_ids": ids, "ticket_url": "javascript:alert(1)"}, "body.ticket_url"},
		"a user in it":         {"tickets/link", object{"issue_ids": ids, "ticket_url": "https://me:secret@t.example/1"}, "body.ticket_url"},
		"too long":             {"tickets/link", object{"issue_ids": ids, "ticket_url": "https://t.example/" + strings.Repeat("x", 2100)}, "body.ticket_url"},
		"no findings":          {"tickets/link", object{"issue_ids": []int64{}, "ticket_url": "https://t.example/1"}, "body.issue_ids"},
		"too many findings":    {"tickets/link", object{"issue_ids": many, "ticket_url": "https://t.example/1"}, "body.issue_ids"},
		"unlinking nothing":    {"tickets/unlink", object{"issue_ids": []int64{}}, "body.issue_ids"},
		"creating of nothing":  {"tickets", object{}, "body.issue_ids"},
		"a filter of no type":  {"tickets", object{"severities": []string{"high"}}, "body.issue_type"},
		"too many at once":     {"tickets", object{"issue_ids": ids, "limit": 21}, "body.limit"},
		"an unknown filter":    {"tickets", object{"issue_ids": ids, "severity": []string{"high"}}, "body.severity"},
		"two projects to make": {"tickets", object{"issue_ids": ids, "jira_project_id": "A", "tracker_project": "B"}, "body.jira_project_id"},
	} {
		t.Run(name, func(t *testing.T) {
			refused(t, s.send(t, request{method: "POST", path: c.path, body: c.body}), 400, api.CodeInvalidArgument, c.member)
		})
	}
	t.Run("an unknown finding", func(t *testing.T) {
		refused(t, s.send(t, request{method: "POST", path: "tickets/link", body: object{"issue_ids": append(ids, 4000000000), "ticket_url": "https://t.example/1"}}), 404, api.CodeNotFound)
		if found := s.finding(t, ids[0]); found.ExternalTicket != nil {
			t.Errorf("a refused link left %+v", found.ExternalTicket)
		}
	})
	t.Run("no tracker", func(t *testing.T) {
		out := post[api.CreateTicketsResponse](t, s, "tickets", object{"issue_ids": append(ids, 4000000000)})
		if len(out.Failed) != 1 || out.Failed[0].Error == "" || !slices.Equal(out.Failed[0].IssueIDs, ids) {
			t.Errorf("failed is %+v", out.Failed)
		}
		if len(out.Skipped) != 1 || out.Skipped[0].IssueIDs[0] != 4000000000 || len(out.Succeeded)+len(out.Pending) != 0 {
			t.Errorf("it returns %+v", out)
		}
	})
}

// TestTicketHidesInaccessibleProjects links findings of two projects to one ticket. A token that
// sees one project must get the finding of that project only.
func TestTicketHidesInaccessibleProjects(t *testing.T) {
	s := newSite(t, "sqlite")
	w := &world{site: s, rules: map[string]scanRule{}}
	s.upload(t, "acme/seen", "main", "full", semgrepReport(w.matches(1, 0, 1)...))
	s.upload(t, "secret/other", "main", "full", semgrepReport(w.matches(2, 0, 1)...))
	ids := map[string]int64{}
	for _, f := range all(t, s.api().Findings(t.Context(), s.deployment.Slug, api.FindingsQuery{})) {
		ids[f.Repository.Name] = f.ID
	}
	linked := s.link(t, "https://t.example/browse/SEC-1", ids["acme/seen"], ids["secret/other"])
	bound := s.newToken(t, model.Token{Name: "bound", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: model.ProjectGlobs{"acme/*"}})
	one := read[api.TicketResponse](t, s.send(t, request{method: "GET", path: fmt.Sprint("tickets/", linked.TicketID), token: bound})).Ticket
	equal(t, "what the ticket is about", one.IssueIDs, []int64{ids["acme/seen"]})
	found := read[api.FindingResponse](t, s.send(t, request{method: "GET", path: fmt.Sprint("findings/", ids["acme/seen"]), token: bound})).Finding
	equal(t, "what the finding tells", found.ExternalTicket.LinkedIssueIDs, []int64{ids["acme/seen"]})
	refused(t, s.send(t, request{method: "DELETE", path: fmt.Sprint("ticketing/v2/tickets/", linked.TicketID), token: bound}), 404, api.CodeNotFound)
	for path, body := range map[string]object{
		"tickets/link": {"issue_ids": []int64{ids["secret/other"]}, "ticket_url": "https://t.example/browse/SEC-1"}, "tickets/unlink": {"issue_ids": []int64{ids["secret/other"]}},
	} {
		refused(t, s.send(t, request{method: "POST", path: path, token: bound, body: body}), 404, api.CodeNotFound)
	}
	other := s.newToken(t, model.Token{Name: "third", Scopes: []model.Scope{model.ScopeWebAPI}, ProjectGlobs: model.ProjectGlobs{"third/*"}})
	refused(t, s.send(t, request{method: "GET", path: fmt.Sprint("tickets/", linked.TicketID), token: other}), 404, api.CodeNotFound)
	if list := read[api.ListTicketsResponse](t, s.send(t, request{method: "GET", path: "tickets", token: other})); len(list.Tickets) != 0 {
		t.Errorf("a token of another project sees %+v", list.Tickets)
	}
}

func sorted(ids ...int64) []int64 { return slices.Sorted(slices.Values(ids)) }

func equal(t testing.TB, what string, got, want any) {
	t.Helper()
	a, errA := json.Marshal(got)
	b, errB := json.Marshal(want)
	if errA != nil || errB != nil || string(a) != string(b) {
		t.Errorf("%s: got %s, want %s", what, a, b)
	}
}

// hosted reads a response in the hosted dialect, which does not match the contract's schemas.
func (s *site) hosted(t testing.TB, path string) string {
	t.Helper()
	q, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.address(path), nil)
	if err != nil {
		t.Fatal(err)
	}
	q.Header.Set("Authorization", "Bearer "+s.token)
	q.Header.Set(api.DialectHeader, "hosted")
	answer, err := http.DefaultClient.Do(q)
	if err != nil {
		t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}
