package accounts

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// maxNameTries limits the numeric suffixes tried for a duplicate name.
const maxNameTries = 100

// Provision creates or updates the user of an identity provider's identity, with exactly the given
// roles by deployment id. A new user with a duplicate name gets a numeric suffix, so an existing
// account is never taken over. The last administrator of a deployment keeps that role; kept
// contains the slugs of these deployments. A disabled user is model.ErrNotFound.
func (s *DB) Provision(
	ctx context.Context, i model.UserIdentity, u model.User, roles map[int64]model.Role,
) (out model.User, kept []string, err error) {
	by := model.Actor{Kind: "system", ID: i.Issuer, Name: "single sign-on"}
	err = s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		known, err := sqldb.Many(ctx, q, sqldb.Scalar[int64],
			`SELECT user_id FROM user_identity WHERE issuer = $1 AND subject = $2`, i.Issuer, i.Subject)
		if err != nil {
			return err
		}
		touched := maps.Clone(roles)
		if len(known) > 0 {
			had, err := deploymentsOf(ctx, q, known[0])
			if err != nil {
				return err
			}
			for _, id := range had {
				touched[id] = roles[id]
			}
		}
		txs, err := s.lockAll(ctx, q, slices.Sorted(maps.Keys(touched)), by)
		if err != nil {
			return err
		}
		if len(known) > 0 {
			out, err = lockUser(ctx, q, known[0])
		} else {
			out, err = provision(ctx, q, i, u, txs)
		}
		if err == nil && !out.Enabled() {
			err = fmt.Errorf("user %s is disabled: %w", out.Name, model.ErrNotFound)
		}
		if err != nil {
			return err
		}
		kept, err = setRoles(ctx, txs, out.ID, roles)
		if err != nil || !q.Wrote {
			return err
		}
		return finishAll(ctx, txs)
	})
	return out, kept, err
}

// provision creates a user and their identity.
func provision(
	ctx context.Context, q *sqldb.Session, i model.UserIdentity, u model.User, txs []*Tx,
) (model.User, error) {
	wanted := u.Name
	for n := 2; ; n++ {
		existing, err := sqldb.One(ctx, q, sqldb.Scalar[int], `SELECT COUNT(*) FROM app_user WHERE name = $1`, u.Name)
		if err != nil {
			return u, err
		}
		if existing == 0 {
			break
		}
		if n > maxNameTries {
			return u, fmt.Errorf("no user name like %s is available: %w", wanted, model.ErrConflict)
		}
		u.Name = fmt.Sprintf("%s-%d", wanted, n)
	}
	u, err := addUser(ctx, q, u, txs[0])
	if err != nil {
		return u, err
	}
	for _, tx := range txs {
		tx.Audit("user.create", userSubject(u), nil, userImage{Name: u.Name, DisplayName: u.DisplayName})
	}
	err = q.Write(ctx, `INSERT INTO user_identity (issuer, subject, user_id) VALUES ($1, $2, $3)`,
		i.Issuer, i.Subject, u.ID)
	return u, err
}

// setRoles assigns the roles that the provider's groups map to.
func setRoles(
	ctx context.Context, txs []*Tx, userID int64, roles map[int64]model.Role,
) (unchanged []string, err error) {
	for _, tx := range txs {
		if tx.Deployment().ID == 0 {
			continue
		}
		err := tx.SetRole(ctx, userID, roles[tx.Deployment().ID])
		switch {
		case errors.Is(err, model.ErrConflict):
			unchanged = append(unchanged, tx.Deployment().Slug)
		case err != nil:
			return nil, err
		}
	}
	return unchanged, nil
}
