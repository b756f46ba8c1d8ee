package store_test

import (
	"bytes"
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

// addToken stores a token with the hash that the other tenant uses for that name.
func addToken(t testing.TB, s *store.Store, d model.Deployment, token model.Token) (out model.Token) {
	t.Helper()
	update(t, s, d, func(ctx context.Context, tx *store.Tx) (err error) {
		out, err = tx.CreateToken(ctx, token, storetest.TokenHash(token.Name))
		return err
	})
	return out
}

func TestTokenRoundTrip(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ci := addToken(t, s, d, model.Token{PublicID: "public-ci", Name: "ci"})
		web := addToken(t, s, d, model.Token{
			PublicID: "public-web", Name: "web", Scopes: []model.Scope{model.ScopeWebAPI, model.ScopeReadOnly},
			ProjectGlobs: []string{"acme/*"}, Dialect: model.DialectHosted, ExpiresAt: storetest.Epoch.Add(time.Hour),
		})
		want := model.Token{
			ID: ci.ID, DeploymentID: d.ID, PublicID: "public-ci", Name: "ci", Scopes: []model.Scope{}, ProjectGlobs: []string{},
			Dialect: model.DialectContract, CreatedAt: ci.CreatedAt,
		}
		same(t, "a token without anything", ci, want)
		if ci.CreatedAt.Before(storetest.Epoch) {
			t.Errorf("it was made at %v", ci.CreatedAt)
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Tokens(ctx)
			same(t, "the list", list, []model.Token{ci, web})
			for _, key := range []string{"public-web", "web"} {
				got, err := tx.Token(ctx, key)
				same(t, key, got, web)
				if err != nil {
					t.Error(err)
				}
			}
			_, missing := tx.Token(ctx, "unknown")
			fails(t, "an unknown token", missing, model.ErrNotFound)
			return err
		})
		got, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("web"))
		same(t, "by hash", got, web)
		if err != nil {
			t.Error(err)
		}
		_, err = s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("guess"))
		fails(t, "by a hash that is none", err, model.ErrNotFound)
		_, err = s.TokenByHash(t.Context(), d.ID+1000, storetest.TokenHash("web"))
		fails(t, "by hash, in an unknown deployment", err, model.ErrNotFound)
	})
}

func TestTokenIDsAreUnique(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		first := addToken(t, s, d, model.Token{PublicID: "a", Name: "twin"})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.CreateToken(ctx, model.Token{PublicID: "b", Name: "twin"}, []byte("other"))
			return err
		})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.Token(ctx, "twin")
			fails(t, "the name of two", err, model.ErrConflict)
			got, err := tx.Token(ctx, "a")
			same(t, "the id of one", got, first)
			return err
		})
		for _, duplicate := range []struct{ id, hash string }{{"a", "new"}, {"new", "other"}} {
			err := s.Update(t.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
				_, err := tx.CreateToken(ctx, model.Token{PublicID: duplicate.id, Name: "n"}, []byte(duplicate.hash))
				return err
			})
			fails(t, "an id or a hash again", err, model.ErrConflict)
		}
	})
}

func TestTokenIsRevokedOnce(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		token := addToken(t, s, d, model.Token{PublicID: "public-ci", Name: "ci"})
		revoke := func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, token.ID) }
		update(t, s, d, revoke)
		got, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("ci"))
		if err != nil || got.RevokedAt.IsZero() || got.Active(storetest.Epoch.Add(time.Hour)) {
			t.Errorf("after revoking it is %v, %v", got, err)
		}
		trail := len(events(t, s, d))
		update(t, s, d, revoke)
		reloaded, err := s.TokenByHash(t.Context(), d.ID, storetest.TokenHash("ci"))
		same(t, "revoked again", reloaded, got)
		same(t, "events of revoking it again", len(events(t, s, d))-trail, 0)
		if err != nil {
			t.Error(err)
		}
	})
}

func TestTouchTokensOnlyAdvancesLastUse(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		token := addToken(t, s, d, model.Token{PublicID: "public-ci", Name: "ci"})
		other := addToken(t, s, d, model.Token{PublicID: "public-web", Name: "web"})
		before, trail := deployment(t, s, d.Slug), len(events(t, s, d))
		at := storetest.Epoch.Add(time.Minute)
		for _, used := range [][]model.TokenUse{
			nil,
			{{DeploymentID: d.ID, TokenID: token.ID, At: at}, {DeploymentID: d.ID, TokenID: 1 << 40, At: at}, {DeploymentID: d.ID + 1, TokenID: other.ID, At: at}},
			{{DeploymentID: d.ID, TokenID: token.ID, At: at.Add(-time.Second)}},
		} {
			if err := s.TouchTokens(t.Context(), used); err != nil {
				t.Fatal(err)
			}
		}
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Tokens(ctx)
			if err == nil && (list[0].LastUsedAt != at || !list[1].LastUsedAt.IsZero()) {
				t.Errorf("last used are %v and %v, want %v and never", list[0].LastUsedAt, list[1].LastUsedAt, at)
			}
			return err
		})
		same(t, "the deployment", deployment(t, s, d.Slug), before)
		same(t, "events", len(events(t, s, d)), trail)
	})
}

func TestAuditTrailOmitsTokenHashes(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		token := addToken(t, s, d, model.Token{PublicID: "public-ci", Name: "ci"})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error { return tx.RevokeToken(ctx, token.ID) })
		hash := storetest.TokenHash("ci")
		var actions []string
		for _, e := range events(t, s, d) {
			actions = append(actions, e.Action)
			details := e.Before + e.After + e.Subject
			if strings.Contains(details, hex.EncodeToString(hash)) || bytes.Contains([]byte(details), hash) {
				t.Errorf("%s shows the hash: %s", e.Action, details)
			}
		}
		same(t, "the last actions", actions[len(actions)-2:], []string{"token.create", "token.revoke"})
	})
}

// TestTokensOfAPersonAreBounded checks that only ended tokens are deleted at the limit. Tokens
// without a user do not count.
func TestTokensOfAPersonAreBounded(t *testing.T) {
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		d := storetest.Deployment(t, s)
		ada := addUser(t, s, d, "ada", model.RoleViewer)
		n := 0
		create := func(ctx context.Context, tx *store.Tx, user int64) (model.Token, error) {
			n++
			name := fmt.Sprint("of-", n)
			return tx.CreateToken(ctx, model.Token{PublicID: name, Name: name, UserID: user, Scopes: []model.Scope{model.ScopeWebAPI}}, storetest.TokenHash(name))
		}
		var made []model.Token
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			for range store.MaxTokens {
				one, err := create(ctx, tx, ada.ID)
				if err != nil {
					return err
				}
				made = append(made, one)
			}
			_, err := create(ctx, tx, 0)
			return err
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := create(ctx, tx, ada.ID)
			invalid(t, "one too many in force", err, "name")
			return tx.RevokeToken(ctx, made[7].ID)
		})
		update(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			_, err := create(ctx, tx, ada.ID)
			return err
		})
		view(t, s, d, func(ctx context.Context, tx *store.Tx) error {
			list, err := tx.Tokens(ctx)
			gone := !slices.ContainsFunc(list, func(t model.Token) bool { return t.ID == made[7].ID })
			same(t, "tokens, and whether the one that ended is gone", []any{len(list), gone}, []any{store.MaxTokens + 1, true})
			return err
		})
	})
}
