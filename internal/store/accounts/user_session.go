package accounts

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const sessionColumns = `s.id, s.user_id, s.method, s.address, s.agent, s.created_at, s.seen_at, s.expires_at`

func sessionFields(s *model.Session) []any {
	return []any{
		&s.ID, &s.UserID, &s.Method, &s.Address, &s.Agent, sqldb.Instant(&s.CreatedAt),
		sqldb.Instant(&s.SeenAt), sqldb.Instant(&s.ExpiresAt),
	}
}

func scanSession(r sqldb.Row) (s model.Session, err error) { return s, r.Scan(sessionFields(&s)...) }

// attemptImage is the content of audit events about a sign-in. It never contains a password or
// session.
type attemptImage struct {
	Method  string `json:"method"`
	Address string `json:"address,omitempty"`
	Agent   string `json:"agent,omitempty"`
	Reason  string `json:"reason,omitempty"`
}

// maxAttempt limits the stored bytes of a name or user agent, which are unauthenticated input.
const maxAttempt = 200

func truncated(s string) string { return strings.ToValidUTF8(s[:min(len(s), maxAttempt)], "") }

// SignIn starts a session with the hash of its secret. If the user has a second factor, the session
// is pending, unless an identity provider authenticated the user. A disabled user is
// model.ErrNotFound. A password that changed after it was checked is model.ErrConflict. A rehash
// replaces the hash of the checked password.
func (s *DB) SignIn(ctx context.Context, n model.Session, hash []byte, p model.CheckedPassword) (model.Session, error) {
	err := s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err := lockUser(ctx, q, n.UserID)
		if err != nil {
			return err
		}
		if !u.Enabled() {
			return fmt.Errorf("user %s is disabled: %w", u.Name, model.ErrNotFound)
		}
		if p.Hash != "" && p.Hash != u.PasswordHash {
			return fmt.Errorf("the password of %s was changed: %w", u.Name, model.ErrConflict)
		}
		return s.signIn(ctx, q, u, &n, hash, p.Rehash)
	})
	return n, err
}

func (s *DB) signIn(
	ctx context.Context, q *sqldb.Session, u model.User, n *model.Session, hash []byte, rehash string,
) error {
	if rehash != "" {
		if err := q.Write(ctx, `UPDATE app_user SET password_hash = $2 WHERE id = $1`, u.ID, rehash); err != nil {
			return err
		}
	}
	if n.Half = u.HasSecondFactor() && !n.ByProvider(); n.Half {
		return s.beginHalf(ctx, q, u, n, hash)
	}
	return s.beginSession(ctx, q, u, n, hash)
}

// MaxSessions limits the sessions of a user; the oldest ones end.
const MaxSessions = 100

// trimSessions ends the oldest sessions of a user until one more fits.
func trimSessions(ctx context.Context, q *sqldb.Session, userID int64) error {
	return q.Write(ctx, `DELETE FROM user_session WHERE user_id = $1 AND id IN
		(SELECT id FROM user_session WHERE user_id = $1 ORDER BY id DESC LIMIT 1000000000 OFFSET $2)`, userID, MaxSessions-1)
}

// beginSession starts a full session of a user who has shown all required factors.
func (s *DB) beginSession(ctx context.Context, q *sqldb.Session, u model.User, n *model.Session, hash []byte) error {
	id, err := q.NewID(ctx, seqUserSession)
	if err != nil {
		return err
	}
	if err := trimSessions(ctx, q, u.ID); err != nil {
		return err
	}
	n.ID, n.UserID, n.CreatedAt = id, u.ID, s.Now()
	n.SeenAt, n.Agent = n.CreatedAt, truncated(n.Agent)
	n.ExpiresAt = n.ExpiresAt.UTC().Truncate(time.Microsecond)
	err = q.Write(ctx, `
		INSERT INTO user_session (id, hash, user_id, method, address, agent, created_at, seen_at, expires_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, n.ID, hash, n.UserID, n.Method, n.Address, n.Agent, n.CreatedAt,
		n.SeenAt, n.ExpiresAt)
	if err != nil {
		return err
	}
	if err := q.Write(ctx, `UPDATE app_user SET signed_in_at = $2 WHERE id = $1`, u.ID, n.CreatedAt); err != nil {
		return err
	}
	return s.auditUser(ctx, q, u.ID, u.Actor(), "user.sign_in", userSubject(u), attemptImage{
		Method:  n.Method,
		Address: n.Address,
		Agent:   n.Agent,
	})
}

// SignInFailed writes a failed sign-in to the audit trail of the user's deployments. For an unknown
// user it writes to the server's trail.
func (s *DB) SignInFailed(ctx context.Context, a model.Attempt) error {
	name := model.NormalUserName(truncated(a.Name))
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err := sqldb.One(ctx, q, scanUser, `SELECT `+userColumns+` FROM app_user u WHERE u.name = $1`, name)
		if err != nil && !errors.Is(err, model.ErrNotFound) {
			return err
		}
		// Unknown names are not recorded, because they may be passwords typed into the wrong field.
		subject := "user:unknown"
		if err == nil {
			subject = userSubject(u)
		}
		by := model.Actor{Kind: "system", Name: "sign-in"}
		return s.auditUser(ctx, q, u.ID, by, "user.sign_in_failed", subject,
			attemptImage{Method: a.Method, Address: a.Address, Agent: truncated(a.Agent), Reason: a.Reason})
	})
}

// Session returns a session by the hash of its secret, with its user and their roles. An expired
// session or a disabled user is model.ErrNotFound.
func (s *DB) Session(
	ctx context.Context, hash []byte,
) (se model.Session, u model.User, list []model.Membership, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		_, err := sqldb.One(ctx, q, func(r sqldb.Row) (struct{}, error) {
			return struct{}{}, r.Scan(append(sessionFields(&se), userFields(&u)...)...)
		}, `SELECT `+sessionColumns+`, `+userColumns+` FROM user_session s JOIN app_user u ON u.id = s.user_id
			WHERE s.hash = $1 AND s.expires_at > $2 AND u.disabled_at IS NULL`, hash, s.Now())
		if err != nil {
			return err
		}
		list, err = memberships(ctx, q, u.ID)
		return err
	})
	return se, u, list, err
}

// Sessions returns the sessions of a user, last used first.
func (s *DB) Sessions(ctx context.Context, userID int64) (list []model.Session, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(ctx, q, scanSession,
			`SELECT `+sessionColumns+` FROM user_session s WHERE s.user_id = $1 AND s.expires_at > $2 ORDER BY s.seen_at `+
				`DESC, s.id DESC`, userID, s.Now())
		return err
	})
	return list, err
}

// TouchSessions records when sessions were last used. Older times and ended sessions are skipped.
func (s *DB) TouchSessions(ctx context.Context, used []model.SessionUse) error {
	if len(used) == 0 {
		return nil
	}
	used = slices.SortedFunc(slices.Values(used), func(a, b model.SessionUse) int {
		return cmp.Compare(a.SessionID, b.SessionID)
	})
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		for _, use := range used {
			if err := q.Write(ctx, `UPDATE user_session SET seen_at = $2 WHERE id = $1 AND seen_at < $2`, use.SessionID,
				use.At); err != nil {
				return err
			}
		}
		return nil
	})
}

// EndSession ends one session of a user. It has no effect on ended sessions and those of other
// users.
func (s *DB) EndSession(ctx context.Context, userID, sessionID int64) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err := lockUser(ctx, q, userID)
		if err != nil {
			return err
		}
		n, err := q.Exec(ctx, `DELETE FROM user_session WHERE id = $1 AND user_id = $2`, sessionID, userID)
		if err != nil || n == 0 {
			return err
		}
		return s.auditUser(ctx, q, userID, u.Actor(), "user.sign_out", userSubject(u), userImage{Name: u.Name})
	})
}

// EndSessions ends all sessions of a user.
func (s *DB) EndSessions(ctx context.Context, userID int64, by model.Actor) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err := lockUser(ctx, q, userID)
		if err != nil {
			return err
		}
		if err := endSessions(ctx, q, userID); err != nil {
			return err
		}
		return s.auditUser(ctx, q, userID, by, "user.sign_out_everywhere", userSubject(u), userImage{Name: u.Name})
	})
}

// renewSession replaces the secret of a session and ends all others. Its start and expiry stay,
// because the user did not authenticate again. An ended session is model.ErrConflict.
func renewSession(ctx context.Context, q *sqldb.Session, u model.User, id int64, hash []byte) error {
	n, err := q.Exec(ctx, `UPDATE user_session SET hash = $3 WHERE id = $1 AND user_id = $2`, id, u.ID, hash)
	if err == nil && n == 0 {
		err = fmt.Errorf("your session has ended; sign in again: %w", model.ErrConflict)
	}
	if err != nil {
		return err
	}
	if err := q.Write(ctx, `DELETE FROM user_half_session WHERE user_id = $1`, u.ID); err != nil {
		return err
	}
	return q.Write(ctx, `DELETE FROM user_session WHERE user_id = $1 AND id <> $2`, u.ID, id)
}

// endSessions ends all sessions and pending sign-ins of a user.
func endSessions(ctx context.Context, q *sqldb.Session, userID int64) error {
	if err := q.Write(ctx, `DELETE FROM user_half_session WHERE user_id = $1`, userID); err != nil {
		return err
	}
	return q.Write(ctx, `DELETE FROM user_session WHERE user_id = $1`, userID)
}

// ExpireSessions deletes sessions unused since idleSince, and expired sessions, links and
// invitations.
func (s *DB) ExpireSessions(ctx context.Context, idleSince time.Time) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if err := q.Write(ctx, `DELETE FROM user_session WHERE seen_at < $1 OR expires_at <= $2`, idleSince,
			s.Now()); err != nil {
			return err
		}
		if err := q.Write(ctx, `DELETE FROM user_half_session WHERE expires_at <= $1`, s.Now()); err != nil {
			return err
		}
		if err := q.Write(ctx, `DELETE FROM user_used_challenge WHERE expires_at <= $1`, s.Now()); err != nil {
			return err
		}
		if err := q.Write(ctx, `DELETE FROM user_link WHERE expires_at <= $1`, s.Now()); err != nil {
			return err
		}
		return q.Write(ctx, `DELETE FROM user_invitation WHERE expires_at <= $1`, s.Now())
	})
}

const seqUserSession sqldb.Sequence = "user_session"
