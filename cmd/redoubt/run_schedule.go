package main

import (
	"context"
	"errors"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// scheduleEvery is how often the server looks for managed scans that are due.
const scheduleEvery = time.Minute

// scheduleRuns queues the managed scans that are due, and ends those whose runner is gone,
// until the context ends.
func (s *service) scheduleRuns(ctx context.Context) {
	tick := time.NewTicker(scheduleEvery)
	defer tick.Stop()
	for {
		deployments, err := s.store.Deployments(ctx)
		s.logFailure(ctx, redoubt.Deployment{}, "scheduling managed scans", err)
		for _, d := range deployments {
			err := queueDueRuns(ctx, s.store, d.ID)
			s.logFailure(ctx, d, "scheduling managed scans", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// queueDueRuns queues what a deployment's schedules ask for by now. It holds the deployment
// only where there is something to do.
func queueDueRuns(ctx context.Context, st *store.Store, deploymentID int64) error {
	due, overdue := false, false
	err := st.View(ctx, deploymentID, func(ctx context.Context, tx *store.Tx) error {
		plans, err := duePlans(ctx, tx)
		if due = len(plans) > 0; err == nil {
			overdue, err = tx.RunIsOverdue(ctx)
		}
		return err
	})
	if err != nil || !due && !overdue {
		return err
	}
	return st.Update(ctx, deploymentID, redoubt.Actor{Kind: "system", Name: "managed scans"}, func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.EndOverdueRuns(ctx); err != nil {
			return err
		}
		plans, err := duePlans(ctx, tx) // another server may have been first
		for _, p := range plans {
			if err == nil {
				err = queueDue(ctx, tx, p)
			}
		}
		return err
	})
}

// duePlan is a project whose schedule asks for a scan.
type duePlan struct {
	project redoubt.Project
	plan    redoubt.RunPlan
}

func duePlans(ctx context.Context, tx *store.Tx) (due []duePlan, err error) {
	projects, err := tx.ScheduledProjects(ctx)
	for _, p := range projects {
		if err != nil {
			return nil, err
		}
		var plan redoubt.RunPlan
		if plan, err = tx.RunPlan(ctx, p); err == nil && plan.Due(tx.Now()) {
			due = append(due, duePlan{p, plan})
		}
	}
	return due, err
}

// queueDue queues a scan, however many were missed. A project that no connection has waits
// for its next turn: its page says so.
func queueDue(ctx context.Context, tx *store.Tx, d duePlan) error {
	run, err := tx.FullRun(ctx, d.project, redoubt.RunBySchedule)
	if err == nil {
		err = queueOrExplain(ctx, tx, run)
	}
	if err != nil && !errors.Is(err, redoubt.ErrNotFound) {
		return err
	}
	d.plan.QueuedAt = tx.Now()
	return tx.PutRunPlan(ctx, d.plan)
}
