package lifecycle

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// maxDeploymentName limits the length of a deployment's name, in characters.
const maxDeploymentName = 200

type deploymentImage struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// CreateDeployment creates a tenant with a default policy per product (docs/reference/policies.md).
// It runs the functions in first in the same transaction. An empty name is replaced by the slug. A
// slug in use is model.ErrConflict.
func (s *DB) CreateDeployment(
	ctx context.Context, slug, name string, by model.Actor, first ...func(context.Context, *sqldb.Tx) error,
) (d model.Deployment, err error) {
	if name == "" {
		name = slug
	}
	if err := checkDeployment(slug, name); err != nil {
		return d, err
	}
	err = s.UpdateShared(ctx, func(ctx context.Context, q *sqldb.Session) error {
		id, err := q.NewID(ctx, seqDeployment)
		if err != nil {
			return err
		}
		d = model.Deployment{ID: id, Slug: slug, Name: name, CreatedAt: s.Now(), StoresCode: true}
		_, err = q.Exec(ctx, `INSERT INTO deployment_slug (slug, deployment_id, name, created_at, second_factor) VALUES `+
			`($1, $2, $3, $4, $5)`, slug, id, name, d.CreatedAt, false)
		if err != nil {
			return slugTaken(slug, err)
		}
		if err := q.Write(ctx, `INSERT INTO deployment (id, slug, name, created_at) VALUES ($1, $2, $3, $4)`, id, slug, name,
			d.CreatedAt); err != nil {
			return err
		}
		base := s.Begin(q, d, d.CreatedAt, by)
		tx := From(base)
		tx.Audit("deployment.create", sqldb.Subject("deployment", id), nil, deploymentImage{slug, name})
		if err := tx.AddDefaultPolicies(ctx); err != nil {
			return err
		}
		if err := advisories.QueueMatching(ctx, q, s.Now()); err != nil { // it was never matched
			return err
		}
		for _, fn := range first {
			if err := fn(ctx, base); err != nil {
				return err
			}
		}
		d.Version = tx.NextVersion()
		return tx.Finish(ctx)
	})
	return d, err
}

func checkDeployment(slug, name string) error {
	if !model.ValidSlug(slug) {
		return model.Invalid("slug", "invalid slug %.80q: use at most 63 lower-case letters, digits and hyphens, "+
			"a letter or digit first, and not only digits", slug)
	}
	if n := utf8.RuneCountInString(name); n > maxDeploymentName {
		return model.Invalid("name", "the name has %d characters; the limit is %d", n, maxDeploymentName)
	}
	return nil
}

func slugTaken(slug string, err error) error {
	if errors.Is(err, model.ErrConflict) {
		return fmt.Errorf("a deployment with the slug %s already exists: %w", slug, model.ErrConflict)
	}
	return err
}

// RenameDeployment changes the slug and name of a tenant; empty ones stay. The old slug becomes
// invalid.
func (s *DB) RenameDeployment(
	ctx context.Context, id int64, slug, name string, by model.Actor,
) (d model.Deployment, err error) {
	err = s.update(ctx, id, by, func(ctx context.Context, tx *Tx) error {
		old := tx.Deployment()
		d = old
		if slug != "" {
			d.Slug = slug
		}
		if name != "" {
			d.Name = name
		}
		if err := checkDeployment(d.Slug, d.Name); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `UPDATE deployment_slug SET slug = $2, name = $3 WHERE deployment_id = $1`, d.Slug,
			d.Name); err != nil {
			return slugTaken(d.Slug, err)
		}
		if err := tx.Write(ctx, `UPDATE deployment SET slug = $2, name = $3 WHERE id = $1`, d.Slug, d.Name); err != nil {
			return err
		}
		tx.Audit("deployment.update", sqldb.Subject("deployment", id), deploymentImage{
			old.Slug, old.Name,
		}, deploymentImage{d.Slug, d.Name})
		return nil
	})
	return d, err
}

// DeleteDeployment deletes a tenant and all its data except the audit trail.
func (s *DB) DeleteDeployment(ctx context.Context, id int64, by model.Actor) error {
	return s.update(ctx, id, by, func(ctx context.Context, tx *Tx) error {
		for _, table := range sqldb.TenantTables {
			if err := tx.Write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1`); err != nil {
				return err
			}
		}
		if err := tx.Write(ctx, `DELETE FROM deployment_slug WHERE deployment_id = $1`); err != nil {
			return err
		}
		tx.Audit("deployment.delete", sqldb.Subject("deployment", id), deploymentImage{
			tx.Deployment().Slug, tx.Deployment().Name,
		}, nil)
		return tx.Write(ctx, `DELETE FROM deployment WHERE id = $1`)
	})
}

const seqDeployment sqldb.Sequence = "deployment"
