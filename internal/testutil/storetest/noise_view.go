package storetest

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noisyView creates a shared view and makes it the default of the user with the lowest id.
func noisyView(ctx context.Context, tx *store.Tx) error {
	v, err := tx.AddSavedView(ctx, model.SavedView{Name: "noise", IssueType: model.SAST, Query: "severities=low"})
	if err != nil {
		return err
	}
	return tx.SetDefaultView(ctx, 1, v, true)
}
