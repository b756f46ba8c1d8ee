package store

import (
	"database/sql/driver"
	"fmt"
	"io"

	"github.com/jackc/pgx/v5"
)

// tableRows are rows that are there already.
type tableRows struct {
	table
	next int
}

// Columns implements driver.Rows.
func (r *tableRows) Columns() []string { return r.columns }

// Close implements driver.Rows.
func (r *tableRows) Close() error { return nil }

// Next implements driver.Rows.
func (r *tableRows) Next(dest []driver.Value) error {
	if r.next == len(r.rows) {
		return io.EOF
	}
	copy(dest, r.rows[r.next])
	r.next++
	return nil
}

// batchRows are the rows of the last statement of a batch, as they come in.
type batchRows struct {
	results pgx.BatchResults
	rows    pgx.Rows
	first   bool // a row was looked for already, to hear of an error at once
	more    bool // it is there
}

func newBatchRows(results pgx.BatchResults) (*batchRows, error) {
	rows, err := results.Query()
	if err != nil {
		_ = results.Close() // which says the same
		return nil, err
	}
	r := &batchRows{results: results, rows: rows, first: true}
	if r.more = rows.Next(); rows.Err() != nil {
		return nil, r.Close()
	}
	return r, nil
}

// Columns implements driver.Rows.
func (r *batchRows) Columns() []string { return columnsOf(r.rows) }

// Close implements driver.Rows.
func (r *batchRows) Close() error {
	r.rows.Close()
	return r.results.Close()
}

// Next implements driver.Rows.
func (r *batchRows) Next(dest []driver.Value) error {
	more := r.more
	if !r.first {
		more = r.rows.Next()
	}
	r.first = false
	if more {
		return driverValues(r.rows, dest)
	}
	if err := r.rows.Err(); err != nil {
		return err
	}
	return io.EOF
}

func columnsOf(rows pgx.Rows) []string {
	fields := rows.FieldDescriptions()
	names := make([]string, len(fields))
	for i, f := range fields {
		names[i] = f.Name
	}
	return names
}

// driverValues reads the row that was come to into the kinds of values that
// database/sql knows.
func driverValues(rows pgx.Rows, dest []driver.Value) error {
	list, err := rows.Values()
	if err != nil {
		return err
	}
	for i, v := range list {
		switch v := v.(type) {
		case int16:
			dest[i] = int64(v)
		case int32:
			dest[i] = int64(v)
		case float32:
			dest[i] = float64(v)
		case driver.Valuer: // as a sum, which is a numeric
			if dest[i], err = v.Value(); err != nil {
				return fmt.Errorf("column %d: %w", i+1, err)
			}
		default:
			dest[i] = v
		}
	}
	return nil
}
