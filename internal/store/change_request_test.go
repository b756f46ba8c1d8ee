package store_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestSaveChangeRequestReportsWhetherScanIsNeeded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		r := d.saveRepositories(d.connection("gitea"), hostRepository("1", "acme/payments"))[0]
		save := func(c model.ChangeRequest, want bool) {
			t.Helper()
			c.RepositoryID = r.ID
			d.update(func(ctx context.Context, tx *store.Tx) error {
				fresh, err := tx.SaveChangeRequest(ctx, c)
				if fresh != want {
					t.Errorf("%+v is fresh: %v", c, fresh)
				}
				return err
			})
		}
		c := model.ChangeRequest{Number: 1, State: model.ChangeOpen, HeadCommit: "a", Title: "x\x00y", UpdatedAt: storetest.Epoch}
		save(c, true)
		c.Title = "another"
		save(c, false)
		c.BaseRef, c.BaseCommit = "main", "m"
		save(c, true)
		c.BaseCommit = "n" // the base moves with each merge into it
		save(c, false)
		c.HeadCommit, c.UpdatedAt = "b", c.UpdatedAt.Add(time.Minute)
		save(c, true)
		late := c
		late.HeadCommit, late.UpdatedAt = "a", storetest.Epoch
		save(late, false)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			found, err := tx.ChangeRequest(ctx, r.ID, 1)
			same(t, "the head after late events", found.HeadCommit, "b")
			return err
		})
		c.State = model.ChangeClosed
		save(c, false)
		c.State = model.ChangeOpen
		save(c, true)
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.CloseChangeRequests(ctx, r.ID, []int64{2}) })
		d.view(func(ctx context.Context, tx *store.Tx) error {
			open, err := tx.ChangeRequests(ctx, r.ID)
			same(t, "open ones", len(open), 0)
			return err
		})
	})
}

func TestDeliveryReplaysAreRejected(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		c := d.connection("gitea")
		add := func(id string) error {
			return s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				made, err := tx.AddDelivery(ctx, store.Delivery{ConnectionID: c.ID, Delivery: id, Event: "push"})
				if err != nil {
					return err
				}
				return tx.FinishDelivery(ctx, made.ID, "done "+id)
			})
		}
		for i := range 3 {
			d.check(add(fmt.Sprint("guid-", i)))
		}
		fails(t, "a replay", add("guid-1"), model.ErrConflict)
		d.view(func(ctx context.Context, tx *store.Tx) error {
			list, more, err := tx.Deliveries(ctx, store.DeliveryQuery{ConnectionID: c.ID, Limit: 2})
			same(t, "the newest", []string{list[0].Outcome, list[1].Outcome}, []string{"done guid-2", "done guid-1"})
			older, end, err3 := tx.Deliveries(ctx, store.DeliveryQuery{ConnectionID: c.ID, Before: list[1].ID, Limit: 2})
			d.check(err3)
			same(t, "the rest", []any{more, len(older), older[0].Outcome, end}, []any{true, 1, "done guid-0", false})
			after, err2 := tx.Connection(ctx, c.ID)
			same(t, "when it heard", after.WebhookAt, tx.Now())
			d.check(err2)
			return err
		})
	})
}
