package admin

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/index"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store"
)

// CheckCmd checks the stored data.
type CheckCmd struct {
	config.Storage
	JSON bool `name:"json" help:"Print one JSON document."`
}

// checked is a check with its results.
type checked struct {
	Deployment string   `json:"deployment,omitempty"` // slug; empty for checks of the whole database
	Check      string   `json:"check"`
	Faults     []string `json:"faults"`
}

// CheckReport collects the results of checks and prints them as they arrive.
type CheckReport struct {
	app    *command.App
	silent bool      // for JSON, which is printed at the end
	Intact bool      `json:"whole"`
	Checks []checked `json:"checks"`
}

// NewCheckReport returns a report that prints added results unless it is silent.
func NewCheckReport(a *command.App, silent bool) *CheckReport {
	return &CheckReport{app: a, silent: silent, Intact: true}
}

// Add records the results of a check.
func (r *CheckReport) Add(deployment, check string, faults []string) {
	if faults == nil {
		faults = []string{}
	}
	r.Checks = append(r.Checks, checked{deployment, check, faults})
	r.Intact = r.Intact && len(faults) == 0
	if r.silent {
		return
	}
	name := check
	if deployment != "" {
		name = deployment + ": " + check
	}
	if len(faults) == 0 {
		fmt.Fprintln(r.app.Out, "ok    ", name)
		return
	}
	fmt.Fprintln(r.app.Out, "FAULT ", name)
	for _, f := range faults {
		fmt.Fprintln(r.app.Out, "       ", f)
	}
}

// Exit codes of redoubt check.
const (
	exitFaults    = 1 // the stored data has faults
	exitUnchecked = 2 // some checks could not run, and the others found no faults
)

// Run checks the stored data. It exits with exitFaults if there are faults, and otherwise with
// exitUnchecked if some checks could not run.
func (c CheckCmd) Run(a *command.App) error {
	report := NewCheckReport(a, c.JSON)
	err := c.Check(a, report)
	if errors.Is(err, model.ErrDamaged) {
		report.Add("", "database", []string{err.Error()})
		err = nil
	}
	if c.JSON {
		enc := json.NewEncoder(a.Out)
		enc.SetIndent("", "  ")
		err = errors.Join(err, enc.Encode(report))
	}
	if err != nil {
		fmt.Fprintln(a.Err, "redoubt: some checks could not run:", err)
	}
	switch {
	case report.Intact && err != nil:
		return &command.ExitError{Code: exitUnchecked}
	case report.Intact:
		return nil
	}
	fmt.Fprintln(
		a.Err, "redoubt: the stored data is damaged: stop the server, copy the current data, and restore a backup",
	)
	return &command.ExitError{Code: exitFaults}
}

// Check adds the faults in the stored data to a report.
func (c CheckCmd) Check(a *command.App, report *CheckReport) error {
	st, err := a.Open(c.Storage)
	if err != nil {
		return err
	}
	err = st.CheckEngine(a.Ctx, func(check string, faults []string) { report.Add("", check, faults) })
	if err == nil {
		err = CheckDeployments(a, st, report)
	}
	return errors.Join(err, st.Close())
}

// CheckDeployments checks all deployments. If one cannot be checked, it continues with the next.
func CheckDeployments(a *command.App, st *store.Store, report *CheckReport) error {
	all, err := st.Deployments(a.Ctx)
	if err != nil {
		return err
	}
	var unchecked []error
	findings := index.New(st, index.Options{Clock: a.Clock})
	for _, d := range all {
		addFaults := func(check string, faults []string) { report.Add(d.Slug, check, faults) }
		err := st.View(a.Ctx, d.ID, func(ctx context.Context, tx *store.Tx) error { return tx.CheckRows(ctx, addFaults) })
		if err == nil {
			err = checkIndex(a, st, findings, d, addFaults)
		}
		findings.Drop(d.ID)
		if errors.Is(err, model.ErrDamaged) {
			addFaults(listedFindings, []string{err.Error()})
			err = nil
		}
		if err != nil {
			unchecked = append(unchecked, fmt.Errorf("check deployment %s: %w", d.Slug, err))
		}
		if a.Ctx.Err() != nil {
			break
		}
	}
	return errors.Join(unchecked...)
}

// listedFindings is the name of the check by checkIndex.
const listedFindings = "listed findings"

// checkIndex compares the counts of the index with those of the store, by project, product and
// status. It repeats the count if the data changed in between.
func checkIndex(
	a *command.App, st *store.Store, findings *index.Index, d model.Deployment, tell func(string, []string),
) error {
	for range checkTries {
		var stored map[store.FindingCount]int
		var version int64
		err := st.View(a.Ctx, d.ID, func(ctx context.Context, tx *store.Tx) (err error) {
			version = tx.Version()
			stored, err = tx.CountFindings(ctx)
			return err
		})
		if err != nil {
			return err
		}
		view, err := findings.Deployment(a.Ctx, d.ID)
		if isOfRows(a.Ctx, err) {
			tell(listedFindings, []string{"findings cannot be listed: " + err.Error()})
			return nil
		}
		if err != nil {
			return err
		}
		faults := compareCounts(view, stored)
		now, err := st.Version(a.Ctx, d.ID)
		if err != nil {
			return err
		}
		if now == version {
			tell(listedFindings, faults)
			return nil
		}
	}
	return errors.New("findings changed during each count: run the check again during fewer uploads, or " +
		"stop the server first")
}

// isOfRows reports whether an error is caused by the stored data instead of reading it.
func isOfRows(ctx context.Context, err error) bool {
	return err != nil && ctx.Err() == nil && !errors.Is(err, model.ErrUnavailable) && !errors.Is(err, model.ErrNotFound)
}

// checkTries is the maximum number of counts until one is consistent.
const checkTries = 20

func compareCounts(view *index.View, stored map[store.FindingCount]int) (faults []string) {
	all, listed := map[model.IssueType]int{}, map[model.IssueType]int{}
	for c, n := range stored {
		if c.Status == 0 {
			continue // lists omit removed findings
		}
		got := view.Count(model.FindingFilter{
			IssueType:  c.IssueType,
			ProjectIDs: []int64{c.ProjectID},
			Statuses:   []model.Status{c.Status},
		})
		if got != n {
			faults = append(faults, fmt.Sprintf("project %d: %d %s findings with status %s are stored, %d are listed",
				c.ProjectID, n, c.IssueType, c.Status, got))
		}
		all[c.IssueType] += n
	}
	statuses := []model.Status{
		model.StatusOpen, model.StatusFixed, model.StatusIgnored, model.StatusReviewing, model.StatusFixing,
	}
	for t := model.SAST; t <= model.Secrets; t++ {
		if listed[t] = view.Count(model.FindingFilter{IssueType: t, Statuses: statuses}); listed[t] != all[t] {
			faults = append(faults, fmt.Sprintf("%d %s findings are stored, %d are listed", all[t], t, listed[t]))
		}
	}
	return faults
}
