// Package check detects damage in a database: rows that refer to missing ones, and contents that
// cannot be decoded.
package check

import (
	"github.com/redoubt/redoubt/internal/store/findings"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	findingsTx
}

type (
	findingsTx = findings.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:         tx,
		findingsTx: findings.From(tx),
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
