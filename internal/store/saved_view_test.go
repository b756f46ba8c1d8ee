package store_test

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// savedViews creates two users and returns a function that adds views.
func savedViews(t *testing.T, s *store.Store) (d tenant, ada, ben int64, add func(owner int64, name string) model.SavedView) {
	d = newTenant(t, s)
	for name, id := range map[string]*int64{"ada": &ada, "ben": &ben} {
		d.update(func(ctx context.Context, tx *store.Tx) error {
			u, err := tx.CreateUser(ctx, model.User{Name: name}, model.RoleTriager)
			*id = u.ID
			return err
		})
	}
	d.update(func(ctx context.Context, tx *store.Tx) error { // an administrator must remain
		_, err := tx.CreateUser(ctx, model.User{Name: "root"}, model.RoleAdmin)
		return err
	})
	return d, ada, ben, func(owner int64, name string) (v model.SavedView) {
		d.update(func(ctx context.Context, tx *store.Tx) (err error) {
			v, err = tx.AddSavedView(ctx, model.SavedView{Name: name, IssueType: model.SAST, OwnerID: owner, Query: "severities=high"})
			return err
		})
		return v
	}
}

// namesOfViews returns the views visible to a user; default views have a star.
func (d tenant) namesOfViews(user int64) (out []string) {
	d.view(func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.SavedViews(ctx, user)
		for _, v := range list {
			name := v.Name
			if v.Default {
				name += "*"
			}
			out = append(out, name)
		}
		return err
	})
	return out
}

// TestSavedViews checks that users see their own and shared views and have their own defaults. A
// view that becomes private is removed from other users' defaults.
func TestSavedViews(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, ada, ben, add := savedViews(t, s)
		shared, mine := add(0, "Shared"), add(ada, "Mine")
		add(ben, "Mine") // names are unique per owner
		want := func(user int64, names ...string) {
			t.Helper()
			if diff := cmp.Diff(names, d.namesOfViews(user)); diff != "" {
				t.Errorf("views of user %d (-want +got):\n%s", user, diff)
			}
		}
		want(ada, "Mine", "Shared")
		want(0, "Shared")
		for user, v := range map[int64]model.SavedView{ada: mine, ben: shared} {
			d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetDefaultView(ctx, user, v, true) })
		}
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetDefaultView(ctx, ada, shared, true) })
		want(ada, "Mine", "Shared*")
		want(ben, "Mine", "Shared*")
		d.view(func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.SavedView(ctx, ben, mine.ID); !errors.Is(err, model.ErrNotFound) {
				t.Errorf("the view of another user: %v", err)
			}
			if id, err := tx.DefaultView(ctx, ada, model.SAST); id != shared.ID || err != nil {
				t.Errorf("the default is %d, not %d: %v", id, shared.ID, err)
			}
			id, err := tx.DefaultView(ctx, ada, model.SCA)
			if id != 0 {
				t.Errorf("another page opens with %d", id)
			}
			return err
		})

		changed := shared
		changed.OwnerID, changed.Name, changed.Query = ada, "Taken", "severities=low"
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.UpdateSavedView(ctx, shared, changed) })
		want(ada, "Mine", "Taken*")
		want(ben, "Mine")
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.DeleteSavedView(ctx, changed) })
		want(ada, "Mine")
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetDefaultView(ctx, ada, mine, true) })
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetDefaultView(ctx, ada, mine, false) })
		want(ada, "Mine")
		if list := d.noise().namesOfViews(1); len(list) != 1 || list[0] != "noise*" {
			t.Errorf("the other tenant has %v", list)
		}
	})
}

// TestSavedViewsOfRemovedUser checks that the private views of a removed user are deleted and shared
// ones stay.
func TestSavedViewsOfRemovedUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, ada, ben, add := savedViews(t, s)
		mine, shared := add(ada, "Mine"), add(0, "Shared")
		add(ben, "His")
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetDefaultView(ctx, ada, mine, true) })
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetDefaultView(ctx, ben, shared, true) })
		d.update(func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, ada, model.RoleNone) })
		if diff := cmp.Diff([]string{"Shared"}, d.namesOfViews(ada)); diff != "" {
			t.Errorf("who left (-want +got):\n%s", diff)
		}
		if diff := cmp.Diff([]string{"His", "Shared*"}, d.namesOfViews(ben)); diff != "" {
			t.Errorf("who stayed (-want +got):\n%s", diff)
		}
	})
}

// TestSavedViewBounds checks that names are unique ignoring case, and that views are limited, both
// per owner.
func TestSavedViewBounds(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, ada, ben, add := savedViews(t, s)
		try := func(v model.SavedView) error {
			v.IssueType = model.SAST
			return s.Update(t.Context(), d.id, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				if v.ID != 0 {
					return tx.UpdateSavedView(ctx, v, v)
				}
				_, err := tx.AddSavedView(ctx, v)
				return err
			})
		}
		first := add(ada, "First")
		fails(t, "a name that is taken", try(model.SavedView{Name: "FIRST", OwnerID: ada}), model.ErrConflict)
		first.Name = "first"
		if err := try(first); err != nil {
			t.Errorf("to spell its own name otherwise: %v", err)
		}
		for i := range model.MaxSavedViews - 1 {
			add(ada, fmt.Sprint("view ", i))
		}
		fails(t, "one view too many", try(model.SavedView{Name: "one more", OwnerID: ada}), model.ErrConflict)
		his := add(ben, "his")
		his.OwnerID = ada
		fails(t, "one too many by giving", try(his), model.ErrConflict)
		his.OwnerID, his.Name = 0, "shared"
		if err := try(his); err != nil {
			t.Errorf("to share another's: %v", err)
		}
	})
}
