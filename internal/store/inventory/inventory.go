package inventory

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// inventory is the stored inventory of one lockfile on a ref, without its dependencies.
type inventory struct {
	id         int64
	source     string
	scanID     int64
	commit     string
	digest     model.Digest
	reportedAt time.Time // start of the scan
}

func scanInventory(r sqldb.Row) (i inventory, err error) {
	return i, r.Scan(&i.id, &i.source, &i.scanID, &i.commit, sqldb.Digest(&i.digest), sqldb.Instant(&i.reportedAt))
}

// PutInventory replaces the inventory of a lockfile and returns the numbers of added and removed
// dependencies (docs/reference/lockfiles.md). Unchanged dependencies keep their ids. An inventory
// that is older than the stored one changes nothing. With an equal digest, only the source, scan,
// commit and time are updated.
func (tx *Tx) PutInventory(ctx context.Context, s model.InventoryStatement) (added, removed int, err error) {
	stored, err := sqldb.Many(ctx, tx, scanInventory, `
		SELECT id, source, scan_id, commit_hash, digest, stated_at FROM inventory
		WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND lockfile = $4`, s.ProjectID, s.Ref,
		s.Inventory.Lockfile)
	if err != nil {
		return 0, 0, err
	}
	next := inventory{0, s.Source, s.ScanID, s.Commit, s.Digest, s.At}
	same := false
	if len(stored) > 0 {
		before := stored[0]
		if s.At.Before(before.reportedAt) {
			return 0, 0, nil
		}
		next.id = before.id
		same = s.Digest == before.digest && s.Digest != model.Digest{} // zero: unknown
		err = tx.updateInventory(ctx, before, next)
	} else {
		next.id, err = tx.addInventory(ctx, s)
	}
	if err != nil || same {
		return 0, 0, err
	}
	added, removed, err = tx.putDependencies(ctx, next.id, s.Inventory)
	if err != nil {
		return 0, 0, fmt.Errorf("store the dependencies of %.200q: %w", s.Inventory.Lockfile, err)
	}
	return added, removed, nil
}

func (tx *Tx) addInventory(ctx context.Context, s model.InventoryStatement) (int64, error) {
	id, err := tx.NewID(ctx, seqInventory)
	if err != nil {
		return 0, err
	}
	return id, tx.Insert(ctx,
		`inventory (deployment_id, id, project_id, ref, lockfile, source, scan_id, commit_hash, digest, stated_at)`,
		[][]any{{id, s.ProjectID, s.Ref, s.Inventory.Lockfile, s.Source, s.ScanID, s.Commit, s.Digest, s.At}}, "")
}

// updateInventory updates the row of an inventory, unless it is unchanged.
func (tx *Tx) updateInventory(ctx context.Context, before, next inventory) error {
	if before == next {
		return nil
	}
	return tx.Write(ctx, `
		UPDATE inventory SET source = $3, scan_id = $4, commit_hash = $5, digest = $6, stated_at = $7
		WHERE deployment_id = $1 AND id = $2`,
		next.id, next.source, next.scanID, next.commit, next.digest, next.reportedAt)
}

// DropInventories deletes the inventories that a source reported for a ref up to a time, except the
// lockfiles in keep. An empty source means all sources; lockfiles in container images then remain.
// It returns the deleted paths, sorted bytewise, and the number of deleted dependencies
// (docs/reference/lockfiles.md).
func (tx *Tx) DropInventories(
	ctx context.Context, projectID int64, ref, source string, until time.Time, keep []string,
) (dropped []string, dependencies int, err error) {
	retained := make(map[string]bool, len(keep))
	for _, path := range keep {
		retained[sqldb.CleanText(path)] = true
	}
	var ids []int64
	dropped = []string{}
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var id int64
		var path, by string
		err := r.Scan(&id, &path, &by)
		if !retained[path] && (source != "" || !inImage(by, path)) {
			ids, dropped = append(ids, id), append(dropped, path)
		}
		return err
	}, `SELECT id, lockfile, source FROM inventory WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND `+
		`(source = $4 OR $4 = '') AND stated_at <= $5`,
		projectID, ref, source, until)
	if err != nil || len(ids) == 0 {
		return dropped, 0, err
	}
	slices.Sort(dropped)
	dependencies, err = tx.DeleteInventories(ctx, ids)
	return dropped, dependencies, err
}

// inImage reports whether a lockfile is in a container image. The path is then "IMAGE" or
// "IMAGE:/PATH", and the source ends in ":IMAGE".
func inImage(source, lockfile string) bool {
	image, _, _ := strings.Cut(lockfile, ":/")
	return strings.HasSuffix(source, ":"+image)
}

// UnstatedLockfiles returns the lockfiles that the source reported for the ref, but not in the given
// scan, sorted bytewise.
func (tx *Tx) UnstatedLockfiles(
	ctx context.Context, projectID int64, ref, source string, scanID int64,
) (paths []string, err error) {
	err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var path string
		err := r.Scan(&path)
		paths = append(paths, path)
		return err
	}, `SELECT lockfile FROM inventory WHERE deployment_id = $1 AND project_id = $2 AND ref = $3 AND source = $4 AND `+
		`scan_id <> $5`,
		projectID, ref, source, scanID)
	slices.Sort(paths)
	return paths, err
}

// DeleteInventories deletes inventories with their dependencies, and returns the number of deleted
// dependencies.
func (tx *Tx) DeleteInventories(ctx context.Context, ids []int64) (dependencies int, err error) {
	in, arg := tx.In("inventory_id", 2, ids)
	n, err := tx.Exec(ctx, `DELETE FROM dependency WHERE deployment_id = $1 AND `+in, arg)
	if err != nil {
		return 0, err
	}
	for _, table := range []string{"inventory_graph", "inventory_content"} {
		if err := tx.Write(ctx, `DELETE FROM `+table+` WHERE deployment_id = $1 AND `+in, arg); err != nil {
			return 0, err
		}
	}
	in, arg = tx.In("id", 2, ids)
	err = tx.Write(ctx, `DELETE FROM inventory WHERE deployment_id = $1 AND `+in, arg)
	return int(n), err
}

const seqInventory sqldb.Sequence = "inventory"
