// Package scans stores scans, what they reported and did not look at, and uploads in progress.
// A scan that ends queues the status for its code host.
package scans

import (
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment. It runs the statements of this package and of those below it.
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

// From returns the statements of this package in a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:              tx,
		notificationsTx: notifications.From(tx),
		projectsTx:      projects.From(tx),
		queueTx:         queue.From(tx),
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
