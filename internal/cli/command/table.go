package command

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/redoubt/redoubt/internal/model"
)

// OrDash returns s, or a dash if it is empty.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Table prints rows in columns under a head, one line per row. Control characters are escaped. All
// tables use it.
func Table(w io.Writer, head string, rows [][]string) error {
	t := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(t, strings.ReplaceAll(head, " ", "\t"))
	for _, row := range rows {
		cells := make([]string, len(row))
		for i, cell := range row {
			cells[i] = model.Escaped(cell, "")
		}
		fmt.Fprintln(t, strings.Join(cells, "\t"))
	}
	return t.Flush()
}

// Day formats a time for a list. The zero time is "-".
func Day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}

// SeverityWord returns the displayed severity. Unrated findings count as medium but are displayed
// as not rated.
func SeverityWord(severity string, unrated bool) string {
	if unrated {
		return model.NotRated
	}
	return severity
}
