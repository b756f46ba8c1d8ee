package store

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// where gathers conditions behind WHERE deployment_id = $1. Values never become
// part of the text.
type where struct {
	tx   *Tx
	text strings.Builder
	args []any
}

// and adds a condition; each ? in it is the next of its arguments.
func (w *where) and(condition string, args ...any) {
	w.text.WriteString(` AND `)
	for _, part := range strings.SplitAfter(condition, `?`) {
		text, marked := strings.CutSuffix(part, `?`)
		w.text.WriteString(text)
		if marked {
			w.args = append(w.args, args[0])
			args = args[1:]
			w.text.WriteString(`$` + strconv.Itoa(len(w.args)+1))
		}
	}
}

// in adds the condition that a column is one of a list; see session.in.
func (w *where) in(column string, values any) {
	condition, arg := w.tx.in(column, len(w.args)+2, values)
	w.text.WriteString(` AND ` + condition)
	w.args = append(w.args, arg)
}

// pairTable is the start of a statement that reads pairs as a table with two columns, as
// "moved(old, new)", and the pairs as its arguments from $2 on.
func pairTable(named string, pairs [][2]int64) (with string, args []any) {
	rows := make([]string, len(pairs))
	for i, p := range pairs {
		rows[i] = fmt.Sprintf("(CAST($%d AS BIGINT), CAST($%d AS BIGINT))", len(args)+2, len(args)+3)
		args = append(args, p[0], p[1])
	}
	return `WITH ` + named + ` AS (VALUES ` + strings.Join(rows, ",") + `) `, args
}

// qualified puts a table's short name before each of its columns.
func qualified(table, columns string) string {
	return table + "." + strings.Join(columnNames(columns), ", "+table+".")
}

func columnNames(columns string) []string {
	return strings.Fields(strings.ReplaceAll(columns, ",", " "))
}

// excluded lists assignments of the values that a conflicting insert brought,
// but for the columns of the key.
func excluded(columns string, key ...string) string {
	var list []string
	for _, column := range columnNames(columns) {
		if !slices.Contains(key, column) {
			list = append(list, column+" = excluded."+column)
		}
	}
	return strings.Join(list, ", ")
}

// page cuts off the one row too many that tells whether there are more.
func page[T any](list []T, limit int) ([]T, bool) {
	if len(list) > limit {
		return list[:limit], true
	}
	return list, false
}
