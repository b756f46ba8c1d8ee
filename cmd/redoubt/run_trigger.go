package main

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// runPushed has a branch scanned that has another head, where it is the project's primary
// one and the project is scanned on push.
func runPushed(ctx context.Context, tx *store.Tx, r redoubt.Repository, branch, commit string) error {
	p, err := tx.Project(ctx, r.ProjectID)
	if err != nil || !p.ManagedScan.Full {
		return err
	}
	plan, err := tx.RunPlan(ctx, p)
	if err != nil || plan.Every != redoubt.RunOnPush {
		return err
	}
	run, err := tx.FullRun(ctx, p, redoubt.RunByPush)
	if errors.Is(err, redoubt.ErrNotFound) {
		return nil
	}
	ref := "refs/heads/" + branch
	if err != nil || run.Ref != ref && (run.Ref != "" || branch != r.DefaultBranch) {
		return err
	}
	run.Ref, run.Commit = ref, commit
	return queueOrExplain(ctx, tx, run)
}

// runProposed has a change request scanned, where the project's are.
func runProposed(ctx context.Context, tx *store.Tx, r redoubt.Repository, c redoubt.ChangeRequest) error {
	if r.ProjectID == 0 {
		return nil
	}
	p, err := tx.Project(ctx, r.ProjectID)
	if err != nil || !p.ManagedScan.Diff {
		return err
	}
	run, err := tx.FullRun(ctx, p, redoubt.RunByChangeRequest)
	if errors.Is(err, redoubt.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	run.Kind, run.Ref, run.Commit, run.Base, run.Change = redoubt.RunDiff, c.FetchRef, c.HeadCommit, "refs/heads/"+c.BaseRef, c.Number
	return queueOrExplain(ctx, tx, run)
}

// queueOrExplain queues a run. One that will not do, as of a branch whose name git could
// take for something else, ends at once and says why: it stops nothing but itself.
func queueOrExplain(ctx context.Context, tx *store.Tx, run redoubt.Run) error {
	_, err := tx.QueueRun(ctx, run)
	if invalid, is := errors.AsType[*redoubt.InvalidError](err); is {
		return tx.RefuseRun(ctx, run, invalid.Error())
	}
	return err
}
