package store

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

const linkColumns = `id, kind, COALESCE(user_id, 0), COALESCE(deployment_id, 0), created_at, expires_at`

func scanLink(r row) (l model.UserLink, err error) {
	return l, r.Scan(&l.ID, &l.Kind, &l.UserID, &l.Deployment, instant(&l.CreatedAt), instant(&l.ExpiresAt))
}

// linkImage is what the trail tells of a link: never its code.
type linkImage struct {
	Kind      model.LinkKind `json:"kind"`
	ExpiresAt time.Time      `json:"expires_at"`
}

// CreateLink stores a one-time link under the hash of its code. Those of the
// same kind that were made before, for the same user or deployment, go out of
// force. For a user with a role beyond l.Within it is model.ErrConflict.
func (s *Store) CreateLink(ctx context.Context, l model.UserLink, hash []byte, by model.Actor) error {
	add := func(ctx context.Context, q *session, txs []*Tx, subject string) error {
		err := q.write(ctx, `DELETE FROM user_link WHERE kind = $1 AND COALESCE(user_id, 0) = $2 AND COALESCE(deployment_id, 0) = $3`, l.Kind, l.UserID, l.Deployment)
		if err != nil {
			return err
		}
		id, err := q.newID(ctx, seqUserLink)
		if err != nil {
			return err
		}
		for _, tx := range txs {
			tx.audit("user.link", subject, nil, linkImage{l.Kind, l.ExpiresAt.UTC()})
		}
		err = q.write(ctx, `INSERT INTO user_link (id, hash, kind, user_id, deployment_id, created_at, expires_at) VALUES ($1, $2, $3, $4, $5, $6, $7)`,
			id, hash, l.Kind, idOrNil(l.UserID), idOrNil(l.Deployment), txs[0].Now(), l.ExpiresAt)
		return err
	}
	if l.UserID == 0 {
		return s.Update(ctx, l.Deployment, by, func(ctx context.Context, tx *Tx) error {
			return add(ctx, tx.session, []*Tx{tx}, subject("deployment", l.Deployment))
		})
	}
	return s.updateUser(ctx, l.UserID, by, func(ctx context.Context, q *session, u model.User, txs []*Tx) error {
		if err := withinReach(u, l.Within, txs, "reset"); err != nil {
			return err
		}
		return add(ctx, q, txs, userSubject(u))
	})
}

// Link finds a link that still works by the hash of its code, and whose it is:
// nobody's where it makes a user.
func (s *Store) Link(ctx context.Context, kind model.LinkKind, hash []byte) (l model.UserLink, u model.User, err error) {
	err = s.viewShared(ctx, func(ctx context.Context, q *session) error {
		if l, err = one(ctx, q, scanLink, `SELECT `+linkColumns+` FROM user_link WHERE hash = $1 AND kind = $2 AND expires_at > $3`, hash, kind, s.now()); err != nil {
			return err
		}
		if l.UserID != 0 {
			u, err = one(ctx, q, scanUser, `SELECT `+userColumns+` FROM app_user u WHERE u.id = $1 AND u.disabled_at IS NULL`, l.UserID)
		}
		return err
	})
	return l, u, err
}

// takeLink uses a link up. One that somebody else used meanwhile is
// model.ErrNotFound.
func takeLink(ctx context.Context, q *session, l model.UserLink, now time.Time) error {
	n, err := q.exec(ctx, `DELETE FROM user_link WHERE id = $1 AND expires_at > $2`, l.ID, now)
	if err == nil && n == 0 {
		err = fmt.Errorf("the link was used: %w", model.ErrNotFound)
	}
	return err
}

// UseSetupLink makes an admin of the link's deployment.
func (s *Store) UseSetupLink(ctx context.Context, l model.UserLink, u model.User) (out model.User, err error) {
	by := model.Actor{Kind: "system", Name: "setup link"}
	err = s.Update(ctx, l.Deployment, by, func(ctx context.Context, tx *Tx) error {
		if err := takeLink(ctx, tx.session, l, tx.Now()); err != nil {
			return err
		}
		out, err = tx.CreateUser(ctx, u, model.RoleAdmin)
		return err
	})
	return out, err
}

// UseResetLink sets the password of the link's user, as SetPassword does.
func (s *Store) UseResetLink(ctx context.Context, l model.UserLink, passwordHash string, revokeTokens bool) error {
	by := model.Actor{Kind: "system", Name: "reset link"}
	return s.updateUser(ctx, l.UserID, by, func(ctx context.Context, q *session, u model.User, txs []*Tx) error {
		if err := takeLink(ctx, q, l, s.now()); err != nil {
			return err
		}
		return setPassword(ctx, q, u, passwordHash, revokeTokens, txs)
	})
}

// UseSignInLink begins a session of the link's user, as SignIn does.
func (s *Store) UseSignInLink(ctx context.Context, l model.UserLink, n model.Session, hash []byte) (model.Session, error) {
	err := s.updateShared(ctx, func(ctx context.Context, q *session) error {
		u, err := lockUser(ctx, q, l.UserID)
		if err == nil && !u.Enabled() {
			err = model.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := takeLink(ctx, q, l, s.now()); err != nil {
			return err
		}
		return s.signIn(ctx, q, u, &n, hash, "")
	})
	return n, err
}

func endLinks(ctx context.Context, q *session, userID int64) error {
	return q.write(ctx, `DELETE FROM user_link WHERE user_id = $1`, userID)
}

const seqUserLink sequence = "user_link"
