// Package policies stores policies, their rules and conditions, and the versions of served rules.
// It knows which rule belongs to which policy; package policy decides what that means.
package policies

import (
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment. It runs the statements of this package and of those below it.
type Tx struct {
	*sqldb.Tx
	advisoriesTx
	projectsTx
}

type (
	advisoriesTx = advisories.Tx
	projectsTx   = projects.Tx
)

// From returns the statements of this package in a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:           tx,
		advisoriesTx: advisories.From(tx),
		projectsTx:   projects.From(tx),
	}
}
