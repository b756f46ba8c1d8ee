package storetest

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// noisyComment comments on the first finding. The author is the mentioned user, so that no
// notification is sent.
func noisyComment(ctx context.Context, tx *store.Tx) error {
	found, err := tx.FindingsByID(ctx, []int64{1})
	for _, f := range found {
		_, err = tx.AddFindingComment(ctx, model.FindingComment{
			LineageID: f.LineageID,
			AuthorID:  1,
			Text:      "noise",
			Mentions:  []model.Mentioned{{UserID: 1, Name: "noise"}},
		})
	}
	return err
}
