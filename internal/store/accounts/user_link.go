package accounts

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const linkColumns = `id, kind, COALESCE(user_id, 0), COALESCE(deployment_id, 0), created_at, expires_at`

func scanLink(r sqldb.Row) (l model.UserLink, err error) {
	return l, r.Scan(&l.ID, &l.Kind, &l.UserID, &l.Deployment, sqldb.Instant(&l.CreatedAt), sqldb.Instant(&l.ExpiresAt))
}

// linkImage is the content of audit events about a link. It never contains its code.
type linkImage struct {
	Kind      model.LinkKind `json:"kind"`
	ExpiresAt time.Time      `json:"expires_at"`
}

// CreateLink stores a one-time link with the hash of its code. It replaces earlier links of the
// same kind for the same user or deployment. For a user with a role outside of l.Within it returns
// model.ErrConflict.
func (s *DB) CreateLink(ctx context.Context, l model.UserLink, hash []byte, by model.Actor) error {
	add := func(ctx context.Context, q *sqldb.Session, txs []*Tx, subject string) error {
		err := q.Write(ctx, `DELETE FROM user_link WHERE kind = $1 AND COALESCE(user_id, 0) = $2 AND `+
			`COALESCE(deployment_id, 0) = $3`, l.Kind, l.UserID, l.Deployment)
		if err != nil {
			return err
		}
		id, err := q.NewID(ctx, seqUserLink)
		if err != nil {
			return err
		}
		for _, tx := range txs {
			tx.Audit("user.link", subject, nil, linkImage{l.Kind, l.ExpiresAt.UTC()})
		}
		err = q.Write(ctx, `INSERT INTO user_link (id, hash, kind, user_id, deployment_id, created_at, expires_at) VALUES `+
			`($1, $2, $3, $4, $5, $6, $7)`,
			id, hash, l.Kind, idOrNil(l.UserID), idOrNil(l.Deployment), txs[0].Now(), l.ExpiresAt)
		return err
	}
	if l.UserID == 0 {
		return s.update(ctx, l.Deployment, by, func(ctx context.Context, tx *Tx) error {
			return add(ctx, tx.Session, []*Tx{tx}, sqldb.Subject("deployment", l.Deployment))
		})
	}
	return s.updateUser(ctx, l.UserID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if err := withinReach(u, l.Within, txs, "reset"); err != nil {
			return err
		}
		return add(ctx, q, txs, userSubject(u))
	})
}

// Link returns an unexpired link by the hash of its code, and its user. The user is zero for links
// that create one.
func (s *DB) Link(ctx context.Context, kind model.LinkKind, hash []byte) (l model.UserLink, u model.User, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if l, err = sqldb.One(ctx, q, scanLink, `SELECT `+linkColumns+` FROM user_link WHERE hash = $1 AND kind = $2 AND `+
			`expires_at > $3`, hash, kind, s.Now()); err != nil {
			return err
		}
		if l.UserID != 0 {
			u, err = sqldb.One(
				ctx, q, scanUser, `SELECT `+userColumns+` FROM app_user u WHERE u.id = $1 AND u.disabled_at IS NULL`, l.UserID,
			)
		}
		return err
	})
	return l, u, err
}

// consumeLink deletes a link. A used link is model.ErrNotFound.
func consumeLink(ctx context.Context, q *sqldb.Session, l model.UserLink, now time.Time) error {
	n, err := q.Exec(ctx, `DELETE FROM user_link WHERE id = $1 AND expires_at > $2`, l.ID, now)
	if err == nil && n == 0 {
		err = fmt.Errorf("the link was used: %w", model.ErrNotFound)
	}
	return err
}

// UseSetupLink creates an administrator of the link's deployment.
func (s *DB) UseSetupLink(ctx context.Context, l model.UserLink, u model.User) (out model.User, err error) {
	by := model.Actor{Kind: "system", Name: "setup link"}
	err = s.update(ctx, l.Deployment, by, func(ctx context.Context, tx *Tx) error {
		if err := consumeLink(ctx, tx.Session, l, tx.Now()); err != nil {
			return err
		}
		out, err = tx.CreateUser(ctx, u, model.RoleAdmin)
		return err
	})
	return out, err
}

// UseResetLink sets the password of the link's user, as SetPassword does.
func (s *DB) UseResetLink(ctx context.Context, l model.UserLink, passwordHash string, revokeTokens bool) error {
	by := model.Actor{Kind: "system", Name: "reset link"}
	return s.updateUser(ctx, l.UserID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if err := consumeLink(ctx, q, l, s.Now()); err != nil {
			return err
		}
		return setPassword(ctx, q, u, passwordHash, revokeTokens, txs)
	})
}

// UseSignInLink starts a session of the link's user, as SignIn does.
func (s *DB) UseSignInLink(ctx context.Context, l model.UserLink, n model.Session, hash []byte) (model.Session, error) {
	err := s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err := lockUser(ctx, q, l.UserID)
		if err == nil && !u.Enabled() {
			err = model.ErrNotFound
		}
		if err != nil {
			return err
		}
		if err := consumeLink(ctx, q, l, s.Now()); err != nil {
			return err
		}
		return s.signIn(ctx, q, u, &n, hash, "")
	})
	return n, err
}

func endLinks(ctx context.Context, q *sqldb.Session, userID int64) error {
	return q.Write(ctx, `DELETE FROM user_link WHERE user_id = $1`, userID)
}

const seqUserLink sqldb.Sequence = "user_link"
