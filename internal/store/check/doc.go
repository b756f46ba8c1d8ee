// Package check looks for damage in a database: rows that refer to missing ones, and contents that cannot be
// decoded.
package check

import (
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment. It runs the statements of this package and of those below it.
type Tx struct {
	*sqldb.Tx
	findingsTx
}

type (
	findingsTx = findings.Tx
)

// From returns the statements of this package in a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:         tx,
		findingsTx: findings.From(tx),
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
