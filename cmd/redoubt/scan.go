package main

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/store"
)

type scanCmd struct {
	Failures scanFailuresCmd `cmd:"" help:"List failed runs of scanners, which a build may have hidden."`
}

type scanFailuresCmd struct {
	tenant
	Limit int `help:"List at most this many, the newest first." default:"50" placeholder:"N"`
}

// Run lists failed runs: those of the deployment, and those that no token tells
// the deployment of, for whoever reads this runs the server.
func (c scanFailuresCmd) Run(a *app) error {
	if c.Limit < 1 {
		return errors.New("--limit must be 1 or more")
	}
	st, d, err := c.use(a)
	if err != nil {
		return err
	}
	list, err := st.UnattributedAttempts(a.ctx, c.Limit)
	if err == nil {
		err = st.View(a.ctx, d.ID, func(ctx context.Context, tx *store.Tx) error {
			own, err := tx.FailedAttempts(ctx, c.Limit)
			list = append(list, own...)
			return err
		})
	}
	if err != nil {
		return errors.Join(err, st.Close())
	}
	slices.SortStableFunc(list, func(a, b redoubt.FailedAttempt) int { return b.At.Compare(a.At) })
	rows := [][]string{}
	for _, f := range list[:min(len(list), c.Limit)] {
		rows = append(rows, failureRow(f, d))
	}
	return errors.Join(table(a.out, "AT DEPLOYMENT STEP EXIT SCAN PROJECT REF TOKEN ADDRESS CLIENT CAUSE", rows), st.Close())
}

func failureRow(f redoubt.FailedAttempt, d redoubt.Deployment) []string {
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
		day(f.At), deployment, string(f.Step), number(int64(f.ExitCode)), number(f.ScanID), cmp.Or(f.Repository, "-"),
		cmp.Or(strings.TrimPrefix(f.Ref, "refs/heads/"), "-"), cmp.Or(f.TokenID, "-"), cmp.Or(f.Address, "-"), cmp.Or(f.Agent, "-"), f.Cause,
	}
}
