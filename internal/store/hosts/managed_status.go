package hosts

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// RunFacts returns the current state of a project's managed scans.
func (tx *Tx) RunFacts(ctx context.Context, p model.Project) (model.RunFacts, error) {
	all, err := tx.RunFactsOf(ctx, []model.Project{p})
	if err != nil {
		return model.RunFacts{}, err
	}
	return all[0], nil
}

// RunFactsOf returns the current state of the managed scans of projects, in their order. The number
// of statements is constant.
func (tx *Tx) RunFactsOf(ctx context.Context, list []model.Project) ([]model.RunFacts, error) {
	all := make([]model.RunFacts, len(list))
	ids := make([]int64, len(list))
	at := make(map[int64]*model.RunFacts, len(list))
	for i, p := range list {
		all[i] = model.RunFacts{Project: p, Plan: projects.Unplanned(p)}
		ids[i], at[p.ID] = p.ID, &all[i]
	}
	if len(list) == 0 {
		return all, nil
	}
	in, arg := tx.In("project_id", 2, ids)
	plans, err := sqldb.Many(ctx, tx, projects.ScanPlan,
		`SELECT project_id, every, queued_at FROM managed_plan WHERE deployment_id = $1 AND `+in, arg)
	for _, p := range plans {
		at[p.ProjectID].Plan = p
	}
	for _, step := range []func(
		context.Context, []int64, map[int64]*model.RunFacts,
	) error{tx.runnersFor, tx.connectionsFor, tx.openRunsFor, tx.lastRunsFor} {
		if err == nil {
			err = step(ctx, ids, at)
		}
	}
	return all, err
}

// runnersFor adds the runners that can run the projects' scans.
func (tx *Tx) runnersFor(ctx context.Context, _ []int64, at map[int64]*model.RunFacts) error {
	runners, tokens, err := tx.runnersInForce(ctx)
	for _, f := range at {
		for _, r := range runners {
			if model.ProjectGlobs(tokens[r.TokenID].ProjectGlobs).Allows(f.Project.Name) {
				f.Runners = append(f.Runners, r)
			}
		}
	}
	return err
}

// connectionsFor adds whether the repositories of the projects can be scanned, and the problems of
// their connections.
func (tx *Tx) connectionsFor(ctx context.Context, ids []int64, at map[int64]*model.RunFacts) error {
	in, list := tx.In("project_id", 2, ids)
	repositories, err := sqldb.Many(ctx, tx, scanRepository,
		`SELECT `+repositoryColumns+` FROM repository WHERE deployment_id = $1 AND project_id <> 0 AND `+in, list)
	if err != nil || len(repositories) == 0 {
		return err
	}
	connections, err := tx.Connections(ctx)
	trouble := map[int64]string{}
	for _, c := range connections {
		trouble[c.ID] = c.Problem
	}
	for _, r := range repositories {
		f := at[r.ProjectID]
		f.Connected, f.Trouble = r.Scannable(), trouble[r.ConnectionID]
		switch {
		case r.Scannable():
		case r.Archived:
			f.Lost = "the repository is archived at its host and does not change"
		default:
			f.Lost = "the host no longer lists the repository: it was deleted, or the connection lacks access"
		}
	}
	return err
}

// openRunsFor adds the newest open run of each project; started runs take precedence.
func (tx *Tx) openRunsFor(ctx context.Context, ids []int64, at map[int64]*model.RunFacts) error {
	in, list := tx.In("project_id", 2, ids)
	open, err := sqldb.Many(ctx, tx, scanRun, runSelect+`AND `+in+` AND state < $3 ORDER BY state, id`,
		list, model.RunDone)
	for i := range open {
		at[open[i].ProjectID].Open = &open[i]
	}
	return err
}

// lastRunsFor adds the newest run of each project that finished, failed or timed out.
func (tx *Tx) lastRunsFor(ctx context.Context, ids []int64, at map[int64]*model.RunFacts) error {
	in, list := tx.In("project_id", 2, ids)
	last, err := sqldb.Many(ctx, tx, scanRun, runSelect+`AND id IN (SELECT MAX(id) FROM managed_run WHERE `+
		`deployment_id = $1 AND `+in+` AND state IN ($3, $4, $5) GROUP BY project_id)`,
		list, model.RunDone, model.RunFailed, model.RunTimedOut)
	for i := range last {
		at[last[i].ProjectID].Last = &last[i]
	}
	return err
}

// ManagedProjects returns the projects with full or diff scans that the server starts.
func (tx *Tx) ManagedProjects(ctx context.Context) ([]model.Project, error) {
	return tx.ProjectsWhere(ctx, `AND (managed_full = 1 OR managed_diff = 1) ORDER BY name`+tx.ByBytes()+`, id`)
}
