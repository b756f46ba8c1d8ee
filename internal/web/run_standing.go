package web

import (
	"context"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

// managedRow is what is in force of a project's managed scans, as pages show it.
type managedRow struct {
	redoubt.RunStatus
	Project redoubt.Project
}

// standingWords are standings as people call them, with their tone.
var standingWords = map[redoubt.RunStanding][2]string{
	redoubt.RunsOff: {"Off", "plain"}, redoubt.RunsWithoutConnection: {"Not connected", "warn"}, redoubt.RunsWithoutRunner: {"No runner", "warn"},
	redoubt.RunsScheduled: {"On", "good"}, redoubt.RunsRunning: {"Running", "accent"}, redoubt.RunsFailing: {"Failing", "bad"},
}

// Word and Tone are the standing as the page shows it.
func (m managedRow) Word() string { return standingWords[m.Standing][0] }
func (m managedRow) Tone() string { return standingWords[m.Standing][1] }

// Step is the page below the deployment where what is wrong is mended; empty: nothing is.
func (m managedRow) Step() string {
	switch m.Standing {
	case redoubt.RunsWithoutConnection:
		return "/settings/connections"
	case redoubt.RunsWithoutRunner:
		return "/settings/runners"
	case redoubt.RunsFailing:
		if m.LastRun != 0 {
			return "/runs/" + decimal(m.LastRun)
		}
		return "/settings/connections"
	case redoubt.RunsOff, redoubt.RunsScheduled, redoubt.RunsRunning:
	}
	return ""
}

// Schedules are what a project can be scanned by.
func (m managedRow) Schedules() []redoubt.RunEvery {
	return []redoubt.RunEvery{redoubt.RunWeekly, redoubt.RunDaily, redoubt.RunOnPush, redoubt.RunNever}
}

// managedOf tells what is in force of projects.
func (req *request) managedOf(ctx context.Context, tx *store.Tx, projects ...redoubt.Project) ([]managedRow, error) {
	facts, err := tx.RunFactsOf(ctx, projects)
	rows := make([]managedRow, len(facts))
	for i, f := range facts {
		rows[i] = managedRow{f.Status(req.Clock()), f.Project}
	}
	return rows, err
}

// unmanaged lists the projects whose managed scans are wanted and not in force, as many as
// a card shows, and counts all.
func (req *request) unmanaged(ctx context.Context, tx *store.Tx) (rows []managedRow, all int, err error) {
	projects, err := tx.ManagedProjects(ctx)
	if err != nil {
		return nil, 0, err
	}
	managed, err := req.managedOf(ctx, tx, projects...)
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
