package main

import (
	"context"
	"fmt"
	"io"
	"runtime"
	"strings"
	"time"
)

// title is what a step is called in the table.
func (m *meter) title(step int) string {
	gone := m.o.findings / replacedShare
	return []string{
		first:    fmt.Sprintf("%d findings, first", m.o.findings),
		same:     "the same results, another commit",
		replaced: fmt.Sprintf("%d new and %d gone", gone, gone),
		page:     "page of 100, open and high",
		bulk:     fmt.Sprintf("%d decided in bulk", decided),
	}[step]
}

// table is what was measured, in Markdown. The first server is the one that the
// ratios are of.
func (m *meter) table() string {
	var out strings.Builder
	head := []string{""}
	for _, s := range m.servers {
		head = append(head, s.name())
	}
	row(&out, append(head, "times as fast"))
	row(&out, strings.Split(strings.Repeat("---,", len(head))+"---", ","))
	for step := range steps {
		cells := []string{m.title(step)}
		var ratios []string
		peer := m.took[step][0].median()
		for i := range m.servers {
			took := m.took[step][i].median()
			cells = append(cells, figure(took))
			if i > 0 {
				ratios = append(ratios, fmt.Sprintf("%.0f", float64(peer)/float64(took)))
			}
		}
		row(&out, append(cells, strings.Join(ratios, ", ")))
	}
	return out.String()
}

func row(out io.Writer, cells []string) { fmt.Fprintf(out, "| %s |\n", strings.Join(cells, " | ")) }

// figure keeps three digits of a time, in seconds or milliseconds.
func figure(d time.Duration) string {
	if d >= time.Second {
		return fmt.Sprintf("%.3g s", d.Seconds())
	}
	return fmt.Sprintf("%.3g ms", float64(d)/float64(time.Millisecond))
}

// describe tells what stood behind the table.
func (m *meter) describe(ctx context.Context, out io.Writer, before string) error {
	fmt.Fprintf(out, "\nMedians of %d; reports of %.1f MB; %d processors; load %s before and %s after.\n", m.o.rounds, float64(m.size)/1e6, runtime.NumCPU(), before, load())
	for _, s := range m.servers {
		version, err := s.version(ctx)
		if err != nil {
			return fmt.Errorf("%s: %w", s.name(), err)
		}
		fmt.Fprintf(out, "%s: %s.\n", s.name(), version)
	}
	return nil
}
