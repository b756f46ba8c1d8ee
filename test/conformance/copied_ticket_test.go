package conformance

import (
	"context"
	"slices"
	"testing"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/store"
)

// TestTicketExcludesCopies checks that a ticket remains linked to a finding that moves. A copy at the
// old location must not be linked.
func TestTicketExcludesCopies(t *testing.T) {
	for name, kind := range copyKinds {
		t.Run(name, func(t *testing.T) {
			each(t, func(t *testing.T, s *site) {
				a, b := "a/shop/package-lock.json", "b/shop/package-lock.json"
				s.publish(t, record{id: "GHSA-1", name: "lodash", fixed: "4.17.21", severity: "HIGH"})
				kind.send(t, s, "main", a)
				kind.send(t, s, "dev", a)
				kind.send(t, s, "dev", b)
				_, moved := s.decisions(t, kind.source, "dev", []string{a, b})
				post[api.LinkTicketResponse](t, s, "tickets/link", map[string]any{"ticket_url": "https://t.example/browse/SEC-1", "issue_ids": []int64{moved[b].ID}})
				kind.send(t, s, "dev", a, b)
				_, found := s.decisions(t, kind.source, "dev", []string{a, b})
				if found[a].LineageID == found[b].LineageID {
					t.Fatal("there is no copy")
				}
				ticket := get[api.ListTicketsResponse](t, s, "tickets").Tickets[0]
				err := s.store.View(t.Context(), s.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
					lineages, err := tx.Lineages(ctx, []int64{found[a].LineageID, found[b].LineageID})
					if err != nil {
						return err
					}
					stays, left := lineages[found[a].LineageID].Annotations.ExternalTicket, lineages[found[b].LineageID].Annotations.ExternalTicket
					if left != nil || stays == nil || !slices.Equal(stays.LinkedIssueIDs, ticket.IssueIDs) {
						t.Errorf("the remaining finding has %+v, the copy %+v; the ticket is about %v", stays, left, ticket.IssueIDs)
					}
					named, err := tx.Finding(ctx, ticket.IssueIDs[0])
					if err == nil && named.LineageID != found[a].LineageID {
						t.Errorf("the ticket is about %d; the copy is %d, and %d stays", named.ID, found[b].ID, found[a].ID)
					}
					return err
				})
				if err != nil {
					t.Fatal(err)
				}
			})
		})
	}
}
