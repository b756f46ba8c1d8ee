package embedded

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/queue"
	"github.com/redoubt/redoubt/internal/store"
)

// ScheduleRuns returns the queue.Work of store.ScheduleJob.
func ScheduleRuns(st *store.Store) queue.Work {
	return func(ctx context.Context, j model.Job) (result []byte, media string, err error) {
		err = queueDueRuns(ctx, st, j.DeploymentID)
		if errors.Is(err, model.ErrNotFound) { // the deployment was deleted
			err = nil
		}
		return nil, "", err
	}
}

// queueDueRuns queues due managed scans of a deployment and ends runs with an expired lease. It
// adds the next ScheduleJob, due with the next schedule or lease end.
func queueDueRuns(ctx context.Context, st *store.Store, deploymentID int64) error {
	return st.Update(ctx, deploymentID, model.Actor{
		Kind: "system",
		Name: "managed scans",
	}, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.EndOverdueRuns(ctx); err != nil {
			return err
		}
		plans, err := duePlans(ctx, tx)
		for _, p := range plans {
			if err == nil {
				err = queueDue(ctx, tx, p)
			}
		}
		if err != nil {
			return err
		}
		next, err := tx.NextLeaseEnd(ctx)
		if err != nil {
			return err
		}
		projects, err := tx.ScheduledProjects(ctx)
		for _, p := range projects {
			var plan model.RunPlan
			if plan, err = tx.RunPlan(ctx, p); err != nil {
				break
			}
			if at := plan.Every.Next(p.ID, plan.QueuedAt); !at.IsZero() && (next.IsZero() || at.Before(next)) {
				next = at
			}
		}
		if err != nil || next.IsZero() {
			return err
		}
		return tx.QueueSchedule(ctx, next)
	})
}

// duePlan is a project whose scheduled scan is due.
type duePlan struct {
	project model.Project
	plan    model.RunPlan
}

func duePlans(ctx context.Context, tx *store.Tx) (due []duePlan, err error) {
	projects, err := tx.ScheduledProjects(ctx)
	for _, p := range projects {
		if err != nil {
			return nil, err
		}
		var plan model.RunPlan
		if plan, err = tx.RunPlan(ctx, p); err == nil && plan.Due(tx.Now()) {
			due = append(due, duePlan{p, plan})
		}
	}
	return due, err
}

// queueDue queues one scan, however many were missed. A project without a connection is skipped
// until its next scheduled time; its page shows the reason.
func queueDue(ctx context.Context, tx *store.Tx, d duePlan) error {
	run, err := tx.FullRun(ctx, d.project, model.RunBySchedule)
	if err == nil {
		err = queueOrExplain(ctx, tx, run)
	}
	if err != nil && !errors.Is(err, model.ErrNotFound) {
		return err
	}
	d.plan.QueuedAt = tx.Now()
	return tx.PutRunPlan(ctx, d.plan)
}
