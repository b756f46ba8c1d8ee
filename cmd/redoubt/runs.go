package main

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
)

type runsCmd struct {
	List     runsListCmd     `cmd:"" default:"withargs" help:"List managed runs, the newest first."`
	Show     runsShowCmd     `cmd:"" help:"Show a managed run."`
	Start    runsStartCmd    `cmd:"" help:"Have a project scanned now."`
	Log      runsLogCmd      `cmd:"" help:"Print the log of a managed run."`
	Cancel   runsCancelCmd   `cmd:"" help:"Stop a managed run."`
	Retry    runsRetryCmd    `cmd:"" help:"Do again what a run did that ended."`
	Schedule runsScheduleCmd `cmd:"" help:"Say when full scans of a project are made by themselves."`
	Runners  runsRunnersCmd  `cmd:"" help:"List the runners that asked for work."`
}

const runHead = "ID PROJECT KIND CAUSE REF COMMIT STATE ATTEMPT QUEUED ENDED REASON"

func runRow(r api.Run) []string {
	ended := "-"
	if r.EndedAt != nil {
		ended = day(r.EndedAt.Time)
	}
	return []string{
		strconv.FormatInt(r.ID, 10), r.Project, r.Kind, r.Cause, orDash(r.Ref), orDash(shortOf(r.Commit)),
		r.State, strconv.FormatInt(r.Attempt, 10), day(r.CreatedAt.Time), ended, orDash(r.Reason),
	}
}

type runsListCmd struct {
	webAPI
	Project string   `help:"Only those of this project." placeholder:"NAME"`
	State   []string `help:"Only those in this state: queued, leased, fetching, scanning, uploading, done, failed, cancelled, superseded or timed_out. May be repeated." enum:"queued,leased,fetching,scanning,uploading,done,failed,cancelled,superseded,timed_out" placeholder:"STATE"`
	cut
}

// Run lists managed runs.
func (c runsListCmd) Run(a *app) error {
	if err := c.check(); err != nil {
		return err
	}
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	items := itemsOf(client.Runs(a.ctx, deployment, api.RunsQuery{
		Project: c.Project,
		State:   c.State,
		Limit:   c.page(c.Output, 1, 500),
	}), runRow)
	return c.list(a, c.cut, runHead, items, nil)
}

// printRun prints one, as it is now.
func printRun(a *app, w webAPI, r *api.RunResponse, err error) error {
	if err != nil {
		return unknownAt(err, "run", "redoubt runs list")
	}
	return w.print(a, runHead, [][]string{runRow(r.Run)}, r.Run)
}

type runsStartCmd struct {
	webAPI
	Project string `arg:"" help:"Name of the project, as acme/payments."`
	Ref     string `help:"Branch to scan; by default the project's primary branch." placeholder:"BRANCH"`
	Wait    bool   `help:"Print the log on standard error as it comes, and wait for the end: 0 where it is done, 1 else."`
}

// Run queues a full run.
func (c runsStartCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	begun, err := client.StartRun(a.ctx, deployment, api.StartRunRequest{Project: c.Project, Ref: c.Ref})
	if err != nil || !c.Wait {
		return printRun(a, c.webAPI, begun, unknownAt(err, "project", "redoubt projects list"))
	}
	ended, err := runLog(a, client, deployment, begun.Run.ID, true, a.err)
	if err := printRun(a, c.webAPI, &api.RunResponse{Run: ended}, err); err != nil || ended.State == "done" {
		return err
	}
	return &exitError{code: 1}
}

// ofRun is a command about one run.
type ofRun struct {
	webAPI
	ID int64 `arg:"" help:"Id of the run, as redoubt runs list shows it."`
}

type runsShowCmd struct{ ofRun }

// Run shows a run.
func (c runsShowCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	found, err := client.GetRun(a.ctx, deployment, c.ID)
	return printRun(a, c.webAPI, found, err)
}

type runsLogCmd struct {
	ofRun
	Follow bool `short:"f" help:"Go on until the run has ended."`
}

// Run prints the log: as json with the run.
func (c runsLogCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	var text strings.Builder
	out := exact(a.out)
	if c.Output != "table" {
		out = &text
	}
	run, err := runLog(a, client, deployment, c.ID, c.Follow, out)
	if err != nil || c.Output == "table" {
		return unknownAt(err, "run", "redoubt runs list")
	}
	return c.print(a, "ID STATE LOG", [][]string{{strconv.FormatInt(run.ID, 10), run.State, text.String()}}, struct {
		Run api.Run `json:"run"`
		Log string  `json:"log"`
	}{run, text.String()})
}

func shortOf(commit string) string { return commit[:min(len(commit), 12)] }

// runLook is how often a run is asked for that has not ended.
const runLook = time.Second

// runLog writes the log of a run as far as it is, or follows it until the run has ended, and
// returns the run as it is then. Each attempt has a log of its own.
func runLog(a *app, client *api.Client, deployment string, id int64, follow bool, to io.Writer) (api.Run, error) {
	for at, attempt := int64(0), int64(0); ; {
		piece, err := client.GetRunLog(a.ctx, deployment, id, api.RunLogQuery{Offset: at})
		if err != nil {
			return api.Run{}, err
		}
		if before := attempt; before != piece.Run.Attempt {
			if attempt = piece.Run.Attempt; before > 0 {
				at = 0
				fmt.Fprintf(to, "attempt %d\n", attempt)
				continue
			}
		}
		if _, err := io.WriteString(to, piece.Text); err != nil {
			return piece.Run, err
		}
		more := piece.NextOffset > at
		at = piece.NextOffset
		switch {
		case more:
			continue
		case !follow || piece.Ended:
			return piece.Run, nil
		}
		select {
		case <-a.ctx.Done():
			return piece.Run, a.ctx.Err()
		case <-time.After(runLook):
		}
	}
}

type runsCancelCmd struct{ ofRun }

// Run cancels a run; its runner stops within seconds.
func (c runsCancelCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	ended, err := client.CancelRun(a.ctx, deployment, c.ID)
	return printRun(a, c.webAPI, ended, err)
}

type runsRetryCmd struct{ ofRun }

// Run queues anew what a run did.
func (c runsRetryCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	queued, err := client.RetryRun(a.ctx, deployment, c.ID)
	return printRun(a, c.webAPI, queued, err)
}

type runsScheduleCmd struct {
	webAPI
	Project string `arg:"" help:"Name of the project, as acme/payments."`
	Every   string `arg:"" optional:"" help:"weekly, daily, push (to the primary branch) or off. Absent, it is told." enum:",weekly,daily,push,off" default:""`
	Diff    string `help:"Whether change requests are scanned: on or off. Absent, it stays." enum:",on,off" default:"" placeholder:"on|off"`
}

// Run says when full scans are made, and switches them on or off; it prints what is in force.
func (c runsScheduleCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	p, err := findProject(a, client, deployment, c.Project)
	if err != nil {
		return err
	}
	if c.Every != "" || c.Diff != "" {
		r := api.ToggleManagedScanRequest{Schedule: c.Every}
		if c.Every != "" {
			r.FullScan = &api.Switch{Enabled: new(c.Every != "off")}
		}
		if c.Diff != "" {
			r.DiffScan = &api.Switch{Enabled: new(c.Diff == "on")}
		}
		now, err := client.ToggleManagedScan(a.ctx, deployment, p.Name, r)
		if err != nil {
			return err
		}
		p = &now.Project
	}
	s := p.ManagedScanStatus
	if s == nil {
		return errors.New("the server returns no state of managed scans: it is older than this program")
	}
	next := "-"
	if s.NextAt != nil {
		next = day(s.NextAt.Time)
	}
	return c.print(a, "PROJECT SCHEDULE STATE NEXT REASON", [][]string{
		{p.Name, cmp.Or(s.Schedule, "-"), s.State, next, orDash(s.Reason)},
	}, s)
}

type runsRunnersCmd struct{ webAPI }

// Run lists the runners.
func (c runsRunnersCmd) Run(a *app) error {
	client, deployment, err := c.connect(a)
	if err != nil {
		return err
	}
	list, err := client.ListRunners(a.ctx, deployment)
	if err != nil {
		return err
	}
	rows := [][]string{}
	for _, r := range list.Runners {
		work := "-"
		if r.RunID != nil {
			work = fmt.Sprint(*r.RunID)
		}
		rows = append(rows, []string{
			strconv.FormatInt(r.ID, 10), r.Name, orDash(strings.Join(r.Labels, ",")),
			r.Version, r.Isolation, day(r.LastSeenAt.Time), work,
		})
	}
	return c.print(a, "ID NAME LABELS VERSION ISOLATION SEEN RUN", rows, list.Runners)
}
