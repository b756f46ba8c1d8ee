package store_test

import (
	"context"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// link creates a one-time link with the given code, valid for an hour.
func link(t testing.TB, s *store.Store, l model.UserLink, code string) model.UserLink {
	t.Helper()
	l.ExpiresAt = storetest.Epoch.Add(time.Hour)
	if err := s.CreateLink(t.Context(), l, storetest.TokenHash(code), storetest.Actor); err != nil {
		t.Fatal(err)
	}
	got, _, err := s.Link(t.Context(), l.Kind, storetest.TokenHash(code))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestSetupLinkCreatesOneAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		link(t, s, model.UserLink{Kind: model.LinkSetup, Deployment: d.ID}, "old")
		l := link(t, s, model.UserLink{Kind: model.LinkSetup, Deployment: d.ID}, "new")
		_, _, err := s.Link(t.Context(), model.LinkSetup, storetest.TokenHash("old"))
		fails(t, "the older link", err, model.ErrNotFound)
		_, _, err = s.Link(t.Context(), model.LinkReset, storetest.TokenHash("new"))
		fails(t, "the link, as one of another kind", err, model.ErrNotFound)
		_, err = s.UseSetupLink(t.Context(), l, model.User{Name: storetest.NoisyUser})
		fails(t, "a name that is taken", err, model.ErrConflict)
		ada, err := s.UseSetupLink(t.Context(), l, model.User{Name: "ada", PasswordHash: "h"})
		if err != nil {
			t.Fatalf("the link does not work after a name that was taken: %v", err)
		}
		if role, err := s.UserRole(t.Context(), d.ID, ada.ID); err != nil || role != model.RoleAdmin {
			t.Errorf("it made a %v, %v", role, err)
		}
		_, err = s.UseSetupLink(t.Context(), l, model.User{Name: "eve", PasswordHash: "h"})
		fails(t, "the link again", err, model.ErrNotFound)
	})
}

func TestResetLinkSetsPasswordOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		signIn(t, s, ada, "cookie")
		l := link(t, s, model.UserLink{Kind: model.LinkReset, UserID: ada.ID}, "code")
		if err := s.UseResetLink(t.Context(), l, "new", false); err != nil {
			t.Fatal(err)
		}
		if got, err := s.User(t.Context(), "ada"); err != nil || got.PasswordHash != "new" || hasSession(t, s, "cookie") {
			t.Errorf("the hash is %q, %v, or the session goes on", got.PasswordHash, err)
		}
		fails(t, "the link again", s.UseResetLink(t.Context(), l, "evil", false), model.ErrNotFound)
		same(t, "the trail", actions(t, s, d), []string{"user.create user:ada", "user.sign_in user:ada", "user.link user:ada", "user.password user:ada"})
	})
}

// TestAResetLinkStaysWithinItsDeployments checks that a reset link gives no access to a deployment
// that the user joins later. An older link must end, and a new one must be rejected.
func TestAResetLinkStaysWithinItsDeployments(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, other := storetest.Deployment(t, s), deployment(t, s, storetest.Noise)
		ada := addUser(t, s, d, "ada", model.RoleViewer)
		request := model.UserLink{Kind: model.LinkReset, UserID: ada.ID, Within: []int64{d.ID}}
		l := link(t, s, request, "code")
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, ada.ID, model.RoleTriager) })
		if _, _, err := s.Link(t.Context(), model.LinkReset, storetest.TokenHash("code")); err != nil {
			t.Errorf("another role in the same deployment ends the link: %v", err)
		}
		update(t, s, other, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, ada.ID, model.RoleAdmin) })
		_, _, err := s.Link(t.Context(), model.LinkReset, storetest.TokenHash("code"))
		fails(t, "the link after a role elsewhere", err, model.ErrNotFound)
		fails(t, "the open link", s.UseResetLink(t.Context(), l, "evil", false), model.ErrNotFound)
		request.ExpiresAt = storetest.Epoch.Add(time.Hour)
		fails(t, "a new link", s.CreateLink(t.Context(), request, storetest.TokenHash("again"), storetest.Actor), model.ErrConflict)
		request.Within = []int64{d.ID, other.ID}
		if err := s.CreateLink(t.Context(), request, storetest.TokenHash("again"), storetest.Actor); err != nil {
			t.Errorf("an admin of both: %v", err)
		}
		request.Within = nil
		if err := s.CreateLink(t.Context(), request, storetest.TokenHash("cli"), storetest.Actor); err != nil {
			t.Errorf("the server operator: %v", err)
		}
	})
}

func TestSignInLinkWorksOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
		l := link(t, s, model.UserLink{Kind: model.LinkSignIn, UserID: ada.ID}, "code")
		session := model.Session{Method: "link", ExpiresAt: storetest.Epoch.Add(time.Hour)}
		if _, err := s.UseSignInLink(t.Context(), l, session, storetest.TokenHash("cookie")); err != nil || !hasSession(t, s, "cookie") {
			t.Errorf("no session: %v", err)
		}
		_, err := s.UseSignInLink(t.Context(), l, session, storetest.TokenHash("other"))
		fails(t, "the link again", err, model.ErrNotFound)
	})
}

func TestLinksExpire(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			d := storetest.Deployment(t, s)
			l := link(t, s, model.UserLink{Kind: model.LinkSetup, Deployment: d.ID}, "code")
			clock.Advance(time.Hour)
			_, _, err := s.Link(t.Context(), model.LinkSetup, storetest.TokenHash("code"))
			fails(t, "to look at an old link", err, model.ErrNotFound)
			_, err = s.UseSetupLink(t.Context(), l, model.User{Name: "ada"})
			fails(t, "to use an old link", err, model.ErrNotFound)
		})
	}
}

func TestProvisionAppliesProviderRoles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d, noise := storetest.Deployment(t, s), deployment(t, s, storetest.Noise)
		addUser(t, s, d, "ada", model.RoleAdmin)
		who := model.UserIdentity{Issuer: "https://id.example", Subject: "s-1"}
		u, retained, err := s.Provision(t.Context(), who, model.User{Name: "ada", DisplayName: "Ada"}, map[int64]model.Role{d.ID: model.RoleTriager, noise.ID: model.RoleViewer})
		if err != nil || len(retained) != 0 || u.Name != "ada-2" {
			t.Fatalf("the first time it is %v, kept %v, %v: an account that exists is not to be handed over", u, retained, err)
		}
		signIn(t, s, u, "cookie")
		repeated, _, err := s.Provision(t.Context(), who, model.User{Name: "other"}, map[int64]model.Role{d.ID: model.RoleTriager, noise.ID: model.RoleViewer})
		if err != nil || repeated.ID != u.ID || !hasSession(t, s, "cookie") {
			t.Errorf("with the same roles it is %v, %v, or the session ended", repeated, err)
		}
		if _, _, err := s.Provision(t.Context(), who, model.User{}, map[int64]model.Role{d.ID: model.RoleAdmin}); err != nil || !hasSession(t, s, "cookie") {
			t.Errorf("with other roles: %v, or the session ended", err)
		}
		list, err := s.Memberships(t.Context(), u.ID)
		if err != nil || len(list) != 1 || list[0].Role != model.RoleAdmin {
			t.Errorf("the roles are %v, %v", list, err)
		}
		known, err := s.UserByIdentity(t.Context(), who)
		if err != nil || known.ID != u.ID {
			t.Errorf("by identity: %v, %v", known, err)
		}
		if err := s.DisableUser(t.Context(), u.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		_, _, err = s.Provision(t.Context(), who, model.User{}, map[int64]model.Role{d.ID: model.RoleAdmin})
		fails(t, "a disabled user", err, model.ErrNotFound)
	})
}

func TestProvisionPreservesLastAdmin(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		who := model.UserIdentity{Issuer: "https://id.example", Subject: "s-1"}
		u, _, err := s.Provision(t.Context(), who, model.User{Name: "ada"}, map[int64]model.Role{d.ID: model.RoleAdmin})
		if err != nil {
			t.Fatal(err)
		}
		_, retained, err := s.Provision(t.Context(), who, model.User{}, map[int64]model.Role{d.ID: model.RoleViewer})
		same(t, "deployments that keep their last admin", retained, []string{d.Slug})
		if role, roleErr := s.UserRole(t.Context(), d.ID, u.ID); err != nil || roleErr != nil || role != model.RoleAdmin {
			t.Errorf("the last admin became %v, %v, %v", role, err, roleErr)
		}
	})
}
