package notify_test

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// TestRulesBySavedView checks that rules use the current filter of a view and stop once it is
// deleted.
func TestRulesBySavedView(t *testing.T) {
	each(t, func(w *world) {
		var shared, own model.SavedView
		w.update(func(ctx context.Context, tx *store.Tx) (err error) {
			u, err := tx.CreateUser(ctx, model.User{Name: "ann"}, model.RoleViewer)
			if err != nil {
				return err
			}
			if own, err = tx.AddSavedView(ctx, model.SavedView{Name: "own", OwnerID: u.ID, IssueType: model.SAST}); err != nil {
				return err
			}
			shared, err = tx.AddSavedView(ctx, model.SavedView{Name: "shared", IssueType: model.SAST, Query: "severities=high&sort=due"})
			return err
		})
		set := func(query string) {
			w.update(func(ctx context.Context, tx *store.Tx) error {
				after := shared
				after.Query = query
				return tx.UpdateSavedView(ctx, shared, after)
			})
		}
		by := func(filter string, change func(r *model.NotificationRule)) (made model.NotificationRule, err error) {
			err = w.s.Update(w.Context(), w.d.ID, model.Actor{Kind: "user"}, func(ctx context.Context, tx *store.Tx) error {
				r := w.newRule(change)
				r.Filter = filter
				made, _, err = w.n.Add(ctx, tx, r, w.receiver.URL)
				return err
			})
			return made, err
		}
		view := "view=" + fmt.Sprint(shared.ID)
		for _, bad := range []string{"view=" + fmt.Sprint(own.ID), "view=4000000", "view=x", view + "&severities=low", view + "&" + view, "view="} {
			if _, err := by(bad, nil); err == nil {
				t.Errorf("%s is taken", bad)
			}
		}
		if _, err := by(view, func(r *model.NotificationRule) { r.Products = model.Products(0).With(model.SCA) }); err == nil {
			t.Error("a view of another product is taken")
		}
		rule, err := by(view, nil)
		if err != nil {
			t.Fatal(err)
		}
		both := func() (titles []string) {
			w.found(added{n: 1, severity: model.SeverityHigh})
			w.found(added{n: 1, severity: model.SeverityLow})
			w.runDueJobs()
			for _, e := range w.receiver.events(w.T) {
				titles = append(titles, e.Data.Title)
			}
			return titles
		}
		if got := both(); len(got) != 1 || got[0] != "1 new finding (1 high) in acme/api" {
			t.Errorf("by the view: %q", got)
		}
		set("severities=low")
		if got := both(); len(got) != 1 || got[0] != "1 new finding (1 low) in acme/api" {
			t.Errorf("by the view as it is now: %q", got)
		}
		now := func() (r model.NotificationRule) {
			w.view(func(ctx context.Context, tx *store.Tx) (err error) {
				r, err = tx.NotificationRule(ctx, rule.ID)
				return err
			})
			return r
		}
		resume := func() error {
			r := now()
			r.Paused = false
			return w.s.Update(w.Context(), w.d.ID, model.Actor{Kind: "user"}, func(ctx context.Context, tx *store.Tx) error {
				_, err := w.n.Change(ctx, tx, r, "")
				return err
			})
		}
		set("no_such_word=1")
		if got := both(); len(got) != 0 {
			t.Errorf("by a view that cannot be read: told is %q", got)
		}
		if r := now(); !r.Paused || r.Problem == "" {
			t.Errorf("by a view that cannot be read: the rule is %+v", r)
		}
		if resume() == nil {
			t.Error("a rule by a view that cannot be read goes on")
		}
		set("severities=high")
		if err := resume(); err != nil {
			t.Fatal(err)
		}
		if got := both(); len(got) != 1 {
			t.Errorf("after it was mended: %q", got)
		}
		w.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSavedView(ctx, shared) })
		if got := both(); len(got) != 0 {
			t.Errorf("deleted: told is %q", got)
		}
		if r := now(); !r.Paused || r.Problem == "" || r.Filter != view {
			t.Errorf("deleted: the rule is %+v", r)
		}
	})
}
