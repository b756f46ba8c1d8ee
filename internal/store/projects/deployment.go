package projects

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Deployments returns all tenants by id, with slug, name, creation time and whether they require a
// second factor. The other columns are only available from Deployment, because tenants may be
// distributed over nodes.
func (s *DB) Deployments(ctx context.Context) (list []model.Deployment, err error) {
	err = s.RunQuery(ctx, func(ctx context.Context) error {
		list, err = sqldb.Many(ctx, s.Pool(), func(r sqldb.Row) (d model.Deployment, err error) {
			return d, r.Scan(sqldb.ListedFields(&d)...)
		},
			`SELECT `+sqldb.ListedColumns+` FROM deployment_slug d ORDER BY d.deployment_id`)
		return err
	})
	return list, err
}

// RecentDeployments returns the ids of tenants with commits since a time, the most recent first.
func (s *DB) RecentDeployments(ctx context.Context, since time.Time, limit int) (ids []int64, err error) {
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		ids, err = sqldb.Many(ctx, q, sqldb.Scalar[int64],
			`SELECT id FROM deployment WHERE committed_at >= $1 ORDER BY committed_at DESC, id LIMIT $2`, since, limit)
		return err
	})
	return ids, err
}

// Deployment returns a tenant by id, if the argument has only digits, or by slug
// (docs/reference/addressing.md).
func (s *DB) Deployment(ctx context.Context, idOrSlug string) (d model.Deployment, err error) {
	isID := idOrSlug != "" && strings.Trim(idOrSlug, "0123456789") == ""
	var id int64
	if isID {
		if id, err = strconv.ParseInt(idOrSlug, 10, 64); err != nil {
			return d, fmt.Errorf("deployment %.20q: %w", idOrSlug, model.ErrNotFound)
		}
	}
	err = s.ViewShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		if !isID {
			if id, err = sqldb.One(ctx, q, sqldb.Scalar[int64], `SELECT deployment_id FROM deployment_slug WHERE slug = $1`,
				idOrSlug); err != nil {
				return err
			}
		}
		d, err = sqldb.One(
			ctx, q, sqldb.ScanDeployment, `SELECT `+sqldb.DeploymentColumns+` FROM deployment WHERE id = $1`, id,
		)
		return err
	})
	if err != nil {
		return d, fmt.Errorf("deployment %.80q: %w", idOrSlug, err)
	}
	return d, nil
}

// RequireSecondFactor sets whether users need a second factor in the tenant.
func (tx *Tx) RequireSecondFactor(ctx context.Context, require bool) error {
	if err := tx.Write(ctx, `UPDATE deployment SET second_factor = $2 WHERE id = $1`, require); err != nil {
		return err
	}
	if err := tx.Write(ctx, `UPDATE deployment_slug SET second_factor = $2 WHERE deployment_id = $1`,
		require); err != nil {
		return err
	}
	type image struct {
		SecondFactor bool `json:"second_factor"`
	}
	tx.Audit("deployment.update", sqldb.Subject("deployment", tx.Deployment().ID), image{
		tx.Deployment().SecondFactor,
	}, image{require})
	return nil
}

// OpenRules sets whether the tenant's rules are served to unauthenticated clients.
func (tx *Tx) OpenRules(ctx context.Context, open bool) error {
	if err := tx.Write(ctx, `UPDATE deployment SET open_rules = $2 WHERE id = $1`, open); err != nil {
		return err
	}
	type image struct {
		OpenRules bool `json:"open_rules"`
	}
	tx.Audit("deployment.update", sqldb.Subject("deployment", tx.Deployment().ID), image{
		tx.Deployment().OpenRules,
	}, image{open})
	return nil
}
