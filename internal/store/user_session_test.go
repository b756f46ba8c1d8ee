package store_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// signIn starts a session with the given cookie.
func signIn(t testing.TB, s *store.Store, u model.User, cookie string) model.Session {
	t.Helper()
	session, err := s.SignIn(t.Context(), model.Session{
		UserID: u.ID, Method: "password", Address: "192.0.2.1", Agent: "browser", ExpiresAt: storetest.Epoch.Add(time.Hour),
	}, storetest.TokenHash(cookie), model.CheckedPassword{})
	if err != nil {
		t.Fatal(err)
	}
	return session
}

func hasSession(t testing.TB, s *store.Store, cookie string) bool {
	t.Helper()
	_, _, _, err := s.Session(t.Context(), storetest.TokenHash(cookie))
	if err != nil {
		fails(t, "session "+cookie, err, model.ErrNotFound)
	}
	return err == nil
}

func TestSessionRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		begun := signIn(t, s, ada, "one")
		second := signIn(t, s, ada, "two")
		got, u, roles, err := s.Session(t.Context(), storetest.TokenHash("one"))
		same(t, "the session", got, begun)
		if err != nil || u.ID != ada.ID || u.SignedInAt.IsZero() || len(roles) != 1 || roles[0].Deployment.ID != d.ID || roles[0].Role != model.RoleAdmin {
			t.Errorf("it is of %v with %v, %v", u, roles, err)
		}
		at := storetest.Epoch.Add(time.Minute)
		for _, used := range []time.Time{at, at.Add(-time.Second)} {
			if err := s.TouchSessions(t.Context(), []model.SessionUse{{SessionID: begun.ID, At: used}, {SessionID: 1 << 40, At: used}}); err != nil {
				t.Fatal(err)
			}
		}
		begun.SeenAt = at
		list, err := s.Sessions(t.Context(), ada.ID)
		same(t, "the list, last used first", list, []model.Session{begun, second})
		if err != nil {
			t.Error(err)
		}
	})
}

func TestSessionsEnd(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleAdmin), addUser(t, s, d, "ben", model.RoleViewer)
		first, other := signIn(t, s, ada, "a1"), signIn(t, s, ben, "b1")
		if err := s.EndSession(t.Context(), ada.ID, other.ID); err != nil || !hasSession(t, s, "b1") {
			t.Errorf("another user's session was ended, %v", err)
		}
		if err := s.EndSession(t.Context(), ada.ID, first.ID); err != nil || hasSession(t, s, "a1") {
			t.Errorf("the session goes on, %v", err)
		}
		signIn(t, s, ada, "a2")
		signIn(t, s, ada, "a3")
		if err := s.EndSessions(t.Context(), ada.ID, ada.Actor()); err != nil || hasSession(t, s, "a2") || hasSession(t, s, "a3") || !hasSession(t, s, "b1") {
			t.Errorf("everywhere: %v", err)
		}
		signIn(t, s, ada, "a4")
		if err := s.SetPassword(t.Context(), ada.ID, "new", false, ada.Actor()); err != nil || hasSession(t, s, "a4") {
			t.Errorf("a session outlived its password, %v", err)
		}
	})
}

func TestSessionsExpire(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
			busy := signIn(t, s, ada, "busy")
			signIn(t, s, ada, "idle")
			clock.Advance(30 * time.Minute)
			if err := s.TouchSessions(t.Context(), []model.SessionUse{{SessionID: busy.ID, At: clock.Now()}}); err != nil {
				t.Fatal(err)
			}
			if err := s.ExpireSessions(t.Context(), clock.Now().Add(-10*time.Minute)); err != nil {
				t.Fatal(err)
			}
			if !hasSession(t, s, "busy") || hasSession(t, s, "idle") {
				t.Error("the idle one stays, or the busy one went")
			}
			clock.Advance(30 * time.Minute)
			if hasSession(t, s, "busy") {
				t.Error("it outlives its hour")
			}
		})
	}
}

func TestSignInsAreAudited(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		session := signIn(t, s, ada, "cookie")
		for _, name := range []string{"ADA", "mallory", strings.Repeat("x", 5000)} {
			if err := s.SignInFailed(t.Context(), model.Attempt{Name: name, Method: "password", Address: "192.0.2.9", Reason: "wrong password"}); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.EndSession(t.Context(), ada.ID, session.ID); err != nil {
			t.Fatal(err)
		}
		same(t, "the trail", actions(t, s, d), []string{"user.create user:ada", "user.sign_in user:ada", "user.sign_in_failed user:ada", "user.sign_out user:ada"})
		server, err := s.ServerEvents(t.Context(), 0, 100)
		if err != nil || len(server) != 2 || server[0].Subject != "user:unknown" || !strings.Contains(server[0].After, "192.0.2.9") {
			t.Errorf("the server's trail is %v, %v", server, err)
		}
		hash := hex.EncodeToString(storetest.TokenHash("cookie"))
		for _, e := range append(events(t, s, d), server...) {
			details := e.Before + e.After + e.Subject
			for _, secret := range []string{hash, "cookie", "hash-of", "mallory", "xxx"} {
				if strings.Contains(details, secret) {
					t.Errorf("%s shows %s: %s", e.Action, secret, details)
				}
			}
		}
	})
}

func TestPasswordIsRehashedAtSignIn(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
		if _, err := s.SignIn(t.Context(), model.Session{UserID: ada.ID, ExpiresAt: storetest.Epoch.Add(time.Hour)}, []byte("h"), model.CheckedPassword{Rehash: "better"}); err != nil {
			t.Fatal(err)
		}
		if got, err := s.User(t.Context(), "ada"); err != nil || got.PasswordHash != "better" {
			t.Errorf("the hash is %q, %v", got.PasswordHash, err)
		}
	})
}

func TestAuditPagesNewestFirst(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := tenant{t, s, storetest.Deployment(t, s).ID}
		ada := addUser(t, s, deployment(t, s, "acme"), "ada", model.RoleAdmin)
		signIn(t, s, ada, "one")
		signIn(t, s, ada, "two")
		page := func(f store.AuditFilter, limit int) (list []model.AuditEvent) {
			d.view(func(ctx context.Context, tx *store.Tx) (err error) {
				list, err = tx.AuditPage(ctx, f, limit)
				return err
			})
			return list
		}
		all := page(store.AuditFilter{}, 100)
		oldest := events(t, s, deployment(t, s, "acme"))
		slices.Reverse(oldest)
		same(t, "the whole", all, oldest)
		same(t, "a page", page(store.AuditFilter{Before: all[1].ID}, 2), all[2:4])
		same(t, "one action", page(store.AuditFilter{Action: "user.create"}, 100), all[2:3])
		same(t, "one actor", page(store.AuditFilter{By: ada.Actor()}, 100), all[:2])
		same(t, "an actor and an action that do not meet", page(store.AuditFilter{By: ada.Actor(), Action: "user.create"}, 100), []model.AuditEvent{})
		d.view(func(ctx context.Context, tx *store.Tx) error {
			kinds, err := tx.AuditActions(ctx)
			same(t, "the actions", kinds, []string{"deployment.create", "policy.create", "user.create", "user.sign_in"})
			return err
		})
	})
}

// TestSignInWithInvalidUserAgent checks user agents that are invalid UTF-8 or cut within a
// character.
func TestSignInWithInvalidUserAgent(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		for agent, want := range map[string]string{"a\xff": "a", "a" + strings.Repeat("é", 100): "a" + strings.Repeat("é", 99)} {
			session, err := s.SignIn(t.Context(), model.Session{
				UserID: ada.ID, Method: "password", Address: "192.0.2.1", Agent: agent, ExpiresAt: storetest.Epoch.Add(time.Hour),
			}, storetest.TokenHash(agent), model.CheckedPassword{})
			if err != nil || session.Agent != want {
				t.Errorf("%.10q is kept as %q, %v", agent, session.Agent, err)
			}
		}
	})
}

// TestSignInDoesNotWaitForImport signs in while an import has locked the deployment. SQLite is
// excluded because it has a single writer.
func TestSignInDoesNotWaitForImport(t *testing.T) {
	s := storetest.New(t, "postgres")
	d := storetest.Deployment(t, s)
	ada := addUser(t, s, d, "ada", model.RoleAdmin)
	update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.CreateProject(ctx, model.Project{Name: "acme/long"}); err != nil {
			return err
		}
		session := signIn(t, s, ada, "cookie")
		if err := s.SignInFailed(ctx, model.Attempt{Name: "ada", Method: "password"}); err != nil {
			return err
		}
		return s.EndSession(ctx, ada.ID, session.ID)
	})
	same(t, "the trail", actions(t, s, d), []string{
		"user.create user:ada", "user.sign_in user:ada", "user.sign_in_failed user:ada", "user.sign_out user:ada", "project.create project:4",
	})
}

// TestSessionsOfAPersonAreBounded checks that a session above the limit ends the user's oldest one,
// and none of another user.
func TestSessionsOfAPersonAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleViewer), addUser(t, s, d, "ben", model.RoleViewer)
		signIn(t, s, ben, "ben")
		for i := range store.MaxSessions {
			signIn(t, s, ada, fmt.Sprint("ada", i))
		}
		same(t, "as many as there may be", hasSession(t, s, "ada0"), true)
		signIn(t, s, ada, "late")
		list, err := s.Sessions(t.Context(), ada.ID)
		same(t, "one more", []any{len(list), err}, []any{store.MaxSessions, nil})
		same(t, "the oldest, the next, the late one, and another's", []bool{hasSession(t, s, "ada0"), hasSession(t, s, "ada1"), hasSession(t, s, "late"), hasSession(t, s, "ben")},
			[]bool{false, true, true, true})
	})
}
