package oauth

import (
	"bytes"
	"context"
	"errors"
	"net/http"

	"github.com/redoubt/redoubt/internal/auth"
	core "github.com/redoubt/redoubt/internal/auth/oauth"
	"github.com/redoubt/redoubt/internal/httpx"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// errGrant is the error for every invalid code and refresh token, whatever the reason.
var errGrant = &core.Error{
	Code: "invalid_grant",
	Text: "the code or refresh token is invalid: it was used, has expired, was revoked or belongs to another client",
}

// issued is a token response.
type issued struct {
	Access  string `json:"access_token"`
	Type    string `json:"token_type"`
	Expires int64  `json:"expires_in"` // seconds
	Refresh string `json:"refresh_token"`
	Scope   string `json:"scope"`
}

// token exchanges a code or a refresh token for a token.
func (s *Server) token(w http.ResponseWriter, r *http.Request) error {
	if err := form(w, r); err != nil {
		return refuse(w, err)
	}
	clientID := r.PostForm.Get("client_id")
	if _, err := s.Keys.Client(clientID, s.Clock()); err != nil {
		return refuse(w, &core.Error{Code: "invalid_client", Text: err.Error()})
	}
	_, err := core.Resource(r.PostForm.Get("resource"), httpx.OriginOf(r).Base)
	var out *issued
	switch grant := r.PostForm.Get("grant_type"); {
	case err != nil:
	case grant == "authorization_code":
		out, err = s.exchange(r, clientID)
	case grant == "refresh_token":
		out, err = s.renew(r, clientID)
	case grant == core.DeviceGrant:
		out, err = s.exchangeDevice(r, clientID)
	default:
		err = &core.Error{
			Code: "unsupported_grant_type",
			Text: "grant_type must be authorization_code, refresh_token or " + core.DeviceGrant,
		}
	}
	var refused *core.Error
	var invalid *model.InvalidError
	switch {
	case errors.As(err, &refused):
		return refuse(w, refused)
	case errors.As(err, &invalid): // the user has reached the limit of tokens
		return refuse(w, &core.Error{Code: "invalid_grant", Text: err.Error()})
	case err != nil:
		return err
	}
	return reply(w, http.StatusOK, out)
}

// form parses the parameters of a body. Each may occur once.
func form(w http.ResponseWriter, r *http.Request) *core.Error {
	r.Body = http.MaxBytesReader(w, r.Body, maxBody)
	if err := r.ParseForm(); err != nil {
		return &core.Error{Code: "invalid_request", Text: "the body is not a form"}
	}
	for name, values := range r.PostForm {
		if len(values) > 1 || !httpx.IsText(values[0]) {
			return &core.Error{Code: "invalid_request", Text: name + " is repeated, or is not text"}
		}
	}
	return nil
}

// exchange returns the first token of a code. Any attempt uses up the code, even an invalid one. A
// code that is used twice revokes the first token, because another party has the code too.
func (s *Server) exchange(r *http.Request, clientID string) (out *issued, err error) {
	code := r.PostForm.Get("code")
	deployment, ok := core.CodeDeployment(code)
	if !ok {
		return nil, errGrant
	}
	return s.change(r.Context(), deployment, func(ctx context.Context, tx *store.Tx) (model.OAuthGrant, error) {
		return tx.OAuthGrantByCode(ctx, core.Hash(code))
	}, func(ctx context.Context, tx *store.Tx, g model.OAuthGrant) (*issued, error) {
		right := g.TokenID == 0 && bytes.Equal(g.ClientHash, core.Hash(clientID)) &&
			g.RedirectURI == r.PostForm.Get("redirect_uri") &&
			core.Verified(g.Challenge, r.PostForm.Get("code_verifier")) && sameResource(r, g)
		if !right {
			return nil, tx.DropOAuthGrant(ctx, g)
		}
		return s.first(ctx, tx, r, g, clientID)
	})
}

// sameResource reports whether the resource that a client sends, if any, is the approved one.
func sameResource(r *http.Request, g model.OAuthGrant) bool {
	named := r.PostForm.Get("resource")
	resource, err := core.Resource(named, httpx.OriginOf(r).Base)
	return named == "" || err == nil && resource == g.Resource
}

// renew exchanges a refresh token for a new token and a new refresh token. A refresh token that was
// replaced before revokes the grant, because two parties have it.
func (s *Server) renew(r *http.Request, clientID string) (*issued, error) {
	text := r.PostForm.Get("refresh_token")
	named, ok := s.Keys.Refresh(text)
	if !ok {
		return nil, errGrant
	}
	return s.change(r.Context(), named.DeploymentID, func(ctx context.Context, tx *store.Tx) (model.OAuthGrant, error) {
		return tx.OAuthGrantByToken(ctx, named.TokenID)
	}, func(ctx context.Context, tx *store.Tx, g model.OAuthGrant) (*issued, error) {
		if !bytes.Equal(g.ClientHash, core.Hash(clientID)) || !bytes.Equal(g.RefreshHash, core.Hash(text)) ||
			!sameResource(r, g) {
			return nil, tx.DropOAuthGrant(ctx, g)
		}
		// The grant was approved for another address of the server.
		if _, err := core.Resource(g.Resource, httpx.OriginOf(r).Base); err != nil {
			return nil, err
		}
		before, err := tx.TokenByID(ctx, g.TokenID)
		if err != nil {
			return nil, err
		}
		before.ExpiresAt = s.Clock().Add(model.OAuthAccessFor)
		access, err := s.Keys.NewAccess(httpx.OriginOf(r).Base, clientID, g.Resource, before, s.Clock())
		if err != nil {
			return nil, err
		}
		made, err := tx.RenewToken(ctx, g.TokenID, core.Hash(access), before.ExpiresAt)
		if err != nil {
			return nil, err
		}
		return s.issue(ctx, tx, g, made, access)
	})
}

// change runs work on a grant in one transaction, as the user that approved it. It returns errGrant
// if there is no grant or if work returns nil; the changes of work are committed either way.
func (s *Server) change(
	ctx context.Context, deployment int64, find func(context.Context, *store.Tx) (model.OAuthGrant, error),
	work func(context.Context, *store.Tx, model.OAuthGrant) (*issued, error),
) (out *issued, err error) {
	var found model.OAuthGrant
	err = s.Store.View(ctx, deployment, func(ctx context.Context, tx *store.Tx) (err error) {
		found, err = find(ctx, tx)
		return err
	})
	if err == nil {
		err = s.Store.Update(ctx, deployment, found.ApprovedBy, func(ctx context.Context, tx *store.Tx) error {
			g, err := find(ctx, tx) // again: two requests may use one code at once
			if err == nil {
				out, err = work(ctx, tx, g)
			}
			return err
		})
	}
	if errors.Is(err, model.ErrNotFound) || err == nil && out == nil {
		return nil, errGrant
	}
	return out, err
}

// issue stores a new refresh token for a token and returns the response.
func (s *Server) issue(
	ctx context.Context, tx *store.Tx, g model.OAuthGrant, made model.Token, access string,
) (*issued, error) {
	g.TokenID, g.Generation, g.ExpiresAt = made.ID, g.Generation+1, s.Clock().Add(model.OAuthRefreshFor)
	refresh := s.Keys.NewRefresh(core.Refresh{DeploymentID: made.DeploymentID, TokenID: made.ID, Generation: g.Generation})
	g.RefreshHash = core.Hash(refresh)
	if err := tx.RenewOAuthGrant(ctx, g); err != nil {
		return nil, err
	}
	return &issued{access, "Bearer", int64(model.OAuthAccessFor.Seconds()), refresh, core.ScopeOf(made)}, nil
}

// revoke revokes the grant of an access or refresh token. Anyone with the token may do so. Unknown
// tokens count as revoked (RFC 7009 §2.2).
func (s *Server) revoke(w http.ResponseWriter, r *http.Request) error {
	if err := form(w, r); err != nil {
		return refuse(w, err)
	}
	text := r.PostForm.Get("token")
	deployment, find := s.grantOf(r.Context(), text)
	if find == nil {
		return reply(w, http.StatusOK, struct{}{})
	}
	_, err := s.change(r.Context(), deployment, find, func(
		ctx context.Context, tx *store.Tx, g model.OAuthGrant,
	) (*issued, error) {
		return nil, tx.DropOAuthGrant(ctx, g)
	})
	if !errors.Is(err, errGrant) {
		return err
	}
	return reply(w, http.StatusOK, struct{}{})
}

// grantOf returns the deployment of a token and a function that reads its grant. The function is
// nil if the token is invalid.
func (s *Server) grantOf(
	ctx context.Context, text string,
) (int64, func(context.Context, *store.Tx) (model.OAuthGrant, error)) {
	if named, ok := s.Keys.Refresh(text); ok {
		return named.DeploymentID, func(ctx context.Context, tx *store.Tx) (model.OAuthGrant, error) {
			g, err := tx.OAuthGrantByToken(ctx, named.TokenID)
			if err == nil && !bytes.Equal(g.RefreshHash, core.Hash(text)) {
				err = model.ErrNotFound
			}
			return g, err
		}
	}
	deployment, sum, err := auth.ParseSecret(text)
	if err != nil {
		return 0, nil
	}
	t, err := s.Store.TokenByHash(ctx, deployment, sum)
	if err != nil {
		return 0, nil
	}
	return deployment, func(ctx context.Context, tx *store.Tx) (model.OAuthGrant, error) {
		return tx.OAuthGrantByToken(ctx, t.ID)
	}
}

// introspect reports whether a token of the caller's deployment is active. Tokens of other
// deployments are reported as inactive.
func (s *Server) introspect(w http.ResponseWriter, r *http.Request, caller auth.Caller) error {
	if err := form(w, r); err != nil {
		return refuse(w, err)
	}
	deployment, sum, err := auth.ParseSecret(r.PostForm.Get("token"))
	if err != nil || deployment != caller.Deployment.ID {
		return reply(w, http.StatusOK, map[string]bool{"active": false})
	}
	t, err := s.Store.TokenByHash(r.Context(), deployment, sum)
	switch {
	case errors.Is(err, model.ErrNotFound), err == nil && !t.Active(s.Clock()):
		return reply(w, http.StatusOK, map[string]bool{"active": false})
	case err != nil:
		return err
	}
	out := map[string]any{
		"active":     true,
		"token_type": "Bearer",
		"scope":      core.ScopeOf(t),
		"sub":        t.PublicID,
		"iat":        t.CreatedAt.Unix(),
		"iss":        httpx.OriginOf(r).Base,
	}
	if !t.ExpiresAt.IsZero() {
		out["exp"] = t.ExpiresAt.Unix()
	}
	return reply(w, http.StatusOK, out)
}
