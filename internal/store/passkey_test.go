package store_test

import (
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// addPasskey adds a passkey to a user. If it is the first second factor, it starts a session with
// the given cookie.
func addPasskey(t testing.TB, s *store.Store, u model.User, key, cookie string) (first bool, err error) {
	t.Helper()
	return s.AddPasskey(t.Context(), model.Passkey{UserID: u.ID, CredentialID: []byte(key), Credential: []byte("sealed"), Name: key},
		[][]byte{storetest.TokenHash("one")}, fresh(u), storetest.TokenHash(cookie))
}

// sessionOf returns the session of a cookie.
func sessionOf(t testing.TB, s *store.Store, cookie string) model.Session {
	t.Helper()
	found, _, _, err := s.Session(t.Context(), storetest.TokenHash(cookie))
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func shown(p model.Passkey, challenge string) model.PasskeyUse {
	return model.PasskeyUse{ID: p.ID, Credential: []byte("as it is now"), Challenge: []byte(challenge), Until: storetest.Epoch.Add(time.Hour)}
}

func TestPasskeysAreFactors(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleAdmin), addUser(t, s, d, "ben", model.RoleAdmin)
		signIn(t, s, ada, "before")
		for i, want := range []bool{true, false} {
			if first, err := addPasskey(t, s, ada, []string{"laptop", "phone"}[i], []string{"first", "second"}[i]); err != nil || first != want {
				t.Fatalf("passkey %d is the first: %v, %v", i, first, err)
			}
		}
		if hasSession(t, s, "before") || !hasSession(t, s, "first") || hasSession(t, s, "second") {
			t.Error("the first ends other sessions, the second begins none")
		}
		_, err := addPasskey(t, s, ben, "phone", "x")
		fails(t, "another user's passkey", err, model.ErrConflict)
		if n := signIn(t, s, ben, "ben"); n.Half {
			t.Error("what failed made a second factor")
		}
		list, err := s.Passkeys(t.Context(), ada.ID)
		if err != nil || len(list) != 2 || list[0].Name != "laptop" || !list[0].UsedAt.IsZero() {
			t.Fatalf("the passkeys are %+v, %v", list, err)
		}
		halfSignIn(t, s, ada, "half")
		use := shown(list[0], "c1")
		if err := finish(t, s, ada, "half", model.FactorProof{Passkey: &use}); err != nil || !hasSession(t, s, "whole half") {
			t.Errorf("after a password: %v", err)
		}
		p, u, err := s.PasskeyByCredential(t.Context(), []byte("laptop"))
		if err != nil || u.ID != ada.ID || string(p.Credential) != "as it is now" || p.UsedAt.IsZero() {
			t.Errorf("it is %+v of %+v, %v", p, u, err)
		}
		first := sessionOf(t, s, "first")
		halfSignIn(t, s, ada, "waits")
		gone := first
		gone.ID += 1000
		fails(t, "by a session that is over", s.RemovePasskey(t.Context(), gone, list[0].ID, []byte("x")), model.ErrConflict)
		if err := s.RemovePasskey(t.Context(), first, list[0].ID, storetest.TokenHash("renewed")); err != nil {
			t.Error(err)
		}
		if renewed := sessionOf(t, s, "renewed"); renewed != first || hasSession(t, s, "first") || hasSession(t, s, "whole half") {
			t.Errorf("the session %+v goes on as %+v, or others go on", first, renewed)
		}
		fails(t, "half a session from before", finish(t, s, ada, "waits", model.FactorProof{Recovery: storetest.TokenHash("one")}), model.ErrNotFound)
		_, err = s.SignInByPasskey(t.Context(), shown(list[0], "c2"), fresh(ada), []byte("h2"))
		fails(t, "one that was removed", err, model.ErrConflict)
		fails(t, "the last one", s.RemovePasskey(t.Context(), first, list[1].ID, []byte("x")), model.ErrConflict)
		fails(t, "another user's", s.RemovePasskey(t.Context(), sessionOf(t, s, "ben"), list[1].ID, []byte("x")), model.ErrNotFound)
		_, err = s.SignInByPasskey(t.Context(), shown(list[1], "c3"), fresh(ben), []byte("h3"))
		fails(t, "as another user", err, model.ErrConflict)
		withApp(t, s, ada, 100)
		if err := s.RemovePasskey(t.Context(), sessionOf(t, s, "set up"), list[1].ID, storetest.TokenHash("x")); err != nil {
			t.Errorf("beside an app: %v", err)
		}
		if n := signIn(t, s, ada, "then"); !n.Half {
			t.Error("the app is not asked for any more")
		}
		if err := s.DisableUser(t.Context(), ada.ID, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		_, err = s.SignInByPasskey(t.Context(), shown(list[1], "c4"), fresh(ada), []byte("h4"))
		fails(t, "who is disabled", err, model.ErrNotFound)
	})
}

// TestPasskeyChallengeIsSingleUse checks that concurrent or later uses of one signed challenge
// succeed once during its lifetime.
func TestPasskeyChallengeIsSingleUse(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
			if _, err := addPasskey(t, s, ada, "laptop", "first"); err != nil {
				t.Fatal(err)
			}
			list, err := s.Passkeys(t.Context(), ada.ID)
			if err != nil {
				t.Fatal(err)
			}
			errs := make([]error, 4)
			var all sync.WaitGroup
			for i := range errs {
				all.Go(func() {
					_, errs[i] = s.SignInByPasskey(t.Context(), shown(list[0], "once"), fresh(ada), []byte{byte(i)})
				})
			}
			all.Wait()
			in := 0
			for _, err := range errs {
				if err == nil {
					in++
				} else {
					fails(t, "the others", err, model.ErrConflict)
				}
			}
			if in != 1 {
				t.Errorf("%d came in", in)
			}
			clock.Advance(59 * time.Minute)
			if err := s.ExpireSessions(t.Context(), clock.Now()); err != nil {
				t.Fatal(err)
			}
			_, err = s.SignInByPasskey(t.Context(), shown(list[0], "once"), fresh(ada), []byte("late"))
			fails(t, "before it is over", err, model.ErrConflict)
		})
	}
}
