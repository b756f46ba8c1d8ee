package store

import (
	"context"
	"database/sql"
	"errors"
)

// DB is the database itself, for what no method answers.
func (s *Store) DB() *sql.DB { return s.engine.read }

// PairMatchesAnew runs the migration of that name once more.
func (s *Store) PairMatchesAnew(ctx context.Context) error {
	tx, err := s.engine.write.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := s.engine.pairMatchesAnew(ctx, tx); err != nil {
		return errors.Join(err, tx.Rollback())
	}
	return tx.Commit()
}

// TenantTables is tenantTables.
var TenantTables = tenantTables

// MaxArgs is maxArgs.
const MaxArgs = maxArgs

// Exec is exec.
func (tx *Tx) Exec(ctx context.Context, query string, args ...any) (int64, error) {
	return tx.exec(ctx, query, args...)
}

// Insert is insert.
func (tx *Tx) Insert(ctx context.Context, into string, rows [][]any, conflict string) error {
	return tx.insert(ctx, into, rows, conflict)
}

// In reads a column of a table where it is one of a list.
func In[T any](ctx context.Context, tx *Tx, table, column string, values any) ([]T, error) {
	in, list := tx.in(column, 2, values)
	return many(ctx, tx, scalar[T], `SELECT `+column+` FROM `+table+` WHERE deployment_id = $1 AND `+in, list)
}

// Count counts the rows of a table that belong to the tenant.
func (tx *Tx) Count(ctx context.Context, table string) (int, error) {
	return one(ctx, tx, scalar[int], `SELECT COUNT(*) FROM `+table+` WHERE deployment_id = $1`)
}

// ChangeProject says that a project changed, for tests of the feed.
func (tx *Tx) ChangeProject(id int64) { tx.change(changeProject, id) }

// PackRuns and UnpackRuns are how ascending numbers are kept.
var (
	PackRuns   = packRuns
	UnpackRuns = unpackRuns
)

// EncodeGraph is encodeGraph, DecodeGraph decodeGraph.
var (
	EncodeGraph = encodeGraph
	DecodeGraph = decodeGraph
)
