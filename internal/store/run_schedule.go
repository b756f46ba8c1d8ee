package store

import (
	"context"
	"errors"

	"github.com/redoubt/redoubt"
)

func scanPlan(r row) (p redoubt.RunPlan, err error) {
	return p, r.Scan(&p.ProjectID, &p.Every, instant(&p.QueuedAt))
}

// RunPlan tells when full runs of a project are queued: weekly, where nobody said. A
// project that was never scheduled counts as scheduled when it was made.
func (tx *Tx) RunPlan(ctx context.Context, p redoubt.Project) (redoubt.RunPlan, error) {
	plan, err := one(ctx, tx, scanPlan, `SELECT project_id, every, queued_at FROM managed_plan WHERE deployment_id = $1 AND project_id = $2`, p.ID)
	if errors.Is(err, redoubt.ErrNotFound) {
		return unplanned(p), nil
	}
	return plan, err
}

// unplanned is the plan of a project about which nobody said anything.
func unplanned(p redoubt.Project) redoubt.RunPlan {
	return redoubt.RunPlan{ProjectID: p.ID, Every: redoubt.RunWeekly, QueuedAt: p.CreatedAt}
}

// PutRunPlan says when full runs of a project are queued, and from when on it counts.
func (tx *Tx) PutRunPlan(ctx context.Context, p redoubt.RunPlan) error {
	if p.Every.String() == "" {
		return redoubt.Invalid("schedule", "expected weekly, daily, push or off")
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
	tx.audit("project.update", subject("project", p.ProjectID), image{before.Every.String()}, image{p.Every.String()})
	return tx.insert(ctx, `managed_plan (deployment_id, project_id, every, queued_at)`, [][]any{{p.ProjectID, p.Every, p.QueuedAt}},
		`ON CONFLICT (deployment_id, project_id) DO UPDATE SET every = excluded.every, queued_at = excluded.queued_at`)
}

// ScheduledProjects lists the projects whose full scans the server starts.
func (tx *Tx) ScheduledProjects(ctx context.Context) ([]redoubt.Project, error) {
	return tx.projectsWhere(ctx, `AND managed_full = 1 ORDER BY id`)
}
