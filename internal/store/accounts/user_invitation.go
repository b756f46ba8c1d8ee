package accounts

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// maxInvitations limits the open invitations of a deployment.
const maxInvitations = 1000

const invitationQuery = `
	SELECT i.id, i.name, i.new_name, i.display_name, i.role, i.invited_by, i.created_at, i.expires_at, d.deployment_id,
	d.slug, d.name
	FROM user_invitation i JOIN deployment_slug d ON d.deployment_id = i.deployment_id `

func scanInvitation(r sqldb.Row) (i model.UserInvitation, err error) {
	return i, r.Scan(&i.ID, &i.Name, &i.NewName, &i.DisplayName, &i.Role, &i.InvitedBy, sqldb.Instant(&i.CreatedAt),
		sqldb.Instant(&i.ExpiresAt),
		&i.Deployment.ID, &i.Deployment.Slug, &i.Deployment.Name)
}

// invitationImage is the content of audit events about an invitation. It never contains its code.
type invitationImage struct {
	Name      string    `json:"name"`
	Role      string    `json:"role"`
	ExpiresAt time.Time `json:"expires_at"`
}

func invitationSubject(name string) string { return "invitation:" + name }

// Invite stores an invitation with the hash of the code in its link. It replaces an earlier one
// with the same name. A member of the deployment is model.ErrConflict. Other users are not checked,
// because the result would disclose accounts.
func (tx *Tx) Invite(ctx context.Context, i model.UserInvitation, hash []byte) (model.UserInvitation, error) {
	if err := errors.Join(model.CheckNewUserName(i.Name, tx.Deployment().Slug), model.CheckUserName(i.NewName),
		model.CheckDisplayName(i.DisplayName)); err != nil {
		return i, err
	}
	for _, name := range []string{i.Name, i.NewName} {
		if _, err := tx.Member(ctx, name); err == nil {
			return i, fmt.Errorf("%s already has a role here: %w", name, model.ErrConflict)
		} else if !errors.Is(err, model.ErrNotFound) {
			return i, err
		}
	}
	if err := tx.Write(ctx, `DELETE FROM user_invitation WHERE deployment_id = $1 AND (name = $2 OR expires_at <= $3)`,
		i.Name, tx.Now()); err != nil {
		return i, err
	}
	promised, err := sqldb.Many(ctx, tx, sqldb.Scalar[string],
		`SELECT name FROM user_invitation WHERE deployment_id = $1 AND new_name = $2`, i.NewName)
	if err != nil {
		return i, err
	}
	if len(promised) > 0 {
		return i, fmt.Errorf("%s is already invited with the user name %s; withdraw that invitation first: %w",
			promised[0], i.NewName, model.ErrConflict)
	}
	n, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `SELECT COUNT(*) FROM user_invitation WHERE deployment_id = $1`)
	if err != nil {
		return i, err
	}
	if n >= maxInvitations {
		return i, fmt.Errorf("%d invitations are pending; withdraw one first: %w",
			n, model.ErrConflict)
	}
	if i.ID, err = tx.NewID(ctx, seqUserLink); err != nil {
		return i, err
	}
	i.CreatedAt, i.Deployment = tx.Now(), tx.Deployment()
	i.ExpiresAt = i.ExpiresAt.UTC().Truncate(time.Microsecond)
	tx.Audit("user.invite", invitationSubject(i.Name), nil, invitationImage{i.Name, i.Role.String(), i.ExpiresAt})
	return i, tx.Insert(ctx, "user_invitation (deployment_id, id, name, new_name, display_name, role, hash, invited_by, "+
		"created_at, expires_at)",
		[][]any{{i.ID, i.Name, i.NewName, i.DisplayName, i.Role, hash, i.InvitedBy, i.CreatedAt, i.ExpiresAt}}, "")
}

// Invitations returns the unexpired invitations of the deployment, by name. Declined ones are
// included, because their absence would disclose an account.
func (tx *Tx) Invitations(ctx context.Context) ([]model.UserInvitation, error) {
	return sqldb.Many(ctx, tx, scanInvitation,
		invitationQuery+`WHERE i.deployment_id = $1 AND i.expires_at > $2 ORDER BY i.name`+tx.ByBytes(), tx.Now())
}

// Invitation returns an unexpired invitation of the deployment.
func (tx *Tx) Invitation(ctx context.Context, id int64) (model.UserInvitation, error) {
	i, err := sqldb.One(ctx, tx, scanInvitation,
		invitationQuery+`WHERE i.deployment_id = $1 AND i.id = $2 AND i.expires_at > $3`, id, tx.Now())
	if err != nil {
		return i, fmt.Errorf("invitation %d: %w", id, err)
	}
	return i, nil
}

// WithdrawInvitation deletes an invitation.
func (tx *Tx) WithdrawInvitation(ctx context.Context, id int64) error {
	i, err := tx.Invitation(ctx, id)
	if err != nil {
		return err
	}
	tx.Audit("user.invite_withdrawn", invitationSubject(i.Name), invitationImage{
		i.Name, i.Role.String(), i.ExpiresAt,
	}, nil)
	return tx.endInvitation(ctx, id)
}

func (tx *Tx) endInvitation(ctx context.Context, id int64) error {
	n, err := tx.Exec(ctx, `DELETE FROM user_invitation WHERE deployment_id = $1 AND id = $2`, id)
	if err == nil && n == 0 {
		err = fmt.Errorf("invitation %d no longer exists: %w", id, model.ErrNotFound)
	}
	return err
}

// InvitationsFor returns the unanswered invitations of a user, by deployment.
func (s *DB) InvitationsFor(ctx context.Context, userName string) (list []model.UserInvitation, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(ctx, q, scanInvitation,
			invitationQuery+`WHERE i.name = $1 AND i.expires_at > $2 AND i.declined_at IS NULL ORDER BY d.slug`+q.ByBytes(),
			userName, s.Now())
		return err
	})
	return list, err
}

// InvitationByCode returns an unexpired invitation by the hash of the code in its link.
func (s *DB) InvitationByCode(ctx context.Context, hash []byte) (i model.UserInvitation, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		i, err = sqldb.One(ctx, q, scanInvitation, invitationQuery+`WHERE i.hash = $1 AND i.expires_at > $2`, hash, s.Now())
		return err
	})
	return i, err
}

// AcceptInvitation assigns the role of an invitation to a user. An existing role is
// model.ErrConflict, and the invitation stays. The caller must have verified that the invitation is
// for the user, by name or by code. An expired one is model.ErrNotFound.
func (s *DB) AcceptInvitation(ctx context.Context, i model.UserInvitation, u model.User) error {
	return s.update(ctx, i.Deployment.ID, u.Actor(), func(ctx context.Context, tx *Tx) error {
		if _, err := tx.Invitation(ctx, i.ID); err != nil {
			return err
		}
		if _, err := tx.Member(ctx, u.Name); err == nil {
			return fmt.Errorf("you already have a role here; the invitation remains valid for another user: %w",
				model.ErrConflict)
		} else if !errors.Is(err, model.ErrNotFound) {
			return err
		}
		if err := tx.consumeInvitation(ctx, &i, u.Name); err != nil {
			return err
		}
		return tx.SetRole(ctx, u.ID, i.Role)
	})
}

// JoinByInvitation creates the user of an invitation link.
func (s *DB) JoinByInvitation(
	ctx context.Context, i model.UserInvitation, passwordHash string,
) (u model.User, err error) {
	by := model.Actor{Kind: "system", Name: "invitation"}
	err = s.update(ctx, i.Deployment.ID, by, func(ctx context.Context, tx *Tx) error {
		if err := tx.consumeInvitation(ctx, &i, i.NewName); err != nil {
			return err
		}
		u, err = tx.CreateUser(ctx, model.User{
			Name:         i.NewName,
			DisplayName:  i.DisplayName,
			PasswordHash: passwordHash,
		}, i.Role)
		return err
	})
	return u, err
}

// consumeInvitation reads and deletes an invitation.
func (tx *Tx) consumeInvitation(ctx context.Context, i *model.UserInvitation, by string) (err error) {
	if *i, err = tx.Invitation(ctx, i.ID); err != nil {
		return err
	}
	tx.Audit("user.join", "user:"+by, invitationImage{i.Name, i.Role.String(), i.ExpiresAt}, nil)
	return tx.endInvitation(ctx, i.ID)
}

// DeclineInvitation hides an invitation from its recipient. The inviting deployment still lists it
// until it expires.
func (s *DB) DeclineInvitation(ctx context.Context, i model.UserInvitation) error {
	return s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		return q.Write(ctx, `UPDATE user_invitation SET declined_at = $3 WHERE deployment_id = $1 AND id = $2`,
			i.Deployment.ID, i.ID, s.Now())
	})
}
