package lifecycle

import (
	"context"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// DeleteRef deletes a ref from a project. Its findings become removed and its inventory is deleted;
// triage stays with the lineages. A later scan of the ref restores its findings
// (docs/reference/scans.md). The primary branch is a *model.InvalidError; a ref without scans is
// model.ErrNotFound.
func (tx *Tx) DeleteRef(ctx context.Context, projectID int64, ref string) error {
	p, err := tx.Project(ctx, projectID)
	if err != nil {
		return err
	}
	if ref == p.Primary() {
		return model.Invalid("ref", "%s is the primary branch of %s; select another primary branch first", ref, p.Name)
	}
	ofRef := []any{projectID, ref}
	known, err := sqldb.One(ctx, tx, sqldb.Scalar[bool],
		`SELECT EXISTS (SELECT 1 FROM scan WHERE deployment_id = $1 AND project_id = $2 AND ref = $3)`, ofRef...)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("ref %.80q of %s: %w", ref, p.Name, model.ErrNotFound)
	}
	findings, err := tx.removeFindings(ctx, projectID, ref)
	if err != nil {
		return err
	}
	inventories, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT id FROM inventory WHERE deployment_id = $1 AND project_id = $2 AND ref = $3`, ofRef...)
	if err != nil {
		return err
	}
	if _, err := tx.DeleteInventories(ctx, inventories); err != nil {
		return err
	}
	if err := tx.forgetUploads(ctx, projectID, ref); err != nil {
		return err
	}
	if err := tx.ForgetVEXOf(ctx, projectID, ref); err != nil {
		return err
	}
	if findings > 0 {
		tx.Change(sqldb.ChangeProject, projectID) // the remaining findings may be exempt now
	}
	if findings+len(inventories) > 0 {
		tx.Audit("ref.delete", sqldb.Subject("project", projectID), map[string]any{
			"ref":       ref,
			"findings":  findings,
			"lockfiles": len(inventories),
		}, nil)
	}
	return nil
}

// removeFindings marks the findings of a ref as removed and returns their number.
func (tx *Tx) removeFindings(ctx context.Context, projectID int64, ref string) (int, error) {
	ids, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT id FROM finding WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND state <> $4`,
		projectID, ref, model.StateRemoved)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	in, list := tx.In("id", 2, ids)
	err = tx.Write(ctx,
		`UPDATE finding SET state = $3, state_updated_at = $4, version = $5 WHERE deployment_id = $1 AND `+in,
		list, model.StateRemoved, tx.Now(), tx.NextVersion())
	if err != nil {
		return 0, err
	}
	events := make([]model.FindingEvent, len(ids))
	for i, id := range ids {
		events[i] = model.FindingEvent{FindingID: id, Kind: model.EventRemoved}
	}
	tx.Change(sqldb.ChangeFinding, ids...)
	if err := tx.DropSnippets(ctx, ids); err != nil {
		return 0, err
	}
	return len(ids), tx.AddEvents(ctx, events)
}

// forgetUploads clears the digests of a ref's scans, so that repeated uploads are processed again
// (docs/reference/scans.md).
func (tx *Tx) forgetUploads(ctx context.Context, projectID int64, ref string) error {
	return tx.Write(ctx,
		`UPDATE scan SET digest = $4 WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND digest <> $4`,
		projectID, ref, model.Digest{})
}

// staleRef is a ref without recent scans.
type staleRef struct {
	projectID int64
	ref       string
}

// ExpireRefs deletes the refs whose newest scan started before a time, as DeleteRef does, except
// primary branches. It returns their number (docs/reference/scans.md).
func (tx *Tx) ExpireRefs(ctx context.Context, before time.Time) (int, error) {
	scanStale := func(r sqldb.Row) (s staleRef, err error) { return s, r.Scan(&s.projectID, &s.ref) }
	stale, err := sqldb.Many(ctx, tx, scanStale, `SELECT project_id, ref FROM scan AS s WHERE deployment_id = $1
		GROUP BY project_id, ref HAVING MAX(started_at) < $2 AND (
			EXISTS (SELECT 1 FROM finding AS f WHERE f.deployment_id = $1 AND f.project_id = s.project_id AND f.ref = s.ref
			AND f.state <> $3)
			OR EXISTS (SELECT 1 FROM inventory AS i WHERE i.deployment_id = $1 AND i.project_id = s.project_id
			AND i.ref = s.ref))
		ORDER BY project_id, ref`, before, model.StateRemoved)
	if err != nil {
		return 0, err
	}
	expired := 0
	for _, s := range stale {
		p, err := tx.Project(ctx, s.projectID)
		if err != nil {
			return expired, err
		}
		if s.ref == p.Primary() {
			continue
		}
		if err := tx.DeleteRef(ctx, s.projectID, s.ref); err != nil {
			return expired, err
		}
		expired++
	}
	return expired, nil
}
