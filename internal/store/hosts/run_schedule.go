package hosts

import (
	"context"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// PutRunPlan stores the schedule of a project's full runs.
func (tx *Tx) PutRunPlan(ctx context.Context, p model.RunPlan) error {
	if p.Every.String() == "" {
		return model.Invalid("schedule", "expected weekly, daily, push or off")
	}
	project, err := tx.Project(ctx, p.ProjectID)
	if err != nil {
		return err
	}
	before, err := tx.RunPlan(ctx, project)
	if err != nil {
		return err
	}
	type image struct {
		Schedule string `json:"schedule"`
	}
	tx.Audit("project.update", sqldb.Subject("project", p.ProjectID), image{
		before.Every.String(),
	}, image{p.Every.String()})
	if err := tx.QueuePlan(ctx, p); err != nil {
		return err
	}
	return tx.Insert(ctx, `managed_plan (deployment_id, project_id, every, queued_at)`, [][]any{
		{p.ProjectID, p.Every, p.QueuedAt},
	},
		`ON CONFLICT (deployment_id, project_id) DO UPDATE SET every = excluded.every, queued_at = excluded.queued_at`)
}

// RunJob is the kind of job in which a server with a built-in runner executes queued managed runs.
const RunJob = "run"

// queueRunning adds a RunJob, due at a time.
func (tx *Tx) queueRunning(ctx context.Context, at time.Time) error {
	_, err := tx.Enqueue(ctx, model.Job{Kind: RunJob, Subject: RunJob, DueAt: at})
	return err
}

// QueueNextRun adds a RunJob for the first queued run, if any, due no earlier than from.
func (tx *Tx) QueueNextRun(ctx context.Context, from time.Time) error {
	at, err := sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT COALESCE(MIN(due_at), -1) FROM managed_run
		WHERE deployment_id = $1 AND state = $2`, model.RunQueued)
	if err != nil || at < 0 {
		return err
	}
	due := sqldb.Later(time.UnixMicro(at), from)
	if !due.After(tx.Now()) {
		due = time.Time{}
	}
	return tx.queueRunning(ctx, due)
}

// EnsureScheduled adds missing jobs for schedules and queued runs.
func (tx *Tx) EnsureScheduled(ctx context.Context) error {
	if err := tx.EnsureJob(ctx, model.Job{Kind: projects.ScheduleJob, Subject: projects.ScheduleJob}); err != nil {
		return err
	}
	return tx.QueueNextRun(ctx, time.Time{})
}

// NextLeaseEnd returns the earliest lease end of started runs; zero without such runs.
func (tx *Tx) NextLeaseEnd(ctx context.Context) (time.Time, error) {
	at, err := sqldb.One(ctx, tx, sqldb.Scalar[int64], `SELECT COALESCE(MIN(lease_until), -1) FROM managed_run
		WHERE deployment_id = $1 AND state > $2 AND state < $3`,
		model.RunQueued, model.RunDone)
	if err != nil || at < 0 {
		return time.Time{}, err
	}
	return time.UnixMicro(at).UTC(), nil
}

// ScheduledProjects returns the projects whose full scans the server starts.
func (tx *Tx) ScheduledProjects(ctx context.Context) ([]model.Project, error) {
	return tx.ProjectsWhere(ctx, `AND managed_full = 1 ORDER BY id`)
}
