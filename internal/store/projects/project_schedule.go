package projects

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// ScanPlan reads the plan of a project's managed scans from a row.
func ScanPlan(r sqldb.Row) (p model.RunPlan, err error) {
	return p, r.Scan(&p.ProjectID, &p.Every, sqldb.Instant(&p.QueuedAt))
}

// RunPlan returns the schedule of a project's full runs, or the default one. Without a run, the
// schedule starts at the project's creation.
func (tx *Tx) RunPlan(ctx context.Context, p model.Project) (model.RunPlan, error) {
	plan, err := sqldb.One(ctx, tx, ScanPlan,
		`SELECT project_id, every, queued_at FROM managed_plan WHERE deployment_id = $1 AND project_id = $2`, p.ID)
	if errors.Is(err, model.ErrNotFound) {
		return Unplanned(p), nil
	}
	return plan, err
}

// Unplanned returns the default plan of a project, which is weekly.
func Unplanned(p model.Project) model.RunPlan {
	return model.RunPlan{ProjectID: p.ID, Every: model.RunWeekly, QueuedAt: p.CreatedAt}
}

// ScheduleJob is the kind of job that queues due managed scans and ends runs with an expired lease.
const ScheduleJob = "schedule"

// QueueSchedule adds a ScheduleJob, due at a time.
func (tx *Tx) QueueSchedule(ctx context.Context, at time.Time) error {
	_, err := tx.Enqueue(ctx, model.Job{Kind: ScheduleJob, Subject: ScheduleJob, DueAt: at})
	return err
}

// QueuePlan adds a ScheduleJob for the next time of a plan, if any.
func (tx *Tx) QueuePlan(ctx context.Context, p model.RunPlan) error {
	next := p.Every.Next(p.ProjectID, p.QueuedAt)
	if next.IsZero() {
		return nil
	}
	return tx.QueueSchedule(ctx, next)
}

// scheduleProject is QueuePlan for a project with managed full scans.
func (tx *Tx) scheduleProject(ctx context.Context, p model.Project) error {
	if !p.ManagedScan.Full {
		return nil
	}
	plan, err := tx.RunPlan(ctx, p)
	if err != nil {
		return err
	}
	return tx.QueuePlan(ctx, plan)
}
