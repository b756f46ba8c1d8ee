// Package policies stores policies, their rules and conditions, and the versions of served rules.
// Package policy decides what they mean for findings.
package policies

import (
	"github.com/redoubt/redoubt/internal/store/advisories"
	"github.com/redoubt/redoubt/internal/store/projects"
	"github.com/redoubt/redoubt/internal/store/sqldb"
)

// Tx is a transaction of one deployment with the methods of this package and those below it.
type Tx struct {
	*sqldb.Tx
	advisoriesTx
	projectsTx
}

type (
	advisoriesTx = advisories.Tx
	projectsTx   = projects.Tx
)

// From returns the Tx of this package for a transaction.
func From(tx *sqldb.Tx) Tx {
	return Tx{
		Tx:           tx,
		advisoriesTx: advisories.From(tx),
		projectsTx:   projects.From(tx),
	}
}
