package projects

import (
	"context"
	"fmt"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// FirstStart returns the choices made during the setup of the deployment.
func (tx *Tx) FirstStart(ctx context.Context) (model.FirstStart, error) {
	f, err := sqldb.One(ctx, tx, func(r sqldb.Row) (f model.FirstStart, err error) {
		return f, r.Scan(&f.Left, &f.BlocksNothing)
	}, `SELECT start_left, start_blocks_nothing FROM deployment WHERE id = $1`)
	if err != nil {
		return f, fmt.Errorf("first start of deployment %d: %w", tx.Deployment().ID, err)
	}
	return f, nil
}

type firstStartImage struct {
	Left          bool `json:"start_left"`
	BlocksNothing bool `json:"start_blocks_nothing"`
}

// SetFirstStart stores the choices made during the setup. Unchanged ones have no effect.
func (tx *Tx) SetFirstStart(ctx context.Context, f model.FirstStart) error {
	before, err := tx.FirstStart(ctx)
	if err != nil || f == before {
		return err
	}
	if err := tx.Write(ctx, `UPDATE deployment SET start_left = $2, start_blocks_nothing = $3 WHERE id = $1`, f.Left,
		f.BlocksNothing); err != nil {
		return err
	}
	tx.Audit("deployment.update", sqldb.Subject("deployment", tx.Deployment().ID),
		firstStartImage(before), firstStartImage(f))
	return nil
}
