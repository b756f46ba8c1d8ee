package projects

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// managedRow is what is in force of a project's managed scans, as pages show it.
type managedRow struct {
	model.RunStatus
	Project model.Project
}

// standingWords are standings as people call them, with their tone.
var standingWords = map[model.RunStanding][2]string{
	model.RunsOff: {"Off", "plain"}, model.RunsWithoutConnection: {"Not connected", "warn"},
	model.RunsWithoutRunner: {"No runner", "warn"},
	model.RunsScheduled:     {"On", "good"},
	model.RunsRunning:       {"Running", "accent"}, model.RunsFailing: {"Failing", "bad"},
}

// Word and Tone are the standing as the page shows it.
func (m managedRow) Word() string { return standingWords[m.Standing][0] }
func (m managedRow) Tone() string { return standingWords[m.Standing][1] }

// Step is the page below the deployment where what is wrong is mended; empty: nothing is.
func (m managedRow) Step() string {
	switch m.Standing {
	case model.RunsWithoutConnection:
		return "/settings/connections"
	case model.RunsWithoutRunner:
		return "/settings/runners"
	case model.RunsFailing:
		if m.LastRun != 0 {
			return "/runs/" + ui.Decimal(m.LastRun)
		}
		return "/settings/connections"
	case model.RunsOff, model.RunsScheduled, model.RunsRunning:
	}
	return ""
}

// Schedules are what a project can be scanned by.
func (m managedRow) Schedules() []model.RunEvery {
	return []model.RunEvery{model.RunWeekly, model.RunDaily, model.RunOnPush, model.RunNever}
}

// managedOf tells what is in force of projects.
func managedOf(ctx context.Context, req *ui.Request, tx *store.Tx, projects ...model.Project) ([]managedRow, error) {
	facts, err := tx.RunFactsOf(ctx, projects)
	rows := make([]managedRow, len(facts))
	for i, f := range facts {
		rows[i] = managedRow{f.Status(req.Clock()), f.Project}
	}
	return rows, err
}

// unmanaged lists the projects whose managed scans are wanted and not in force, as many as
// a card shows, and counts all.
func unmanaged(ctx context.Context, req *ui.Request, tx *store.Tx) (rows []managedRow, all int, err error) {
	projects, err := tx.ManagedProjects(ctx)
	if err != nil {
		return nil, 0, err
	}
	managed, err := managedOf(ctx, req, tx, projects...)
	for _, m := range managed {
		if m.Step() == "" {
			continue
		}
		if all++; len(rows) < topRows {
			rows = append(rows, m)
		}
	}
	return rows, all, err
}
