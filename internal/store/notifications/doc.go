// Package notifications stores notification rules, queued messages and their deliveries. It also
// collects the events of a transaction for the job that finds the recipients.
package notifications

import (
	"context"

	"github.com/redoubt/redoubt/internal/model"
	"github.com/redoubt/redoubt/internal/store/accounts"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	accountsTx
	projectsTx
	queueTx
}

type (
	accountsTx = accounts.Tx
	projectsTx = projects.Tx
	queueTx    = queue.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:         tx,
		accountsTx: accounts.From(tx),
		projectsTx: projects.From(tx),
		queueTx:    queue.From(tx),
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

func (s *DB) view(ctx context.Context, deploymentID int64, fn func(context.Context, *Tx) error) error {
	return s.View(ctx, deploymentID, func(ctx context.Context, base *sqldb.Tx) error {
		tx := From(base)
		return fn(ctx, &tx)
	})
}
