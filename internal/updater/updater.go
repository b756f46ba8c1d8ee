// Package updater loads advisories, EPSS scores and the KEV catalog, and then matches the findings
// of all deployments. It contains the commands about advisories and the jobs of a server.
package updater

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/redoubt/redoubt/internal/advisory"
	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/exceptions"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/purl"
	"github.com/redoubt/redoubt/internal/store"
)

// Command loads and shows advisories.
type Command struct {
	Update advisoriesUpdateCmd `cmd:"" help:"Load advisories, EPSS scores and the KEV catalog; update findings."`
	List   advisoriesListCmd   `cmd:"" help:"List advisories."`
	Show   advisoriesShowCmd   `cmd:"" help:"Show the severity, affected packages and fixes of a vulnerability."`
	Status advisoriesStatusCmd `cmd:"" help:"Show the sources and age of the advisories."`
	Impact advisoriesImpactCmd `cmd:"" help:"List projects affected by a vulnerability or using a package."`
}

// advisoriesActor is the actor of loads by the server and of matching.
var advisoriesActor = model.Actor{Kind: "system", Name: model.SourceAdvisories}

// followRefs updates the findings of refs to the current advisories; see ingest.FollowAll.
func followRefs(ctx context.Context, tx *store.Tx, advised []model.Advised, most int) ([]model.Followed, error) {
	return ingest.FollowAll(ctx, tx, exceptions.ForImport{Store: tx}, advised, tx.Now(), most)
}

// MatchDeployments matches all deployments with the advisories. It continues after a failed
// deployment.
func MatchDeployments(
	ctx context.Context, st *store.Store, library *advisory.Library, progress func(done, of int),
	report func(model.Deployment, advisory.SweepResult),
) error {
	ctx = store.Long(ctx) // requests have priority over this work
	all, err := st.Deployments(ctx)
	if err != nil {
		return err
	}
	sweep := advisory.Sweep[*store.Tx]{
		Store: st, Library: library, Progress: progress,
		Update: func(ctx context.Context, id int64, fn func(context.Context, *store.Tx) error) error {
			return st.Update(ctx, id, advisoriesActor, fn)
		},
		Follow: followRefs,
	}
	var failed []error
	for _, d := range all {
		swept, err := sweep.Deployment(ctx, d.ID)
		if err != nil {
			failed = append(
				failed, fmt.Errorf("deployment %s could not be matched with the advisories; retrying: %w", d.Slug, err),
			)
			continue
		}
		if report != nil {
			report(d, swept)
		}
	}
	return errors.Join(failed...)
}

type advisoriesListCmd struct {
	storageOnly
	Package string `help:"List only advisories for this package, such as npm/lodash." placeholder:"ECOSYSTEM/NAME"`
	After   int64  `help:"List only advisories after this number." placeholder:"N"`
	Limit   int    `help:"Maximum number of advisories." default:"100" placeholder:"N"`
}

// Run lists records in the order in which they were loaded.
func (c advisoriesListCmd) Run(a *command.App) error {
	return c.With(a, func(st *store.Store) error {
		key := ""
		if c.Package != "" {
			ecosystem, name, err := splitPackage(c.Package)
			if err != nil {
				return err
			}
			key = purl.Key(ecosystem, name)
		}
		list, err := st.Advisories(a.Ctx, key, c.After, c.Limit)
		if err != nil {
			return err
		}
		rows := make([][]string, len(list))
		for i, stored := range list {
			r, err := advisory.Decode(stored)
			if err != nil {
				return err
			}
			state := "-"
			if r.Withdrawn {
				state = "withdrawn"
			}
			v := advisory.Vulnerability{Records: []advisory.Record{r}, Malicious: r.Malicious}
			rows[i] = []string{
				fmt.Sprint(stored.ID), r.ID, command.Day(r.Modified),
				command.SeverityWord(v.Severity("").String(), !v.Rated("")), state, v.Summary(),
			}
		}
		return command.Table(a.Out, "NUMBER ID MODIFIED SEVERITY STATE SUMMARY", rows)
	})
}

type advisoriesStatusCmd struct{ storageOnly }

// Run prints the age of all sources, and warns of stale ones.
func (c advisoriesStatusCmd) Run(a *command.App) error {
	return c.With(a, func(st *store.Store) error {
		s, err := st.AdvisoryStatus(a.Ctx)
		if err != nil {
			return err
		}
		fmt.Fprintf(a.Out, "%d advisories (%d withdrawn) about %d packages, version %d, changed %s; %d EPSS scores; %d "+
			"known to be exploited\n\n",
			s.Records, s.Withdrawn, s.Packages, s.Version, command.Day(s.ChangedAt), s.Scores, s.Exploited)
		rows := make([][]string, len(s.Sources))
		for i, source := range s.Sources {
			rows[i] = []string{
				source.Kind, fmt.Sprint(source.Records), fmt.Sprint(source.Refused),
				command.Day(source.LoadedAt), command.Day(source.CheckedAt), ageOf(a.Clock(), source), source.Shown(),
			}
		}
		if err := command.Table(a.Out, "KIND RECORDS REFUSED LOADED CHECKED AGE LOCATION", rows); err != nil {
			return err
		}
		for _, source := range s.Sources {
			if source.Error != "" {
				fmt.Fprintf(a.Err, "warning: the last load of %s failed: %s\n", source.Shown(), source.Error)
			}
		}
		if age, known := age(a.Clock(), s.Sources); !known {
			fmt.Fprintln(a.Err, "warning: no advisories have been loaded: run redoubt advisories update")
		} else if age > advisory.StaleAfter {
			fmt.Fprintf(a.Err, "warning: the advisories are %s old: run redoubt advisories update, or serve with "+
				"--advisories-every\n", age.Round(time.Hour))
		}
		return nil
	})
}

// age returns the time since the advisories were last up to date: the check or load of the most
// recently checked source of records.
func age(now time.Time, sources []model.AdvisorySource) (time.Duration, bool) {
	var newest time.Time
	for _, s := range sources {
		if at := later(s.CheckedAt, s.LoadedAt); s.Kind == "osv" && at.After(newest) {
			newest = at
		}
	}
	return now.Sub(newest), !newest.IsZero()
}

func ageOf(now time.Time, s model.AdvisorySource) string {
	at := later(s.CheckedAt, s.LoadedAt)
	if at.IsZero() {
		return "-"
	}
	return now.Sub(at).Round(time.Minute).String()
}

func later(a, b time.Time) time.Time {
	if a.Before(b) {
		return b
	}
	return a
}
