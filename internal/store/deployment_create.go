package store

import (
	"context"
	"errors"
	"fmt"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// maxDeploymentName is the longest name of a deployment, in characters.
const maxDeploymentName = 200

type deploymentImage struct {
	Slug string `json:"slug"`
	Name string `json:"name"`
}

// CreateDeployment makes a tenant with one default policy per product
// (semantics §10), and does first what is to be done in it, all in one
// transaction. No name means the slug. A slug that is taken is
// model.ErrConflict.
func (s *Store) CreateDeployment(ctx context.Context, slug, name string, by model.Actor, first ...func(context.Context, *Tx) error) (d model.Deployment, err error) {
	if name == "" {
		name = slug
	}
	if err := checkDeployment(slug, name); err != nil {
		return d, err
	}
	err = s.updateShared(ctx, func(ctx context.Context, q *session) error {
		id, err := q.newID(ctx, seqDeployment)
		if err != nil {
			return err
		}
		d = model.Deployment{ID: id, Slug: slug, Name: name, CreatedAt: s.now(), KeepsCode: true}
		_, err = q.exec(ctx, `INSERT INTO deployment_slug (slug, deployment_id, name, created_at, second_factor) VALUES ($1, $2, $3, $4, $5)`, slug, id, name, d.CreatedAt, false)
		if err != nil {
			return slugTaken(slug, err)
		}
		if err := q.write(ctx, `INSERT INTO deployment (id, slug, name, created_at) VALUES ($1, $2, $3, $4)`, id, slug, name, d.CreatedAt); err != nil {
			return err
		}
		tx := s.begin(q, d, d.CreatedAt, by)
		tx.audit("deployment.create", subject("deployment", id), nil, deploymentImage{slug, name})
		if err := tx.addDefaultPolicies(ctx); err != nil {
			return err
		}
		if err := queueMatching(ctx, q, s.now()); err != nil { // it was never matched
			return err
		}
		for _, fn := range first {
			if err := fn(ctx, tx); err != nil {
				return err
			}
		}
		d.Version = tx.nextVersion()
		return tx.finish(ctx)
	})
	return d, err
}

func checkDeployment(slug, name string) error {
	if !model.ValidSlug(slug) {
		return model.Invalid("slug", "%.80q will not do: a slug has lower-case letters, digits and hyphens, starts with a letter or digit, holds a non-digit, and has at most 63 characters", slug)
	}
	if n := utf8.RuneCountInString(name); n > maxDeploymentName {
		return model.Invalid("name", "the name has %d characters; %d are allowed", n, maxDeploymentName)
	}
	return nil
}

func slugTaken(slug string, err error) error {
	if errors.Is(err, model.ErrConflict) {
		return fmt.Errorf("a deployment with the slug %s exists already: %w", slug, model.ErrConflict)
	}
	return err
}

// RenameDeployment gives a tenant another slug and name; an empty one stays.
// The old slug answers no more.
func (s *Store) RenameDeployment(ctx context.Context, id int64, slug, name string, by model.Actor) (d model.Deployment, err error) {
	err = s.Update(ctx, id, by, func(ctx context.Context, tx *Tx) error {
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
		if _, err := tx.exec(ctx, `UPDATE deployment_slug SET slug = $2, name = $3 WHERE deployment_id = $1`, d.Slug, d.Name); err != nil {
			return slugTaken(d.Slug, err)
		}
		if err := tx.write(ctx, `UPDATE deployment SET slug = $2, name = $3 WHERE id = $1`, d.Slug, d.Name); err != nil {
			return err
		}
		tx.audit("deployment.update", subject("deployment", id), deploymentImage{old.Slug, old.Name}, deploymentImage{d.Slug, d.Name})
		return nil
	})
	return d, err
}

// DeleteDeployment drops a tenant and all it holds but the audit trail.
func (s *Store) DeleteDeployment(ctx context.Context, id int64, by model.Actor) error {
	return s.Update(ctx, id, by, func(ctx context.Context, tx *Tx) error {
		for _, table := range tenantTables {
			if err := tx.write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1`); err != nil {
				return err
			}
		}
		if err := tx.write(ctx, `DELETE FROM deployment_slug WHERE deployment_id = $1`); err != nil {
			return err
		}
		tx.audit("deployment.delete", subject("deployment", id), deploymentImage{tx.Deployment().Slug, tx.Deployment().Name}, nil)
		return tx.write(ctx, `DELETE FROM deployment WHERE id = $1`)
	})
}

const seqDeployment sequence = "deployment"
