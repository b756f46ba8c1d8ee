package storetest

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noisyRequest requests an exception for the first finding.
func noisyRequest(ctx context.Context, tx *store.Tx) error {
	found, err := tx.FindingsByID(ctx, []int64{1})
	for _, f := range found {
		_, err = tx.AddException(ctx, model.Exception{
			State: model.ExceptionRequested, ProjectID: f.ProjectID, Reason: "noise",
			TriageReason: model.AcceptableRisk, Lineages: []int64{f.LineageID},
		})
	}
	return err
}
