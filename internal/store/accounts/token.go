package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// TokenColumns are the columns of table token that ScanToken reads.
const TokenColumns = `deployment_id, id, public_id, name, scopes_json, globs_json, dialect, created_at, expires_at, ` +
	`last_used_at, revoked_at, COALESCE(user_id, 0)`

// ScanToken reads a token from a row of TokenColumns.
func ScanToken(r sqldb.Row) (t model.Token, err error) {
	return t, r.Scan(&t.DeploymentID, &t.ID, &t.PublicID, &t.Name, sqldb.Decoded(&t.Scopes),
		sqldb.Decoded(&t.ProjectGlobs), &t.Dialect,
		sqldb.Instant(&t.CreatedAt), sqldb.Instant(&t.ExpiresAt), sqldb.Instant(&t.LastUsedAt),
		sqldb.Instant(&t.RevokedAt), &t.UserID)
}

// TokenByHash returns the token of a deployment by the hash of its secret, even if revoked or
// expired. It runs before every request, so it uses no transaction of the deployment.
func (s *DB) TokenByHash(ctx context.Context, deploymentID int64, hash []byte) (t model.Token, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		t, err = sqldb.One(
			ctx, q, ScanToken, `SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND hash = $2`, deploymentID, hash,
		)
		return err
	})
	return t, err
}

// TouchTokens records when tokens were last used. It writes no audit event and creates no version.
// Older times and unknown tokens are skipped. Each deployment has a separate transaction, so an
// error for one does not affect others.
func (s *DB) TouchTokens(ctx context.Context, used []model.TokenUse) error {
	// Sorted, so that servers that update the same tokens do not deadlock.
	used = slices.SortedFunc(slices.Values(used), func(a, b model.TokenUse) int {
		return cmp.Or(cmp.Compare(a.DeploymentID, b.DeploymentID), cmp.Compare(a.TokenID, b.TokenID))
	})
	var failed []error
	for len(used) > 0 {
		n := slices.IndexFunc(used, func(u model.TokenUse) bool { return u.DeploymentID != used[0].DeploymentID })
		if n < 0 {
			n = len(used)
		}
		failed = append(failed, s.touchTokens(ctx, used[:n]))
		used = used[n:]
	}
	return errors.Join(failed...)
}

// touchTokens records the use of tokens of one deployment.
func (s *DB) touchTokens(ctx context.Context, used []model.TokenUse) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		for _, use := range used {
			err := q.Write(ctx, `
				UPDATE token SET last_used_at = $3
				WHERE deployment_id = $1 AND id = $2 AND (last_used_at IS NULL OR last_used_at < $3)`, use.DeploymentID,
				use.TokenID, use.At)
			if err != nil {
				return err
			}
		}
		return nil
	})
}

// tokenImage is the content of audit events about a token. It never contains its hash.
type tokenImage struct {
	PublicID     string        `json:"public_id"`
	Name         string        `json:"name"`
	Scopes       []model.Scope `json:"scopes"`
	ProjectGlobs []string      `json:"project_globs"`
	Dialect      model.Dialect `json:"dialect"`
	UserID       int64         `json:"user_id,omitempty"`
	ExpiresAt    *time.Time    `json:"expires_at,omitempty"`
	RevokedAt    *time.Time    `json:"revoked_at,omitempty"`
}

func imageOfToken(t model.Token) tokenImage {
	return tokenImage{
		t.PublicID, t.Name, t.Scopes, t.ProjectGlobs, t.Dialect, t.UserID, timeOrNil(t.ExpiresAt), timeOrNil(t.RevokedAt),
	}
}

func timeOrNil(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	return &t
}

// idOrNil converts an id to a nullable column.
func idOrNil(id int64) any {
	if id == 0 {
		return nil
	}
	return id
}

// MaxTokens limits the tokens of a user in a deployment, including expired and revoked ones.
const MaxTokens = 100

// trimTokens deletes the oldest expired or revoked tokens of a user until one more fits. If all
// are valid, it returns a *model.InvalidError.
func (tx *Tx) trimTokens(ctx context.Context, userID int64) error {
	list, err := tx.tokensOf(ctx, userID)
	if err != nil || len(list) < MaxTokens {
		return err
	}
	excess := len(list) - MaxTokens + 1
	for _, t := range list {
		if excess > 0 && t.Ended(tx.Now()) {
			excess--
			if err := tx.Write(ctx, `DELETE FROM token WHERE deployment_id = $1 AND id = $2`, t.ID); err != nil {
				return err
			}
		}
	}
	if excess > 0 {
		return model.Invalid("name",
			"the user has %d active or renewable tokens, which is the limit: revoke one first", len(list))
	}
	return nil
}

// tokensOf returns the tokens of a user, oldest first, with RenewableUntil.
func (tx *Tx) tokensOf(ctx context.Context, userID int64) ([]model.Token, error) {
	list, err := sqldb.Many(ctx, tx, ScanToken,
		`SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND user_id = $2 ORDER BY id`, userID)
	if err != nil {
		return nil, err
	}
	return list, tx.setRenewableUntil(ctx, list)
}

// CreateToken stores a token with the hash of its secret and returns it with its id and creation
// time. An empty dialect is model.DialectContract. The user's oldest expired or revoked tokens are
// deleted to stay within MaxTokens; if all are valid, it returns a *model.InvalidError. A duplicate
// public id or hash is model.ErrConflict.
func (tx *Tx) CreateToken(ctx context.Context, t model.Token, hash []byte) (model.Token, error) {
	if t.UserID != 0 {
		if err := tx.trimTokens(ctx, t.UserID); err != nil {
			return model.Token{}, err
		}
	}
	id, err := tx.NewID(ctx, seqToken)
	if err != nil {
		return model.Token{}, err
	}
	t.ID, t.DeploymentID, t.CreatedAt = id, tx.Deployment().ID, tx.Now()
	t.LastUsedAt, t.RevokedAt = time.Time{}, time.Time{}
	t.ExpiresAt = t.ExpiresAt.UTC().Truncate(time.Microsecond)
	t.Dialect = cmp.Or(t.Dialect, model.DialectContract)
	t.Scopes, t.ProjectGlobs = sqldb.OrEmpty(t.Scopes), sqldb.OrEmpty(t.ProjectGlobs)
	err = tx.Write(ctx, `
		INSERT INTO token (deployment_id, id, public_id, hash, name, scopes_json, globs_json, dialect, created_at, expires_at,
		user_id)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
		t.ID, t.PublicID, hash, t.Name, sqldb.Encoded(t.Scopes), sqldb.Encoded(t.ProjectGlobs), t.Dialect, t.CreatedAt,
		t.ExpiresAt, idOrNil(t.UserID))
	if err != nil {
		return model.Token{}, fmt.Errorf("store the token %s: %w", t.PublicID, err)
	}
	tx.Audit("token.create", sqldb.Subject("token", t.ID), nil, imageOfToken(t))
	return t, nil
}

// Tokens returns the deployment's tokens, including revoked ones, in order of creation and with
// RenewableUntil.
func (tx *Tx) Tokens(ctx context.Context) ([]model.Token, error) {
	list, err := sqldb.Many(ctx, tx, ScanToken, `SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 ORDER BY id`)
	if err != nil {
		return nil, err
	}
	return list, tx.setRenewableUntil(ctx, list)
}

// Token returns a token by its public id, else by its name. An ambiguous name is model.ErrConflict.
func (tx *Tx) Token(ctx context.Context, publicIDOrName string) (model.Token, error) {
	list, err := sqldb.Many(ctx, tx, ScanToken,
		`SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND (public_id = $2 OR name = $2) ORDER BY id`,
		publicIDOrName)
	if err != nil {
		return model.Token{}, err
	}
	for _, t := range list {
		if t.PublicID == publicIDOrName || len(list) == 1 {
			return t, nil
		}
	}
	if len(list) == 0 {
		return model.Token{}, fmt.Errorf("token %.80q: %w", publicIDOrName, model.ErrNotFound)
	}
	return model.Token{}, fmt.Errorf("%d tokens have the name %.80q; use an id: %w",
		len(list), publicIDOrName, model.ErrConflict)
}

// RevokeToken revokes a token permanently. Revoking it again has no effect.
func (tx *Tx) RevokeToken(ctx context.Context, id int64) error {
	t, err := sqldb.One(ctx, tx, ScanToken, `SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND id = $2`, id)
	if err != nil {
		return fmt.Errorf("token %d: %w", id, err)
	}
	return tx.revoke(ctx, t)
}

// revokeTokensOf revokes all tokens of a user, and deletes grants and requests that could become
// tokens.
func (tx *Tx) revokeTokensOf(ctx context.Context, userID int64) error {
	list, err := sqldb.Many(ctx, tx, ScanToken,
		`SELECT `+TokenColumns+` FROM token WHERE deployment_id = $1 AND user_id = $2 ORDER BY id`, userID)
	for _, t := range list {
		if err == nil {
			err = tx.revoke(ctx, t)
		}
	}
	if err != nil {
		return err
	}
	if err := tx.Write(ctx, `DELETE FROM oauth_grant WHERE deployment_id = $1 AND user_id = $2`, userID); err != nil {
		return err
	}
	return tx.dropApprovedLogins(ctx, userID)
}

// revoke revokes a token and deletes the grant that could renew it.
func (tx *Tx) revoke(ctx context.Context, t model.Token) error {
	if err := tx.Write(ctx, `DELETE FROM oauth_grant WHERE deployment_id = $1 AND token_id = $2`, t.ID); err != nil {
		return err
	}
	if !t.RevokedAt.IsZero() {
		return nil
	}
	before := imageOfToken(t)
	t.RevokedAt = tx.Now()
	if err := tx.Write(ctx, `UPDATE token SET revoked_at = $3 WHERE deployment_id = $1 AND id = $2`, t.ID,
		tx.Now()); err != nil {
		return err
	}
	tx.Audit("token.revoke", sqldb.Subject("token", t.ID), before, imageOfToken(t))
	return nil
}

const seqToken sqldb.Sequence = "token"
