package findings

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Annotate changes the annotations of a lineage, which scanners do not provide, and adds an audit
// event (docs/reference/findings.md). Unchanged annotations are not written. An unknown lineage is
// model.ErrNotFound.
func (tx *Tx) Annotate(ctx context.Context, lineageID int64, edit func(*model.Annotations)) error {
	return tx.AnnotateAll(ctx, []int64{lineageID}, func(_ int64, a *model.Annotations) { edit(a) })
}

// AnnotateAll is Annotate for several distinct lineages, written in one batch.
func (tx *Tx) AnnotateAll(ctx context.Context, lineages []int64, edit func(lineage int64, a *model.Annotations)) error {
	if len(lineages) == 0 {
		return nil
	}
	known, err := tx.Lineages(ctx, lineages)
	if err != nil {
		return err
	}
	return tx.Together(ctx, func() error {
		for _, id := range lineages {
			l, found := known[id]
			if !found {
				return fmt.Errorf("lineage %d: %w", id, model.ErrNotFound)
			}
			before := sqldb.Encoded(l.Annotations)
			edit(id, &l.Annotations)
			after := sqldb.Encoded(l.Annotations)
			if after == before {
				continue
			}
			tx.Change(sqldb.ChangeLineage, id)
			tx.Audit("finding.annotate", sqldb.Subject("lineage", id), json.RawMessage(before), json.RawMessage(after))
			if err := tx.Write(ctx, `UPDATE lineage SET annotations_json = $3 WHERE deployment_id = $1 AND id = $2`, id,
				after); err != nil {
				return err
			}
		}
		return nil
	})
}
