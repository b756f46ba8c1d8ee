// Package hosts stores connections to code hosts, their repositories and change requests, managed
// runs and runners. It also stores comments sent to a code host, so that they can be updated later.
package hosts

import (
	"github.com/redoubt/redoubt/internal/store/accounts"
	"github.com/redoubt/redoubt/internal/store/notifications"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/queue"
	"github.com/redoubt/redoubt/internal/store/scans"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
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

// From returns the Tx of this package for a transaction.
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

// DB is the database with the methods of this package that open their own transaction.
type DB struct {
	*sqldb.DB
}

// On returns the DB of this package for a database.
func On(db *sqldb.DB) DB {
	return DB{DB: db}
}
