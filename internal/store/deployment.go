package store

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// maxDeploymentName is the longest name of a deployment, in characters.
const maxDeploymentName = 200

// tenant is a deployment with what only the store knows of it.
type tenant struct {
	model.Deployment
	committedAt time.Time // the clock of its newest commit
	notified    model.NotificationEvents
}

const deploymentColumns = `id, slug, name, created_at, open_rules, keeps_code, second_factor, version, committed_at, notified, open_requests`

func scanTenant(r row) (t tenant, err error) {
	return t, r.Scan(&t.ID, &t.Slug, &t.Name, instant(&t.CreatedAt), &t.OpenRules, &t.KeepsCode, &t.SecondFactor, &t.Version, instant(&t.committedAt), &t.notified, &t.OpenRequests)
}

func scanDeployment(r row) (model.Deployment, error) {
	t, err := scanTenant(r)
	return t.Deployment, err
}

// tenant reads a deployment's row, and locks it with the engine's words for it.
func (q *session) tenant(ctx context.Context, id int64, lock string) (tenant, error) {
	t, err := one(ctx, q, scanTenant, `SELECT `+deploymentColumns+` FROM deployment WHERE id = $1`+lock, id)
	if err != nil {
		return tenant{}, fmt.Errorf("deployment %d: %w", id, err)
	}
	return t, nil
}

// listedColumns are what the list of tenants tells of one, under the name d.
const listedColumns = `d.deployment_id, d.slug, d.name, d.created_at, d.second_factor`

func listedFields(d *model.Deployment) []any {
	return []any{&d.ID, &d.Slug, &d.Name, instant(&d.CreatedAt), &d.SecondFactor}
}

// Deployments lists all tenants by id: their slugs, names, times of creation, and whether
// they need a second factor. What else there is of one, Deployment tells: the list is
// where all tenants can be asked for, wherever each of them is.
func (s *Store) Deployments(ctx context.Context) (list []model.Deployment, err error) {
	err = s.engine.ask(ctx, func(ctx context.Context) error {
		list, err = many(ctx, pool{s.engine, s.engine.read}, func(r row) (d model.Deployment, err error) { return d, r.Scan(listedFields(&d)...) },
			`SELECT `+listedColumns+` FROM deployment_slug d ORDER BY d.deployment_id`)
		return err
	})
	return list, err
}

// RecentDeployments lists the ids of tenants in which something was written since a
// time, those first in which it was last.
func (s *Store) RecentDeployments(ctx context.Context, since time.Time, limit int) (ids []int64, err error) {
	err = s.engine.view(ctx, func(ctx context.Context, q *session) error {
		ids, err = many(ctx, q, scalar[int64], `SELECT id FROM deployment WHERE committed_at >= $1 ORDER BY committed_at DESC, id LIMIT $2`, since, limit)
		return err
	})
	return ids, err
}

// Deployment finds a tenant: all digits are an id, anything else is a slug
// (semantics §1).
func (s *Store) Deployment(ctx context.Context, idOrSlug string) (d model.Deployment, err error) {
	isID := idOrSlug != "" && strings.Trim(idOrSlug, "0123456789") == ""
	var id int64
	if isID {
		if id, err = strconv.ParseInt(idOrSlug, 10, 64); err != nil {
			return d, fmt.Errorf("deployment %.20q: %w", idOrSlug, model.ErrNotFound)
		}
	}
	err = s.engine.view(ctx, func(ctx context.Context, q *session) error {
		if !isID {
			if id, err = one(ctx, q, scalar[int64], `SELECT deployment_id FROM deployment_slug WHERE slug = $1`, idOrSlug); err != nil {
				return err
			}
		}
		d, err = one(ctx, q, scanDeployment, `SELECT `+deploymentColumns+` FROM deployment WHERE id = $1`, id)
		return err
	})
	if err != nil {
		return d, fmt.Errorf("deployment %.80q: %w", idOrSlug, err)
	}
	return d, nil
}

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
	err = s.engine.update(ctx, func(ctx context.Context, q *session) error {
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
		tx := newTx(q, d, d.CreatedAt, by)
		tx.clock = s.now
		tx.audit("deployment.create", subject("deployment", id), nil, deploymentImage{slug, name})
		if err := tx.addDefaultPolicies(ctx); err != nil {
			return err
		}
		if err := q.queueMatching(ctx, s.now()); err != nil { // it was never matched
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

// subject names what an audit event is about, as project:17.
func subject(noun string, id int64) string { return noun + ":" + strconv.FormatInt(id, 10) }

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

// RequireSecondFactor says whether people need one to work in the tenant.
func (tx *Tx) RequireSecondFactor(ctx context.Context, require bool) error {
	if err := tx.write(ctx, `UPDATE deployment SET second_factor = $2 WHERE id = $1`, require); err != nil {
		return err
	}
	if err := tx.write(ctx, `UPDATE deployment_slug SET second_factor = $2 WHERE deployment_id = $1`, require); err != nil {
		return err
	}
	type image struct {
		SecondFactor bool `json:"second_factor"`
	}
	tx.audit("deployment.update", subject("deployment", tx.deployment.ID), image{tx.deployment.SecondFactor}, image{require})
	return nil
}

// OpenRules says whether a tenant's rules are served to who shows no token.
func (tx *Tx) OpenRules(ctx context.Context, open bool) error {
	if err := tx.write(ctx, `UPDATE deployment SET open_rules = $2 WHERE id = $1`, open); err != nil {
		return err
	}
	type image struct {
		OpenRules bool `json:"open_rules"`
	}
	tx.audit("deployment.update", subject("deployment", tx.deployment.ID), image{tx.deployment.OpenRules}, image{open})
	return nil
}

// tenantTables hold a tenant's rows, those that point at others first. The
// audit trail is not among them: it outlives what it tells of.
var tenantTables = []string{
	"finding_comment_mention", "finding_comment", "exception_finding", "notification", "notification_rule", "saved_view_default", "saved_view",
	"index_checkpoint", "user_role", "user_invitation", "managed_run_log", "managed_run", "managed_plan", "runner",
	"failed_attempt", "login_request", "oauth_grant", "job_due", "job", "kept_answer", "agent_scan", "scan_account", "rule_version", "dependency", "package_version", "package", "inventory_graph", "inventory_content", "inventory",
	"advisory_match", "exception_mark", "triage_event", "change", "finding_event", "finding_subject", "finding_snippet", "finding_body", "finding",
	"lineage_identity", "lineage", "exception_refusal", "exception_name", "exception_statement", "exception", "policy_rule", "policy", "secret_rule", "rule", "scan", "project_tag", "project_alias", "ticket_finding", "ticket", "ticket_setting", "webhook_delivery", "change_reply", "change_comment", "change_request", "repository", "connection", "project", "token",
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
		tx.audit("deployment.delete", subject("deployment", id), deploymentImage{tx.deployment.Slug, tx.deployment.Name}, nil)
		return tx.write(ctx, `DELETE FROM deployment WHERE id = $1`)
	})
}
