package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

type runCmd struct {
	Start    runStartCmd    `cmd:"" help:"Have a project scanned now."`
	List     runListCmd     `cmd:"" help:"List managed runs, the newest first."`
	Log      runLogCmd      `cmd:"" help:"Print how a managed run stands, and its log."`
	Cancel   runCancelCmd   `cmd:"" help:"Stop a managed run."`
	Schedule runScheduleCmd `cmd:"" help:"Say when full scans of a project are made by themselves."`
	Runners  runRunnersCmd  `cmd:"" help:"List the runners that asked for work."`
}

type runStartCmd struct {
	tenant
	Project string `arg:"" help:"Name of the project, as acme/payments."`
	Ref     string `help:"Branch to scan; by default the project's primary branch." placeholder:"BRANCH"`
}

// Run queues a full run.
func (c runStartCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := projectNamed(ctx, tx, c.Project)
		if err != nil {
			return "", err
		}
		run, err := tx.FullRun(ctx, p, redoubt.RunByHand)
		if errors.Is(err, redoubt.ErrNotFound) {
			return "", fmt.Errorf("no connection to a code host has the repository of %s: make one, and take the repository", p.Name)
		}
		if err != nil {
			return "", err
		}
		if c.Ref != "" {
			run.Ref = redoubt.FullRef(c.Ref)
		}
		run, err = tx.QueueRun(ctx, run)
		return fmt.Sprintf("run %d of %s is %s", run.ID, p.Name, run.State), err
	})
}

type runListCmd struct {
	tenant
	Project string `help:"Only those of this project." placeholder:"NAME"`
	Limit   int    `help:"List at most this many." default:"50" placeholder:"N"`
}

// Run lists managed runs.
func (c runListCmd) Run(a *app) error {
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		q := store.RunQuery{Limit: c.Limit}
		if c.Project != "" {
			p, err := projectNamed(ctx, tx, c.Project)
			if err != nil {
				return err
			}
			q.ProjectID = p.ID
		}
		runs, err := tx.Runs(ctx, q)
		if err != nil {
			return err
		}
		ids := make([]int64, len(runs))
		for i, r := range runs {
			ids[i] = r.ProjectID
		}
		projects, err := tx.ProjectsByID(ctx, ids)
		if err != nil {
			return err
		}
		names := map[int64]string{}
		for _, p := range projects {
			names[p.ID] = p.Name
		}
		rows := make([][]string, len(runs))
		for i, r := range runs {
			rows[i] = []string{
				strconv.FormatInt(r.ID, 10), names[r.ProjectID], r.Kind.String(), r.Cause.String(), orDash(r.Ref), orDash(shortOf(r.Commit)), r.State.String(),
				strconv.Itoa(r.Attempt), day(r.CreatedAt), day(r.EndedAt), orDash(r.Reason),
			}
		}
		return table(a.out, "ID PROJECT KIND CAUSE REF COMMIT STATE ATTEMPT QUEUED ENDED REASON", rows)
	})
}

func shortOf(commit string) string { return commit[:min(len(commit), 12)] }

type runLogCmd struct {
	tenant
	ID int64 `arg:"" help:"Id of the run, as redoubt run list shows it."`
}

// Run prints a run and its log.
func (c runLogCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		r, err := tx.Run(ctx, c.ID)
		if errors.Is(err, redoubt.ErrNotFound) {
			return fmt.Errorf("there is no run %d; redoubt run list shows what there is", c.ID)
		}
		if err != nil {
			return err
		}
		log, err := tx.RunLog(ctx, c.ID, 0)
		if err != nil {
			return err
		}
		fmt.Fprintln(a.out, strings.TrimRight(fmt.Sprintf("run %d is %s, attempt %d: %s", r.ID, r.State, r.Attempt, r.Reason), ": "))
		_, err = a.out.Write(log)
		return err
	})
}

type runCancelCmd struct {
	tenant
	ID int64 `arg:"" help:"Id of the run, as redoubt run list shows it."`
}

// Run cancels a run; its runner stops within seconds.
func (c runCancelCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		return fmt.Sprintf("run %d is cancelled", c.ID), tx.CancelRun(ctx, c.ID, redoubt.RunStopped)
	})
}

type runScheduleCmd struct {
	tenant
	Project string `arg:"" help:"Name of the project, as acme/payments."`
	Every   string `arg:"" help:"weekly, daily, push (to the primary branch) or off." enum:"weekly,daily,push,off"`
}

// Run says when full scans are made, and switches them on or off.
func (c runScheduleCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		p, err := projectNamed(ctx, tx, c.Project)
		if err != nil {
			return "", err
		}
		every, _ := redoubt.ParseRunEvery(c.Every)
		if err := tx.PutRunPlan(ctx, redoubt.RunPlan{ProjectID: p.ID, Every: every, QueuedAt: tx.Now()}); err != nil {
			return "", err
		}
		_, err = tx.UpdateProject(ctx, p.ID, store.ProjectPatch{ManagedFull: new(every != redoubt.RunNever)})
		return fmt.Sprintf("full scans of %s: %s", p.Name, c.Every), err
	})
}

type runRunnersCmd struct{ tenant }

// Run lists the runners.
func (c runRunnersCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		runners, err := tx.Runners(ctx)
		if err != nil {
			return err
		}
		rows := make([][]string, len(runners))
		for i, r := range runners {
			rows[i] = []string{strconv.FormatInt(r.ID, 10), r.Name, orDash(strings.Join(r.Labels, ",")), r.Version, r.Isolation, day(r.SeenAt)}
		}
		return table(a.out, "ID NAME LABELS VERSION ISOLATION SEEN", rows)
	})
}
