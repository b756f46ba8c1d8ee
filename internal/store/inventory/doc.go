// Package inventory stores lockfiles, their dependencies and licenses, and a dictionary of packages
// per deployment. It also filters and pages dependencies.
package inventory

import (
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
