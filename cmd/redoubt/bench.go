package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/redoubt/redoubt"
	"github.com/redoubt/redoubt/internal/config"
	"github.com/redoubt/redoubt/internal/exemption"
	"github.com/redoubt/redoubt/internal/ingest"
	"github.com/redoubt/redoubt/internal/report"
	"github.com/redoubt/redoubt/internal/store"
)

type benchCmd struct {
	Ingest benchIngestCmd `cmd:"" help:"Measure how many findings per second this machine stores."`
}

type benchIngestCmd struct {
	Findings    int           `help:"Findings of the scan; 10000 by default." default:"10000" placeholder:"N"`
	Rounds      int           `help:"Number of rounds; the medians are printed." default:"5" placeholder:"N"`
	DatabaseURL config.Secret `help:"PostgreSQL to measure instead of SQLite in a temporary folder: an empty database, which the findings stay in." placeholder:"URL"`
}

// replacedShare is the part of a scan that a later one replaces: 500 of 10,000.
const replacedShare = 20

// ingestBench imports scans as redoubt import does, but for the reading of files.
type ingestBench struct {
	a          *app
	st         *store.Store
	deployment redoubt.Deployment
	made       *benchReport
	commits    int
}

// Run measures in turns, so that what else the machine does weighs on all that
// is compared.
func (c benchIngestCmd) Run(a *app) (err error) {
	if c.Findings < replacedShare || c.Rounds < 1 {
		return fmt.Errorf("%d findings in %d rounds cannot be measured: --findings takes %d or more, --rounds 1 or more", c.Findings, c.Rounds, replacedShare)
	}
	storage := config.Storage{DatabaseURL: c.DatabaseURL}
	if c.DatabaseURL == "" {
		if storage.Data, err = os.MkdirTemp("", "redoubt-bench-"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(storage.Data)) }()
	}
	st, err := a.create(storage)
	if err != nil {
		return err
	}
	return errors.Join(c.measure(a, st), st.Close())
}

func (c benchIngestCmd) measure(a *app, st *store.Store) error {
	all, err := st.Deployments(a.ctx)
	if err != nil {
		return err
	}
	if len(all) > 0 {
		return fmt.Errorf("the database holds the deployment %s: what is measured stays in it, so name an empty one", all[0].Slug)
	}
	b := &ingestBench{a: a, st: st, made: newBenchReport(c.Findings)}
	if b.deployment, err = st.CreateDeployment(a.ctx, "bench", "Bench", a.actor()); err != nil {
		return err
	}
	var rounds []benchRound
	for i := range c.Rounds + 1 {
		r, err := b.round(fmt.Sprintf("bench/%d", i))
		if err != nil {
			return err
		}
		rounds = append(rounds, r)
	}
	return c.print(a, st.Engine(), len(b.made.text()), rounds[1:]) // what fills on first use is not measured
}

// benchRound is how long each thing took in one round.
type benchRound struct{ first, unchanged, replaced, parse, valid time.Duration }

// round lets a project be scanned three times, and measures the limits beside it.
func (b *ingestBench) round(project string) (r benchRound, err error) {
	n := len(b.made.results)
	text := b.made.text()
	if r.valid, err = b.timed(func() error {
		if !json.Valid(text) {
			return errors.New("the report that was made is no JSON")
		}
		return nil
	}); err != nil {
		return r, err
	}
	if r.parse, err = b.timed(func() error { _, err := b.read(text, nil); return err }); err != nil {
		return r, err
	}
	if r.first, err = b.scan(project, text, ingest.Summary{New: n}); err != nil {
		return r, err
	}
	if r.unchanged, err = b.scan(project, text, ingest.Summary{Unchanged: n}); err != nil {
		return r, err
	}
	b.made.replace(n / replacedShare)
	r.replaced, err = b.scan(project, b.made.text(), ingest.Summary{New: n / replacedShare, Closed: n / replacedShare, Unchanged: n - n/replacedShare})
	return r, err
}

func (b *ingestBench) timed(do func() error) (time.Duration, error) {
	began := b.a.clock()
	err := do()
	return b.a.clock().Sub(began), err
}

func (b *ingestBench) read(text []byte, memo *redoubt.ReportMemo) (*report.Reading, error) {
	reading := &report.Reading{}
	return reading, reading.Add(bytes.NewReader(text), report.Options{Name: "semgrep.json", Key: []byte("a key for secrets"), Remember: true, Memo: memo})
}

// memo reads what is kept of the last report of a project.
func (b *ingestBench) memo(project string) (m *redoubt.ReportMemo, err error) {
	return m, b.st.View(b.a.ctx, b.deployment.ID, func(ctx context.Context, tx *store.Tx) error {
		m, err = ingest.MemoOf(ctx, tx, project, "main", "")
		return err
	})
}

// scan takes a report in, as the next commit of a project's main branch, and
// checks that it did what is measured.
func (b *ingestBench) scan(project string, text []byte, want ingest.Summary) (time.Duration, error) {
	b.commits++
	upload := ingest.Upload{
		Decides: true,
		Project: redoubt.Project{Name: project, URL: "https://git.example/" + project},
		Ref:     "main", Commit: fmt.Sprintf("%040x", b.commits), Full: true, DeclaredFull: true,
	}
	var summaries []ingest.Summary
	took, err := b.timed(func() error {
		memo, err := b.memo(project)
		if err != nil {
			return err
		}
		reading, err := b.read(text, memo)
		if err != nil {
			return err
		}
		clean := func() *report.Cleaned { return reading.Clean(nil) }
		return ingest.WithMemo(clean, reading.Forget, func(cleaned *report.Cleaned) error {
			return b.st.Update(b.a.ctx, b.deployment.ID, b.a.actor(), func(ctx context.Context, tx *store.Tx) error {
				summaries, err = ingest.ApplyAll(ctx, tx, exemption.ForImport{Store: tx}, upload, cleaned)
				return err
			})
		})
	})
	if err != nil {
		return 0, err
	}
	if got := summaries[0]; got.New != want.New || got.Unchanged != want.Unchanged || got.Closed != want.Closed {
		return 0, fmt.Errorf("the scan did something else than what is measured: %s", describe(got))
	}
	return took, nil
}

// print tells the medians, and how they compare with the limits of the same run.
func (c benchIngestCmd) print(a *app, engine string, size int, rounds []benchRound) error {
	typical := func(of func(benchRound) time.Duration) time.Duration {
		var list []time.Duration
		for _, r := range rounds {
			list = append(list, of(r))
		}
		slices.Sort(list)
		return list[len(list)/2]
	}
	first := typical(func(r benchRound) time.Duration { return r.first })
	parse := typical(func(r benchRound) time.Duration { return r.parse })
	var rows [][]string
	row := func(name string, took time.Duration) {
		rows = append(rows, []string{
			name, took.Round(10 * time.Microsecond).String(), fmt.Sprintf("%.0f", float64(c.Findings)/took.Seconds()),
			fmt.Sprintf("%.2f", float64(first)/float64(took)), fmt.Sprintf("%.2f", float64(took)/float64(parse)),
		})
	}
	row("first", first)
	row("unchanged", typical(func(r benchRound) time.Duration { return r.unchanged }))
	n := c.Findings / replacedShare
	row(fmt.Sprintf("%d new, %d gone", n, n), typical(func(r benchRound) time.Duration { return r.replaced }))
	row("parse only", parse)
	row("json.Valid", typical(func(r benchRound) time.Duration { return r.valid }))
	fmt.Fprintf(a.out, "%d findings, %.1f MB of Semgrep JSON, %s, medians of %d\n\n", c.Findings, float64(size)/1e6, engine, len(rounds))
	return table(a.out, "SCAN TIME FINDINGS/S X-FIRST X-PARSE", rows)
}
