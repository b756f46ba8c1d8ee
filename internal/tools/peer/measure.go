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
)

// server is one that is measured. What it answers is of one project.
type server interface {
	name() string
	// version says what it is, and what it stands on, for people.
	version(ctx context.Context) (string, error)
	// take hands a report in as a full scan of a commit, the project made if need be.
	take(ctx context.Context, project, commit string, report []byte) error
	// counts tells how many findings of a project there are.
	counts(ctx context.Context, project string) (counts, error)
	// page reads the first page of 100 open findings of high severity, of all
	// projects, and returns how many are on it.
	page(ctx context.Context) (int, error)
	// open names n open findings of a project.
	open(ctx context.Context, project string, n int) ([]int64, error)
	// decide marks findings as false positives.
	decide(ctx context.Context, ids []int64) error
	// settle waits until nothing is left to do in the background.
	settle(ctx context.Context) error
}

// counts are the findings of a project.
type counts struct{ open, fixed, decided int }

// The steps of a round, in their order.
const (
	first = iota
	same
	replaced
	page
	bulk
	steps
)

// replacedShare is the part of a report that the next one replaces: 5 %.
const replacedShare = 20

// How a page is measured: the middle one of some requests, after one that is not.
const pageTries = 7

// pollEvery is how long to wait between two looks at what is not visible yet.
const pollEvery = 10 * time.Millisecond

// meter measures servers in turns, so that what else the machine does weighs on all.
type meter struct {
	servers []server
	o       options
	made    maker
	began   string                // makes the names of projects new
	took    [steps][]measurements // by server
	size    int                   // bytes of the last report
}

type measurements []time.Duration

func newMeter(servers []server, o options) *meter {
	m := &meter{servers: servers, o: o, began: time.Now().UTC().Format("20060102-150405")}
	for step := range m.took {
		m.took[step] = make([]measurements, len(servers))
	}
	return m
}

// round measures every step once on every server.
func (m *meter) round(ctx context.Context, round int) error {
	project := fmt.Sprintf("peer/%s-%d", m.began, round)
	n := m.o.findings
	gone := n / replacedShare
	results := m.made.results(n)
	report := semgrep(results)
	next := semgrep(slices.Concat(results[gone:], m.made.results(gone)))
	m.size = len(report)
	for _, step := range []struct {
		step   int
		commit string
		report []byte
		want   counts
	}{
		{first, "1", report, counts{open: n}},
		{same, "2", report, counts{open: n}},
		{replaced, "3", next, counts{open: n, fixed: gone}},
	} {
		err := m.each(ctx, step.step, func(ctx context.Context, s server) (time.Duration, error) {
			return m.until(ctx, s, project, step.want, func() error { return s.take(ctx, project, fmt.Sprintf("%040s", step.commit), step.report) })
		})
		if err != nil {
			return err
		}
	}
	if err := m.each(ctx, page, m.page); err != nil {
		return err
	}
	return m.each(ctx, bulk, func(ctx context.Context, s server) (time.Duration, error) {
		ids, err := s.open(ctx, project, decided)
		if err != nil {
			return 0, err
		}
		if len(ids) != decided {
			return 0, fmt.Errorf("%d findings to decide on instead of %d", len(ids), decided)
		}
		return m.until(ctx, s, project, counts{open: n - decided, fixed: gone, decided: decided}, func() error { return s.decide(ctx, ids) })
	})
}

// each measures a step on one server after the other, each once it has nothing else to do.
func (m *meter) each(ctx context.Context, step int, measure func(context.Context, server) (time.Duration, error)) error {
	for i, s := range m.servers {
		took, err := m.one(ctx, s, measure)
		if err != nil {
			return fmt.Errorf("%s, %s: %w", s.name(), m.title(step), err)
		}
		m.took[step][i] = append(m.took[step][i], took)
		fmt.Fprintf(os.Stderr, "%s, %s: %s (load %s)\n", m.title(step), s.name(), took.Round(10*time.Microsecond), load())
	}
	return nil
}

func (m *meter) one(ctx context.Context, s server, measure func(context.Context, server) (time.Duration, error)) (time.Duration, error) {
	ctx, cancel := context.WithTimeout(ctx, m.o.wait)
	defer cancel()
	took, err := measure(ctx, s)
	if err != nil {
		return 0, err
	}
	return took, s.settle(ctx) // not measured: it would weigh on who comes next
}

// until does something and takes as long as it lasts until the API shows what came of it.
func (m *meter) until(ctx context.Context, s server, project string, want counts, do func() error) (time.Duration, error) {
	began := time.Now()
	if err := do(); err != nil {
		return 0, err
	}
	for {
		got, err := s.counts(ctx, project)
		if err != nil {
			return 0, err
		}
		if got == want {
			return time.Since(began), nil
		}
		select {
		case <-ctx.Done():
			return 0, fmt.Errorf("the API shows %+v instead of %+v: %w", got, want, ctx.Err())
		case <-time.After(pollEvery):
		}
	}
}

// page is the median of several requests.
func (m *meter) page(ctx context.Context, s server) (time.Duration, error) {
	var tries measurements
	for i := range pageTries + 1 {
		began := time.Now()
		n, err := s.page(ctx)
		if err != nil {
			return 0, err
		}
		if n != 100 {
			return 0, fmt.Errorf("%d findings on a page of 100", n)
		}
		if i > 0 { // what fills on first use is not measured
			tries = append(tries, time.Since(began))
		}
	}
	return tries.median(), nil
}

// median is the middle one, the longer of two in the middle.
func (m measurements) median() time.Duration {
	if len(m) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(m))
	return sorted[len(sorted)/2]
}

// load is the machine's load of the last minute, as Linux tells it.
func load() string {
	text, err := os.ReadFile("/proc/loadavg")
	if err != nil {
		return "unknown"
	}
	one, _, _ := bytes.Cut(text, []byte(" "))
	return string(one)
}

// decode reads JSON, and says what it got where that is none.
func decode(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return errors.Join(fmt.Errorf("not the JSON that was expected: %.200s", text), err)
	}
	return nil
}
