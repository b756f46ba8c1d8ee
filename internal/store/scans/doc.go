// Package scans stores scans, their results and gaps, and uploads in progress. A scan that ends
// queues the status update for its code host.
package scans

import (
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	notificationsTx
	projectsTx
	queueTx
}

type (
	notificationsTx = notifications.Tx
	projectsTx      = projects.Tx
	queueTx         = queue.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:              tx,
		notificationsTx: notifications.From(tx),
		projectsTx:      projects.From(tx),
		queueTx:         queue.From(tx),
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
