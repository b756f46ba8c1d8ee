// Package hosts stores connections to code hosts: repositories, change requests, managed runs and runners.
// It also stores what a code host was sent, so that a later call can change it.
package hosts

import (
	"github.com/redoubt/redoubt/internal/store/accounts"
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment. It runs the statements of this package and of those below it.
type Tx struct {
	*sqldb.Tx
	accountsTx
	notificationsTx
	projectsTx
	queueTx
	scansTx
}

type (
	accountsTx      = accounts.Tx
	notificationsTx = notifications.Tx
	projectsTx      = projects.Tx
	queueTx         = queue.Tx
	scansTx         = scans.Tx
)

// From returns the statements of this package in a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:              tx,
		accountsTx:      accounts.From(tx),
		notificationsTx: notifications.From(tx),
		projectsTx:      projects.From(tx),
		queueTx:         queue.From(tx),
		scansTx:         scans.From(tx),
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
