package export

import (
	"encoding/csv"
	"io"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/redoubt/redoubt/internal/model"
)

// commaSeparated writes a table as RFC 4180 has it, in UTF-8, with a line of names.
type commaSeparated struct {
	csv *csv.Writer
	row []string
}

func newCSV(w io.Writer) (*commaSeparated, error) {
	c := &commaSeparated{csv.NewWriter(w), make([]string, len(columns))}
	for i := range columns {
		c.row[i] = columns[i].name
	}
	return c, c.csv.Write(c.row)
}

func (*commaSeparated) part() error { return nil }

func (c *commaSeparated) raw(t model.IssueType, raw []byte) error {
	f, err := decoded(t, raw)
	if err != nil {
		return err
	}
	for i := range columns {
		c.row[i] = cell(columns[i].of(f))
	}
	return c.csv.Write(c.row)
}

func (c *commaSeparated) close() error {
	c.csv.Flush()
	return c.csv.Error()
}

// cell is a value as text. Only text that came from outside is made harmless:
// numbers, times and truths are ours.
func cell(v any) string {
	switch v := v.(type) {
	case string:
		return Harmless(v)
	case int64:
		return strconv.FormatInt(v, 10)
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool:
		return strconv.FormatBool(v)
	case time.Time:
		return v.UTC().Format(timeFormat)
	}
	return ""
}

// starters begin what spreadsheets take for a formula, the wide forms of East
// Asian keyboards too. Some skip a tab, a line end or a space before they look.
const starters = "=+-@\t\r\n＝＋－＠"

// breaks end a cell for readers that split by something else than commas, as the
// settings of many countries have it, and so do not see the quotes around a text
// (docs/reference/finding-queries.md).
const breaks = ";\t|\r\n"

// startsFormula reports whether a spreadsheet may compute the text.
func startsFormula(s string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \u00a0\ufeff"))
	return first != utf8.RuneError && strings.ContainsRune(starters, first)
}

// Harmless puts an apostrophe before text that a spreadsheet may compute: at its
// start, and behind whatever in it a reader may take for the end of a cell
// (docs/reference/finding-queries.md).
func Harmless(s string) string {
	if startsFormula(s) {
		s = "'" + s
	}
	if !strings.ContainsAny(s, breaks) {
		return s
	}
	var b strings.Builder
	for {
		end := strings.IndexAny(s, breaks)
		if end < 0 {
			b.WriteString(s)
			return b.String()
		}
		b.WriteString(s[:end+1])
		s = s[end+1:]
		// Quotes there open and close a cell of nothing, which what follows continues.
		if startsFormula(strings.TrimLeft(s, `" `+"\u00a0\ufeff")) && !strings.ContainsAny(s[:1], breaks) {
			b.WriteByte('\'')
		}
	}
}
