package store

import (
	"context"
	"fmt"
	"net/url"

	"github.com/redoubt/redoubt"
)

// FullRun is a full run of a project's primary branch, or redoubt.ErrNotFound where no
// connection has its repository. It is not queued yet.
func (tx *Tx) FullRun(ctx context.Context, p redoubt.Project, cause redoubt.RunCause) (redoubt.Run, error) {
	repository, err := tx.Repository(ctx, p.ID)
	if err == nil && !repository.Scannable() {
		err = redoubt.ErrNotFound
	}
	if err != nil {
		return redoubt.Run{}, err
	}
	run := redoubt.Run{ProjectID: p.ID, Kind: redoubt.RunFull, Cause: cause}
	if p.PrimaryBranch != "" || p.DefaultBranch != "" {
		run.Ref = p.Primary()
	}
	if u, err := url.Parse(repository.CloneURL); err == nil {
		run.Host = u.Hostname()
	}
	return run, nil
}

// RetryRun queues what a run did that ended, anew and by hand: of a full run the newest
// commit of its ref. One that has not ended is redoubt.ErrConflict.
func (tx *Tx) RetryRun(ctx context.Context, id int64) (redoubt.Run, error) {
	r, err := tx.Run(ctx, id)
	if err != nil {
		return r, err
	}
	if !r.State.Ended() {
		return r, fmt.Errorf("run %d has not ended yet: %s: %w", id, r.State, redoubt.ErrConflict)
	}
	if r.Kind == redoubt.RunFull {
		r.Commit = ""
	}
	r.Cause = redoubt.RunByHand
	return tx.QueueRun(ctx, r)
}
