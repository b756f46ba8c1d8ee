// Package inventory stores lockfiles, their dependencies and licences, and a dictionary of packages per
// deployment. It reads pages of dependencies by filter.
package inventory

import (
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
