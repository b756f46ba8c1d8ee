package main

import (
	"bufio"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"
)

// limitUnit is the figure that gets a column of its own.
const limitUnit = "x-limit"

// report is what a run measured.
type report struct {
	rows   [][]string // benchmark, time, limit, other figures
	failed bool
}

var title = []string{"benchmark", "time", limitUnit, "also"}

// failure is how go test begins a line about a benchmark or package that failed.
var failure = regexp.MustCompile(`^(\s*--- FAIL|FAIL\b)`)

// read takes in the output of go test up to its end.
func (r *report) read(output io.Reader) error {
	lines := bufio.NewScanner(output)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		line := lines.Text()
		r.failed = r.failed || failure.MatchString(line)
		if row := rowOf(line); row != nil {
			r.rows = append(r.rows, row)
		}
	}
	return lines.Err()
}

// processors is the number of them that go test puts behind a name.
var processors = regexp.MustCompile(`-\d+$`)

// rowOf reads a line as "BenchmarkX/y-2   100   1234 ns/op   1.5 x-limit", or
// returns nil where it is none.
func rowOf(line string) []string {
	fields := strings.Fields(line)
	if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
		return nil
	}
	name := strings.TrimPrefix(processors.ReplaceAllString(fields[0], ""), "Benchmark")
	row := []string{strings.ReplaceAll(name, "_", " "), "", "", ""}
	var also []string
	for i := 2; i+1 < len(fields); i += 2 {
		value, err := strconv.ParseFloat(fields[i], 64)
		if err != nil {
			return nil
		}
		switch unit := fields[i+1]; unit {
		case "ns/op":
			row[1] = rounded(time.Duration(value))
		case limitUnit:
			row[2] = fmt.Sprintf("%.2f", value)
		default:
			also = append(also, figure(value)+" "+unit)
		}
	}
	row[3] = strings.Join(also, ", ")
	return row
}

// rounded keeps three digits or so of a time.
func rounded(d time.Duration) string {
	unit := time.Duration(1)
	for d/unit >= 1000 {
		unit *= 10
	}
	return d.Round(unit).String()
}

// figure writes a number as people would.
func figure(v float64) string {
	if v >= 100 {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', 3, 64)
}

// table is all rows in Markdown, its columns as wide as need be.
func (r *report) table() string {
	width := make([]int, len(title))
	for _, row := range append([][]string{title}, r.rows...) {
		for i, cell := range row {
			width[i] = max(width[i], utf8.RuneCountInString(cell))
		}
	}
	var out strings.Builder
	write := func(row []string) {
		for i, cell := range row {
			fmt.Fprintf(&out, "| %s%s ", cell, strings.Repeat(" ", width[i]-utf8.RuneCountInString(cell)))
		}
		out.WriteString("|\n")
	}
	out.WriteString("\n")
	write(title)
	for _, w := range width {
		out.WriteString("|" + strings.Repeat("-", w+2))
	}
	out.WriteString("|\n")
	for _, row := range r.rows {
		write(row)
	}
	return out.String()
}
