// Package feed reads all that the index of findings holds, as a whole or as what changed since a version.
// It also stores checkpoints of the index.
package feed

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment. It runs the statements of this package and of those below it.
type Tx struct {
	*sqldb.Tx
	projectsTx
}

type (
	projectsTx = projects.Tx
)

// From returns the statements of this package in a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:         tx,
		projectsTx: projects.From(tx),
	}
}

// DB is the database. It runs the statements of this package that open their own transaction.
type DB struct {
	*sqldb.DB
}

// On returns the statements of this package on a database.
func On(db *sqldb.DB) DB {
	return DB{DB: db}
}

func (s *DB) update(ctx context.Context, id int64, by model.Actor, fn func(context.Context, *Tx) error) error {
	return s.Update(ctx, id, by, func(ctx context.Context, base *sqldb.Tx) error {
		tx := From(base)
		return fn(ctx, &tx)
	})
}

func (s *DB) viewForIndex(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.ViewForIndex(ctx, deploymentID, func(ctx context.Context, base *sqldb.Tx) error {
		tx := From(base)
		return fn(ctx, &tx)
	})
}
