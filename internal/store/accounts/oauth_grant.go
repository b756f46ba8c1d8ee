package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"

	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// How many clients may be let in, by all people of a deployment and by one.
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

// grantImage is what the audit trail tells of a grant: never a hash.
type grantImage struct {
	Token       tokenImage `json:"token"`
	RedirectURI string     `json:"redirect_uri"`
	Resource    string     `json:"resource"`
}

// AddOAuthGrant keeps what a person let a client have, as a code that is good for
// model.OAuthCodeFor, and forgets the grants that are over. Where there are 5,000,
// or 50 of the person, or no room for one more token of theirs, it is a
// *model.InvalidError.
func (tx *Tx) AddOAuthGrant(ctx context.Context, g model.OAuthGrant) error {
	if err := tx.roomForGrant(ctx, g.Token.UserID); err != nil {
		return err
	}
	if g.Token.UserID != 0 { // who approves can do something about it, the client cannot
		if err := tx.roomForToken(ctx, g.Token.UserID); err != nil {
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

// AddDeviceGrant keeps what a person let a program have that asked by the device
// flow, whose token is made in the same transaction. The trail tells of it already,
// as login.approve. There is room for it as for AddOAuthGrant, or a
// *model.InvalidError.
func (tx *Tx) AddDeviceGrant(ctx context.Context, g model.OAuthGrant) error {
	if err := tx.roomForGrant(ctx, g.Token.UserID); err != nil {
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

// roomForGrant drops the grants that are over and refuses one too many.
func (tx *Tx) roomForGrant(ctx context.Context, userID int64) error {
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
		return model.Invalid("client_id", "you let %d programs in, as many as one person may: revoke the tokens of those "+
			"that you do not use any more (Settings, Tokens)", own)
	case all >= maxGrants:
		return model.Invalid(
			"client_id", "there are %d programs that people let in, as many as there may be: revoke some of their tokens", all,
		)
	}
	return nil
}

func (tx *Tx) dropLapsedGrants(ctx context.Context, now time.Time) error {
	return tx.Write(ctx, `DELETE FROM oauth_grant WHERE deployment_id = $1 AND expires_at <= $2`, now)
}

// DropLapsedOAuthGrants forgets the grants of a deployment that are over: codes that
// nobody exchanged, and tokens that nobody had renewed.
func (s *DB) DropLapsedOAuthGrants(ctx context.Context, deploymentID int64, now time.Time) error {
	return s.update(ctx, deploymentID, model.Actor{
		Kind: "system",
		Name: "prune",
	}, func(ctx context.Context, tx *Tx) error {
		return tx.dropLapsedGrants(ctx, now)
	})
}

// tellRenewable writes into tokens until when clients may have them renewed.
func (tx *Tx) tellRenewable(ctx context.Context, list []model.Token) error {
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

// OAuthGrantByCode finds a grant by the hash of its code, whether it was used or
// not. One that is over is model.ErrNotFound.
func (tx *Tx) OAuthGrantByCode(ctx context.Context, codeHash []byte) (model.OAuthGrant, error) {
	return sqldb.One(
		ctx, tx, scanGrant, grantSelect+`WHERE deployment_id = $1 AND code_hash = $2 AND expires_at > $3`, codeHash, tx.Now(),
	)
}

// OAuthGrantByToken finds the grant that a token belongs to, as above.
func (tx *Tx) OAuthGrantByToken(ctx context.Context, tokenID int64) (model.OAuthGrant, error) {
	return sqldb.One(ctx, tx, scanGrant,
		grantSelect+`WHERE deployment_id = $1 AND token_id = $2 AND token_id > 0 AND expires_at > $3`, tokenID, tx.Now())
}

// RenewOAuthGrant notes the token of a grant and the refresh token in force.
func (tx *Tx) RenewOAuthGrant(ctx context.Context, g model.OAuthGrant) error {
	return tx.Write(ctx, `UPDATE oauth_grant SET token_id = $3, generation = $4, refresh_hash = $5, expires_at = $6 `+
		`WHERE deployment_id = $1 AND code_hash = $2`,
		g.CodeHash, g.TokenID, g.Generation, g.RefreshHash, g.ExpiresAt)
}

// DropOAuthGrant forgets a grant, and revokes its token if it has one.
func (tx *Tx) DropOAuthGrant(ctx context.Context, g model.OAuthGrant) error {
	if err := tx.Write(ctx, `DELETE FROM oauth_grant WHERE deployment_id = $1 AND code_hash = $2`,
		g.CodeHash); err != nil || g.TokenID == 0 {
		return err
	}
	return tx.RevokeToken(ctx, g.TokenID)
}

// RenewToken puts another secret in the place of a token's, until another time. One
// that is revoked, or not there, is model.ErrNotFound.
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

// TokenByID finds a token of the deployment, in force or not.
func (tx *Tx) TokenByID(ctx context.Context, id int64) (model.Token, error) {
	return sqldb.One(ctx, tx, ScanToken, `SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND id = $2`, id)
}
