package hosts

import (
	"context"
	"fmt"
	"net/url"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// FullRun returns a full run of a project's primary branch without queuing it. A project without a
// scannable repository is model.ErrNotFound.
func (tx *Tx) FullRun(ctx context.Context, p model.Project, cause model.RunCause) (model.Run, error) {
	repository, err := tx.Repository(ctx, p.ID)
	if err == nil && !repository.Scannable() {
		err = model.ErrNotFound
	}
	if err != nil {
		return model.Run{}, err
	}
	run := model.Run{ProjectID: p.ID, Kind: model.RunFull, Cause: cause}
	if p.PrimaryBranch != "" || p.DefaultBranch != "" {
		run.Ref = p.Primary()
	}
	if u, err := url.Parse(repository.CloneURL); err == nil {
		run.Host = u.Hostname()
	}
	return run, nil
}

// RetryRun queues a new manual run with the parameters of an ended one. A full run uses the newest
// commit of its ref. A run that has not ended is model.ErrConflict.
func (tx *Tx) RetryRun(ctx context.Context, id int64) (model.Run, error) {
	r, err := tx.Run(ctx, id)
	if err != nil {
		return r, err
	}
	if !r.State.Ended() {
		return r, fmt.Errorf("run %d has not ended yet: %s: %w", id, r.State, model.ErrConflict)
	}
	if r.Kind == model.RunFull {
		r.Commit = ""
	}
	r.Cause = model.RunByHand
	return tx.QueueRun(ctx, r)
}

// runImage is the content of audit events about a requested or canceled run.
type runImage struct {
	Project string `json:"project"`
	Ref     string `json:"ref"`
	Commit  string `json:"commit,omitempty"`
	Kind    string `json:"kind"`
	Cause   string `json:"cause"`
}

func imageOfRun(r model.Run) runImage {
	return runImage{sqldb.Subject("project", r.ProjectID), r.Ref, r.Commit, r.Kind.String(), r.Cause.String()}
}

// QueueRun queues a run that is due at once and returns it, or an equivalent open one. Runs that
// become unnecessary are superseded or canceled (model.Run.Fate). An unknown project is
// model.ErrNotFound, an invalid run a *model.InvalidError, and a manual run above
// model.MaxRunsByHand model.ErrConflict.
func (tx *Tx) QueueRun(ctx context.Context, r model.Run) (model.Run, error) {
	if err := model.CheckRun(r); err != nil {
		return r, err
	}
	if _, err := tx.Project(ctx, r.ProjectID); err != nil {
		return r, err
	}
	open, err := sqldb.Many(ctx, tx, scanRun, runSelect+`AND project_id = $2 AND state < $3 ORDER BY id DESC`,
		r.ProjectID, model.RunDone)
	if err != nil {
		return r, err
	}
	for _, had := range open {
		if had.Fate(r) == model.RunSuffices {
			return had, nil
		}
	}
	if r.Cause == model.RunByHand {
		if err := checkRunQuota(open); err != nil {
			return r, err
		}
	}
	for _, had := range open {
		switch had.Fate(r) {
		case model.RunGivesWay:
			err = tx.endRun(
				ctx, had, model.RunOutcome{State: model.RunSuperseded, Reason: "a newer commit replaced it"},
			)
		case model.RunIsStopped:
			err = tx.endRun(
				ctx, had, model.RunOutcome{State: model.RunCancelled, Reason: "the change request has a newer commit"},
			)
		case model.RunStays, model.RunSuffices:
		}
		if err != nil {
			return r, err
		}
	}
	return tx.addRun(ctx, r)
}

// checkRunQuota limits the open manual runs of a project. Users with upload access can request runs
// of any number of refs.
func checkRunQuota(open []model.Run) error {
	n := 0
	for _, r := range open {
		if r.Cause == model.RunByHand {
			n++
		}
	}
	if n < model.MaxRunsByHand {
		return nil
	}
	return fmt.Errorf("%d requested runs of the project have not ended: cancel some, or retry later: %w",
		n, model.ErrConflict)
}

// RefuseRun stores a rejected run as failed with the reason, so that users can see it.
func (tx *Tx) RefuseRun(ctx context.Context, r model.Run, reason string) error {
	r.Ref, r.Base, r.Commit = "", "", "" // one of these is invalid
	r, err := tx.addRun(ctx, r)
	if err != nil {
		return err
	}
	return tx.endRun(ctx, r, model.RunOutcome{State: model.RunFailed, Failure: model.RunPermanent, Reason: reason})
}

func (tx *Tx) addRun(ctx context.Context, r model.Run) (model.Run, error) {
	id, err := tx.NewID(ctx, seqManagedRun)
	if err != nil {
		return r, err
	}
	r = model.Run{
		ID: id, DeploymentID: tx.Deployment().ID, ProjectID: r.ProjectID, Ref: r.Ref,
		Commit: r.Commit, Base: r.Base, Kind: r.Kind, Cause: r.Cause, Change: r.Change,
		Host: r.Host, State: model.RunQueued, DueAt: tx.Now(), CreatedAt: tx.Now(),
	}
	err = tx.Insert(ctx, `managed_run (`+runColumns+`)`, [][]any{{
		r.ID, r.ProjectID, r.Ref, r.Commit, r.Base, r.Kind, r.Cause, r.Change,
		r.Host, r.State, 0, 0, 0, 0, 0, 0, "", 0, r.DueAt, nil, r.CreatedAt, nil, nil,
	}}, "")
	if err != nil {
		return r, err
	}
	if r.Cause == model.RunByHand {
		tx.Audit("run.create", sqldb.Subject("run", id), nil, imageOfRun(r))
	}
	if err := tx.EnqueueStatusUpdate(ctx, r.ProjectID, r.Commit); err != nil {
		return r, err
	}
	if err := tx.queueRunning(ctx, time.Time{}); err != nil {
		return r, err
	}
	return r, tx.pruneRuns(ctx, r.ProjectID)
}

// pruneRuns deletes the oldest ended runs of a project above model.MaxRunsKept.
func (tx *Tx) pruneRuns(ctx context.Context, projectID int64) error {
	old, err := sqldb.Many(ctx, tx, sqldb.Scalar[int64], `SELECT id FROM managed_run WHERE deployment_id = $1 AND `+
		`project_id = $2 AND state >= $3 ORDER BY id DESC LIMIT 1000 OFFSET $4`,
		projectID, model.RunDone, model.MaxRunsKept)
	if err != nil || len(old) == 0 {
		return err
	}
	ofLog, list := tx.In("run_id", 2, old)
	if err := tx.Write(ctx, `DELETE FROM managed_run_log WHERE deployment_id = $1 AND `+ofLog, list); err != nil {
		return err
	}
	in, list := tx.In("id", 2, old)
	return tx.Write(ctx, `DELETE FROM managed_run WHERE deployment_id = $1 AND `+in, list)
}

const seqManagedRun sqldb.Sequence = "managed_run"
