package store_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestTicketPages checks that pages are complete for callers restricted to projects. The round
// trips must not depend on the number of hidden tickets.
func TestTicketPages(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			c := storetest.Database(t, engine, storetest.NewClock())
			trips := func() int { return 0 }
			if engine == "postgres" {
				var proxy *storetest.Proxy
				proxy, c = storetest.Through(t, c)
				trips = proxy.RoundTrips
			}
			d := newTenant(t, storetest.Open(t, c))
			seen, hidden := d.written(d.findings(d.project("acme/seen"), 5, nil)), d.written(d.findings(d.project("secret/other"), 30, nil))
			var own []int64
			for i, f := range hidden {
				if i%6 == 0 {
					own = append(own, d.link(fmt.Sprint("https://t.example/browse/SEC-", i), seen[i/6], f).Ticket.ID)
					continue
				}
				d.link(fmt.Sprint("https://t.example/browse/SEC-", i), f)
			}
			took := 0
			page := func(q store.TicketQuery) (ids []int64, more bool) {
				d.view(func(ctx context.Context, tx *store.Tx) error {
					before := trips()
					list, about, rest, err := tx.TicketPage(ctx, q)
					took = trips() - before
					for _, f := range list {
						ids = append(ids, f.ID)
						for _, a := range about[f.ID] {
							if !q.Globs.Allows("secret/other") && a.ProjectID != seen[0].ProjectID {
								t.Errorf("ticket %d tells of finding %d", f.ID, a.FindingID)
							}
						}
						if len(about[f.ID]) == 0 {
							t.Errorf("ticket %d is about nothing", f.ID)
						}
					}
					more = rest
					return err
				})
				return ids, more
			}
			bound := model.ProjectGlobs{"acme/*"}
			for range 2 { // the first round prepares statements
				for after, want := int64(0), own; len(want) > 0; {
					ids, more := page(store.TicketQuery{Globs: bound, After: after, Limit: 2})
					n := min(2, len(want))
					same(t, "a page", ids, want[:n])
					same(t, "there is more", more, len(want) > n)
					after, want = ids[n-1], want[n:]
				}
			}
			if took > 3 {
				t.Errorf("a page of two takes %d round trips", took)
			}
			for range 2 {
				if ids, more := page(store.TicketQuery{Limit: 30}); len(ids) != 30 || more {
					t.Errorf("all are %d, and more: %t", len(ids), more)
				}
			}
			if took > 2 {
				t.Errorf("a page of thirty takes %d round trips", took)
			}
			if ids, more := page(store.TicketQuery{Globs: model.ProjectGlobs{"third/*"}, Limit: 30}); len(ids) != 0 || more {
				t.Errorf("a user without access to the projects receives %v", ids)
			}
		})
	}
}
