package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Limits of grants, per deployment and per user.
const (
	maxGrants   = 5000
	MaxGrantsOf = 50
)

const grantSelect = `SELECT deployment_id, code_hash, token_id, client_hash, redirect_uri, challenge, resource,
	generation, refresh_hash, expires_at, token_json, approved_json
	FROM oauth_grant `

func scanGrant(r sqldb.Row) (g model.OAuthGrant, err error) {
	return g, r.Scan(&g.DeploymentID, &g.CodeHash, &g.TokenID, &g.ClientHash, &g.RedirectURI, &g.Challenge, &g.Resource,
		&g.Generation, &g.RefreshHash,
		sqldb.Instant(&g.ExpiresAt), sqldb.Decoded(&g.Token), sqldb.Decoded(&g.ApprovedBy))
}

// grantImage is the content of audit events about a grant. It never contains a hash.
type grantImage struct {
	Token       tokenImage `json:"token"`
	RedirectURI string     `json:"redirect_uri"`
	Resource    string     `json:"resource"`
}

// AddOAuthGrant stores an approved grant with a code that is valid for model.OAuthCodeFor, and
// deletes expired grants. It returns a *model.InvalidError if a limit of grants or tokens is
// reached.
func (tx *Tx) AddOAuthGrant(ctx context.Context, g model.OAuthGrant) error {
	if err := tx.checkGrantLimit(ctx, g.Token.UserID); err != nil {
		return err
	}
	if g.Token.UserID != 0 { // checked here because the approving user can free a token, the client cannot
		if err := tx.trimTokens(ctx, g.Token.UserID); err != nil {
			return err
		}
	}
	g.Token.DeploymentID = tx.Deployment().ID
	if err := tx.insertGrant(ctx, g); err != nil {
		return err
	}
	tx.Audit("oauth.approve", sqldb.Subject("deployment", tx.Deployment().ID), nil, grantImage{
		imageOfToken(g.Token), g.RedirectURI, g.Resource,
	})
	return nil
}

// AddDeviceGrant stores a grant approved by the device flow, whose token is created in the same
// transaction. The audit event is login.approve. It returns a *model.InvalidError if the limit of
// grants is reached.
func (tx *Tx) AddDeviceGrant(ctx context.Context, g model.OAuthGrant) error {
	if err := tx.checkGrantLimit(ctx, g.Token.UserID); err != nil {
		return err
	}
	return tx.insertGrant(ctx, g)
}

func (tx *Tx) insertGrant(ctx context.Context, g model.OAuthGrant) error {
	err := tx.Write(ctx, `
		INSERT INTO oauth_grant (deployment_id, code_hash, token_id, client_hash, redirect_uri, challenge, resource,
		generation, refresh_hash, expires_at, token_json, approved_json, user_id)
		VALUES ($1, $2, 0, $3, $4, $5, $6, 0, $7, $8, $9, $10, $11)`,
		g.CodeHash, g.ClientHash, g.RedirectURI, g.Challenge, g.Resource, []byte{}, tx.Now().Add(model.OAuthCodeFor),
		sqldb.Encoded(g.Token), sqldb.Encoded(tx.Actor()), g.Token.UserID)
	if err != nil {
		return fmt.Errorf("store the grant: %w", err)
	}
	return nil
}

// checkGrantLimit deletes expired grants and returns an error if a limit is reached.
func (tx *Tx) checkGrantLimit(ctx context.Context, userID int64) error {
	if err := tx.dropLapsedGrants(ctx, tx.Now()); err != nil {
		return err
	}
	count := func(where string, args ...any) (int, error) {
		return sqldb.One(
			ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM oauth_grant WHERE deployment_id = $1`+where, args...,
		)
	}
	all, err := count("")
	if err != nil {
		return err
	}
	own, err := count(" AND user_id = $2", userID)
	switch {
	case err != nil:
		return err
	case own >= MaxGrantsOf:
		return model.Invalid("client_id", "you authorized %d programs, the limit for one person: revoke the tokens of "+
			"unused programs (Settings, Tokens)", own)
	case all >= maxGrants:
		return model.Invalid(
			"client_id", "%d programs are authorized, which is the limit: revoke some of their tokens", all,
		)
	}
	return nil
}

func (tx *Tx) dropLapsedGrants(ctx context.Context, now time.Time) error {
	return tx.Write(ctx, `DELETE FROM oauth_grant WHERE deployment_id = $1 AND expires_at <= $2`, now)
}

// DropLapsedOAuthGrants deletes expired grants of a deployment: unused codes and tokens that were
// not renewed.
func (s *DB) DropLapsedOAuthGrants(ctx context.Context, deploymentID int64, now time.Time) error {
	return s.update(ctx, deploymentID, model.Actor{
		Kind: "system",
		Name: "prune",
	}, func(ctx context.Context, tx *Tx) error {
		return tx.dropLapsedGrants(ctx, now)
	})
}

// setRenewableUntil sets RenewableUntil of tokens.
func (tx *Tx) setRenewableUntil(ctx context.Context, list []model.Token) error {
	until := map[int64]time.Time{}
	err := sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var at time.Time
		err := r.Scan(&id, sqldb.Instant(&at))
		until[id] = at
		return err
	}, `SELECT token_id, expires_at FROM oauth_grant WHERE deployment_id = $1 AND token_id > 0 AND expires_at > $2`,
		tx.Now())
	for i := range list {
		list[i].RenewableUntil = until[list[i].ID]
	}
	return err
}

// OAuthGrantByCode returns the grant with the hash of a code, used or not. An expired one is
// model.ErrNotFound.
func (tx *Tx) OAuthGrantByCode(ctx context.Context, codeHash []byte) (model.OAuthGrant, error) {
	return sqldb.One(
		ctx, tx, scanGrant, grantSelect+`WHERE deployment_id = $1 AND code_hash = $2 AND expires_at > $3`, codeHash, tx.Now(),
	)
}

// OAuthGrantByToken returns the grant of a token. An expired one is model.ErrNotFound.
func (tx *Tx) OAuthGrantByToken(ctx context.Context, tokenID int64) (model.OAuthGrant, error) {
	return sqldb.One(ctx, tx, scanGrant,
		grantSelect+`WHERE deployment_id = $1 AND token_id = $2 AND token_id > 0 AND expires_at > $3`, tokenID, tx.Now())
}

// RenewOAuthGrant stores the token of a grant and its current refresh token.
func (tx *Tx) RenewOAuthGrant(ctx context.Context, g model.OAuthGrant) error {
	return tx.Write(ctx, `UPDATE oauth_grant SET token_id = $3, generation = $4, refresh_hash = $5, expires_at = $6 `+
		`WHERE deployment_id = $1 AND code_hash = $2`,
		g.CodeHash, g.TokenID, g.Generation, g.RefreshHash, g.ExpiresAt)
}

// DropOAuthGrant deletes a grant and revokes its token, if any.
func (tx *Tx) DropOAuthGrant(ctx context.Context, g model.OAuthGrant) error {
	if err := tx.Write(ctx, `DELETE FROM oauth_grant WHERE deployment_id = $1 AND code_hash = $2`,
		g.CodeHash); err != nil || g.TokenID == 0 {
		return err
	}
	return tx.RevokeToken(ctx, g.TokenID)
}

// RenewToken replaces the secret and the expiry of a token. A revoked or unknown token is
// model.ErrNotFound.
func (tx *Tx) RenewToken(ctx context.Context, id int64, hash []byte, until time.Time) (model.Token, error) {
	t, err := sqldb.One(ctx, tx, ScanToken,
		`SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND id = $2 AND revoked_at IS NULL`, id)
	if err != nil {
		return t, fmt.Errorf("token %d: %w", id, err)
	}
	before := imageOfToken(t)
	t.ExpiresAt = until.UTC().Truncate(time.Microsecond)
	if err := tx.Write(ctx, `UPDATE token SET hash = $3, expires_at = $4 WHERE deployment_id = $1 AND id = $2`, id, hash,
		t.ExpiresAt); err != nil {
		return t, err
	}
	tx.Audit("token.renew", sqldb.Subject("token", t.ID), before, imageOfToken(t))
	return t, nil
}

// TokenByID returns a token of the deployment, valid or not.
func (tx *Tx) TokenByID(ctx context.Context, id int64) (model.Token, error) {
	return sqldb.One(ctx, tx, ScanToken, `SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND id = $2`, id)
}
