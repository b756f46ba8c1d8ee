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

// What the store wrote it can read. A row that it cannot read was changed by something
// else: by a disk, or by hand. That is model.ErrDamaged as the broken page is that a
// database finds itself.

// Undecoded is the damage that something of a row cannot be read.
func Undecoded(err error) error {
	return fmt.Errorf("%w: what is stored cannot be read: %w", model.ErrDamaged, err)
}

// DecodeStored reads JSON that the store wrote.
func DecodeStored(text []byte, into any) error {
	if err := json.Unmarshal(text, into); err != nil {
		return Undecoded(err)
	}
	return nil
}

// storedRow is a row of a query.
type storedRow struct{ *sql.Rows }

// Scan reads the columns. That a value is not of its column's kind is damage; that the
// rows have ended meanwhile, as with their context, is not, and that the statement has
// another number of columns is a fault of this program.
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

// Misread is an error of a query that the library itself reads. That a value is not of its
// column's kind has no type there.
func Misread(err error) error {
	if err != nil && strings.Contains(err.Error(), "sql: Scan error on column") {
		return Undecoded(err)
	}
	return err
}

// judge notes damage that work has met, so that Health reports it and no write follows.
// The schema is checked first: a newer program that has migrated the database may have
// written what this one cannot read.
func (e *engine) judge(ctx context.Context, err error) error {
	if !errors.Is(err, model.ErrDamaged) {
		return err
	}
	if _, known := e.health.state(); known != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), DefaultTimeout)
	defer cancel()
	asked := e.checkSchema(ctx)
	if newer, is := errors.AsType[*NewerSchemaError](asked); is {
		return fmt.Errorf("%w: %s", newer, err.Error())
	}
	if asked == nil || errors.Is(asked, model.ErrDamaged) {
		e.health.found(err)
	}
	return err
}
