package embedded

import (
	"context"
	"errors"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// BranchOnPush returns the branch of a repository that is scanned on push: the project's primary
// branch, without refs/heads/. It is empty if pushes are not scanned.
func BranchOnPush(ctx context.Context, tx *store.Tx, r model.Repository) (string, error) {
	p, err := tx.Project(ctx, r.ProjectID)
	if err != nil || !p.ManagedScan.Full {
		return "", err
	}
	plan, err := tx.RunPlan(ctx, p)
	if err != nil || plan.Every != model.RunOnPush {
		return "", err
	}
	run, err := tx.FullRun(ctx, p, model.RunByPush)
	if errors.Is(err, model.ErrNotFound) {
		return "", nil
	}
	if err != nil || run.Ref == "" {
		return r.DefaultBranch, err
	}
	return strings.TrimPrefix(run.Ref, "refs/heads/"), nil
}

// RunPushed queues a scan of the branch at its newest commit, unless the last run of any cause
// already scans that commit.
func RunPushed(ctx context.Context, tx *store.Tx, r model.Repository, branch, commit string) error {
	p, err := tx.Project(ctx, r.ProjectID)
	if err != nil {
		return err
	}
	run, err := tx.FullRun(ctx, p, model.RunByPush)
	if err != nil {
		return err
	}
	run.Ref, run.Commit = "refs/heads/"+branch, commit
	last, err := tx.LastFullRun(ctx, p.ID, run.Ref)
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return err
	}
	if last.Commit == commit && (last.State == model.RunDone || !last.State.Ended()) {
		return nil
	}
	return queueOrExplain(ctx, tx, run)
}

// RunProposed queues a scan of a change request if the project's change requests are scanned.
func RunProposed(ctx context.Context, tx *store.Tx, r model.Repository, c model.ChangeRequest) error {
	if r.ProjectID == 0 {
		return nil
	}
	p, err := tx.Project(ctx, r.ProjectID)
	if err != nil || !p.ManagedScan.Diff {
		return err
	}
	run, err := tx.FullRun(ctx, p, model.RunByChangeRequest)
	if errors.Is(err, model.ErrNotFound) {
		return nil
	}
	if err != nil {
		return err
	}
	run.Kind, run.Ref, run.Commit, run.Base, run.Change = model.RunDiff, c.FetchRef, c.HeadCommit, "refs/heads/"+
		c.BaseRef, c.Number
	return queueOrExplain(ctx, tx, run)
}

// queueOrExplain queues a run. An invalid run, such as one of a branch name that git could
// misinterpret, fails immediately with the reason, and other runs continue.
func queueOrExplain(ctx context.Context, tx *store.Tx, run model.Run) error {
	_, err := tx.QueueRun(ctx, run)
	if invalid, is := errors.AsType[*model.InvalidError](err); is {
		return tx.RefuseRun(ctx, run, invalid.Error())
	}
	return err
}
