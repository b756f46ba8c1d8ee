package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt"
)

// Annotate changes what no scanner brings of a lineage, with an audit event of
// what it was and is (semantics §4). What edit leaves as it was changes
// nothing. An unknown lineage is redoubt.ErrNotFound.
func (tx *Tx) Annotate(ctx context.Context, lineageID int64, edit func(*redoubt.Annotations)) error {
	l, err := one(ctx, tx, scanLineage, `SELECT `+lineageColumns+` FROM lineage WHERE deployment_id = $1 AND id = $2`, lineageID)
	if err != nil {
		return fmt.Errorf("lineage %d: %w", lineageID, err)
	}
	before := encoded(l.Annotations)
	edit(&l.Annotations)
	after := encoded(l.Annotations)
	if after == before {
		return nil
	}
	tx.change(changeLineage, lineageID)
	tx.audit("finding.annotate", subject("lineage", lineageID), json.RawMessage(before), json.RawMessage(after))
	err = tx.write(ctx, `UPDATE lineage SET annotations_json = $3 WHERE deployment_id = $1 AND id = $2`, lineageID, after)
	return err
}
