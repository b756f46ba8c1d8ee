package cli

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt/api"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/cli/webapi"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// ScansCmd lists scans.
type ScansCmd struct {
	List     scansListCmd     `cmd:"" default:"withargs" help:"List scans, newest first."`
	Show     scansShowCmd     `cmd:"" help:"Show a scan."`
	Failures ScansFailuresCmd `cmd:"" help:"List failed scanner runs; requires the database."`
}

type scansListCmd struct {
	webapi.Flags
	Project string `help:"List only scans of this project." placeholder:"NAME"`
	Ref     string `help:"List only scans of this branch or other ref." placeholder:"REF"`
	Failed  bool   `help:"List only failed or unfinished scans."`
	webapi.Cut
}

// Run lists scans, newest first.
func (c scansListCmd) Run(a *command.App) error {
	if err := c.Check(); err != nil {
		return err
	}
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	search := api.SearchScansRequest{Branch: c.Ref, Limit: c.Page(c.Output, 1, 500)}
	if c.Failed {
		search.Statuses = []api.ScanStatus{"SCAN_STATUS_ERROR", "SCAN_STATUS_NEVER_FINISHED"}
	}
	names, err := projectNames(a, client, deployment)
	if err != nil {
		return err
	}
	if c.Project != "" {
		p, err := findProject(a, client, deployment, c.Project)
		if err != nil {
			return err
		}
		search.RepositoryID = api.Int(p.ID)
	}
	items := itemsOf(client.Scans(a.Ctx, deployment, search), func(s api.Scan) []string {
		return []string{
			s.ID, command.Day(s.StartedAt.Time), lowerAfter("SCAN_STATUS_", s.Status),
			names[s.RepositoryID], shortBranch(s.Branch),
			strings.Join(s.EnabledProducts, ","), strconv.FormatInt(s.FindingsCounts.Total, 10),
		}
	})
	return c.List(a, c.Cut, "ID STARTED STATUS PROJECT REF PRODUCTS FINDINGS", items, nil)
}

// projectNames maps project ids in scans to names.
func projectNames(a *command.App, client *api.Client, deployment string) (map[string]string, error) {
	names := map[string]string{}
	for p, err := range allProjects(a, client, deployment) {
		if err != nil {
			return nil, err
		}
		names[strconv.FormatInt(p.ID, 10)] = p.Name
	}
	return names, nil
}

type scansShowCmd struct {
	webapi.Flags
	ID int64 `arg:"" help:"Id of the scan (see redoubt scans list)."`
}

// Run shows one scan, one property per row.
func (c scansShowCmd) Run(a *command.App) error {
	client, deployment, err := c.Connect(a)
	if err != nil {
		return err
	}
	s, err := client.GetScan(a.Ctx, deployment, c.ID)
	if err != nil {
		return unknownAt(err, "scan", "redoubt scans list")
	}
	completed, exit := "-", "-"
	if s.CompletedAt != nil {
		completed = command.Day(s.CompletedAt.Time)
	}
	if s.ExitCode != nil {
		exit = strconv.FormatInt(*s.ExitCode, 10)
	}
	return c.Print(a, "WHAT VALUE", [][]string{
		{"scan", strconv.FormatInt(s.ID, 10)},
		{"status", lowerAfter("SCAN_STATUS_", s.Status)},
		{"project", s.Meta.Repository},
		{"ref", shortBranch(s.Meta.Branch)},
		{"commit", command.OrDash(s.Meta.Commit)},
		{"started", command.Day(s.StartedAt.Time)},
		{"completed", completed},
		{"exit", exit},
		{"products", command.OrDash(strings.Join(s.EnabledProducts, ","))},
		{"findings", strconv.FormatInt(s.Stats.Findings, 10)},
	}, s)
}

// ScansFailuresCmd lists failed scans.
type ScansFailuresCmd struct {
	command.Tenant
	Limit int `help:"Maximum number of runs, newest first." default:"50" placeholder:"N"`
}

// Run lists failed runs of the deployment, and failed runs without a known token. Only operators of
// the server can run this command, so both are shown.
func (c ScansFailuresCmd) Run(a *command.App) error {
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	st, d, err := c.Use(a)
	if err != nil {
		return err
	}
	list, err := st.UnattributedAttempts(a.Ctx, c.Limit)
	if err == nil {
		err = st.View(a.Ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
			own, err := tx.FailedAttempts(ctx, c.Limit)
			list = append(list, own...)
			return err
		})
	}
	if err != nil {
		return errors.Join(err, st.Close())
	}
	slices.SortStableFunc(list, func(a, b model.FailedAttempt) int { return b.At.Compare(a.At) })
	rows := [][]string{}
	for _, f := range list[:min(len(list), c.Limit)] {
		rows = append(rows, failureRow(f, d))
	}
	return errors.Join(
		command.Table(a.Out, "AT DEPLOYMENT STEP EXIT SCAN PROJECT REF TOKEN ADDRESS CLIENT CAUSE", rows), st.Close(),
	)
}

func failureRow(f model.FailedAttempt, d model.Deployment) []string {
	deployment := "-"
	if f.DeploymentID != 0 {
		deployment = d.Slug
	}
	number := func(n int64) string {
		if n == 0 {
			return "-"
		}
		return strconv.FormatInt(n, 10)
	}
	return []string{
		command.Day(f.At), deployment, string(f.Step), number(int64(f.ExitCode)), number(f.ScanID), cmp.Or(f.Repository, "-"),
		cmp.Or(strings.TrimPrefix(f.Ref, "refs/heads/"), "-"),
		cmp.Or(f.TokenID, "-"), cmp.Or(f.Address, "-"), cmp.Or(f.Agent, "-"), f.Cause,
	}
}
