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

// commaSeparated writes a table as CSV (RFC 4180) in UTF-8 with a header.
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

// cell returns a value as text. Only strings are escaped, because only they can contain untrusted
// text.
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

// starters contains the characters that start a formula in spreadsheets, including full-width
// forms. Some programs skip leading tabs, line ends and spaces.
const starters = "=+-@\t\r\n＝＋－＠"

// breaks contains characters that end a cell for programs with another separator than the comma.
// This separator is the default in many countries. Such programs do not recognize the quotes around
// a cell (docs/reference/finding-queries.md).
const breaks = ";\t|\r\n"

// startsFormula reports whether a spreadsheet may evaluate the text as a formula.
func startsFormula(s string) bool {
	first, _ := utf8.DecodeRuneInString(strings.TrimLeft(s, " \u00a0\ufeff"))
	return first != utf8.RuneError && strings.ContainsRune(starters, first)
}

// Harmless inserts an apostrophe before text that a spreadsheet may evaluate. It does so at the
// start, and after each character that a program may interpret as the end of a cell
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
		// Quotes at this position form an empty quoted string, which the following text continues.
		if startsFormula(strings.TrimLeft(s, `" `+"\u00a0\ufeff")) && !strings.ContainsAny(s[:1], breaks) {
			b.WriteByte('\'')
		}
	}
}
