package cli

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"time"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
)

// RunsCmd manages managed scans.
type RunsCmd struct {
	List     runsListCmd     `cmd:"" default:"withargs" help:"List managed runs, newest first."`
	Show     runsShowCmd     `cmd:"" help:"Show a managed run."`
	Start    runsStartCmd    `cmd:"" help:"Scan a project now."`
	Log      runsLogCmd      `cmd:"" help:"Print the log of a managed run."`
	Cancel   runsCancelCmd   `cmd:"" help:"Stop a managed run."`
	Retry    runsRetryCmd    `cmd:"" help:"Retry a finished run."`
	Schedule runsScheduleCmd `cmd:"" help:"Show or set the scan schedule of a project."`
	Runners  runsRunnersCmd  `cmd:"" help:"List runners."`
}

const runHead = "ID PROJECT KIND CAUSE REF COMMIT STATE ATTEMPT QUEUED ENDED REASON"

func runRow(r api.Run) []string {
	ended := "-"
	if r.EndedAt != nil {
		ended = command.Day(r.EndedAt.Time)
	}
	return []string{
		strconv.FormatInt(r.ID, 10), r.Project, r.Kind, r.Cause, command.OrDash(r.Ref), command.OrDash(shortOf(r.Commit)),
		r.State, strconv.FormatInt(r.Attempt, 10), command.Day(r.CreatedAt.Time), ended, command.OrDash(r.Reason),
	}
}

type runsListCmd struct {
	webapi.Flags
	Project string   `help:"List only runs of this project." placeholder:"NAME"`
	State   []string `help:"List only runs in this state: queued, leased, fetching, scanning, uploading, done, failed, cancelled, superseded or timed_out; repeatable." enum:"queued,leased,fetching,scanning,uploading,done,failed,cancelled,superseded,timed_out" placeholder:"STATE"`
	webapi.Cut
}

// Run lists managed runs.
func (c runsListCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	items := itemsOf(client.Runs(a.Ctx, deployment, api.RunsQuery{
		Project: c.Project,
		State:   c.State,
		Limit:   c.Page(c.Output, 1, 500),
	}), runRow)
	return c.List(a, c.Cut, runHead, items, nil)
}

// printRun prints a run.
func printRun(a *command.App, w webapi.Flags, r *api.RunResponse, err error) error {
	if err != nil {
		return unknownAt(err, "run", "redoubt runs list")
	}
	return w.Print(a, runHead, [][]string{runRow(r.Run)}, r.Run)
}

type runsStartCmd struct {
	webapi.Flags
	Project string `arg:"" help:"Name of the project, such as acme/payments."`
	Ref     string `help:"Branch to scan (default: the primary branch)." placeholder:"BRANCH"`
	Wait    bool   `help:"Stream the log to standard error and wait. Exit codes: 0 done, 1 otherwise."`
}

// Run queues a full run.
func (c runsStartCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	begun, err := client.StartRun(a.Ctx, deployment, api.StartRunRequest{Project: c.Project, Ref: c.Ref})
	if err != nil || !c.Wait {
		return printRun(a, c.Flags, begun, unknownAt(err, "project", "redoubt projects list"))
	}
	ended, err := runLog(a, client, deployment, begun.Run.ID, true, a.Err)
	if err := printRun(a, c.Flags, &api.RunResponse{Run: ended}, err); err != nil || ended.State == "done" {
		return err
	}
	return &command.ExitError{Code: 1}
}

// ofRun is a command about one run.
type ofRun struct {
	webapi.Flags
	ID int64 `arg:"" help:"Id of the run (see redoubt runs list)."`
}

type runsShowCmd struct{ ofRun }

// Run shows a run.
func (c runsShowCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	found, err := client.GetRun(a.Ctx, deployment, c.ID)
	return printRun(a, c.Flags, found, err)
}

type runsLogCmd struct {
	ofRun
	Follow bool `short:"f" help:"Follow the log until the run ends."`
}

// Run prints the log. JSON output includes the run.
func (c runsLogCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	var text strings.Builder
	out := command.Exact(a.Out)
	if c.Output != "table" {
		out = &text
	}
	run, err := runLog(a, client, deployment, c.ID, c.Follow, out)
	if err != nil || c.Output == "table" {
		return unknownAt(err, "run", "redoubt runs list")
	}
	return c.Print(a, "ID STATE LOG", [][]string{{strconv.FormatInt(run.ID, 10), run.State, text.String()}}, struct {
		Run api.Run `json:"run"`
		Log string  `json:"log"`
	}{run, text.String()})
}

func shortOf(commit string) string { return commit[:min(len(commit), 12)] }

// runPollInterval is the interval between requests for a run that has not ended.
const runPollInterval = time.Second

// runLog writes the current log of a run, or follows it until the run has ended, and returns the
// final run. Each attempt has a separate log.
func runLog(
	a *command.App, client *api.Client, deployment string, id int64, follow bool, to io.Writer,
) (api.Run, error) {
	for at, attempt := int64(0), int64(0); ; {
		piece, err := client.GetRunLog(a.Ctx, deployment, id, api.RunLogQuery{Offset: at})
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
		case <-a.Ctx.Done():
			return piece.Run, a.Ctx.Err()
		case <-time.After(runPollInterval):
		}
	}
}

type runsCancelCmd struct{ ofRun }

// Run cancels a run; its runner stops within seconds.
func (c runsCancelCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	ended, err := client.CancelRun(a.Ctx, deployment, c.ID)
	return printRun(a, c.Flags, ended, err)
}

type runsRetryCmd struct{ ofRun }

// Run queues a new run with the same parameters.
func (c runsRetryCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	queued, err := client.RetryRun(a.Ctx, deployment, c.ID)
	return printRun(a, c.Flags, queued, err)
}

type runsScheduleCmd struct {
	webapi.Flags
	Project string `arg:"" help:"Name of the project, such as acme/payments."`
	Every   string `arg:"" optional:"" help:"Schedule: weekly, daily, push (to the primary branch) or off; omit it to show the schedule." enum:",weekly,daily,push,off" default:""`
	Diff    string `help:"Scan change requests: on or off (default: unchanged)." enum:",on,off" default:"" placeholder:"on|off"`
}

// Run changes the schedule of full scans and prints it.
func (c runsScheduleCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
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
		now, err := client.ToggleManagedScan(a.Ctx, deployment, p.Name, r)
		if err != nil {
			return err
		}
		p = &now.Project
	}
	s := p.ManagedScanStatus
	if s == nil {
		return errors.New("the server does not return the state of managed scans: update the server")
	}
	next := "-"
	if s.NextAt != nil {
		next = command.Day(s.NextAt.Time)
	}
	return c.Print(a, "PROJECT SCHEDULE STATE NEXT REASON", [][]string{
		{p.Name, cmp.Or(s.Schedule, "-"), s.State, next, command.OrDash(s.Reason)},
	}, s)
}

type runsRunnersCmd struct{ webapi.Flags }

// Run lists the runners.
func (c runsRunnersCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	list, err := client.ListRunners(a.Ctx, deployment)
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
			strconv.FormatInt(r.ID, 10), r.Name, command.OrDash(strings.Join(r.Labels, ",")),
			r.Version, r.Isolation, command.Day(r.LastSeenAt.Time), work,
		})
	}
	return c.Print(a, "ID NAME LABELS VERSION ISOLATION SEEN RUN", rows, list.Runners)
}
