package store

import (
	"bytes"
	"context"
	"fmt"
	"slices"
)

// contentRows reads what the contents of lockfiles are made of.
func (tx *Tx) contentRows(ctx context.Context, inventories []int64) (map[int64][]contentRow, error) {
	rows := map[int64][]contentRow{}
	in, arg := tx.in("inventory_id", 2, inventories)
	return rows, each(ctx, tx, func(r row) error {
		var inventoryID int64
		var c contentRow
		err := r.Scan(&inventoryID, &c.id, &c.version, &c.transitivity, &c.licenses)
		rows[inventoryID] = append(rows[inventoryID], c)
		return err
	}, `SELECT inventory_id, id, package_version_id, transitivity, licenses_json FROM dependency WHERE deployment_id = $1 AND `+in, arg)
}

// checkContents holds that the contents of lockfiles are those of their dependencies.
func (tx *Tx) checkContents(ctx context.Context) (faults []string, err error) {
	inventories, err := many(ctx, tx, scalar[int64], `SELECT inventory_id FROM inventory_content WHERE deployment_id = $1 ORDER BY inventory_id`)
	if err != nil {
		return nil, err
	}
	for part := range slices.Chunk(inventories, lockfileStep) {
		rows, err := tx.contentRows(ctx, part)
		if err != nil {
			return faults, err
		}
		in, arg := tx.in("inventory_id", 2, part)
		err = each(ctx, tx, func(r row) error {
			var id, first, last int64
			var content []byte
			if err := r.Scan(&id, &first, &last, &content); err != nil {
				return err
			}
			want, err := encodeContent(rows[id])
			if n := len(rows[id]); err != nil || n == 0 || !bytes.Equal(content, want) || first != rows[id][0].id || last != rows[id][n-1].id {
				faults = append(faults, fmt.Sprintf("the content of lockfile %d is not that of its %d dependencies", id, n))
			}
			return nil
		}, `SELECT inventory_id, first_id, last_id, content FROM inventory_content WHERE deployment_id = $1 AND `+in+` ORDER BY inventory_id`, arg)
		if err != nil {
			return faults, err
		}
	}
	return faults, nil
}
