package edge

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/policy"
	"github.com/redoubt/redoubt/internal/store"
)

// errTried ends a transaction of which nothing is to be kept.
var errTried = errors.New("it was only tried")

// Preview is what the gate would say to an upload by a policy (semantics §10). The
// upload is applied as ever, so that what moves, is copied or excepted counts as
// it would, in a transaction that is rolled back.
func Preview(ctx context.Context, st *store.Store, deploymentID int64, given policy.EffectivePolicy,
	exceptions func(*store.Tx) ingest.Exceptions, upload ingest.Upload,
) (out policy.Outcome, err error) {
	err = st.Update(ctx, deploymentID, redoubt.Actor{Kind: "preview"}, func(ctx context.Context, tx *store.Tx) error {
		var judge *policy.Judge
		upload.Before = func(ctx context.Context, project redoubt.Project, scan redoubt.Scan, seen []ingest.Sighting) (err error) {
			judge, err = given.JudgeAll(ctx, tx, project, scan, reported(seen))
			return err
		}
		summary, err := ingest.Apply(ctx, tx, exceptions(tx), upload)
		if err != nil {
			return err
		}
		if out, err = outcomeOf(ctx, judge, &summary); err != nil {
			return err
		}
		return errTried
	})
	if errors.Is(err, errTried) {
		err = nil
	}
	return out, err
}
