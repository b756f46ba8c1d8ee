package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// TestOAuthGrants checks that a code becomes a token that can be renewed until it is revoked. Audit
// events must not contain hashes.
func TestOAuthGrants(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		g := model.OAuthGrant{
			CodeHash: storetest.TokenHash("code"), ClientHash: storetest.TokenHash("client"), RedirectURI: "https://a/", Challenge: "c", Resource: "r",
			Token: model.Token{Name: "OAuth: x", Scopes: []model.Scope{model.ScopeWebAPI}},
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.AddOAuthGrant(ctx, g) })
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			stored, err := tx.OAuthGrantByCode(ctx, g.CodeHash)
			if err != nil {
				return err
			}
			same(t, "the grant", []any{stored.TokenID, stored.RedirectURI, stored.Token.Name, stored.ApprovedBy}, []any{int64(0), "https://a/", "OAuth: x", storetest.Actor})
			_, err = tx.OAuthGrantByToken(ctx, 0)
			fails(t, "a grant without a token by none", err, model.ErrNotFound)
			made, err := tx.CreateToken(ctx, model.Token{PublicID: "p", Name: "n"}, storetest.TokenHash("first"))
			if err != nil {
				return err
			}
			stored.TokenID, stored.Generation, stored.RefreshHash, stored.ExpiresAt = made.ID, 1, storetest.TokenHash("refresh"), tx.Now().Add(time.Hour)
			g = stored
			return tx.RenewOAuthGrant(ctx, stored)
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			stored, err := tx.OAuthGrantByToken(ctx, g.TokenID)
			same(t, "by its token", string(stored.RefreshHash), string(storetest.TokenHash("refresh")))
			if err == nil {
				_, err = tx.RenewToken(ctx, g.TokenID, storetest.TokenHash("second"), tx.Now().Add(time.Minute))
			}
			return err
		})
		_, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("first"))
		fails(t, "the secret before", err, model.ErrNotFound)
		if _, err = s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("second")); err != nil {
			t.Error(err)
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.DropOAuthGrant(ctx, g) })
		fails(t, "renewed after it was revoked", s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.RenewToken(ctx, g.TokenID, storetest.TokenHash("third"), tx.Now())
			return err
		}), model.ErrNotFound)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.OAuthGrantByToken(ctx, g.TokenID)
			fails(t, "after it was dropped", err, model.ErrNotFound)
			trail, err := tx.AuditEvents(ctx, 0, 100)
			var actions []string
			for _, e := range trail {
				actions = append(actions, e.Action)
			}
			if joined := strings.Join(actions, " "); !strings.Contains(joined, "oauth.approve token.create token.renew token.revoke") {
				t.Errorf("the trail is %s", joined)
			}
			return err
		})
	})
}

// grantToken approves a client of a user and exchanges the code for its token.
func grantToken(ctx context.Context, tx *store.Tx, user int64, name string) (model.OAuthGrant, error) {
	g := model.OAuthGrant{
		CodeHash: storetest.TokenHash("code of " + name), ClientHash: storetest.TokenHash("client"),
		Token: model.Token{PublicID: "of " + name, Name: name, UserID: user, ExpiresAt: tx.Now().Add(model.OAuthAccessFor)},
	}
	if err := tx.AddOAuthGrant(ctx, g); err != nil {
		return g, err
	}
	made, err := tx.CreateToken(ctx, g.Token, storetest.TokenHash(name))
	if err != nil {
		return g, err
	}
	g.TokenID, g.Generation, g.RefreshHash, g.ExpiresAt = made.ID, 1, storetest.TokenHash("refresh of "+name), tx.Now().Add(model.OAuthRefreshFor)
	return g, tx.RenewOAuthGrant(ctx, g)
}

// eachEngine runs a test on a store of each engine, with its clock.
func eachEngine(t *testing.T, test func(t *testing.T, s *store.Store, clock *storetest.Clock)) {
	for _, engine := range storetest.Engines {
		t.Run(engine, func(t *testing.T) {
			clock := storetest.NewClock()
			test(t, storetest.Open(t, storetest.Database(t, engine, clock)), clock)
		})
	}
}

// grantRows returns the number of grants of a deployment, including expired ones.
func grantRows(t *testing.T, s *store.Store, d model.Deployment) (n int) {
	t.Helper()
	if err := s.DB().QueryRowContext(t.Context(), `SELECT COUNT(*) FROM oauth_grant WHERE deployment_id = $1`, d.ID).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestExpiredRenewableTokenHasNotEnded checks that an expired token with a renewable grant is
// distinguished from an ended one. It must not be deleted to stay within the limit, and must end
// with its grant.
func TestExpiredRenewableTokenHasNotEnded(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleViewer)
		var g model.OAuthGrant
		update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
			if g, err = grantToken(ctx, tx, ada.ID, "editor"); err != nil {
				return err
			}
			for i := range store.MaxTokens - 1 {
				name := fmt.Sprint("brief ", i)
				if _, err := tx.CreateToken(ctx, model.Token{PublicID: name, Name: name, UserID: ada.ID, ExpiresAt: tx.Now().Add(time.Minute)}, storetest.TokenHash(name)); err != nil {
					return err
				}
			}
			return nil
		})
		clock.Advance(2 * time.Hour)
		listed := func() (found model.Token) {
			t.Helper()
			view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
				list, err := tx.Tokens(ctx)
				for _, token := range list {
					if token.RenewableUntil.IsZero() != (token.ID != g.TokenID) && token.RevokedAt.IsZero() {
						t.Errorf("%s is renewable until %s", token.Name, token.RenewableUntil)
					}
					if token.ID == g.TokenID {
						found = token
					}
				}
				return err
			})
			return found
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { // the oldest ended token is deleted
			_, err := tx.CreateToken(ctx, model.Token{PublicID: "more", Name: "more", UserID: ada.ID}, storetest.TokenHash("more"))
			return err
		})
		token := listed()
		same(t, "state after its end", []any{token.Active(clock.Now()), token.Ended(clock.Now()), token.RenewableUntil}, []any{false, false, g.ExpiresAt})
		same(t, "over once it cannot be renewed", token.Ended(g.ExpiresAt), true)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, g.TokenID) })
		token = listed()
		same(t, "revoked", []any{token.Ended(clock.Now()), grantRows(t, s, d)}, []any{true, 0})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.OAuthGrantByToken(ctx, g.TokenID)
			fails(t, "its grant", err, model.ErrNotFound)
			return nil
		})
	})
}

// TestGrantsOfAPersonAreBounded checks the limit of grants per user and the error at the limit of
// tokens. Expired grants must be deleted.
func TestGrantsOfAPersonAreBounded(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store, clock *storetest.Clock) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleViewer), addUser(t, s, d, "ben", model.RoleViewer)
		add := func(ctx context.Context, tx *store.Tx, user int64, name string) error {
			return tx.AddOAuthGrant(ctx, model.OAuthGrant{CodeHash: storetest.TokenHash(name), ClientHash: storetest.TokenHash("x"), Token: model.Token{Name: name, UserID: user}})
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for i := range store.MaxGrantsOf {
				if err := add(ctx, tx, ada.ID, fmt.Sprint(i)); err != nil {
					return err
				}
			}
			invalid(t, "one too many", add(ctx, tx, ada.ID, "too many"), "client_id")
			return add(ctx, tx, ben.ID, "of ben")
		})
		clock.Advance(2 * model.OAuthCodeFor)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return add(ctx, tx, ada.ID, "later") })
		same(t, "rows once the codes are over", grantRows(t, s, d), 1)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for i := range store.MaxTokens {
				name := fmt.Sprint("token ", i)
				if _, err := tx.CreateToken(ctx, model.Token{PublicID: name, Name: name, UserID: ben.ID}, storetest.TokenHash(name)); err != nil {
					return err
				}
			}
			invalid(t, "no room for its token", add(ctx, tx, ben.ID, "no room"), "name")
			return nil
		})
		clock.Advance(2 * model.OAuthCodeFor)
		if err := s.DropLapsedOAuthGrants(t.Context(), d.ID, clock.Now()); err != nil {
			t.Fatal(err)
		}
		same(t, "rows when the server has tidied up", grantRows(t, s, d), 0)
	})
}

// TestGrantsEndWithTheRole checks that grants and unused codes are deleted with the user's role.
func TestGrantsEndWithTheRole(t *testing.T) {
	eachEngine(t, func(t *testing.T, s *store.Store, _ *storetest.Clock) {
		d := storetest.Deployment(t, s)
		ada, ben := addUser(t, s, d, "ada", model.RoleViewer), addUser(t, s, d, "ben", model.RoleViewer)
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := grantToken(ctx, tx, ada.ID, "editor")
			_, err2 := grantToken(ctx, tx, ben.ID, "of ben")
			code := model.OAuthGrant{CodeHash: storetest.TokenHash("waiting"), ClientHash: storetest.TokenHash("x"), Token: model.Token{Name: "waiting", UserID: ada.ID}}
			return errors.Join(err, err2, tx.AddOAuthGrant(ctx, code))
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.SetRole(ctx, ada.ID, model.RoleNone) })
		same(t, "grants that are left", grantRows(t, s, d), 1)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.OAuthGrantByCode(ctx, storetest.TokenHash("waiting"))
			fails(t, "the code", err, model.ErrNotFound)
			return nil
		})
	})
}
