// Package queue stores durable jobs: what waits, what runs, and until when a worker holds it.
// Package queue of the layer above decides when a job runs again.
package queue

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment. It runs the statements of this package and of those below it.
type Tx struct {
	*sqldb.Tx
}

// From returns the statements of this package in a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx: tx,
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
