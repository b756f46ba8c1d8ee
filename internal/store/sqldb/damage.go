package sqldb

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/redoubt/redoubt/internal/model"
)

// A stored row that cannot be decoded was changed outside of the store, by a disk error or
// manually. It is reported as model.ErrDamaged, like a broken page detected by the database.

// Undecoded wraps an error of decoding a stored value in model.ErrDamaged.
func Undecoded(err error) error {
	return fmt.Errorf("%w: stored data cannot be read: %w", model.ErrDamaged, err)
}

// DecodeStored decodes JSON that the store has written.
func DecodeStored(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return Undecoded(err)
	}
	return nil
}

// storedRow is a row of a query.
type storedRow struct{ *sql.Rows }

// Scan reads the columns and returns model.ErrDamaged if a value has the wrong type. Errors of the
// rows, as a canceled context, and a wrong number of columns are returned unchanged.
func (r storedRow) Scan(dest ...any) error {
	err := r.Rows.Scan(dest...)
	if err == nil || r.Err() != nil {
		return err
	}
	if columns, unknown := r.Columns(); unknown != nil || len(columns) != len(dest) {
		return err
	}
	return Undecoded(err)
}

// Misread converts scan errors of queries that a library runs to model.ErrDamaged. database/sql has
// no type for them, so the text is matched.
func Misread(err error) error {
	if err != nil && strings.Contains(err.Error(), "sql: Scan error on column") {
		return Undecoded(err)
	}
	return err
}

// judge records damage found by a transaction, so that Health reports it and later writes fail. The
// schema is checked first, because a newer program may have migrated the database and written rows
// unknown to this one.
func (e *engine) judge(ctx context.Context, err error) error {
	if !errors.Is(err, model.ErrDamaged) {
		return err
	}
	if _, known := e.health.state(); known != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultTimeout)
	defer cancel()
	schemaErr := e.checkSchema(ctx)
	if newer, is := errors.AsType[*NewerSchemaError](schemaErr); is {
		return fmt.Errorf("%w: %s", newer, err.Error())
	}
	if schemaErr == nil || errors.Is(schemaErr, model.ErrDamaged) {
		e.health.found(err)
	}
	return err
}
