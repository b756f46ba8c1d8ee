package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const passkeyColumns = `p.id, p.user_id, p.credential_id, p.credential, p.name, p.created_at, p.used_at`

func passkeyFields(p *model.Passkey) []any {
	return []any{
		&p.ID, &p.UserID, &p.CredentialID, &p.Credential, &p.Name, sqldb.Instant(&p.CreatedAt), sqldb.Instant(&p.UsedAt),
	}
}

func scanPasskey(r sqldb.Row) (p model.Passkey, err error) { return p, r.Scan(passkeyFields(&p)...) }

// passkeyImage is the content of audit events about a passkey.
type passkeyImage struct {
	Name string `json:"name"`
}

// Passkeys returns the passkeys of a user, oldest first.
func (s *DB) Passkeys(ctx context.Context, userID int64) (list []model.Passkey, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(
			ctx, q, scanPasskey, `SELECT `+passkeyColumns+` FROM user_passkey p WHERE p.user_id = $1 ORDER BY p.id`, userID,
		)
		return err
	})
	return list, err
}

// PasskeyByCredential returns the passkey with a credential id and its enabled user, or
// model.ErrNotFound.
func (s *DB) PasskeyByCredential(ctx context.Context, credentialID []byte) (p model.Passkey, u model.User, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		_, err := sqldb.One(ctx, q, func(r sqldb.Row) (struct{}, error) {
			return struct{}{}, r.Scan(append(passkeyFields(&p), userFields(&u)...)...)
		}, `SELECT `+passkeyColumns+`, `+userColumns+` FROM user_passkey p JOIN app_user u ON u.id = p.user_id
			WHERE p.credential_id = $1 AND u.disabled_at IS NULL`, credentialID)
		return err
	})
	return p, u, err
}

// AddPasskey adds a passkey to a user. If it is the first second factor, first is true: the hashes
// of recovery codes are stored, and the new session replaces all others. Otherwise both are unused.
// A known authenticator, or a passkey beyond the limit, is model.ErrConflict.
func (s *DB) AddPasskey(
	ctx context.Context, p model.Passkey, recovery [][]byte, n model.Session, hash []byte,
) (first bool, err error) {
	if err := model.CheckPasskeyName(p.Name); err != nil {
		return false, err
	}
	err = s.updateSelf(ctx, p.UserID, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		had, err := sqldb.One(ctx, q, sqldb.Scalar[int], `SELECT COUNT(*) FROM user_passkey WHERE user_id = $1`, u.ID)
		if err == nil && had >= model.MaxPasskeys {
			err = fmt.Errorf("you have %d passkeys; remove one first: %w", had, model.ErrConflict)
		}
		if err != nil {
			return err
		}
		id, err := q.NewID(ctx, seqUserLink)
		if err != nil {
			return err
		}
		_, err = q.Exec(ctx, `INSERT INTO user_passkey (id, user_id, credential_id, credential, name, created_at) VALUES `+
			`($1, $2, $3, $4, $5, $6)`,
			id, u.ID, p.CredentialID, p.Credential, p.Name, txs[0].Now())
		if errors.Is(err, model.ErrConflict) {
			err = fmt.Errorf("this passkey is already in use: %w", model.ErrConflict)
		}
		if err != nil {
			return err
		}
		for _, tx := range txs {
			tx.Audit("user.passkey", userSubject(u), nil, passkeyImage{p.Name})
		}
		if first = !u.HasSecondFactor(); !first {
			return nil
		}
		return s.firstFactor(ctx, q, u, recovery, txs[0].Now(), &n, hash)
	})
	return first, err
}

// RemovePasskey deletes a passkey of the session's user. The session continues with a new secret;
// all others end. Removing the last second factor is model.ErrConflict; use RemoveSecondFactor,
// which requires a proof.
func (s *DB) RemovePasskey(ctx context.Context, asking model.Session, id int64, hash []byte) error {
	return s.updateSelf(ctx, asking.UserID, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		p, err := sqldb.One(
			ctx, q, scanPasskey, `SELECT `+passkeyColumns+` FROM user_passkey p WHERE p.id = $1 AND p.user_id = $2`, id, u.ID,
		)
		if err != nil {
			return err
		}
		left, err := sqldb.One(ctx, q, sqldb.Scalar[int], `SELECT (SELECT COUNT(*) FROM user_passkey WHERE user_id = $1) + `+
			`(SELECT COUNT(*) FROM user_totp WHERE user_id = $1)`, u.ID)
		if err == nil && left < 2 {
			err = fmt.Errorf("%s is your only second factor; remove the second factor instead: %w", p.Name, model.ErrConflict)
		}
		if err != nil {
			return err
		}
		for _, tx := range txs {
			tx.Audit("user.passkey_removed", userSubject(u), passkeyImage{p.Name}, nil)
		}
		if err := q.Write(ctx, `DELETE FROM user_passkey WHERE id = $1`, id); err != nil {
			return err
		}
		return renewSession(ctx, q, u, asking.ID, hash)
	})
}

// SignInByPasskey starts a full session, because a passkey with user verification covers both
// factors. A reused challenge is model.ErrConflict; a disabled user is model.ErrNotFound.
func (s *DB) SignInByPasskey(
	ctx context.Context, use model.PasskeyUse, n model.Session, hash []byte,
) (model.Session, error) {
	err := s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err := lockUser(ctx, q, n.UserID)
		if err == nil && !u.Enabled() {
			err = model.ErrNotFound
		}
		if err == nil {
			err = consumePasskey(ctx, q, u, use, s.Now())
		}
		if err != nil {
			return err
		}
		return s.beginSession(ctx, q, u, &n, hash)
	})
	return n, err
}

// consumePasskey records the use of a passkey and invalidates the signed challenge.
func consumePasskey(ctx context.Context, q *sqldb.Session, u model.User, use model.PasskeyUse, now time.Time) error {
	n, err := q.Exec(ctx, `INSERT INTO user_used_challenge (hash, expires_at) VALUES ($1, $2) ON CONFLICT `+
		`(hash) DO NOTHING`, use.Challenge, use.Until)
	if err == nil && n == 0 {
		err = fmt.Errorf("the signature of the passkey was already used: %w", model.ErrConflict)
	}
	if err != nil {
		return err
	}
	n, err = q.Exec(ctx, `UPDATE user_passkey SET credential = $3, used_at = $4 WHERE id = $1 AND user_id = $2`, use.ID,
		u.ID, use.Credential, now)
	if err == nil && n == 0 {
		err = fmt.Errorf("the passkey was removed: %w", model.ErrConflict)
	}
	return err
}
