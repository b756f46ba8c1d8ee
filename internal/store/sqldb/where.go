package sqldb

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Where builds conditions that follow WHERE deployment_id = $1. Values are always passed as
// arguments.
type Where struct {
	Tx   *Tx
	Text strings.Builder
	Args []any
}

// And adds a condition in which each ? stands for the next of its arguments.
func (w *Where) And(condition string, args ...any) {
	w.Text.WriteString(` AND `)
	for _, part := range strings.SplitAfter(condition, `?`) {
		text, marked := strings.CutSuffix(part, `?`)
		w.Text.WriteString(text)
		if marked {
			w.Args = append(w.Args, args[0])
			args = args[1:]
			w.Text.WriteString(`$` + strconv.Itoa(len(w.Args)+1))
		}
	}
}

// In adds the condition that a column is one of a list. See Session.In.
func (w *Where) In(column string, values any) {
	condition, arg := w.Tx.In(column, len(w.Args)+2, values)
	w.Text.WriteString(` AND ` + condition)
	w.Args = append(w.Args, arg)
}

// PairTable returns the start of a statement that reads pairs as a table with two columns. Its
// arguments start at $2. named is for example "moved(old, new)".
func PairTable(named string, pairs [][2]int64) (with string, args []any) {
	rows := make([]string, len(pairs))
	for i, p := range pairs {
		rows[i] = fmt.Sprintf("(CAST($%d AS BIGINT), CAST($%d AS BIGINT))", len(args)+2, len(args)+3)
		args = append(args, p[0], p[1])
	}
	return `WITH ` + named + ` AS (VALUES ` + strings.Join(rows, ",") + `) `, args
}

// Qualified prefixes each column with the alias of its table.
func Qualified(table, columns string) string {
	return table + "." + strings.Join(ColumnNames(columns), ", "+table+".")
}

// ColumnNames splits a list of columns.
func ColumnNames(columns string) []string {
	return strings.Fields(strings.ReplaceAll(columns, ",", " "))
}

// Excluded returns assignments of the values of a conflicting insert, without the columns of the
// key.
func Excluded(columns string, key ...string) string {
	var list []string
	for _, column := range ColumnNames(columns) {
		if !slices.Contains(key, column) {
			list = append(list, column+" = excluded."+column)
		}
	}
	return strings.Join(list, ", ")
}

// Page removes the extra row that was read to detect another page, and reports whether it existed.
func Page[T any](list []T, limit int) ([]T, bool) {
	if len(list) > limit {
		return list[:limit], true
	}
	return list, false
}
