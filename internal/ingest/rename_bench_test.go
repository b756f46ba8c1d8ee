package ingest

import (
	"context"
	"fmt"
	"testing"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/testutil/storetest"
)

// noExceptions is a deployment without exceptions and documents.
type noExceptions struct{}

func (noExceptions) Reevaluate(context.Context, []int64) error { return nil }
func (noExceptions) PutVEX(context.Context, model.VEXUpload) ([]model.VEXReceipt, model.Refusals, error) {
	return nil, model.Refusals{}, nil
}

// BenchmarkApplyRenamed renames a file with many equal findings on a branch, and then on the
// primary branch. Another branch already has the new name. Use -benchtime 1x to measure growth.
func BenchmarkApplyRenamed(b *testing.B) {
	for _, n := range []int{2_000, 8_000} {
		b.Run(fmt.Sprint(n), func(b *testing.B) {
			s := storetest.New(b, storetest.Engines[0])
			d := storetest.Deployment(b, s)
			send := func(ref, path string) {
				results := make([]model.Result, n)
				for i := range results {
					r := result(eqeq, path, i+1, "")
					r.MatchBasedID, r.CodeHash, r.PatternHash = fmt.Sprintf("%s_%d", path, i), "same", "same"
					results[i] = r
				}
				u := upload(full(results...), func(u *Upload) { u.Ref = ref })
				err := s.Update(b.Context(), d.ID, storetest.Actor, func(ctx context.Context, tx *store.Tx) error {
					_, err := Apply(ctx, tx, noExceptions{}, u)
					return err
				})
				if err != nil {
					b.Fatal(err)
				}
			}
			send("main", "a.js")
			send("dev", "a.js")
			send("topic", "b.js") // separate findings until the rename
			for b.Loop() {
				send("dev", "b.js")
				send("main", "b.js")
			}
		})
	}
}
