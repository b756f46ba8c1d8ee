package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// beginHalf stores that a user has shown the first factor. There is no audit event because the
// sign-in is incomplete.
func (s *DB) beginHalf(ctx context.Context, q *sqldb.Session, u model.User, n *model.Session, hash []byte) error {
	n.UserID, n.ExpiresAt = u.ID, s.Now().Add(model.PendingSessionFor)
	return q.Write(ctx, `INSERT INTO user_half_session (hash, user_id, method, tries, expires_at) VALUES ($1, `+
		`$2, $3, 0, $4)`, hash, u.ID, n.Method, n.ExpiresAt)
}

const halfQuery = `SELECT h.user_id, h.method, ` + userColumns +
	` FROM user_half_session h JOIN app_user u ON u.id = h.user_id
	WHERE h.hash = $1 AND h.expires_at > $2 AND u.disabled_at IS NULL`

// PendingSession returns the sign-in that waits for the second factor, by the hash of its secret.
// An expired one is model.ErrNotFound.
func (s *DB) PendingSession(ctx context.Context, hash []byte) (h model.PendingSession, u model.User, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		_, err := sqldb.One(ctx, q, func(r sqldb.Row) (struct{}, error) {
			return struct{}{}, r.Scan(append([]any{&h.UserID, &h.Method}, userFields(&u)...)...)
		}, halfQuery, hash, s.Now())
		return err
	})
	return h, u, err
}

// TryPendingSession counts an attempt at the second factor before it is verified, so parallel
// attempts are counted too. After model.MaxHalfTries attempts it returns model.ErrNotFound.
func (s *DB) TryPendingSession(ctx context.Context, hash []byte) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		n, err := q.Exec(ctx, `UPDATE user_half_session SET tries = tries + 1 WHERE hash = $1 AND expires_at > $2 `+
			`AND tries < $3`, hash, s.Now(), model.MaxHalfTries)
		if err == nil && n == 0 {
			err = fmt.Errorf("the sign-in has ended: %w", model.ErrNotFound)
		}
		return err
	})
}

// FinishSignIn turns a pending sign-in into a session and invalidates the proof. A reused proof is
// model.ErrConflict. An expired sign-in or a disabled user is model.ErrNotFound.
func (s *DB) FinishSignIn(
	ctx context.Context, half []byte, p model.FactorProof, n model.Session, hash []byte,
) (model.Session, error) {
	err := s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		id, err := sqldb.One(ctx, q, sqldb.Scalar[int64],
			`SELECT user_id FROM user_half_session WHERE hash = $1 AND expires_at > $2`, half, s.Now())
		if err != nil {
			return err
		}
		u, err := lockUser(ctx, q, id)
		if err == nil && !u.Enabled() {
			err = model.ErrNotFound
		}
		if err != nil {
			return err
		}
		gone, err := q.Exec(ctx, `DELETE FROM user_half_session WHERE hash = $1`, half)
		if err == nil && gone == 0 {
			err = fmt.Errorf("the sign-in has ended: %w", model.ErrNotFound)
		}
		if err == nil {
			err = s.consumeProof(ctx, q, u, p)
		}
		if err != nil {
			return err
		}
		return s.beginSession(ctx, q, u, &n, hash)
	})
	return n, err
}

// consumeProof invalidates the proof of a second factor. A reused one is model.ErrConflict. The user
// must be locked.
func (s *DB) consumeProof(ctx context.Context, q *sqldb.Session, u model.User, p model.FactorProof) error {
	if p.Passkey != nil {
		return consumePasskey(ctx, q, u, *p.Passkey, s.Now())
	}
	query, arg := `UPDATE user_totp SET used_step = $2 WHERE user_id = $1 AND used_step < $2`, any(p.Step)
	if p.Recovery != nil {
		query, arg = `DELETE FROM user_recovery_code WHERE user_id = $1 AND hash = $2`, p.Recovery
	}
	n, err := q.Exec(ctx, query, u.ID, arg)
	if err == nil && n == 0 {
		err = fmt.Errorf("the code was already used: %w", model.ErrConflict)
	}
	if err != nil || p.Recovery == nil {
		return err
	}
	left, err := sqldb.One(ctx, q, sqldb.Scalar[int], `SELECT COUNT(*) FROM user_recovery_code WHERE user_id = $1`, u.ID)
	if err != nil {
		return err
	}
	return s.auditUser(ctx, q, u.ID, u.Actor(), "user.recovery_code_used", userSubject(u), recoveryImage{left})
}

// factorImage and recoveryImage are the contents of audit events. They never contain a secret or
// code.
type (
	factorImage struct {
		SecondFactor string `json:"second_factor"`
	}
	recoveryImage struct {
		RecoveryCodes int `json:"recovery_codes"`
	}
)

// TOTP returns the authenticator app of a user, or model.ErrNotFound.
func (s *DB) TOTP(ctx context.Context, userID int64) (t model.TOTP, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		t, err = sqldb.One(ctx, q, func(r sqldb.Row) (t model.TOTP, err error) { return t, r.Scan(&t.Secret, &t.Step) },
			`SELECT secret, used_step FROM user_totp WHERE user_id = $1`, userID)
		return err
	})
	return t, err
}

// RecoveryCodes returns the number of unused recovery codes of a user.
func (s *DB) RecoveryCodes(ctx context.Context, userID int64) (n int, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		n, err = sqldb.One(ctx, q, sqldb.Scalar[int], `SELECT COUNT(*) FROM user_recovery_code WHERE user_id = $1`, userID)
		return err
	})
	return n, err
}

// SetUpTOTP adds an authenticator app to a user and replaces the hashes of recovery codes. The new
// session replaces all others, which began without a second factor. A second app is
// model.ErrConflict.
func (s *DB) SetUpTOTP(ctx context.Context, t model.TOTP, recovery [][]byte, n model.Session, hash []byte) error {
	return s.updateSelf(ctx, n.UserID, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		_, err := q.Exec(ctx, `INSERT INTO user_totp (user_id, secret, used_step) VALUES ($1, $2, $3)`,
			u.ID, t.Secret, t.Step)
		if errors.Is(err, model.ErrConflict) {
			err = fmt.Errorf("you already have an authenticator app; remove it first: %w", model.ErrConflict)
		}
		if err != nil {
			return err
		}
		for _, tx := range txs {
			tx.Audit("user.second_factor", userSubject(u), nil, factorImage{"authenticator app"})
		}
		return s.firstFactor(ctx, q, u, recovery, txs[0].Now(), &n, hash)
	})
}

// firstFactor marks a user as having a second factor, which later sign-ins require.
func (s *DB) firstFactor(
	ctx context.Context, q *sqldb.Session, u model.User, recovery [][]byte, now time.Time, n *model.Session, hash []byte,
) error {
	if err := q.Write(ctx, `UPDATE app_user SET second_factor_at = COALESCE(second_factor_at, $2) WHERE id = $1`,
		u.ID, now); err != nil {
		return err
	}
	if err := putRecoveryCodes(ctx, q, u.ID, recovery); err != nil {
		return err
	}
	return s.onlySession(ctx, q, u, n, hash)
}

// RemoveSecondFactor removes all second factors of a user, given a proof of one. The new session
// replaces all others. A reused proof is model.ErrConflict.
func (s *DB) RemoveSecondFactor(ctx context.Context, p model.FactorProof, n model.Session, hash []byte) error {
	return s.updateSelf(ctx, n.UserID, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if err := s.consumeProof(ctx, q, u, p); err != nil {
			return err
		}
		if err := dropFactors(ctx, q, u, txs); err != nil {
			return err
		}
		return s.onlySession(ctx, q, u, &n, hash)
	})
}

// ResetSecondFactor removes the second factors of another user and ends their sessions. It returns
// model.ErrConflict if there is none, or if the user has a role in a deployment outside of within.
// A nil within is the operator of the server.
func (s *DB) ResetSecondFactor(ctx context.Context, userID int64, within []int64, by model.Actor) error {
	return s.updateUser(ctx, userID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if err := withinReach(u, within, txs, "reset-2fa"); err != nil {
			return err
		}
		if !u.HasSecondFactor() {
			return fmt.Errorf("%s has no second factor: %w", u.Name, model.ErrConflict)
		}
		if err := dropFactors(ctx, q, u, txs); err != nil {
			return err
		}
		return endSessions(ctx, q, u.ID)
	})
}

// PutRecoveryCodes replaces the hashes of the recovery codes of the session's user. The session
// continues with a new secret; all others end.
func (s *DB) PutRecoveryCodes(ctx context.Context, asking model.Session, hashes [][]byte, hash []byte) error {
	return s.updateSelf(ctx, asking.UserID, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if !u.HasSecondFactor() {
			return fmt.Errorf("recovery codes require a second factor: %w", model.ErrConflict)
		}
		for _, tx := range txs {
			tx.Audit("user.recovery_codes", userSubject(u), nil, recoveryImage{len(hashes)})
		}
		if err := putRecoveryCodes(ctx, q, u.ID, hashes); err != nil {
			return err
		}
		return renewSession(ctx, q, u, asking.ID, hash)
	})
}

// updateSelf is updateUser with the user as the actor.
func (s *DB) updateSelf(
	ctx context.Context, userID int64, fn func(context.Context, *sqldb.Session, model.User, []*Tx) error,
) error {
	return s.updateUser(ctx, userID, model.Actor{}, func(
		ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx,
	) error {
		for _, tx := range txs {
			tx.SetActor(u.Actor())
		}
		return fn(ctx, q, u, txs)
	})
}

// onlySession replaces all sessions of a user by a new one.
func (s *DB) onlySession(ctx context.Context, q *sqldb.Session, u model.User, n *model.Session, hash []byte) error {
	if err := endSessions(ctx, q, u.ID); err != nil {
		return err
	}
	return s.beginSession(ctx, q, u, n, hash)
}

func putRecoveryCodes(ctx context.Context, q *sqldb.Session, userID int64, hashes [][]byte) error {
	if err := q.Write(ctx, `DELETE FROM user_recovery_code WHERE user_id = $1`, userID); err != nil {
		return err
	}
	for _, h := range hashes {
		if err := q.Write(ctx, `INSERT INTO user_recovery_code (user_id, hash) VALUES ($1, $2)`, userID, h); err != nil {
			return err
		}
	}
	return nil
}

// dropFactors deletes all second factors of a user.
func dropFactors(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
	for _, query := range []string{
		`DELETE FROM user_totp WHERE user_id = $1`, `DELETE FROM user_passkey WHERE user_id = $1`,
		`DELETE FROM user_recovery_code WHERE user_id = $1`, `UPDATE app_user SET second_factor_at = NULL WHERE id = $1`,
	} {
		if err := q.Write(ctx, query, u.ID); err != nil {
			return err
		}
	}
	for _, tx := range txs {
		tx.Audit("user.second_factor_removed", userSubject(u), factorImage{
			"set up " + u.SecondFactorAt.Format(time.DateOnly),
		}, nil)
	}
	return nil
}

// withinReach returns an error if the user has a role in a deployment that the administrator does
// not administer. The error contains the command for the operator of the server.
func withinReach(u model.User, within []int64, txs []*Tx, command string) error {
	for _, tx := range txs {
		if within != nil && !slices.Contains(within, tx.Deployment().ID) {
			return fmt.Errorf("%s has a role in a deployment that you do not administer; on the server, run "+
				"redoubt user %s %s: %w", u.Name, command, u.Name, model.ErrConflict)
		}
	}
	return nil
}
