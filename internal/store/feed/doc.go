// Package feed reads the contents of the index of findings, completely or as changes since a
// version. It also stores checkpoints of the index.
package feed

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	projectsTx
}

type (
	projectsTx = projects.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:         tx,
		projectsTx: projects.From(tx),
	}
}

// DB is the database with the methods of this package that open their own transaction.
type DB struct {
	*sqldb.DB
}

// On returns the DB of this package for a database.
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
