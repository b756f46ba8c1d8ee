package store_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// fresh returns a session to be started by a proof.
func fresh(u model.User) model.Session {
	return model.Session{UserID: u.ID, Method: "password and code", ExpiresAt: storetest.Epoch.Add(time.Hour)}
}

// withApp adds an authenticator app with the last used step, and the recovery codes "one" and
// "two".
func withApp(t testing.TB, s *store.Store, u model.User, step int64) {
	t.Helper()
	err := s.SetUpTOTP(t.Context(), model.TOTP{Secret: []byte("sealed"), Step: step}, [][]byte{storetest.TokenHash("one"), storetest.TokenHash("two")}, fresh(u), storetest.TokenHash("set up"))
	if err != nil {
		t.Fatal(err)
	}
}

// halfSignIn starts a pending session with the given cookie.
func halfSignIn(t testing.TB, s *store.Store, u model.User, cookie string) {
	t.Helper()
	if n := signIn(t, s, u, cookie); !n.Half {
		t.Fatalf("a password alone begins a whole session: %+v", n)
	}
	if hasSession(t, s, cookie) {
		t.Fatal("half a session is one")
	}
}

func finish(t testing.TB, s *store.Store, u model.User, cookie string, p model.FactorProof) error {
	t.Helper()
	_, err := s.FinishSignIn(t.Context(), storetest.TokenHash(cookie), p, fresh(u), storetest.TokenHash("whole "+cookie))
	return err
}

func TestSecondFactorCreatesPendingSessions(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
		signIn(t, s, ada, "before")
		withApp(t, s, ada, 100)
		if hasSession(t, s, "before") || !hasSession(t, s, "set up") {
			t.Error("a session from before goes on, or the new one does not")
		}
		l := link(t, s, model.UserLink{Kind: model.LinkSignIn, UserID: ada.ID}, "code")
		if n, err := s.UseSignInLink(t.Context(), l, fresh(ada), storetest.TokenHash("by link")); err != nil || !n.Half || hasSession(t, s, "by link") {
			t.Errorf("a link steps over it: %+v, %v", n, err)
		}
		elsewhere := model.Session{UserID: ada.ID, Method: "oidc", ExpiresAt: storetest.Epoch.Add(time.Hour)}
		if n, err := s.SignIn(t.Context(), elsewhere, storetest.TokenHash("oidc"), model.CheckedPassword{}); err != nil || n.Half || !hasSession(t, s, "oidc") {
			t.Errorf("a provider's word is not taken: %+v, %v", n, err)
		}
		halfSignIn(t, s, ada, "a")
		h, u, err := s.PendingSession(t.Context(), storetest.TokenHash("a"))
		if err != nil || h.UserID != ada.ID || h.Method != "password" || u.Name != "ada" || !u.HasSecondFactor() {
			t.Errorf("the half one is %+v of %+v, %v", h, u, err)
		}
		fails(t, "an old code", finish(t, s, ada, "a", model.FactorProof{Step: 100}), model.ErrConflict)
		fails(t, "no code at all", finish(t, s, ada, "a", model.FactorProof{}), model.ErrConflict)
		fails(t, "no half session", finish(t, s, ada, "b", model.FactorProof{Step: 101}), model.ErrNotFound)
		if err := finish(t, s, ada, "a", model.FactorProof{Step: 101}); err != nil || !hasSession(t, s, "whole a") {
			t.Errorf("the right code: %v", err)
		}
		fails(t, "the same half session again", finish(t, s, ada, "a", model.FactorProof{Step: 102}), model.ErrNotFound)
		halfSignIn(t, s, ada, "c")
		fails(t, "the same code again", finish(t, s, ada, "c", model.FactorProof{Step: 101}), model.ErrConflict)
		one := model.FactorProof{Recovery: storetest.TokenHash("one")}
		if err := finish(t, s, ada, "c", one); err != nil {
			t.Errorf("a recovery code: %v", err)
		}
		halfSignIn(t, s, ada, "d")
		fails(t, "the same recovery code again", finish(t, s, ada, "d", one), model.ErrConflict)
		if n, err := s.RecoveryCodes(t.Context(), ada.ID); err != nil || n != 1 {
			t.Errorf("%d recovery codes are left, %v", n, err)
		}
	})
}

// TestSecondFactorCodeIsSingleUse checks that of several concurrent sign-ins with the same code only one
// succeeds.
func TestSecondFactorCodeIsSingleUse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		ada := addUser(t, s, storetest.Deployment(t, s), "ada", model.RoleAdmin)
		withApp(t, s, ada, 100)
		for _, p := range []model.FactorProof{{Step: 101}, {Recovery: storetest.TokenHash("one")}} {
			cookies := []string{"a", "b", "c", "d"}
			for _, cookie := range cookies {
				halfSignIn(t, s, ada, cookie+p.String())
			}
			errs := make([]error, len(cookies))
			var all sync.WaitGroup
			for i, cookie := range cookies {
				all.Go(func() { errs[i] = finish(t, s, ada, cookie+p.String(), p) })
			}
			all.Wait()
			in := 0
			for _, err := range errs {
				if err == nil {
					in++
				} else if !errors.Is(err, model.ErrConflict) {
					t.Error(err)
				}
			}
			if in != 1 {
				t.Errorf("%d came in by %s", in, p)
			}
		}
	})
}

func TestPendingSessionsEnd(t *testing.T) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			s := storetest.Open(t, storetest.Database(t, engine, clock))
			d := storetest.Deployment(t, s)
			ada := addUser(t, s, d, "ada", model.RoleAdmin)
			addUser(t, s, d, "ben", model.RoleAdmin)
			withApp(t, s, ada, 100)
			halfSignIn(t, s, ada, "tried")
			for range model.MaxHalfTries {
				if err := s.TryPendingSession(t.Context(), storetest.TokenHash("tried")); err != nil {
					t.Fatal(err)
				}
			}
			fails(t, "one try more", s.TryPendingSession(t.Context(), storetest.TokenHash("tried")), model.ErrNotFound)
			for what, end := range map[string]func() error{
				"a new password": func() error { return s.SetPassword(t.Context(), ada.ID, "h", false, ada.Actor()) },
				"signing out":    func() error { return s.EndSessions(t.Context(), ada.ID, ada.Actor()) },
				"new recovery": func() error {
					session := fresh(ada)
					session.Method = "oidc"
					session, err := s.SignIn(t.Context(), session, storetest.TokenHash("asks"), model.CheckedPassword{})
					if err != nil {
						return err
					}
					return s.PutRecoveryCodes(t.Context(), session, [][]byte{[]byte("x")}, storetest.TokenHash("goes on"))
				},
				"time":             func() error { clock.Advance(model.PendingSessionFor); return nil },
				"being disabled":   func() error { return s.DisableUser(t.Context(), ada.ID, storetest.Actor) },
				"a lost device":    func() error { return s.ResetSecondFactor(t.Context(), ada.ID, nil, storetest.Actor) },
				"signing in twice": func() error { halfSignIn(t, s, ada, "another"); return nil },
			} {
				halfSignIn(t, s, ada, what)
				if err := end(); err != nil {
					t.Fatal(what, err)
				}
				_, _, err := s.PendingSession(t.Context(), storetest.TokenHash(what))
				if valid := what == "signing in twice"; valid != (err == nil) {
					t.Errorf("after %s: %v", what, err)
				}
				switch what {
				case "being disabled":
					fails(t, what, finish(t, s, ada, what, model.FactorProof{Step: 1000}), model.ErrNotFound)
					if err := s.EnableUser(t.Context(), ada.ID, storetest.Actor); err != nil {
						t.Fatal(err)
					}
				case "a lost device":
					if hasSession(t, s, "set up") {
						t.Error("a session outlives the lost device")
					}
					fails(t, "a second time", s.ResetSecondFactor(t.Context(), ada.ID, nil, storetest.Actor), model.ErrConflict)
					withApp(t, s, ada, 100)
				}
			}
			clock.Advance(time.Hour)
			if err := s.ExpireSessions(t.Context(), clock.Now()); err != nil {
				t.Fatal(err)
			}
			if err := s.SetPassword(t.Context(), ada.ID, "new", false, ada.Actor()); err != nil {
				t.Fatal(err)
			}
			if u, err := s.User(t.Context(), "ada"); err != nil || !u.HasSecondFactor() {
				t.Errorf("a new password takes the second factor away: %+v, %v", u, err)
			}
		})
	}
}

func TestSecondFactorRemovalByProofOrReset(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		withApp(t, s, ada, 100)
		fails(t, "a second app", s.SetUpTOTP(t.Context(), model.TOTP{Secret: []byte("x"), Step: 1}, nil, fresh(ada), []byte("x")), model.ErrConflict)
		fails(t, "an old code", s.RemoveSecondFactor(t.Context(), model.FactorProof{Step: 100}, fresh(ada), []byte("x")), model.ErrConflict)
		if !hasSession(t, s, "set up") {
			t.Error("what failed ended a session")
		}
		if err := s.RemoveSecondFactor(t.Context(), model.FactorProof{Step: 101}, fresh(ada), storetest.TokenHash("removed")); err != nil {
			t.Fatal(err)
		}
		if hasSession(t, s, "set up") || !hasSession(t, s, "removed") {
			t.Error("another session goes on, or the new one does not")
		}
		if n := signIn(t, s, ada, "plain"); n.Half {
			t.Error("it is asked for all the same")
		}
		fails(t, "codes of nothing", s.PutRecoveryCodes(t.Context(), sessionOf(t, s, "removed"), nil, []byte("x")), model.ErrConflict)
		withApp(t, s, ada, 100)
		fails(t, "reset by an admin of another deployment", s.ResetSecondFactor(t.Context(), ada.ID, []int64{d.ID + 1000}, storetest.Actor), model.ErrConflict)
		if err := s.ResetSecondFactor(t.Context(), ada.ID, []int64{d.ID}, storetest.Actor); err != nil {
			t.Fatal(err)
		}
		trail := strings.Join(actions(t, s, d), ", ")
		for _, want := range []string{"user.second_factor user:ada", "user.second_factor_removed user:ada, user.sign_in user:ada", "user.second_factor_removed user:ada"} {
			if !strings.Contains(trail, want) {
				t.Errorf("the trail lacks %q: %s", want, trail)
			}
		}
		for _, e := range events(t, s, d) {
			if strings.Contains(e.Before+e.After, "sealed") {
				t.Errorf("%s shows the secret: %s%s", e.Action, e.Before, e.After)
			}
		}
	})
}

func TestDeploymentRequiresSecondFactor(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleAdmin)
		for _, require := range []bool{true, false} {
			update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.RequireSecondFactor(ctx, require) })
			list, err := s.Memberships(t.Context(), ada.ID)
			if err != nil || len(list) != 1 || list[0].Deployment.SecondFactor != require || deployment(t, s, d.Slug).SecondFactor != require {
				t.Errorf("asked for %v: %+v, %v", require, list, err)
			}
		}
		if last := events(t, s, d); last[len(last)-1].Action != "deployment.update" || last[len(last)-1].After != `{"second_factor":false}` {
			t.Errorf("the trail ends with %+v", last[len(last)-1])
		}
	})
}
