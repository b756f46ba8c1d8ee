package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/ticket"
)

// TestMergedProjectsPreserveTickets merges two projects that both have findings 0 and 1.
func TestMergedProjectsPreserveTickets(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newTwins(t, s)
		const sec2 = "https://tracker.example/browse/SEC-2"
		from, into := w.written(w.fromFound), w.written(w.intoFound)
		one := w.link(sec1, from...).Ticket // linked to all findings of from
		two := w.link(sec2, into[1]).Ticket // linked to a finding that both projects have
		w.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.Annotate(ctx, into[0].LineageID, func(a *model.Annotations) { a.Exploited = true })
		})
		w.merge()
		about := func(ticket int64) (ids []int64) {
			w.view(func(ctx context.Context, tx *store.Tx) error {
				list, err := tx.TicketFindings(ctx, ticket, nil)
				for _, f := range list {
					ids = append(ids, f.FindingID)
					same(t, "its project", f.ProjectID, w.into.ID)
				}
				return err
			})
			return ids
		}
		wantOne, wantTwo := []int64{from[2].ID, into[0].ID}, []int64{into[1].ID}
		same(t, "the first is about", about(one.ID), wantOne)
		same(t, "the second is about", about(two.ID), wantTwo)
		for _, c := range []struct {
			of     model.Finding
			ticket model.Ticket
			ids    []int64
		}{{into[0], one, wantOne}, {from[2], one, wantOne}, {into[1], two, wantTwo}} {
			shown := w.shown(c.of.LineageID)
			if shown == nil {
				t.Errorf("finding %d shows no ticket", c.of.ID)
				continue
			}
			same(t, "what a finding shows", *shown, model.ExternalTicket{ExternalSlug: c.ticket.Slug, ID: c.ticket.ID, LinkedIssueIDs: c.ids, URL: c.ticket.URL})
		}
		w.view(func(ctx context.Context, tx *store.Tx) error {
			return tx.CheckRows(ctx, func(check string, faults []string) {
				if check == "references between rows" && len(faults) > 0 {
					t.Errorf("%s: %v", check, faults)
				}
			})
		})
	})
}

// TestMergedLineagesHaveOneTicket merges lineages with several tickets within a project.
func TestMergedLineagesHaveOneTicket(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		w := newTenant(t, s)
		f := w.written(w.findings(w.project("acme/payments"), 3, nil))
		w.link(sec1, f[1])
		w.link("https://tracker.example/browse/SEC-2", f[2])
		w.update(func(ctx context.Context, tx *store.Tx) error {
			all, err := tx.Lineages(ctx, []int64{f[0].LineageID})
			w.check(err)
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: all[f[0].LineageID], From: []int64{f[1].LineageID, f[2].LineageID}}})
		})
		w.view(func(ctx context.Context, tx *store.Tx) error {
			found, err := tx.TicketsOfLineages(ctx, []int64{f[0].LineageID})
			same(t, "its ticket", found[f[0].LineageID].URL, sec1)
			return err
		})
	})
}

// TestMergedLineagesShowRemainingTicket merges a finding with a requested ticket and one with a
// created ticket. The annotations of all linked findings must match the links.
func TestMergedLineagesShowRemainingTicket(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.written(d.findings(d.project("acme/payments"), 5, nil))
		jira := d.jira("jira")
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.PutTicketSetting(ctx, model.TicketSetting{ConnectionID: jira.ID, Project: "SEC"})
		})
		requested := d.requestTickets(ticket.Request{Findings: f[:1]}).Requested[0].TicketID
		one := d.link(sec1, f[1], f[3]).Ticket
		two := d.link("https://tracker.example/browse/SEC-2", f[2], f[4]).Ticket
		d.update(func(ctx context.Context, tx *store.Tx) error {
			all, err := tx.Lineages(ctx, []int64{f[0].LineageID})
			d.check(err)
			return tx.MergeLineages(ctx, []model.LineageMerge{{Into: all[f[0].LineageID], From: []int64{f[1].LineageID, f[2].LineageID}}})
		})
		shows := func(t model.Ticket, ids ...int64) *model.ExternalTicket {
			return &model.ExternalTicket{ExternalSlug: t.Slug, ID: t.ID, LinkedIssueIDs: ids, URL: t.URL}
		}
		same(t, "what became one", d.shown(f[0].LineageID), shows(one, f[1].ID, f[3].ID))
		same(t, "the other of the first ticket", d.shown(f[3].LineageID), shows(one, f[1].ID, f[3].ID))
		same(t, "the other of the second ticket", d.shown(f[4].LineageID), shows(two, f[4].ID))
		d.view(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Ticket(ctx, requested)
			fails(t, "the ticket that is asked for, about nothing", err, model.ErrNotFound)
			return nil
		})
		if faults, _ := checked(t, s, d); faults != "" {
			t.Error(faults)
		}
	})
}
