package store_test

import (
	"context"
	"errors"
	"slices"
	"sync"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// addUser creates a user with a role in a deployment.
func addUser(t testing.TB, s *store.Store, d model.Deployment, name string, role model.Role) (u model.User) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		u, err = tx.CreateUser(ctx, model.User{Name: name, DisplayName: "The " + name, PasswordHash: "hash-of-" + name}, role)
		return err
	})
	return u
}

// setRole sets the role of a user and returns the error.
func setRole(t testing.TB, s *store.Store, d model.Deployment, u model.User, role model.Role) error {
	t.Helper()
	return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, u.ID, role) })
}

// actions returns the audit events of a deployment after its first four.
func actions(t testing.TB, s *store.Store, d model.Deployment) (list []string) {
	t.Helper()
	for _, e := range events(t, s, d)[4:] {
		list = append(list, e.Action+" "+e.Subject)
	}
	return list
}

func TestUsersAndRoles(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		noise := deployment(t, s, storetest.Noise)
		ada, ben := addUser(t, s, d, "ada", model.RoleAdmin), addUser(t, s, d, "ben", model.RoleViewer)
		if has, err := s.HasUsers(t.Context()); err != nil || !has {
			t.Errorf("there are no users: %v", err)
		}
		got, err := s.User(t.Context(), " ADA ")
		same(t, "by name, as it is typed", got, ada)
		if err != nil {
			t.Error(err)
		}
		_, err = s.User(t.Context(), "unknown")
		fails(t, "an unknown name", err, model.ErrNotFound)
		if err := setRole(t, s, noise, ben, model.RoleTriager); err != nil {
			t.Fatal(err)
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Members(ctx)
			same(t, "members", list, []model.Member{{User: ada, Role: model.RoleAdmin}, {User: ben, Role: model.RoleViewer, Foreign: true}})
			_, missing := tx.Member(ctx, storetest.NoisyUser)
			fails(t, "a member of another deployment", missing, model.ErrNotFound)
			return err
		})
		roles, err := s.Memberships(t.Context(), ben.ID)
		if err != nil || len(roles) != 2 || roles[0].Deployment.Slug != d.Slug || roles[1].Role != model.RoleTriager {
			t.Errorf("ben's roles are %v, %v", roles, err)
		}
		for _, c := range []struct {
			d    model.Deployment
			u    model.User
			want model.Role
		}{{d, ada, model.RoleAdmin}, {noise, ada, model.RoleNone}, {noise, ben, model.RoleTriager}, {d, model.User{ID: 1 << 40}, model.RoleNone}} {
			role, err := s.UserRole(t.Context(), c.d.ID, c.u.ID)
			if err != nil || role != c.want {
				t.Errorf("%s in %s may be %v (%v), want %v", c.u.Name, c.d.Slug, role, err, c.want)
			}
		}
	})
}

func TestUserNamesAreUniqueAndValid(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		create := func(name, display string) error {
			return s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateUser(ctx, model.User{Name: name, DisplayName: display}, model.RoleViewer)
				return err
			})
		}
		fails(t, "a name from another deployment", create(storetest.NoisyUser, ""), model.ErrConflict)
		invalid(t, "capitals", create("Ada", ""), "name")
		invalid(t, "letters that look alike", create("аda", ""), "name") // the first letter is Cyrillic
		invalid(t, "a display name with a line break", create("ada", "a\nb"), "display_name")
	})
}

func TestLastAdminCannotBeRemoved(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		ben := addUser(t, s, d, "ben", model.RoleTriager)
		before := actions(t, s, d)
		fails(t, "to demote the only admin", setRole(t, s, d, ada, model.RoleViewer), model.ErrConflict)
		fails(t, "to remove the only admin", setRole(t, s, d, ada, model.RoleNone), model.ErrConflict)
		fails(t, "to disable the only admin", s.DisableUser(t.Context(), ada.ID, storetest.Actor), model.ErrConflict)
		same(t, "events of what was refused", actions(t, s, d), before)
		if err := setRole(t, s, d, ben, model.RoleAdmin); err != nil {
			t.Fatal(err)
		}
		if err := s.DisableUser(t.Context(), ben.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		fails(t, "to disable the only admin who may sign in", s.DisableUser(t.Context(), ada.ID, storetest.Actor), model.ErrConflict)
		if err := s.EnableUser(t.Context(), ben.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		if err := setRole(t, s, d, ada, model.RoleNone); err != nil {
			t.Errorf("to remove one of two admins: %v", err)
		}
	})
}

func TestTwoAdminsCannotRemoveEachOther(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleAdmin), addUser(t, s, d, "ben", model.RoleAdmin)
		var group sync.WaitGroup
		errs := make([]error, 2)
		group.Go(func() { errs[0] = s.DisableUser(t.Context(), ada.ID, storetest.Actor) })
		group.Go(func() { errs[1] = setRole(t, s, d, ben, model.RoleViewer) })
		group.Wait()
		refused := 0
		for _, err := range errs {
			if errors.Is(err, model.ErrConflict) || errors.Is(err, model.ErrUnavailable) {
				refused++
			} else if err != nil {
				t.Error(err)
			}
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Members(ctx)
			if left := slices.ContainsFunc(list, func(m model.Member) bool { return m.Role == model.RoleAdmin && m.Enabled() }); !left || refused == 0 {
				t.Errorf("%d were refused, members are %v", refused, list)
			}
			return err
		})
	})
}

func TestDisableUserRevokesAllAccess(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		noise := deployment(t, s, storetest.Noise)
		addUser(t, s, d, "ada", model.RoleAdmin)
		ben := addUser(t, s, d, "ben", model.RoleTriager)
		if err := setRole(t, s, noise, ben, model.RoleViewer); err != nil {
			t.Fatal(err)
		}
		mine := addToken(t, s, d, model.Token{PublicID: "p1", Name: "bens", UserID: ben.ID})
		foreign := addToken(t, s, noise, model.Token{PublicID: "p2", Name: "bens-too", UserID: ben.ID})
		others := addToken(t, s, d, model.Token{PublicID: "p3", Name: "robot"})
		signIn(t, s, ben, "cookie")
		link(t, s, model.UserLink{Kind: model.LinkReset, UserID: ben.ID}, "code")

		if err := s.DisableUser(t.Context(), ben.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		_, _, _, err := s.Session(t.Context(), storetest.TokenHash("cookie"))
		fails(t, "the session", err, model.ErrNotFound)
		_, _, err = s.Link(t.Context(), model.LinkReset, storetest.TokenHash("code"))
		fails(t, "the link", err, model.ErrNotFound)
		_, err = s.SignIn(t.Context(), model.Session{UserID: ben.ID, ExpiresAt: storetest.Epoch.AddDate(1, 0, 0)}, storetest.TokenHash("new"), model.CheckedPassword{})
		fails(t, "another sign-in", err, model.ErrNotFound)
		for _, c := range []struct {
			token   model.Token
			name    string
			revoked bool
		}{{mine, "bens", true}, {foreign, "bens-too", true}, {others, "robot", false}} {
			got, err := s.TokenByHash(t.Context(), c.token.DeploymentID, storetest.TokenHash(c.name))
			if err != nil || got.RevokedAt.IsZero() == c.revoked {
				t.Errorf("token %s was revoked at %v, %v", c.name, got.RevokedAt, err)
			}
		}
		for _, where := range []model.Deployment{d, noise} {
			if role, err := s.UserRole(t.Context(), where.ID, ben.ID); err != nil || role != model.RoleNone {
				t.Errorf("in %s a disabled user is %v, %v", where.Slug, role, err)
			}
			if list := actions(t, s, where); !slices.Contains(list, "user.disable user:ben") || !slices.ContainsFunc(list, func(a string) bool { return a[:12] == "token.revoke" }) {
				t.Errorf("the trail of %s has %v", where.Slug, list)
			}
		}
	})
}

// TestRoleRemovalRevokesTokensButNotSessions checks that removing a role does not end
// sessions, which are shared by all deployments.
func TestRoleRemovalRevokesTokensButNotSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		noise := deployment(t, s, storetest.Noise)
		ben := addUser(t, s, d, "ben", model.RoleTriager)
		if err := setRole(t, s, noise, ben, model.RoleViewer); err != nil {
			t.Fatal(err)
		}
		mine := addToken(t, s, d, model.Token{PublicID: "p1", Name: "bens", UserID: ben.ID})
		addToken(t, s, noise, model.Token{PublicID: "p2", Name: "bens-too", UserID: ben.ID})
		signIn(t, s, ben, "cookie")
		if err := setRole(t, s, d, ben, model.RoleViewer); err != nil {
			t.Fatal(err)
		}
		if got, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("bens")); err != nil || !got.RevokedAt.IsZero() || got.UserID != ben.ID {
			t.Errorf("the token after another role is %v, %v; was %v", got, err, mine)
		}
		if err := setRole(t, s, d, ben, model.RoleNone); err != nil {
			t.Fatal(err)
		}
		if got, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("bens")); err != nil || got.RevokedAt.IsZero() {
			t.Errorf("the token without a role is %v, %v", got, err)
		}
		_, _, roles, err := s.Session(t.Context(), storetest.TokenHash("cookie"))
		if err != nil || len(roles) != 1 || roles[0].Deployment.ID != noise.ID {
			t.Errorf("the session has the roles %v, %v", roles, err)
		}
		if got, err := s.TokenByHash(t.Context(), noise.ID, storetest.TokenHash("bens-too")); err != nil || !got.RevokedAt.IsZero() {
			t.Errorf("the token in the other deployment is %v, %v", got, err)
		}
	})
}
