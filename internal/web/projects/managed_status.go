package projects

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
	"github.com/redoubt/redoubt/internal/web/ui"
)

// managedRow is the state of a project's managed scans.
type managedRow struct {
	model.RunStatus
	Project model.Project
}

// standingLabels contains the display name and color class of each state.
var standingLabels = map[model.RunStanding][2]string{
	model.RunsOff: {"Off", "plain"}, model.RunsWithoutConnection: {"Not connected", "warn"},
	model.RunsWithoutRunner: {"No runner", "warn"},
	model.RunsScheduled:     {"On", "good"},
	model.RunsRunning:       {"Running", "accent"}, model.RunsFailing: {"Failing", "bad"},
}

// Word and Tone return the display name and color class of the state.
func (m managedRow) Word() string { return standingLabels[m.Standing][0] }
func (m managedRow) Tone() string { return standingLabels[m.Standing][1] }

// Step returns the page on which the problem can be fixed; empty if there is no problem.
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

// Schedules returns the available schedules.
func (m managedRow) Schedules() []model.RunEvery {
	return []model.RunEvery{model.RunWeekly, model.RunDaily, model.RunOnPush, model.RunNever}
}

// managedOf reads the state of managed scans of projects.
func managedOf(ctx context.Context, req *ui.Request, tx *store.Tx, projects ...model.Project) ([]managedRow, error) {
	facts, err := tx.RunFactsOf(ctx, projects)
	rows := make([]managedRow, len(facts))
	for i, f := range facts {
		rows[i] = managedRow{f.Status(req.Clock()), f.Project}
	}
	return rows, err
}

// unmanaged returns the projects whose managed scans are enabled but not working, at most topRows,
// and their total number.
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
