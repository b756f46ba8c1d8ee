package store_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/storetest"
)

// TestOAuthGrants: a code becomes a token, which is renewed until somebody revokes
// it; the trail tells of each step and holds no hash.
func TestOAuthGrants(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		g := redoubt.OAuthGrant{
			CodeHash: storetest.TokenHash("code"), ClientHash: storetest.TokenHash("client"), RedirectURI: "https://a/", Challenge: "c", Resource: "r",
			Token: redoubt.Token{Name: "OAuth: x", Scopes: []redoubt.Scope{redoubt.ScopeWebAPI}},
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.AddOAuthGrant(ctx, g) })
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			kept, err := tx.OAuthGrantByCode(ctx, g.CodeHash)
			if err != nil {
				return err
			}
			same(t, "the grant", []any{kept.TokenID, kept.RedirectURI, kept.Token.Name, kept.ApprovedBy}, []any{int64(0), "https://a/", "OAuth: x", storetest.Actor})
			_, err = tx.OAuthGrantByToken(ctx, 0)
			fails(t, "a grant without a token by none", err, redoubt.ErrNotFound)
			made, err := tx.CreateToken(ctx, redoubt.Token{PublicID: "p", Name: "n"}, storetest.TokenHash("first"))
			if err != nil {
				return err
			}
			kept.TokenID, kept.Generation, kept.RefreshHash, kept.ExpiresAt = made.ID, 1, storetest.TokenHash("refresh"), tx.Now().Add(time.Hour)
			g = kept
			return tx.RenewOAuthGrant(ctx, kept)
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			kept, err := tx.OAuthGrantByToken(ctx, g.TokenID)
			same(t, "by its token", string(kept.RefreshHash), string(storetest.TokenHash("refresh")))
			if err == nil {
				_, err = tx.RenewToken(ctx, g.TokenID, storetest.TokenHash("second"), tx.Now().Add(time.Minute))
			}
			return err
		})
		_, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("first"))
		fails(t, "the secret before", err, redoubt.ErrNotFound)
		if _, err = s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("second")); err != nil {
			t.Error(err)
		}
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.DropOAuthGrant(ctx, g) })
		fails(t, "renewed after it was revoked", s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.RenewToken(ctx, g.TokenID, storetest.TokenHash("third"), tx.Now())
			return err
		}), redoubt.ErrNotFound)
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.OAuthGrantByToken(ctx, g.TokenID)
			fails(t, "after it was dropped", err, redoubt.ErrNotFound)
			trail, err := tx.AuditEvents(ctx, 0, 100)
			var actions []string
			for _, e := range trail {
				actions = append(actions, e.Action)
			}
			if said := strings.Join(actions, " "); !strings.Contains(said, "oauth.approve token.create token.renew token.revoke") {
				t.Errorf("the trail is %s", said)
			}
			return err
		})
	})
}
