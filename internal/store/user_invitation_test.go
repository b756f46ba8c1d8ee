package store_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

func invite(t testing.TB, s *store.Store, d model.Deployment, name, code string) (i model.UserInvitation, err error) {
	t.Helper()
	err = s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) (err error) {
		i, err = tx.Invite(ctx, model.UserInvitation{
			Name: name, NewName: model.NewUserName(name, d.Slug), Role: model.RoleTriager, InvitedBy: "Ada", ExpiresAt: tx.Now().Add(time.Hour),
		}, storetest.TokenHash(code))
		return err
	})
	return i, err
}

func invitations(t testing.TB, s *store.Store, d model.Deployment) (names []string) {
	t.Helper()
	view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		list, err := tx.Invitations(ctx)
		for _, i := range list {
			names = append(names, i.Name)
		}
		return err
	})
	return names
}

// TestInvitationsReserveDistinctNames checks that no two invitations reserve the same name for
// different recipients.
func TestInvitationsReserveDistinctNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		for _, name := range []string{"zoe", "zoe"} { // the second replaces the first
			if _, err := invite(t, s, d, name, "code"); err != nil {
				t.Fatal(err)
			}
		}
		_, err := invite(t, s, d, "zoe@"+d.Slug, "other")
		fails(t, "the name that the first one makes", err, model.ErrConflict)
		if got := invitations(t, s, d); !slices.Equal(got, []string{"zoe"}) {
			t.Errorf("invited are %v", got)
		}
	})
}

// TestInvitationsDoNotDiscloseForeignNames checks that invitations do not disclose whether a
// name is used in another deployment.
func TestInvitationsDoNotDiscloseForeignNames(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, noise := storetest.Deployment(t, s), deployment(t, s, storetest.Noise)
		tri := addUser(t, s, noise, "tri", model.RoleAdmin)
		signIn(t, s, tri, "cookie")
		before := actions(t, s, noise)
		for _, name := range []string{"tri", "free"} {
			if _, err := invite(t, s, d, name, name); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if got := invitations(t, s, d); !slices.Equal(got, []string{"free", "tri"}) {
			t.Errorf("invited are %v", got)
		}
		if role, err := s.UserRole(t.Context(), d.ID, tri.ID); err != nil || role != model.RoleNone || !hasSession(t, s, "cookie") {
			t.Errorf("the role is %v, %v, or the session ended", role, err)
		}
		if after := actions(t, s, noise); !slices.Equal(before, after) {
			t.Errorf("the other deployment's trail has %v, had %v", after, before)
		}
		mine, err := s.InvitationsFor(t.Context(), "tri")
		if err != nil || len(mine) != 1 || mine[0].Deployment.Slug != d.Slug || mine[0].Role != model.RoleTriager || mine[0].InvitedBy != "Ada" {
			t.Fatalf("tri is invited to %v, %v", mine, err)
		}
		if err := s.AcceptInvitation(t.Context(), mine[0], tri); err != nil {
			t.Fatal(err)
		}
		if role, err := s.UserRole(t.Context(), d.ID, tri.ID); err != nil || role != model.RoleTriager || !hasSession(t, s, "cookie") {
			t.Errorf("the role is %v, %v, or the session ended", role, err)
		}
		fails(t, "accepted again", s.AcceptInvitation(t.Context(), mine[0], tri), model.ErrNotFound)
		_, err = invite(t, s, d, "tri", "again")
		fails(t, "a member", err, model.ErrConflict)
	})
}

func TestInvitationsEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		tri := addUser(t, s, deployment(t, s, storetest.Noise), "tri", model.RoleViewer)
		first, err := invite(t, s, d, "tri", "first")
		if err != nil {
			t.Fatal(err)
		}
		second, err := invite(t, s, d, "tri", "second")
		if err != nil {
			t.Fatal(err)
		}
		_, err = s.InvitationByCode(t.Context(), storetest.TokenHash("first"))
		fails(t, "one that was replaced", err, model.ErrNotFound)
		fails(t, "accepting it", s.AcceptInvitation(t.Context(), first, tri), model.ErrNotFound)

		if err := s.DeclineInvitation(t.Context(), second); err != nil {
			t.Fatal(err)
		}
		if mine, err := s.InvitationsFor(t.Context(), "tri"); err != nil || len(mine) != 0 {
			t.Errorf("a declined one is listed to who declined it: %v, %v", mine, err)
		}
		if got := invitations(t, s, d); len(got) != 1 {
			t.Errorf("who invited sees %v: that it was declined tells of a user", got)
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.WithdrawInvitation(ctx, second.ID) })
		fails(t, "a withdrawn one", s.AcceptInvitation(t.Context(), second, tri), model.ErrNotFound)

		late, err := invite(t, s, d, "tri", "late")
		if err != nil {
			t.Fatal(err)
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Exec(ctx, `UPDATE user_invitation SET expires_at = $2 WHERE deployment_id = $1`, tx.Now().Add(-time.Minute))
			return err
		})
		fails(t, "one whose time is over", s.AcceptInvitation(t.Context(), late, tri), model.ErrNotFound)
		if mine, err := s.InvitationsFor(t.Context(), "tri"); err != nil || len(mine) != 0 {
			t.Errorf("one whose time is over is listed: %v, %v", mine, err)
		}
		if err := s.ExpireSessions(t.Context(), time.Time{}); err != nil {
			t.Fatal(err)
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			if n, err := tx.Count(ctx, "user_invitation"); n != 0 || err != nil {
				t.Errorf("%d are kept, %v", n, err)
			}
			return nil
		})
	})
}

func TestJoinByInvitationCreatesUser(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		if _, err := invite(t, s, d, storetest.NoisyUser, "code"); err != nil {
			t.Fatal(err)
		}
		i, err := s.InvitationByCode(t.Context(), storetest.TokenHash("code"))
		if err != nil {
			t.Fatal(err)
		}
		u, err := s.JoinByInvitation(t.Context(), i, "hash")
		if err != nil || u.Name != storetest.NoisyUser+"@"+d.Slug {
			t.Fatalf("it makes %v, %v", u, err)
		}
		if role, err := s.UserRole(t.Context(), d.ID, u.ID); err != nil || role != model.RoleTriager {
			t.Errorf("the role is %v, %v", role, err)
		}
		_, err = s.JoinByInvitation(t.Context(), i, "hash")
		fails(t, "again", err, model.ErrNotFound)
		view(t, s, deployment(t, s, storetest.Noise), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Invitation(ctx, i.ID)
			fails(t, "in another deployment", err, model.ErrNotFound)
			fails(t, "withdrawn by another", tx.WithdrawInvitation(ctx, i.ID), model.ErrNotFound)
			return nil
		})
	})
}
