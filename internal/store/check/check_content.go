package check

import (
	"bytes"
	"context"
	"fmt"
	"slices"

	"github.com/redoubt/redoubt/internal/store/inventory"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// contentRows reads the dependencies from which lockfile contents are built.
func (tx *Tx) contentRows(ctx context.Context, inventories []int64) (map[int64][]inventory.ContentRow, error) {
	rows := map[int64][]inventory.ContentRow{}
	in, arg := tx.In("inventory_id", 2, inventories)
	return rows, sqldb.Each(ctx, tx, func(r sqldb.Row) error {
		var inventoryID int64
		var c inventory.ContentRow
		err := r.Scan(&inventoryID, &c.ID, &c.Version, &c.Transitivity, &c.Licenses)
		rows[inventoryID] = append(rows[inventoryID], c)
		return err
	}, `SELECT inventory_id, id, package_version_id, transitivity, licenses_json FROM dependency WHERE `+
		`deployment_id = $1 AND `+in, arg)
}

// checkContents checks that the stored contents of lockfiles match their dependencies.
func (tx *Tx) checkContents(ctx context.Context) (faults []string, err error) {
	inventories, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64],
		`SELECT inventory_id FROM inventory_content WHERE deployment_id = $1 ORDER BY inventory_id`)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(inventories, inventory.LockfileStep) {
		rows, err := tx.contentRows(ctx, part)
		if err != nil {
			return faults, err
		}
		in, arg := tx.In("inventory_id", 2, part)
		err = sqldb.Each(ctx, tx, func(r sqldb.Row) error {
			var id, first, last int64
			var content []byte
			if err := r.Scan(&id, &first, &last, &content); err != nil {
				return err
			}
			want, err := inventory.EncodeContent(rows[id])
			if n := len(rows[id]); err != nil || n == 0 || !bytes.Equal(content, want) || first != rows[id][0].ID ||
				last != rows[id][n-1].ID {
				faults = append(faults, fmt.Sprintf("the content of lockfile %d differs from its %d rows", id, n))
			}
			return nil
		}, `SELECT inventory_id, first_id, last_id, content FROM inventory_content WHERE deployment_id = $1 AND `+in+
			` ORDER BY inventory_id`, arg)
		if err != nil {
			return faults, err
		}
	}
	return faults, nil
}
