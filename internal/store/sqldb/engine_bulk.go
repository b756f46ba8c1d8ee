package sqldb

import (
	"slices"
	"strconv"
	"strings"
)

// postgresBulk returns an insert with one array per column. Its text does not depend on the number
// of rows, so PostgreSQL parses it once and needs one round trip. Values are already bound. ok is
// false if a column mixes types.
func postgresBulk(into string, rows [][]any) (query string, args []any, ok bool) {
	var lists, picked []string
	for column := range rows[0] {
		if s, ok := rows[0][column].(NextID); ok {
			picked = append(picked, "nextval('"+string(s)+"_id_seq')")
			continue
		}
		kind, list := columnList(rows, column)
		switch {
		case kind == "" && list == nil:
			return "", nil, false
		case kind == "":
			picked = append(picked, "NULL")
		default:
			args = append(args, list)
			lists = append(lists, "CAST($"+strconv.Itoa(len(args))+" AS "+kind+"[])")
			picked = append(picked, "u.c"+strconv.Itoa(len(args)))
		}
	}
	if len(args) == 0 {
		return "", nil, false
	}
	names := make([]string, len(args))
	for i := range names {
		names[i] = "c" + strconv.Itoa(i+1)
	}
	query = "INSERT INTO " + into + " SELECT " + strings.Join(picked, ", ") +
		" FROM unnest(" + strings.Join(lists, ", ") + ") AS u (" + strings.Join(names, ", ") + ")"
	return query, args, true
}

// columnList returns a column of rows as an array for PostgreSQL and its type. The type is empty if
// all values are NULL; the list is nil if the types differ.
func columnList(rows [][]any, column int) (kind string, list any) {
	first := slices.IndexFunc(rows, func(r []any) bool { return r[column] != nil })
	if first < 0 {
		return "", []any{}
	}
	switch rows[first][column].(type) {
	case int64, int:
		return listOf(rows, column, "BIGINT", func(v any) (n int64, ok bool) {
			if small, is := v.(int); is {
				return int64(small), true
			}
			n, ok = v.(int64)
			return n, ok
		})
	case string:
		return listOf(rows, column, "TEXT", as[string])
	case float64:
		return listOf(rows, column, "DOUBLE PRECISION", as[float64])
	case []byte:
		return bytesOf(rows, column)
	}
	return "", nil
}

func as[T any](v any) (T, bool) {
	t, ok := v.(T)
	return t, ok
}

func listOf[T any](rows [][]any, column int, kind string, as func(any) (T, bool)) (string, any) {
	list, values := make([]*T, len(rows)), make([]T, len(rows))
	for i, r := range rows {
		if r[column] == nil {
			continue
		}
		v, ok := as(r[column])
		if !ok {
			return "", nil
		}
		values[i] = v
		list[i] = &values[i]
	}
	if slices.Contains(list, nil) {
		return kind, list
	}
	return kind, values
}

// bytesOf is listOf for bytes, where nil is NULL.
func bytesOf(rows [][]any, column int) (string, any) {
	list := make([][]byte, len(rows))
	for i, r := range rows {
		if r[column] == nil {
			continue
		}
		v, ok := r[column].([]byte)
		if !ok {
			return "", nil
		}
		list[i] = v
	}
	return "BYTEA", list
}
