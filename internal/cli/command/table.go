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

// Table prints rows under a head, in columns: each on one line, and nothing that a
// terminal would obey, whatever is in a cell. All tables go through it.
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

// Day prints a time for a list, - for none.
func Day(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format(time.DateTime)
}

// SeverityWord is what people read: what nobody rates counts as medium, and is not
// called that.
func SeverityWord(severity string, unrated bool) string {
	if unrated {
		return model.NotRated
	}
	return severity
}
