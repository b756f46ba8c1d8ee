package conformance

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/redoubt/redoubt/api"
)

// TestTicketCreationSkipsLinkedFindings creates tickets for a filter whose newest findings have one
// already.
func TestTicketCreationSkipsLinkedFindings(t *testing.T) {
	s := newSite(t, "sqlite")
	smallSite(t, s)
	var ids []int64
	for _, f := range s.allCode(t) {
		ids = append(ids, f.ID)
	}
	ids = slices.Sorted(slices.Values(ids))
	newest := ids[len(ids)-1]
	s.link(t, "https://t.example/browse/SEC-1", newest)
	without := []int64{}
	for _, id := range ids {
		if s.finding(t, id).ExternalTicket == nil {
			without = append(without, id)
		}
	}
	next := without[len(without)-1]
	for name, body := range map[string]object{
		"a filter":     {"issue_type": "sast", "severities": []string{"low", "medium", "high", "critical"}, "limit": 1},
		"ids":          {"issue_ids": ids, "limit": 1},
		"ids, a type":  {"issue_ids": ids, "issue_type": "sast", "limit": 1},
		"other's type": {"issue_ids": ids, "issue_type": "sca", "limit": 1},
	} {
		out := post[api.CreateTicketsResponse](t, s, "tickets", body)
		if name == "other's type" {
			if len(out.Failed) != 0 || len(out.Skipped) != len(ids) {
				t.Errorf("%s: %+v", name, out)
			}
			continue
		}
		if len(out.Failed) != 1 || !slices.Equal(out.Failed[0].IssueIDs, []int64{next}) { // there is no tracker
			t.Errorf("%s: failed is %+v, want it of %d", name, out.Failed, next)
		}
		left := 0
		for _, group := range out.Skipped {
			left += len(group.IssueIDs)
		}
		if want := len(ids) - 1; name != "a filter" && left != want {
			t.Errorf("%s: %d findings are skipped, want %d", name, left, want)
		}
	}
}

// TestTicketSetByPatchOrLink sets tickets by PATCH of a finding and by link, and reads
// them with all operations.
func TestTicketSetByPatchOrLink(t *testing.T) {
	each(t, func(t *testing.T, s *site) {
		code := smallSite(t, s)
		a, b := code[0].ID, code[1].ID
		const address, other = "https://tracker.example/items/9", "https://tracker.example/browse/SEC-12"
		set := func(id int64, ticket any) api.FindingResponse {
			return patch[api.FindingResponse](t, s, fmt.Sprintf("findings/%d", id), object{"external_ticket": ticket})
		}
		tickets := func() []api.Ticket { return get[api.ListTicketsResponse](t, s, "tickets").Tickets }

		answer := set(a, object{"externalSlug": "ITEM-9", "id": 4711, "linkedIssueIds": []int64{b}, "url": address}).Finding.ExternalTicket
		list := tickets()
		if len(list) != 1 {
			t.Fatalf("after PATCH the tickets are %+v", list)
		}
		want := api.ExternalTicket{ExternalSlug: "ITEM-9", ID: list[0].ID, LinkedIssueIDs: []int64{a}, URL: address}
		equal(t, "what PATCH answers", *answer, want)
		equal(t, "what the list says", []any{list[0].ExternalSlug, list[0].URL, list[0].IssueIDs, list[0].State}, []any{"ITEM-9", address, []int64{a}, "unknown"})

		linked := s.link(t, address, b)
		equal(t, "the same ticket", []any{linked.TicketID, linked.ExternalSlug}, []any{list[0].ID, "ITEM-9"})
		want.LinkedIssueIDs = sorted(a, b)
		equal(t, "the first finding", *s.finding(t, a).ExternalTicket, want)
		set(b, object{"externalSlug": "ITEM-NINE", "url": address})
		want.ExternalSlug = "ITEM-NINE"
		for _, id := range []int64{a, b} {
			equal(t, "under its new name", *s.finding(t, id).ExternalTicket, want)
		}
		out := post[api.CreateTicketsResponse](t, s, "tickets", object{"issue_ids": []int64{a}})
		if len(out.Skipped) != 1 || !strings.Contains(out.Skipped[0].Reason, "linked to ITEM-NINE") {
			t.Errorf("a second ticket was created for a finding: %+v", out)
		}
		if table := s.send(t, request{method: "GET", path: "findings/export?format=csv"}); strings.Count(string(table.body), address) < 2 {
			t.Errorf("the export has no ticket: %.300s", table.body)
		}

		set(b, object{"externalSlug": "", "url": other})
		equal(t, "another one", s.finding(t, b).ExternalTicket.ExternalSlug, "SEC-12")
		equal(t, "what stays at the first", s.finding(t, a).ExternalTicket.LinkedIssueIDs, []int64{a})
		post[api.TriageResponse](t, s, "triage", object{"issue_type": "sast", "issue_ids": []int64{a, b}, "new_triage_state": "ignored", "new_triage_reason": "no_time"})
		equal(t, "after a triage", s.finding(t, b).ExternalTicket.ExternalSlug, "SEC-12")
		set(a, nil)
		if found := s.finding(t, a); found.ExternalTicket != nil {
			t.Errorf("after null it has %+v", found.ExternalTicket)
		}
		if gone := s.send(t, request{method: "GET", path: fmt.Sprint("tickets/", list[0].ID)}); gone.status != 404 {
			t.Errorf("a linked ticket without findings is stored: %d %s", gone.status, gone.body)
		}
		set(a, nil)
		equal(t, "unlinked", post[api.UnlinkTicketResponse](t, s, "tickets/unlink", object{"issue_ids": []int64{b}}).UnlinkedIssueIDs, []int64{b})
		if found := s.finding(t, b); found.ExternalTicket != nil {
			t.Errorf("after unlinking it has %+v", found.ExternalTicket)
		}
		var notes []string
		for _, e := range get[api.FindingHistoryResponse](t, s, fmt.Sprintf("findings/%d/history", a)).Events {
			if strings.Contains(e.Note, "inked") {
				notes = append(notes, e.Note)
			}
		}
		slices.Sort(notes)
		equal(t, "its history", notes, []string{"Linked to ITEM-9 (" + address + ")", "No longer linked to ITEM-NINE (" + address + ")"})
		for _, bad := range []object{{"externalSlug": "S", "url": ""}, {"externalSlug": "S", "url": "SEC-1"}, {"externalSlug": "S", "url": "https://me:pw@t.example/1"}} {
			refused(t, s.send(t, request{method: "PATCH", path: fmt.Sprintf("findings/%d", a), body: object{"external_ticket": bad}}), 400, api.CodeInvalidArgument, "body.external_ticket.url")
		}
	})
}
