package webapi

import (
	"bytes"
	"encoding/csv"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"

	"github.com/redoubt/redoubt/internal/cli/command"
	"github.com/redoubt/redoubt/internal/export"
)

// Cut contains the flags that limit a list.
type Cut struct {
	Limit int  `help:"Maximum number of rows. Default: 100 in a table, all as json and csv." placeholder:"N" xor:"limit"`
	All   bool `help:"List all rows, also in a table." xor:"limit"`
}

// tableLimit is the default number of rows of a table.
const tableLimit = 100

// Check returns an error if the limit is negative.
func (c Cut) Check() error {
	if c.Limit < 0 {
		return errors.New("--limit must be 1 or more")
	}
	return nil
}

// most returns the maximum number of items; 0 means no limit.
func (c Cut) most(output string) int {
	if c.Limit == 0 && !c.All && output == "table" {
		return tableLimit
	}
	return c.Limit
}

// Page returns the page size of requests, between least and most.
func (c Cut) Page(output string, least, most int) int64 {
	n := c.most(output)
	if n == 0 {
		return int64(most)
	}
	return int64(min(max(n+1, least), most)) // one more detects that items were omitted
}

// Item is an item of a list with its row.
type Item struct {
	Value any // for JSON
	Row   []string
}

// List prints a list while it is read. Without a limit, a table ends after tableLimit rows, and a
// message on standard error states that there are more. total returns the number of all items and
// may be nil. A last column DUE is omitted from a table if it is empty.
func (w Flags) List(
	a *command.App, c Cut, columns string, items iter.Seq2[Item, error], total func() (int64, error),
) error {
	out, err := w.listWriter(a, columns)
	if err != nil {
		return err
	}
	most, shown, more := c.most(w.Output), 0, false
	for item, err := range items {
		if err != nil {
			return errors.Join(err, out.End(false))
		}
		if most > 0 && shown == most {
			more = true
			break
		}
		if err := out.Add(item); err != nil {
			return err
		}
		shown++
	}
	if err := out.End(true); err != nil || !more || c.Limit > 0 {
		return err
	}
	return printTruncated(a.Err, shown, total)
}

// printTruncated prints how many items of a list were shown.
func printTruncated(w io.Writer, shown int, total func() (int64, error)) error {
	if total == nil {
		_, err := fmt.Fprintf(w, "%d shown, more available: --limit N, --all\n", shown)
		return err
	}
	n, err := total()
	if err == nil {
		_, err = fmt.Fprintf(w, "%d of %d shown: --limit N, --all\n", shown, max(n, int64(shown)+1))
	}
	return err
}

// listWriter writes the items of a list. complete reports whether the list is complete.
type listWriter interface {
	Add(Item) error
	End(complete bool) error
}

func (w Flags) listWriter(a *command.App, columns string) (listWriter, error) {
	switch w.Output {
	case "json":
		return &jsonList{to: a.Out}, nil
	case "csv":
		return newCSVList(command.Exact(a.Out), columns)
	}
	return &tableList{to: a.Out, columns: columns}, nil
}

// jsonList writes an array item by item.
type jsonList struct {
	to io.Writer
	n  int
}

func (l *jsonList) Add(i Item) error {
	var text bytes.Buffer
	enc := json.NewEncoder(&text)
	enc.SetEscapeHTML(false)
	enc.SetIndent("  ", "  ")
	if err := enc.Encode(i.Value); err != nil {
		return err
	}
	before := ",\n  "
	if l.n == 0 {
		before = "[\n  "
	}
	l.n++
	_, err := io.WriteString(l.to, before+strings.TrimSuffix(text.String(), "\n"))
	return err
}

// End leaves the array of an incomplete list open, so that it is not valid JSON.
func (l *jsonList) End(complete bool) error {
	last := "\n]\n"
	switch {
	case !complete:
		last = "\n"
	case l.n == 0:
		last = "[]\n"
	}
	_, err := io.WriteString(l.to, last)
	return err
}

// csvList writes rows that are safe in spreadsheets. Cells that could be read as formulas are
// prefixed with an apostrophe, for all separators.
type csvList struct{ to *csv.Writer }

func newCSVList(to io.Writer, columns string) (*csvList, error) {
	w := csv.NewWriter(to)
	return &csvList{w}, w.Write(strings.Fields(strings.ToLower(columns)))
}

func (l *csvList) Add(i Item) error {
	cells := make([]string, len(i.Row))
	for n, cell := range i.Row {
		if cells[n] = cell; cell == "-" { // "-" means an empty value in tables
			cells[n] = ""
		} else {
			cells[n] = export.Harmless(cell)
		}
	}
	return l.to.Write(cells)
}

func (l *csvList) End(bool) error {
	l.to.Flush()
	return l.to.Error()
}

// tableList buffers its rows, as the longest cells determine the widths.
type tableList struct {
	to      io.Writer
	columns string
	rows    [][]string
}

func (l *tableList) Add(i Item) error {
	l.rows = append(l.rows, i.Row)
	return nil
}

func (l *tableList) End(bool) error {
	columns, due := strings.CutSuffix(l.columns, " DUE")
	last := len(strings.Fields(columns))
	if due && !slices.ContainsFunc(l.rows, func(row []string) bool { return row[last] != NoDue }) {
		for i := range l.rows {
			l.rows[i] = l.rows[i][:last]
		}
		return command.Table(l.to, columns, l.rows)
	}
	return command.Table(l.to, l.columns, l.rows)
}

// NoDue is the cell of a missing due date.
const NoDue = "-"
