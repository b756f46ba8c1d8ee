package accounts

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

const userColumns = `u.id, u.name, u.display_name, u.password_hash, u.created_at, u.disabled_at, u.signed_in_at, ` +
	`u.second_factor_at, u.address, u.untold`

func userFields(u *model.User) []any {
	return []any{
		&u.ID, &u.Name, &u.DisplayName, &u.PasswordHash, sqldb.Instant(&u.CreatedAt), sqldb.Instant(&u.DisabledAt),
		sqldb.Instant(&u.SignedInAt), sqldb.Instant(&u.SecondFactorAt), &u.Address, &u.Untold,
	}
}

func scanUser(r sqldb.Row) (u model.User, err error) { return u, r.Scan(userFields(&u)...) }

// userImage is the content of audit events about a user. It never contains a hash.
type userImage struct {
	Name        string `json:"name"`
	DisplayName string `json:"display_name,omitempty"`
	Role        string `json:"role,omitempty"`
	Disabled    bool   `json:"disabled,omitempty"`
	Address     string `json:"address,omitempty"`
	Untold      bool   `json:"untold,omitempty"`
}

// lockUser reads and locks a user until the transaction ends. Lock deployments first.
func lockUser(ctx context.Context, q *sqldb.Session, id int64) (model.User, error) {
	u, err := sqldb.One(ctx, q, scanUser, `SELECT `+userColumns+` FROM app_user u WHERE u.id = $1`+q.ForUpdate(), id)
	if err != nil {
		return u, fmt.Errorf("user %d: %w", id, err)
	}
	return u, nil
}

// Users returns all users of the server by name.
func (s *DB) Users(ctx context.Context) (list []model.User, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = sqldb.Many(ctx, q, scanUser, `SELECT `+userColumns+` FROM app_user u ORDER BY u.name`+q.ByBytes())
		return err
	})
	return list, err
}

// HasUsers reports whether the server has any user.
func (s *DB) HasUsers(ctx context.Context) (has bool, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err := sqldb.Many(ctx, q, sqldb.Scalar[int64], `SELECT id FROM app_user LIMIT 1`)
		has = len(list) > 0
		return err
	})
	return has, err
}

// User returns a user by name, which is normalized.
func (s *DB) User(ctx context.Context, name string) (u model.User, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err = sqldb.One(ctx, q, scanUser, `SELECT `+userColumns+` FROM app_user u WHERE u.name = $1`,
			model.NormalUserName(name))
		return err
	})
	if err != nil {
		return u, fmt.Errorf("user %.80q: %w", name, err)
	}
	return u, nil
}

// UserByIdentity returns the user with an identity of an identity provider.
func (s *DB) UserByIdentity(ctx context.Context, i model.UserIdentity) (u model.User, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		u, err = sqldb.One(ctx, q, scanUser,
			`SELECT `+userColumns+` FROM user_identity i JOIN app_user u ON u.id = i.user_id WHERE i.issuer = $1 AND `+
				`i.subject = $2`, i.Issuer, i.Subject)
		return err
	})
	return u, err
}

// UserRole returns the role of a user in a deployment. It is model.RoleNone if the user is unknown,
// disabled or not a member.
func (s *DB) UserRole(ctx context.Context, deploymentID, userID int64) (role model.Role, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		role, err = userRole(ctx, q, deploymentID, userID)
		return err
	})
	return role, err
}

// UserRole is DB.UserRole in the deployment of the transaction.
func (tx *Tx) UserRole(ctx context.Context, userID int64) (model.Role, error) {
	return userRole(ctx, tx.Session, tx.Deployment().ID, userID)
}

func userRole(ctx context.Context, q *sqldb.Session, deploymentID, userID int64) (model.Role, error) {
	role, err := sqldb.One(ctx, q, sqldb.Scalar[model.Role], `
		SELECT m.role FROM user_role m JOIN app_user u ON u.id = m.user_id
		WHERE m.deployment_id = $1 AND m.user_id = $2 AND u.disabled_at IS NULL`, deploymentID, userID)
	if errors.Is(err, model.ErrNotFound) {
		role, err = model.RoleNone, nil
	}
	return role, err
}

// Memberships returns the deployments in which a user has a role, by slug.
func (s *DB) Memberships(ctx context.Context, userID int64) (list []model.Membership, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		list, err = memberships(ctx, q, userID)
		return err
	})
	return list, err
}

func memberships(ctx context.Context, q *sqldb.Session, userID int64) ([]model.Membership, error) {
	return sqldb.Many(ctx, q, func(r sqldb.Row) (m model.Membership, err error) {
		return m, r.Scan(append(sqldb.ListedFields(&m.Deployment), &m.Role)...)
	}, `SELECT `+sqldb.ListedColumns+`, m.role
		FROM user_role m JOIN deployment_slug d ON d.deployment_id = m.deployment_id WHERE m.user_id = $1 ORDER BY d.slug`+
		q.ByBytes(), userID)
}

// Members returns the users with a role in the deployment, by name.
func (tx *Tx) Members(ctx context.Context) ([]model.Member, error) {
	return sqldb.Many(ctx, tx, scanMember, memberQuery+` ORDER BY u.name`+tx.ByBytes())
}

// Member returns a user with a role in the deployment by name, which is normalized.
func (tx *Tx) Member(ctx context.Context, name string) (model.Member, error) {
	m, err := sqldb.One(ctx, tx, scanMember, memberQuery+` AND u.name = $2`, model.NormalUserName(name))
	if err != nil {
		return m, fmt.Errorf("user %.80q: %w", name, err)
	}
	return m, nil
}

// MemberByID returns a user with a role in the deployment.
func (tx *Tx) MemberByID(ctx context.Context, id int64) (model.Member, error) {
	m, err := sqldb.One(ctx, tx, scanMember, memberQuery+` AND u.id = $2`, id)
	if err != nil {
		return m, fmt.Errorf("user %d: %w", id, err)
	}
	return m, nil
}

const memberQuery = `
	SELECT ` + userColumns + `, m.role, EXISTS (SELECT 1 FROM user_role o WHERE o.user_id = u.id AND o.deployment_id <> $1)
	FROM user_role m JOIN app_user u ON u.id = m.user_id WHERE m.deployment_id = $1`

func scanMember(r sqldb.Row) (m model.Member, err error) {
	return m, r.Scan(append(userFields(&m.User), &m.Role, &m.Foreign)...)
}

// MembersNamed returns the enabled members of the deployment with the given names.
func (tx *Tx) MembersNamed(ctx context.Context, names []string) ([]model.Member, error) {
	if len(names) == 0 {
		return nil, nil
	}
	in, arg := tx.In("u.name", 2, names)
	return sqldb.Many(
		ctx, tx, scanMember, memberQuery+` AND u.disabled_at IS NULL AND `+in+` ORDER BY u.name`+tx.ByBytes(), arg,
	)
}

// CreateUser creates a user with a role in the deployment. A name used in any deployment is
// model.ErrConflict.
func (tx *Tx) CreateUser(ctx context.Context, u model.User, role model.Role) (model.User, error) {
	u, err := addUser(ctx, tx.Session, u, tx)
	if err != nil {
		return u, err
	}
	if err := tx.putRole(ctx, u.ID, role); err != nil {
		return u, err
	}
	tx.Audit("user.create", userSubject(u), nil, userImage{Name: u.Name, DisplayName: u.DisplayName, Role: role.String()})
	return u, nil
}

// userSubject returns the audit subject of a user. Names never change.
func userSubject(u model.User) string { return "user:" + u.Name }

func addUser(ctx context.Context, q *sqldb.Session, u model.User, tx *Tx) (model.User, error) {
	if err := errors.Join(model.CheckUserName(u.Name), model.CheckDisplayName(u.DisplayName)); err != nil {
		return u, err
	}
	id, err := q.NewID(ctx, seqUser)
	if err != nil {
		return u, err
	}
	u.ID, u.CreatedAt = id, tx.Now()
	_, err = q.Exec(ctx,
		`INSERT INTO app_user (id, name, display_name, password_hash, created_at) VALUES ($1, $2, $3, $4, $5)`,
		u.ID, u.Name, u.DisplayName, u.PasswordHash, u.CreatedAt)
	if errors.Is(err, model.ErrConflict) {
		err = fmt.Errorf("a user called %s already exists: %w", u.Name, model.ErrConflict)
	}
	return u, err
}

// putRole stores a role without an audit event.
func (tx *Tx) putRole(ctx context.Context, userID int64, role model.Role) error {
	query := `INSERT INTO user_role (deployment_id, user_id, role) VALUES ($1, $2, $3) ON CONFLICT (deployment_id, ` +
		`user_id) DO UPDATE SET role = $3`
	args := []any{userID, role}
	if role == model.RoleNone {
		query, args = `DELETE FROM user_role WHERE deployment_id = $1 AND user_id = $2`, args[:1]
	}
	return tx.Write(ctx, query, args...)
}

// SetRole changes or removes a user's role in the deployment. Removal also revokes the user's
// tokens here and deletes their private saved views. Sessions continue, because they belong to the
// server and roles are read for each request. A first role invalidates one-time links, so that
// their creators elsewhere get no access here. Removing the last enabled administrator is
// model.ErrConflict.
func (tx *Tx) SetRole(ctx context.Context, userID int64, role model.Role) error {
	u, err := lockUser(ctx, tx.Session, userID)
	if err != nil {
		return err
	}
	roles, err := sqldb.Many(
		ctx, tx, sqldb.Scalar[model.Role], `SELECT role FROM user_role WHERE deployment_id = $1 AND user_id = $2`, userID,
	)
	if err != nil {
		return err
	}
	before := userImage{Name: u.Name}
	if len(roles) > 0 {
		before.Role = roles[0].String()
	}
	if before.Role == role.String() {
		return nil
	}
	if len(roles) > 0 && roles[0] == model.RoleAdmin {
		if err := tx.requireOtherAdmin(ctx, u); err != nil {
			return err
		}
	}
	if err := tx.putRole(ctx, userID, role); err != nil {
		return err
	}
	tx.Audit("user.role", userSubject(u), before, userImage{Name: u.Name, Role: role.String()})
	if len(roles) == 0 { // links created by administrators of other deployments must not give access here
		if err := endLinks(ctx, tx.Session, userID); err != nil {
			return err
		}
	}
	if role != model.RoleNone {
		return nil
	}
	if err := tx.dropViewsOf(ctx, userID); err != nil {
		return err
	}
	return tx.revokeTokensOf(ctx, userID)
}

// requireOtherAdmin returns an error if the user is the deployment's last enabled administrator.
func (tx *Tx) requireOtherAdmin(ctx context.Context, u model.User) error {
	if !u.Enabled() {
		return nil
	}
	others, err := sqldb.One(ctx, tx, sqldb.Scalar[int], `
		SELECT COUNT(*) FROM user_role m JOIN app_user u ON u.id = m.user_id
		WHERE m.deployment_id = $1 AND m.role = $2 AND m.user_id <> $3 AND u.disabled_at IS NULL`, model.RoleAdmin, u.ID)
	if err == nil && others == 0 {
		err = fmt.Errorf("%s is the last admin of the deployment %s; promote another user first: %w",
			u.Name, tx.Deployment().Slug, model.ErrConflict)
	}
	return err
}

// DisableUser prevents a user from signing in. It ends sessions, invalidates one-time links and
// revokes tokens in all deployments. Disabling the last administrator of a deployment is
// model.ErrConflict.
func (s *DB) DisableUser(ctx context.Context, userID int64, by model.Actor) error {
	return s.updateUser(ctx, userID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if !u.Enabled() {
			return nil
		}
		for _, tx := range txs {
			role, err := sqldb.Many(
				ctx, tx, sqldb.Scalar[model.Role], `SELECT role FROM user_role WHERE deployment_id = $1 AND user_id = $2`, userID,
			)
			if err == nil && slices.Contains(role, model.RoleAdmin) {
				err = tx.requireOtherAdmin(ctx, u)
			}
			if err != nil {
				return err
			}
			tx.Audit("user.disable", userSubject(u), userImage{Name: u.Name}, userImage{Name: u.Name, Disabled: true})
			if err := tx.revokeTokensOf(ctx, userID); err != nil {
				return err
			}
		}
		if err := q.Write(ctx, `UPDATE app_user SET disabled_at = $2 WHERE id = $1`, userID, txs[0].Now()); err != nil {
			return err
		}
		return errors.Join(endSessions(ctx, q, userID), endLinks(ctx, q, userID))
	})
}

// EnableUser allows a user to sign in again. Revoked tokens stay revoked.
func (s *DB) EnableUser(ctx context.Context, userID int64, by model.Actor) error {
	return s.updateUser(ctx, userID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if u.Enabled() {
			return nil
		}
		for _, tx := range txs {
			tx.Audit("user.enable", userSubject(u), userImage{Name: u.Name, Disabled: true}, userImage{Name: u.Name})
		}
		return q.Write(ctx, `UPDATE app_user SET disabled_at = NULL WHERE id = $1`, userID)
	})
}

// SetUserMail stores the mail address of a user, and whether they opted out of mail. With an empty
// address, mail is sent to the user name if that is an address. An invalid address is a
// *model.InvalidError.
func (s *DB) SetUserMail(ctx context.Context, userID int64, address string, untold bool, by model.Actor) error {
	if address != "" {
		if err := model.CheckMailAddress("address", address); err != nil {
			return err
		}
	}
	return s.updateUser(ctx, userID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		if u.Address == address && u.Untold == untold {
			return nil
		}
		for _, tx := range txs {
			tx.Audit("user.mail", userSubject(u), userImage{Name: u.Name, Address: u.Address, Untold: u.Untold}, userImage{
				Name:    u.Name,
				Address: address,
				Untold:  untold,
			})
		}
		return q.Write(ctx, `UPDATE app_user SET address = $2, untold = $3 WHERE id = $1`, userID, address, untold)
	})
}

// SetPassword stores the hash of a new password, ends all sessions of the user and invalidates
// one-time links. With revokeTokens it also revokes their tokens in all deployments.
func (s *DB) SetPassword(ctx context.Context, userID int64, hash string, revokeTokens bool, by model.Actor) error {
	return s.updateUser(ctx, userID, by, func(ctx context.Context, q *sqldb.Session, u model.User, txs []*Tx) error {
		return setPassword(ctx, q, u, hash, revokeTokens, txs)
	})
}

func setPassword(ctx context.Context, q *sqldb.Session, u model.User, hash string, revokeTokens bool, txs []*Tx) error {
	for _, tx := range txs {
		tx.Audit("user.password", userSubject(u), nil, userImage{Name: u.Name})
		if !revokeTokens {
			continue
		}
		if err := tx.revokeTokensOf(ctx, u.ID); err != nil {
			return err
		}
	}
	if err := q.Write(ctx, `UPDATE app_user SET password_hash = $2 WHERE id = $1`, u.ID, hash); err != nil {
		return err
	}
	return errors.Join(endSessions(ctx, q, u.ID), endLinks(ctx, q, u.ID))
}

// dropViewsOf deletes the private views of a removed user. Shared views stay.
func (tx *Tx) dropViewsOf(ctx context.Context, userID int64) error {
	if err := tx.Write(ctx, `DELETE FROM saved_view_default WHERE deployment_id = $1 AND user_id = $2`,
		userID); err != nil {
		return err
	}
	return tx.Write(ctx, `DELETE FROM saved_view WHERE deployment_id = $1 AND owner_id = $2`, userID)
}

const seqUser sqldb.Sequence = "app_user"
