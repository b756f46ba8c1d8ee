package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
	"github.com/redoubt/redoubt/internal/ticket"
)

// tickets returns the number of stored tickets.
func (d tenant) tickets() (n int) {
	d.t.Helper()
	d.view(func(ctx context.Context, tx *store.Tx) error {
		list, _, _, err := tx.TicketPage(ctx, store.TicketQuery{Limit: 10000})
		n = len(list)
		return err
	})
	return n
}

// TestTicketsAboutNothingEnd links one finding to many addresses in turn, deletes the project of a
// linked finding, and unlinks created tickets.
func TestTicketsAboutNothingEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		f := d.written(d.findings(d.project("acme/one"), 1, nil))
		for i := range 30 {
			d.link(fmt.Sprint("https://tracker.example/browse/SEC-", i+1), f...)
		}
		same(t, "after 30 links", d.tickets(), 1)
		d.update(func(ctx context.Context, tx *store.Tx) error { _, err := ticket.Unlink(ctx, tx, f); return err })
		same(t, "unlinked", d.tickets(), 0)
		gone := d.project("acme/two")
		d.link(sec1, d.written(d.findings(gone, 1, nil))...)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteProject(ctx, gone.ID) })
		same(t, "its project deleted", d.tickets(), 0)

		var made []model.Ticket
		for i := range store.MaxBareTickets + 5 {
			made = append(made, model.Ticket{
				State: model.TicketOpen, URL: fmt.Sprint("https://git.example/acme/one/issues/", i+1), Slug: "x", Marker: fmt.Sprint("redoubt-", i),
			})
		}
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			made, err = tx.AddTickets(ctx, made)
			return err
		})
		d.link(made[len(made)-1].URL, f...)
		d.update(func(ctx context.Context, tx *store.Tx) error { _, err := ticket.Unlink(ctx, tx, f); return err })
		same(t, "made, and about nothing", d.tickets(), store.MaxBareTickets)
		d.ticket(made[len(made)-1].ID) // the newest ones stay
	})
}

// TestTicketsNeedFewRoundTrips checks that 50 findings with different earlier tickets and
// triage need no more round trips than two.
func TestTicketsNeedFewRoundTrips(t *testing.T) {
	proxy, config := storetest.Through(t, storetest.Database(t, "postgres", storetest.NewClock()))
	s := storetest.Open(t, config)
	d := newTenant(t, s)
	private := hostRepository("1", "acme/private")
	private.Private = true
	p := d.assignProject(d.saveRepositories(d.connection("gitea"), private)[0])
	all := d.written(d.findings(p, 60, func(i int, w *model.FindingWrite) { w.RuleName = fmt.Sprint("rule-", i) }))
	d.update(func(ctx context.Context, tx *store.Tx) error {
		for i, f := range all {
			after := model.Triage{State: model.TriageReviewing, Comment: fmt.Sprint("reason ", i)}
			if err := tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: f.LineageID, At: tx.Now(), By: tx.Actor(), After: after}}); err != nil {
				return err
			}
			_, err := ticket.Link(ctx, tx, ticket.Target{URL: fmt.Sprint("https://tracker.example/browse/OLD-", i+1)}, []model.Finding{f})
			if err != nil {
				return err
			}
		}
		return nil
	})
	for _, step := range []struct {
		name string
		do   func(ctx context.Context, tx *store.Tx, f []model.Finding) error
	}{
		{"link", func(ctx context.Context, tx *store.Tx, f []model.Finding) error {
			_, err := ticket.Link(ctx, tx, ticket.Target{URL: fmt.Sprint("https://tracker.example/browse/NEW-", len(f))}, f)
			return err
		}},
		{"unlink", func(ctx context.Context, tx *store.Tx, f []model.Finding) error {
			_, err := ticket.Unlink(ctx, tx, f)
			return err
		}},
		{"create", func(ctx context.Context, tx *store.Tx, f []model.Finding) error {
			out, err := ticket.Submit(ctx, tx, ticket.Request{Findings: f})
			if err == nil && len(out.Requested) != len(f) {
				err = fmt.Errorf("asked for %d tickets: %+v", len(f), out)
			}
			return err
		}},
	} {
		trips := func(f []model.Finding) int {
			before := proxy.RoundTrips()
			d.update(func(ctx context.Context, tx *store.Tx) error { return step.do(ctx, tx, f) })
			return proxy.RoundTrips() - before
		}
		trips(all[:2]) // prepares the statements
		few, many := trips(all[2:4]), trips(all[10:])
		t.Logf("%s of 2 findings took %d round trips, of 50 %d", step.name, few, many)
		if many > 26 {
			t.Errorf("%s of 50 findings took %d round trips, at most 26 were to be", step.name, many)
		}
	}
}
