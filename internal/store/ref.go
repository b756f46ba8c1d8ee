package store

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt"
)

// DeleteRef takes a branch that is no more out of a project: its occurrences
// become removed and its inventory is dropped, triage stays with the lineages,
// and all returns with the next scan of it (decisions §5). The primary branch is
// refused; a ref that no scan told of is redoubt.ErrNotFound.
func (tx *Tx) DeleteRef(ctx context.Context, projectID int64, ref string) error {
	p, err := tx.Project(ctx, projectID)
	if err != nil {
		return err
	}
	if ref == p.Primary() {
		return redoubt.Invalid("ref", "%s is the primary branch of %s; make another branch the primary one first", ref, p.Name)
	}
	ofRef := []any{projectID, ref}
	known, err := one(ctx, tx, scalar[bool], `SELECT EXISTS (SELECT 1 FROM scan WHERE deployment_id = $1 AND project_id = $2 AND ref = $3)`, ofRef...)
	if err != nil {
		return err
	}
	if !known {
		return fmt.Errorf("ref %.80q of %s: %w", ref, p.Name, redoubt.ErrNotFound)
	}
	findings, err := tx.removeFindings(ctx, projectID, ref)
	if err != nil {
		return err
	}
	inventories, err := many(ctx, tx, scalar[int64], `SELECT id FROM inventory WHERE deployment_id = $1 AND project_id = $2 AND ref = $3`, ofRef...)
	if err != nil {
		return err
	}
	if err := tx.deleteInventories(ctx, inventories); err != nil {
		return err
	}
	if findings+len(inventories) > 0 {
		tx.audit("ref.delete", subject("project", projectID), map[string]any{"ref": ref, "findings": findings, "lockfiles": len(inventories)}, nil)
	}
	return nil
}

// removeFindings takes the occurrences of a ref out of the scope, and returns
// how many there were.
func (tx *Tx) removeFindings(ctx context.Context, projectID int64, ref string) (int, error) {
	ids, err := many(ctx, tx, scalar[int64], `SELECT id FROM finding WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND state <> $4`,
		projectID, ref, redoubt.StateRemoved)
	if err != nil || len(ids) == 0 {
		return 0, err
	}
	in, list := tx.in("id", 2, ids)
	_, err = tx.exec(ctx, `UPDATE finding SET state = $3, state_updated_at = $4, version = $5 WHERE deployment_id = $1 AND `+in,
		list, redoubt.StateRemoved, tx.now, tx.nextVersion())
	if err != nil {
		return 0, err
	}
	events := make([]redoubt.FindingEvent, len(ids))
	for i, id := range ids {
		events[i] = redoubt.FindingEvent{FindingID: id, Kind: redoubt.EventRemoved}
	}
	tx.change(changeFinding, ids...)
	return len(ids), tx.AddEvents(ctx, events)
}
