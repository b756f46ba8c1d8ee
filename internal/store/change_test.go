package store_test

import (
	"context"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func TestChangedSince(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 3, nil)
		before := d.version()
		d.update(func(ctx context.Context, tx *store.Tx) error {
			return tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: writes[1].LineageID, At: storetest.Epoch, After: model.Triage{State: model.TriageFixing}}})
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			changed, err := tx.ChangedSince(ctx, before)
			d.check(err)
			same(t, "lineages", changed.Lineages, map[int64]bool{writes[1].LineageID: true})
			same(t, "findings", changed.Findings, map[int64]bool{})
			changed, err = tx.ChangedSince(ctx, d.version())
			d.check(err)
			same(t, "nothing since", len(changed.Lineages)+len(changed.Findings), 0)
			_, err = tx.ChangedSince(ctx, d.version()+1)
			fails(t, "a version to come", err, model.ErrConflict)
			return nil
		})
		d.check(s.PruneChanges(t.Context(), d.id, 0))
		d.view(func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.ChangedSince(ctx, before)
			fails(t, "a pruned feed", err, model.ErrConflict)
			return nil
		})
	})
}

func TestTriageEventsOfDecision(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		writes := d.findings(d.project("acme/payments"), 2, nil)
		var first, second int64
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			d.check(tx.UpdateTriage(ctx, []model.TriageEvent{{LineageID: writes[0].LineageID, At: storetest.Epoch, After: model.Triage{State: model.TriageFixing}}}))
			first, err = tx.LastTriageEvent(ctx)
			return err
		})
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			d.check(tx.UpdateTriage(ctx, []model.TriageEvent{
				{LineageID: writes[0].LineageID, At: storetest.Epoch, After: model.Triage{State: model.TriageIgnored}},
				{LineageID: writes[1].LineageID, At: storetest.Epoch, After: model.Triage{State: model.TriageIgnored}},
			}))
			second, err = tx.LastTriageEvent(ctx)
			return err
		})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			events, err := tx.TriageEvents(ctx, first, second)
			d.check(err)
			same(t, "events", len(events), 2)
			same(t, "of", []int64{events[0].LineageID, events[1].LineageID}, []int64{writes[0].LineageID, writes[1].LineageID})
			return nil
		})
		noise := d.noise()
		noise.view(func(ctx context.Context, tx *store.Tx) error {
			events, err := tx.TriageEvents(ctx, first, second)
			same(t, "another tenant's", len(events), 0)
			return err
		})
	})
}

func TestRule(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := newTenant(t, s)
		w := d.findings(d.project("acme/payments"), 1, nil)[0]
		d.view(func(ctx context.Context, tx *store.Tx) error {
			rule, err := tx.Rule(ctx, w.RuleID)
			d.check(err)
			same(t, "name", rule.Name, w.RuleName)
			_, err = tx.Rule(ctx, 1<<40)
			fails(t, "a rule that is not there", err, model.ErrNotFound)
			return nil
		})
	})
}
