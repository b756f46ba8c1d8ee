package main

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/store"
)

type exceptionCmd struct {
	Add    exceptionAddCmd    `cmd:"" help:"Ignore what a rule or a vulnerability finds, now and later, until a day."`
	List   exceptionListCmd   `cmd:"" help:"List the exceptions, how many findings each ignores, and until when."`
	Remove exceptionRemoveCmd `cmd:"" help:"Remove an exception, and reopen what it ignored."`
}

type exceptionAddCmd struct {
	tenant
	Target       string   `arg:"" help:"A rule, by its name, or a vulnerability, by its CVE, GHSA or other id."`
	Reason       string   `help:"Why that is accepted, for those who ask later." required:"" placeholder:"TEXT"`
	Until        string   `help:"The last day of it, in UTC, as 2027-01-31; or an instant, as 2027-01-31T12:00:00Z." placeholder:"DAY"`
	Forever      bool     `help:"It never expires."`
	Path         []string `help:"Only findings on paths, or in lockfiles, that fit, as in .gitignore. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
	Project      []string `help:"Only in projects whose name matches: * for anything but /, ** for anything. May be repeated: one of them is enough." sep:"none" placeholder:"GLOB"`
	TriageReason string   `help:"The reason that findings show: acceptable_risk, false_positive, no_time or no_triage_reason." enum:"acceptable_risk,false_positive,no_time,no_triage_reason" default:"acceptable_risk" placeholder:"REASON"`
}

// Run makes the exception, which ignores what is there at once.
func (c exceptionAddCmd) Run(a *app) error {
	e := redoubt.Exception{Target: c.Target, Paths: c.Path, Projects: c.Project, Reason: c.Reason}
	e.TriageReason, _ = redoubt.ParseTriageReason(c.TriageReason)
	var err error
	switch {
	case c.Forever == (c.Until != ""):
		return errors.New("say until when, with --until DAY, or --forever")
	case c.Until != "":
		if e.Until, err = redoubt.ParseUntil(c.Until); err != nil {
			return fmt.Errorf("--until %w", err)
		}
	}
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		e, changed, err := exceptions.Add(ctx, tx, e)
		return fmt.Sprintf("exception %d: %s is accepted in %s until %s; %s", e.ID, e.Target, e.Where(), e.UntilText(), decided(len(changed))), err
	})
}

// decided says how many findings an exception changed.
func decided(n int) string {
	if n == 1 {
		return "the triage of 1 finding changed"
	}
	return fmt.Sprintf("the triage of %d findings changed", n)
}

type exceptionListCmd struct {
	tenant
	listed
}

// Run lists the exceptions.
func (c exceptionListCmd) Run(a *app) error {
	return c.view(a, func(ctx context.Context, tx *store.Tx) error {
		list, more, err := tx.ExceptionPage(ctx, store.ExceptionQuery{State: redoubt.ExceptionActive, Limit: c.Limit})
		if err != nil {
			return err
		}
		ids := make([]int64, len(list))
		for i := range list {
			ids[i] = list[i].ID
		}
		ignored, err := tx.CountByException(ctx, ids...)
		if err != nil {
			return err
		}
		rows := make([][]string, len(list))
		for i, e := range list {
			until := e.UntilText()
			if !e.Active(a.clock()) {
				until += " (expired)"
			}
			rows[i] = []string{strconv.FormatInt(e.ID, 10), e.Target, e.Where(), until, strconv.Itoa(ignored[e.ID]), e.CreatedBy.String(), e.Reason}
		}
		return c.table(a, "ID TARGET WHERE UNTIL IGNORES BY REASON", rows, more)
	})
}

type exceptionRemoveCmd struct {
	tenant
	ID int64 `arg:"" help:"The exception, by its id."`
}

// Run ends the exception.
func (c exceptionRemoveCmd) Run(a *app) error {
	return c.update(a, func(ctx context.Context, tx *store.Tx) (string, error) {
		e, changed, err := exceptions.Remove(ctx, tx, c.ID)
		if errors.Is(err, redoubt.ErrNotFound) {
			return "", fmt.Errorf("there is no exception %d; redoubt exception list shows what there is", c.ID)
		}
		return fmt.Sprintf("exception %d is removed: %s is no longer accepted in %s; %s", e.ID, e.Target, e.Where(), decided(len(changed))), err
	})
}
